"""The list of claims: complete, in order, and settled by its own numbers."""

import re
from pathlib import Path

import pytest

from errorfloor.errors import InputError
from paper import Claim, Shown

pytestmark = pytest.mark.xdist_group("paper")  # the claims are computed once

# what the source numbers, and the further statements that the errata page is about
STATEMENTS = [
    *(f"Theorem {k}" for k in range(1, 5)),
    *(f"Proposition {k}" for k in range(1, 6)),
    *(f"Corollary {k}" for k in range(1, 7)),
    *(f"Example {k}" for k in range(1, 5)),
    *(f"Figure {k}" for k in range(1, 3)),
    "Assumption 2 (iii)",
    "Problem 1",
    "Problem 2",
    "Problems 3 and 4",
    "Corollary 2 (i)",
    "Corollary 2 (ii)",
    "Text after Corollary 2",
    "bound on the initial state",
    "information of a data-dependent policy",
    "mutual information",
    "floors at equal quality",
    "entropies",
    "Remarks 1 and 2",
    "Remark 3",
    "Remark 4",
    "Remarks 5 and 6",
    "Remark 7",
    "Remark 8",
]
# which claims each entry of the errata page rests on
ERRATA = {
    "Laplace proposition": ["Proposition 3"],
    "Gaussian proposition and its figure": ["Proposition 4", "Figure 2"],
    "dynamic bound": ["Section 4, bound on the initial state"],
    "twice too wide": ["Corollary 6", "Theorem 4", "Example 4, quality"],
    "chord": ["Problem 1", "Theorem 1"],
    "sign": ["Theorem 2", "Proof of Theorem 2"],
    "weight": ["Corollary 4", "Figure 1"],
    "oblivious only": ["Corollary 1", "Corollary 3", "Corollary 5", "Corollary 6", "Theorem 4"],
    "kappa and Q": ["Corollary 2 (i)", "Corollary 2 (ii)", "Text after Corollary 2"],
    "biased bound": ["Proposition 1, biased"],
    "averaging": ["Example 2", "Section 5, floors at equal quality"],
    "traffic": ["Example 4, growth"],
    "regularity": ["Assumption 2"],
    "equivalence": ["Problems 3 and 4"],
    "mutual information": ["Section 5, mutual information"],
    "slips": ["Remark 8", "Theorem 3", "Section 2, density of the answer", "Section 4, bound on the initial state"],
}


@pytest.fixture
def everything(recomputed) -> list[Claim]:
    return recomputed[0]


def test_every_number_agrees_with_its_independent_route_and_with_what_is_stated(everything):
    assert [shown.what for claim in everything for shown in claim.shown if not shown.agrees] == []


def test_every_claim_has_a_verdict_that_its_numbers_bear_out(everything):
    assert all(claim.verdict in ("holds", "corrected") for claim in everything)
    assert [claim.where for claim in everything if not claim.settled] == []


def test_every_correction_shows_a_number_that_the_source_has_otherwise(everything):
    silent = [c.where for c in everything if c.verdict == "corrected" and not any(s.contradicts_print for s in c.shown)]
    assert silent == ["Problem 1 with Remarks 1 and 2"]  # it asserts that something exists, without a number


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_of_the_source_is_there(everything, statement):
    assert any(re.search(rf"{re.escape(statement)}(?!\d)", claim.where) for claim in everything)


@pytest.mark.parametrize("row", ERRATA)
def test_every_known_erratum_is_corrected(everything, row):
    for start in ERRATA[row]:
        found = [claim for claim in everything if claim.where.startswith(start)]
        assert found and all(claim.verdict == "corrected" for claim in found), start


def test_corollaries_and_theorems_come_in_the_papers_order(everything):
    for kind in ("Theorem", "Corollary", "Proposition", "Example", "Figure"):
        numbers = [int(found[1]) for claim in everything if (found := re.match(rf"{kind} (\d+)", claim.where))]
        assert numbers == sorted(numbers), kind
    wheres = [claim.where for claim in everything]
    assert len(set(wheres)) == len(wheres)


def test_progress_counts_every_claim_once(recomputed):
    found, seen, _ = recomputed
    assert seen == [(k, len(found), claim.where) for k, claim in enumerate(found, start=1)]


def test_stated_numbers_are_checked_to_their_last_digit():
    assert Shown("x", 0.08106, 0.08106, "", stated="0.0811").agrees
    assert not Shown("x", 0.08106, 0.08106, "", stated="0.0810").agrees
    assert not Shown("x", 1.0, 1.001, "").agrees


def test_a_claim_that_holds_may_not_contradict_the_print():
    wrong = Shown("x", 1.0, 1.0, "", printed=2.0)
    assert not Claim("here", "x", "x = 2", "x = 1", "holds", (wrong,)).settled
    assert Claim("here", "x", "x = 2", "x = 1", "corrected", (wrong,)).settled


def test_a_claim_needs_a_verdict_and_a_number():
    right = Shown("x", 1.0, 1.0, "")
    with pytest.raises(InputError, match="verdict must be 'holds' or 'corrected', got 'perhaps'"):
        Claim("here", "x", "", "", "perhaps", (right,))
    with pytest.raises(InputError, match="the claim 'here' shows no number"):
        Claim("here", "x", "", "", "holds", ())


def test_the_errata_page_names_tests_that_exist():
    tests = Path(__file__).parent
    page = (tests.parents[1] / "docs" / "theory" / "errata.md").read_text(encoding="utf-8")
    named = re.findall(r"tests/paper/(test_\w+\.py)::(test_\w+)", page)
    assert len(named) >= 20
    missing = [
        f"{file}::{test}" for file, test in named if f"def {test}(" not in (tests / file).read_text(encoding="utf-8")
    ]
    assert missing == []
