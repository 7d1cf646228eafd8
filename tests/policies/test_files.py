"""A policy survives its file to the last bit; a file that was changed is refused in words."""

import json
import math

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.policies import Cells, Policy, from_dict
from errorfloor.random import ReproducibleBits, StickyBits

GONE = object()


def read(path) -> Policy:
    return from_dict(json.loads(path.read_text()))


def test_file_gives_the_same_policy_back(named, tmp_path):
    _, policy = named
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(policy.to_dict()))
    again = read(file)
    assert again == policy and hash(again) == hash(policy)
    assert again.certificate == policy.certificate
    s = np.linspace(policy.values.low, policy.values.high, 5000)
    y = np.resize(policy.cells.middle, s.size)
    assert (again.pdf(y, s) == policy.pdf(y, s)).all() and (again.cdf(y, s) == policy.cdf(y, s)).all()
    for bits in (lambda: 3, lambda: ReproducibleBits(8), lambda: StickyBits(bytes(32))):
        assert (again.sample(s, rng=bits()) == policy.sample(s, rng=bits())).all()
    for name in ("largest_information", "largest_loss", "largest_bias"):
        assert getattr(again, name) == getattr(policy, name)
    assert again.explain() == policy.explain()
    assert json.dumps(again.to_dict()) == file.read_text()


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["type"], "Polity", "unknown policy type 'Polity'; known: Cells, Policy, PolicyCertificate"),
        (["type"], GONE, "a policy must be a mapping with a 'type'"),
        (["type"], "Cells", "Cells cannot be built from its fields"),
        (["laws"], GONE, "missing 1 required positional argument: 'laws'"),
        (["author"], "me", "unexpected keyword argument 'author'"),
        (["nodes", 3], "a", "nodes must be numbers"),
        (["nodes", 3], 9.0, "in increasing order"),
        (["nodes", 3], math.nan, "nodes must be finite"),
        (["laws", 2], [1.0], "rows of different lengths"),
        (["laws", 2, 1], -0.25, "probabilities that add up to 1"),
        (["laws", 2, 1], None, "laws must be numbers"),
        (["weights", 0], -1.0, "not negative and not all zero"),
        (["loss"], [1], "loss must be 'squared', 'absolute' or a number"),
        (["loss"], "median", "loss must be 'squared', 'absolute' or a factor"),
        (["cells"], 3.0, "cells must be Cells, got float"),
        (["cells", "low"], GONE, "Cells cannot be built from its fields"),
        (["cells", "low", 1], -5.0, "increasing order that do not overlap"),
        (["cells", "low", 0], -0.001, "the certificate states a largest loss of 0.0.*, but the laws have"),
        (["certificate"], "good", "certificate must be a PolicyCertificate, got str"),
        (["certificate", "objective"], "least", "objective must be 'average' or 'worst', got 'least'"),
        (["certificate", "value"], None, "value must be a finite number ≥ 0, got None"),
        (["certificate", "value"], math.inf, "value must be a finite number ≥ 0, got inf"),
        (["certificate", "lower_bound"], 1e9, r"lower_bound 1e\+09 is above its value"),
        (["certificate", "largest_information"], 1.0, "states a largest information of 1, but the laws have"),
        (["certificate", "largest_loss"], 1e-6, "states a largest loss of 1e-06, but the laws have"),
    ],
)
def test_changed_files_are_refused(policies, tmp_path, place, value, message):
    plain = json.loads(json.dumps(policies["share"].to_dict()))
    inner = plain
    for key in place[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=message):
        read(file)


def test_laws_of_another_policy_are_refused_under_a_certificate(policies):
    plain = policies["share"].to_dict()
    with pytest.raises(InputError, match="but the laws have"):
        from_dict(plain | {"laws": plain["laws"][::-1]})


def test_what_is_no_policy_is_refused():
    for plain in ("policy", [1], None, 3):
        with pytest.raises(InputError, match="a policy must be a mapping with a 'type'"):
            from_dict(plain)
    with pytest.raises(InputError, match="a policy is wanted, not a Cells"):
        from_dict(Cells.of_points([0, 1]).to_dict())
