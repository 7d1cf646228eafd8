"""What is built from the repository: an sdist that holds all of it, and a wheel that holds all of the package."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "from setuptools import build_meta as b; print(b.build_sdist('built')); print(b.build_wheel('built'))"


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files of the repository."""
    found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        pytest.skip("NOT TESTED: what an sdist and a wheel hold, since this is no clone")
    return [name for name in found.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tracked, tmp_path_factory) -> tuple[Path, Path]:
    """An sdist and a wheel, from a copy of the repository."""
    folder = tmp_path_factory.mktemp("a folder with spaces")
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sdist, wheel = (folder / "built" / line for line in done.stdout.splitlines() if re.search(r"\.(gz|whl)$", line))
    return sdist, wheel


def test_tests_and_docs_can_be_run_from_an_sdist(built, tracked):
    with tarfile.open(built[0]) as archive:
        held = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    assert set(tracked) <= held


def test_a_wheel_holds_the_package_with_its_proofs_and_pages_and_nothing_else(built, tracked):
    with zipfile.ZipFile(built[1]) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name.removeprefix("src/") for name in tracked if name.startswith("src/errorfloor/")}


def test_an_installed_package_says_that_the_paper_is_recomputed_in_a_clone(built, tmp_path):
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(tmp_path)
    path = os.pathsep.join([str(tmp_path), *(place for place in sys.path if not place.startswith(str(ROOT / "src")))])
    said = subprocess.run(
        [sys.executable, "-m", "errorfloor", "paper"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    words = " ".join(said.stderr.split())
    assert said.returncode == 2
    assert "errorfloor paper needs a clone" in words
    assert "run `make paper` there" in words


def test_the_package_page_has_no_link_that_leads_nowhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / project["readme"]).read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https://")] == []
    assert [link for link in project.get("urls", {}).values() if not link.startswith("https://")] == []
