"""Theorem 2: the corrected equation is the one that stationary policies satisfy."""

import mpmath
import numpy as np
import pytest

from paper.stationarity import theorem_two


def test_stationary_policy_solves_the_corrected_equation():
    """u = e^{(p′/2p)w} sin πw with p′/p = −2b: u″ − (p′/p)u′ + (π² + b²)u = 0, to forty digits."""
    with mpmath.workdps(40):
        for b in (mpmath.mpf("0.5"), mpmath.mpf("1.25")):

            def u(w, b=b):
                return mpmath.exp(-b * w) * mpmath.sin(mpmath.pi * w)

            for w in (mpmath.mpf("0.2"), mpmath.mpf("0.7")):
                corrected = mpmath.diff(u, w, 2) + 2 * b * mpmath.diff(u, w) + (mpmath.pi**2 + b**2) * u(w)
                assert abs(corrected) < mpmath.mpf(10) ** -15
                plus_sign = mpmath.diff(u, w, 2) - 2 * b * mpmath.diff(u, w)
                assert abs(plus_sign + (mpmath.pi**2 + b**2) * u(w)) > 0.1


def test_printed_equation_asks_for_two_multipliers_at_once():
    low, high = (shown.printed for shown in theorem_two().shown[:2])
    assert abs(low - high) > 5


def test_hessian_term_is_the_laplacian_and_not_the_sum_of_all_entries():
    n = 5
    hessian = 2 / (n - 1) * (np.eye(n) - 1 / n)  # of the sample variance
    assert np.trace(hessian) == pytest.approx(2)
    assert np.ones(n) @ hessian @ np.ones(n) == pytest.approx(0, abs=1e-12)
    assert theorem_two().shown[2].independent == pytest.approx(2, rel=1e-5)
