"""Sums that come out the same to the last bit: compiled or not, alone or together."""

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.noise.lattice import Lattice
from errorfloor.streams.carrying import WORTH_COMPILING, Carrier, compiled, power, products


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 10, 13])
def test_compiled_sums_are_those_of_numpy_to_the_last_bit(n):
    rng = np.random.default_rng(n)
    count = 2 * WORTH_COMPILING + 37
    states = rng.normal(size=(n, count)) * 10.0 ** rng.integers(-8, 8, size=(n, 1))
    for share in (0.0, 0.5, 1.0):
        A = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) >= share)
        C = rng.normal(size=(2, n)) * (rng.uniform(size=(2, n)) >= share)
        wanted = np.empty_like(states)
        products(A, states, wanted)
        carrier = Carrier(states)
        assert carrier._kernels is not None
        carrier.move(A)
        assert np.array_equal(carrier._states, wanted)
        alone = Carrier(states[:, 5:6])
        assert alone._kernels is None
        alone.move(A)
        assert np.array_equal(alone._states, wanted[:, 5:6])
        given = rng.normal(size=(count, 2)) * 1e3
        size = max(1e3, float(np.abs(C @ wanted).max()))
        for step in ("0.25", "0.3", "0.001", "7"):
            lattice = Lattice(f"{float(step) * 10.0 ** np.ceil(np.log10(size) - 4):g}")
            offset = np.array([0.5, -3.25])
            together = carrier.released(C, given, offset, None, lattice)
            out = np.empty((2, count))
            products(C, wanted, out)
            assert np.array_equal(together, lattice.round(given + (out.T + offset)))
            assert np.array_equal(alone.released(C, given[5:6], offset, None, lattice), together[5:6])


def test_numbers_that_do_not_fit_are_refused_compiled_or_not():
    assert compiled() is not None
    for count in (1, WORTH_COMPILING):
        carrier = Carrier(np.zeros((1, count)))
        for bad, words in ((np.nan, "not a finite number"), (1e30, "too large to be rounded")):
            given = np.zeros((count, 1))
            given[-1] = bad
            with pytest.raises(InputError, match=words):
                carrier.released(np.eye(1), given, np.zeros(1), None, Lattice("0.1"))


def test_powers_are_repeated_products():
    A = np.random.default_rng(1).normal(size=(3, 3))
    for exponent in (0, 1, 2, 7, 20):
        assert power(A, exponent) == pytest.approx(np.linalg.matrix_power(A, exponent), rel=1e-9, abs=1e-12)
