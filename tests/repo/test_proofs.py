"""Every mechanism has its proof beside it, and the tests that a proof names exist."""

import inspect
import re
from pathlib import Path

import pytest

import errorfloor
from errorfloor import noise
from errorfloor.noise import Noise

SOURCE = Path(errorfloor.__file__).parent
TESTS = Path(__file__).parents[1]
PROOFS = sorted(SOURCE.rglob("*.proof.md"))
HEADINGS = ["## Assumes", "## Claim", "## Proof", "## Checked by"]
MECHANISMS = sorted(
    {
        Path(inspect.getfile(value))
        for value in vars(noise).values()
        if inspect.isclass(value) and issubclass(value, Noise) and not inspect.isabstract(value)
    }
    | {
        SOURCE / "bulk" / "charging.py",
        SOURCE / "bulk" / "content.py",
        SOURCE / "catalogue" / "allowance.py",
        SOURCE / "designer" / "bounds" / "crouzeix_raviart.py",
        SOURCE / "designer" / "bounds" / "enclosure.py",
        SOURCE / "designer" / "bounds" / "residual.py",
        SOURCE / "designer" / "boxes" / "lower_bound.py",
        SOURCE / "designer" / "closed_forms.py",
        SOURCE / "designer" / "feasibility.py",
        SOURCE / "designer" / "largest_error.py",
        SOURCE / "dp" / "hockey_stick.py",
        SOURCE / "dynamics" / "inscribed.py",
        SOURCE / "dynamics" / "knowledge.py",
        SOURCE / "dynamics" / "optimum.py",
        SOURCE / "dynamics" / "robust.py",
        SOURCE / "dynamics" / "smoother.py",
        SOURCE / "floors" / "adversary" / "table.py",
        SOURCE / "floors" / "adversary" / "value.py",
        SOURCE / "floors" / "bayes.py",
        SOURCE / "floors" / "bounds.py",
        SOURCE / "floors" / "pairs.py",
        SOURCE / "floors" / "prior.py",
        SOURCE / "floors" / "tapered.py",
        SOURCE / "floors" / "two_point.py",
        SOURCE / "floors" / "worst_case.py",
        SOURCE / "joint" / "noise.py",
        SOURCE / "ledger" / "total.py",
        SOURCE / "policies" / "chain.py",
        SOURCE / "policies" / "counts" / "design.py",
        SOURCE / "policies" / "policy.py",
        SOURCE / "pricing" / "covariance.py",
        SOURCE / "pricing" / "formulas.py",
        SOURCE / "pricing" / "rows.py",
        SOURCE / "pricing" / "weighted_mean.py",
        SOURCE / "sql" / "compile.py",
        SOURCE / "streams" / "stream.py",
        SOURCE / "vault" / "fixed_point.py",
    }
)


def existing_tests():
    return {
        name for file in TESTS.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)
    }


@pytest.mark.parametrize("module", MECHANISMS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_mechanism_has_a_proof(module):
    assert module.with_suffix(".proof.md").exists()


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_proofs_have_their_parts_and_name_tests_that_exist(proof):
    text = proof.read_text()
    places = [text.find(f"\n{heading}") for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    assert proof.with_name(proof.name.replace(".proof.md", ".py")).exists()
    named = re.findall(r"`(test_\w+)`", text[places[-1] :])
    assert named
    assert set(named) <= existing_tests()
