"""The report: complete, self-contained, in two forms."""

import re
import time
from html.parser import HTMLParser

import pytest

from errorfloor.errors import InputError
from paper import write_report
from paper.report import write_claims

pytestmark = pytest.mark.xdist_group("paper")  # the claims are computed once

NUMBERED = [
    *(f"Theorem {k}" for k in range(1, 5)),
    *(f"Corollary {k}" for k in range(1, 7)),
    *(f"Proposition {k}" for k in range(1, 6)),
    *(f"Example {k}" for k in range(1, 5)),
    *(f"Figure {k}" for k in range(1, 3)),
]
FIGURES = {
    "averaging",
    "chord",
    "corollary_four",
    "corollary_six",
    "equal_quality",
    "raised_cosine",
    "region",
    "repeated_answers",
    "tradeoff",
    "traffic",
}
EMPTY = {"meta", "img", "link", "br", "hr", "input"}


class Balance(HTMLParser):
    """Open elements, identifiers, references and pictures of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identifiers: set[str] = set()
        self.references: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in named:
            assert named["id"] not in self.identifiers
            self.identifiers.add(named["id"])
        if "href" in named:
            self.references.add(named["href"])
        if "src" in named:
            self.sources.append(named["src"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(recomputed, tmp_path_factory):
    start = time.process_time()
    report = write_claims(recomputed[0], tmp_path_factory.mktemp("report") / "new" / "folder", "html")
    taken = recomputed[2] + time.process_time() - start
    return report, report.path.read_text(encoding="utf-8"), taken


@pytest.fixture(scope="module")
def page(written):
    parsed = Balance()
    parsed.feed(written[1])
    return parsed


def test_report_is_one_file_with_every_claim(written):
    report, text, _ = written
    assert report.path.name == "report.html"
    assert [path.name for path in report.path.parent.iterdir()] == ["report.html"]
    assert text.count("<section") == len(report.claims)
    for verdict in ("holds", "corrected"):
        expected = sum(claim.verdict == verdict for claim in report.claims)
        assert text.count(f"<td class='{verdict}'>") == text.count(f"<span class='{verdict}'>") == expected


@pytest.mark.parametrize("statement", NUMBERED)
def test_report_mentions_every_numbered_statement(written, statement):
    assert re.search(rf"{statement}(?!\d)", written[1])


def test_page_is_well_formed_and_its_links_lead_somewhere(page):
    assert page.open == []
    assert {f"#{name}" for name in page.identifiers} == page.references


def test_page_needs_nothing_from_elsewhere(written, page):
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(r"base64,[A-Za-z0-9+/=]+", "", written[1]))
    assert len(page.sources) == len(FIGURES)
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in page.sources)
    assert "<script" not in written[1] and "@import" not in written[1] and "url(" not in written[1]


def test_page_suits_phones_and_dark_rooms(written):
    assert "width=device-width" in written[1]
    assert "prefers-color-scheme: dark" in written[1]


def test_verdicts_come_before_the_sections(written):
    text = written[1]
    assert text.index("<table class='verdicts'>") < text.index("<section")


def test_report_takes_less_than_a_minute(written):
    assert written[2] < 60


def test_markdown_report_has_its_figures_beside_it(recomputed, tmp_path):
    report = write_claims(recomputed[0], tmp_path, "markdown")
    text = report.path.read_text(encoding="utf-8")
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == FIGURES
    assert set(re.findall(r"\]\(figures/(\w+)\.png\)", text)) == FIGURES
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) == set(re.findall(r'<a id="([\w-]+)">', text))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4, 6}


def test_figures_have_labelled_axes():
    from paper.bounded_pictures import PICTURES as BOUNDED
    from paper.unbounded_pictures import PICTURES as UNBOUNDED

    assert set(BOUNDED) | set(UNBOUNDED) == FIGURES
    for draw in (BOUNDED["tradeoff"], UNBOUNDED["traffic"], UNBOUNDED["region"], UNBOUNDED["equal_quality"]):
        for axes in draw().axes:
            assert axes.get_xlabel() and axes.get_ylabel()


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(InputError, match="format must be 'html' or 'markdown', got 'pdf'"):
        write_report(tmp_path, format="pdf")
