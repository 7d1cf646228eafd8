"""Draws that are the same on every machine are made of operations that are."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Product,
    RaisedCosine,
    Translation,
)
from errorfloor.random import ReproducibleBits, RowBits
from errorfloor.random.elementary import PART, circle, logarithm

ROWS = 20_000
REPEATABLE = {
    "raised cosine": RaisedCosine(-0.5, 2.0),
    "Maxwell": Maxwell(0.7),
    "Gaussian": Gaussian(0.04),
    "Laplace": Laplace(1.5),
    "moved Maxwell": Translation(Maxwell(1.0), [3.0]),
    "mirrored Maxwell": LinearImage(Maxwell(1.0), [[-1.0]]),
    "product": Product((RaisedCosine(0, 1), Laplace(1.0))),
}
PINNED = {
    "raised cosine": "c102fc07cace7918",
    "Maxwell": "cf40801cf7668a16",
    "Gaussian": "3cebfa26608830a6",
    "Laplace": "9ed98a5a487ed319",
    "moved Maxwell": "71b7e20ee2edca12",
    "mirrored Maxwell": "9a2d005eeceeb163",
    "product": "a94adf3cc47c61cc",
}


@pytest.fixture(scope="module")
def arguments():
    ends = [1 - np.arange(200) * 2.0**-53, 2.0 ** -np.arange(54.0), np.arange(1, 300) * 2.0**-53]
    folds = [fold * (1 + np.arange(-40, 40) * 2.0**-53) for fold in (0.125, 0.375, 0.5**0.5, 0.625, 0.875)]
    return np.concatenate([*ends, *folds, ReproducibleBits(3).uniform(20_000)])


def test_logarithm_is_within_three_units_in_the_last_place(arguments):
    values = logarithm(arguments)
    with mpmath.workprec(120):
        for x, value in zip(arguments.tolist(), values.tolist(), strict=True):
            assert abs(mpmath.mpf(value) - mpmath.log(x)) <= 3 * np.spacing(abs(value))


def test_cosine_and_sine_are_within_three_units_of_the_sixteenth_digit(arguments):
    across, up = circle(arguments)
    with mpmath.workprec(120):
        for turns, x, y in zip(arguments.tolist(), across.tolist(), up.tolist(), strict=True):
            angle = 2 * mpmath.pi * turns
            assert abs(x - mpmath.cos(angle)) <= 3e-16 and abs(y - mpmath.sin(angle)) <= 3e-16


def test_cutting_into_parts_changes_nothing():
    x = ReproducibleBits(4).uniform(2 * PART + 17)
    assert np.array_equal(logarithm(x)[PART - 5 : PART + 5], logarithm(x[PART - 5 : PART + 5]))
    assert len(logarithm(x[:0])) == 0 and len(circle(x[:0])[0]) == 0


def digest(noise):
    tags = np.stack([np.arange(ROWS, dtype=np.uint64), np.full(ROWS, 7, dtype=np.uint64)], axis=1)
    return hashlib.sha256(np.ascontiguousarray(noise.sample(ROWS, rng=RowBits(bytes(range(32)), tags)))).hexdigest()[
        :16
    ]


@pytest.mark.parametrize("name", REPEATABLE)
def test_sticky_draws_are_pinned(name):
    assert REPEATABLE[name].repeatable
    assert digest(REPEATABLE[name]) == PINNED[name]


def test_a_plain_processor_draws_the_same():
    """NumPy told to use none of this processor's vector or fused instructions stands for another machine."""
    features = np._core._multiarray_umath.__cpu_features__
    extras = set(np._core._multiarray_umath.__cpu_dispatch__)
    switched_off = " ".join(sorted(name for name in extras if features.get(name)))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_elementary as here; "
        "print({name: here.digest(noise) for name, noise in here.REPEATABLE.items()})"
    )
    plain = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env=os.environ | {"NPY_DISABLE_CPU_FEATURES": switched_off},
        capture_output=True,
        text=True,
        check=True,
    )
    assert plain.stdout.strip() == repr(PINNED)


def test_noise_decided_by_library_functions_says_so():
    for noise in (Airy(1.0), BesselBall(2, 1.0), Gaussian(np.eye(2)), Product((Airy(1.0), Laplace(1.0)))):
        assert not noise.repeatable
