"""One command measures, keeps what it finds section by section, and writes one page of ratios."""

import ast
import re
import sys
import types
from pathlib import Path

import pytest
from benchmarks import __main__ as command
from benchmarks import report as kept_reports
from benchmarks.machine import machine, versions
from benchmarks.page import page
from benchmarks.report import Report, ratio

ROOT = Path(__file__).parents[2]
TIMES = {"bare": 0.002, "ours": 0.003}


def found(section="draws", **changes):
    report = Report(
        section, about="What it costs.", date="2026-01-02", machine={"cores": "2"}, versions={"numpy": "2.0"}
    )
    report.ratios("One draw", TIMES, "bare", unit="ms")
    for name, value in changes.items():
        setattr(report, name, value)
    return report


def test_a_ratio_has_three_digits_or_so():
    assert [ratio(value) for value in (1234.5, 12.34, 1.0, 0.01234, 0.000012, 0.0)] == [
        *("1,234", "12.3", "1.00", "0.012", "1.2e-05", "0.00")
    ]


def test_times_are_printed_and_ratios_kept(capsys):
    report = found()
    assert report.tables[0].columns == ["", "× bare"]
    assert report.tables[0].rows == [["bare", "1.00"], ["ours", "1.50"]]
    printed = capsys.readouterr().out
    assert "3 ms" in printed
    assert "1.50 × bare" in printed


def test_findings_come_back_as_they_were_kept(tmp_path):
    report = found(peers={"OpenDP": "0.15"})
    report.rows("Growth", ["", "power"], [["plane", 1.04]])
    report.note("as expected")
    report.picture("slopes.png", "Errors")
    report.keep(tmp_path)
    assert Report.kept("draws", tmp_path) == report
    assert Report.kept("release", tmp_path) is None


def test_a_remark_before_any_table_belongs_to_the_section():
    report = Report("peers")
    report.note("OpenDP could not be measured: no network")
    assert "- OpenDP could not be measured: no network" in page([report])


def test_page_holds_the_sections_that_were_run_and_no_times():
    text = page([found(), found("release", peers={"OpenDP": "0.15"})])
    assert re.findall(r"^## (.*)$", text, re.M) == ["Machine", "Draws", "Release"]
    assert "| ours | 1.50 |" in text
    assert "Measured on 2026-01-02, with OpenDP 0.15." in text
    assert not re.search(r"\d (s|ms|ns)\b", text)
    assert page([]).startswith("# Measurements")


def test_page_tells_machines_and_versions_apart_where_they_differ():
    text = page([found(), found("release", machine={"cores": "64"}, versions={"numpy": "2.1"})])
    assert "1. cores 2." in text
    assert "2. cores 64." in text
    assert "Measured on 2026-01-02, machine 2, with numpy 2.1." in text


def test_machine_and_versions_are_known():
    assert int(machine()["cores"]) >= 1
    assert re.fullmatch(r"[1-9]\d* GiB", machine()["memory"])
    assert {"errorfloor", "numpy", "duckdb"} <= set(versions())


@pytest.fixture
def sections(tmp_path, monkeypatch):
    """Two sections, one of which fails, that keep what they find in a folder of the test."""
    monkeypatch.setattr(command, "SECTIONS", ("good", "bad"))
    monkeypatch.setattr(command, "TARGET", tmp_path / "page.md")
    monkeypatch.setattr(Report.keep, "__defaults__", (tmp_path,))
    monkeypatch.setattr(Report.kept.__func__, "__defaults__", (tmp_path,))

    def good(report):
        report.ratios("One draw", TIMES, "bare")

    def bad(report):
        raise RuntimeError("out of luck")

    for name, main in {"good": good, "bad": bad}.items():
        module = types.ModuleType(f"benchmarks.{name}", "What it costs.")
        module.main = main
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return tmp_path


def test_a_section_that_fails_leaves_the_others_and_what_was_kept(sections, capsys):
    assert command.main(["bad", "good"]) == 1
    assert re.findall(r"^## (.*)$", (sections / "page.md").read_text(), re.M) == ["Machine", "Good"]
    assert "failed: bad" in capsys.readouterr().err
    found("bad").keep(sections)
    assert command.main(["bad"]) == 1
    assert "## Bad" in (sections / "page.md").read_text()


def test_page_alone_measures_nothing(sections):
    found("good").keep(sections)
    assert command.main([]) == 0
    assert "## Good" in (sections / "page.md").read_text()


@pytest.mark.parametrize("section", command.SECTIONS)
def test_every_section_is_a_module_that_reports(section):
    tree = ast.parse((ROOT / "benchmarks" / f"{section}.py").read_text())
    (main,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    assert [argument.arg for argument in main.args.args] == ["report"]
    assert ast.get_docstring(tree)


def test_written_page_has_sections_that_exist():
    headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "performance.md").read_text(), re.M)
    known = {section.replace("_", " ").capitalize() for section in command.SECTIONS}
    assert len(headings) >= 2
    assert set(headings) - {"Machine", "Machines"} <= known


def test_findings_are_kept_where_git_does_not_look():
    assert kept_reports.KEPT.relative_to(ROOT).parts[0] + "/" in (ROOT / ".gitignore").read_text().splitlines()
