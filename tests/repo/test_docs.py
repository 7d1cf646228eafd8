"""The pages say what is true: examples run, links lead somewhere, references are complete and current."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import errorfloor as ef
from errorfloor.catalogue.columns import Declaration

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in sorted(ROOT.rglob("*.md"))
    if not {part for part in page.relative_to(ROOT).parts if part.startswith(".") or part in ("build", "node_modules")}
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def page_id(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_examples_in_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith(("http:", "https:", "#", "mailto:")):
            assert (page.parent / target.split("#")[0]).exists(), target


def test_readme_has_an_example():
    assert (ROOT / "README.md").read_text().count(">>> ") >= 8


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_configuration_reference_is_current_and_complete():
    module = script("write_configuration_reference")  # a word without a sentence stops it
    assert module.TARGET.read_text() == module.reference(), "run scripts/write_configuration_reference.py"
    declared = [kind for kind, _, _ in module.SECTIONS.values()]
    assert {kind.__name__ for kind in subclasses(Declaration)} == {kind.__name__ for kind in declared}


def subclasses(kind):
    return [one for below in kind.__subclasses__() for one in (below, *subclasses(below))]


def test_command_line_reference_is_current():
    module = script("write_cli_reference")
    assert module.TARGET.read_text() == module.reference(), "run scripts/write_cli_reference.py"
    from errorfloor.cli.app import COMMANDS, app, loaded

    for name, (_, words) in COMMANDS.items():
        assert loaded(name).help.partition("\n\n")[0].replace("\n", " ") == words, "app.py lists what help says of it"
    named = {(command.callback.__name__,) for command in app.registered_commands}
    for group in app.registered_groups:
        named.add((group.name,))
        named |= {(group.name, c.name or c.callback.__name__) for c in group.typer_instance.registered_commands}
    assert named | {()} == set(module.commands())


def test_every_error_is_documented():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    for name, value in vars(ef.errors).items():
        if isinstance(value, type) and issubclass(value, ef.errors.ErrorFloorError):
            row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
            assert f"`{value.code}` | {value.exit_code} | {value.http_status}" in row
            assert name in (ef.errors.__doc__ or "")


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    for name in ef.__all__:
        if not name.startswith("_"):
            assert f"`ef.{name}`" in page


def test_constraints_hold_versions_and_no_address():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!]+", line), line


def test_every_extra_is_part_of_all():
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("[project.optional-dependencies]")[1].split("[project.scripts]")[0]
    extras = re.findall(r"^(\w+) = ", block, re.M)
    whole = re.search(r'all = \["errorfloor\[([\w,]+)\]"\]', block).group(1).split(",")
    assert set(whole) == set(extras) - {"all", "dev"}
