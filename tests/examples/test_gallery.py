"""The examples run, print what the gallery shows, and draw what it shows; the one with the car has tests of its own."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from running_pages import same_shape

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "examples.md"
PICTURES = ROOT / "docs" / "pictures" / "examples"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = loaded(ROOT / "scripts" / "write_gallery.py")


def shown(name):
    """What the gallery says that an example prints."""
    after = PAGE.read_text().split(f"(pictures/examples/{name}.png)")[1]
    return after.split("```text\n")[1].split("\n```")[0]


@pytest.mark.parametrize("name", [name for name in gallery.EXAMPLES if name != "car"])
def test_an_example_prints_and_draws_what_the_gallery_shows(name, tmp_path, capsys):
    picture = loaded(ROOT / "examples" / f"{name}.py").main(tmp_path)
    printed = capsys.readouterr().out
    assert same_shape(shown(name), printed), f"run scripts/write_gallery.py: this was printed\n{printed}"
    assert picture.stat().st_size > 10_000


def test_every_example_is_in_the_gallery_with_a_small_picture():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(gallery.EXAMPLES)
    for name in gallery.EXAMPLES:
        assert 5_000 < (PICTURES / f"{name}.png").stat().st_size < 60_000
        assert gallery.section(name, shown(name)) in PAGE.read_text(), "run scripts/write_gallery.py"


def test_an_example_makes_its_folder(tmp_path):
    folder = tmp_path / "new" / "folder"
    program = ROOT / "examples" / "counts_table.py"
    done = subprocess.run([sys.executable, program, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "counts_table.png").exists()


def test_the_car_takes_a_folder_as_the_page_says_of_all():
    assert "`python examples/average_of_meters.py FOLDER`" in PAGE.read_text()
    done = subprocess.run([sys.executable, ROOT / "examples" / "car.py", "--help"], capture_output=True, text=True)
    assert re.search(r"\[folder\]", done.stdout)
