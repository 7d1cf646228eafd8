"""Normal noise that is cut off at a bound, as (ε, δ): inside its flat part the odds are exactly those of normal noise.

The density is N(w; 0, σ²)·c(w)²/Z: c is 1 up to t = 127/128 of the bound, then falls to 0 as a quarter of a cosine. An
answer is moved by x deviations in all, and in at most m cells. What is cut from it, and ε at δ of all answers, are

    δ_k = m·(Q(t/σ) + Q(t/σ − x)),      Σδ_k + δ_N(Σx², ε)/(1 − Σδ_k) ≤ δ,

Q the upper tail of the normal law and δ_N(a, ε) the δ of one normal answer of charge a. A cut lies so far out that δ_k
is at most the share of D that x² is of the allowance: so one limit keeps both sums. Proof: ``tapered.proof.md``.
"""

import math
from dataclasses import dataclass

START = 127 / 128  # of a bound: where the taper begins
DIGITS = 16  # a cut is a multiple of 1/16 of a deviation: the same on every machine
FARTHEST = 24 * DIGITS
ROUNDED = 1 + 1e-11  # far more than doubles lose in these formulas
PART = 0.5  # of δ, for what is cut off
DRAWN = 2.0**-39  # in total variation: how far the draw of one cell may be from its law, rounded to steps
FOR_DRAWS = 0.25  # of δ, for that: it limits ε
OUTPUTS = 1000  # each takes a thousandth of the allowance at least
HALVINGS = 60
MOST_EPSILON = 16.0  # that is looked for at another δ than the declared one


@dataclass(frozen=True)
class DeclaredLoss:
    """What is declared: ``delta`` for everything, an ``epsilon`` that is not exceeded, and the ``rows`` of an owner.

    >>> stated = DeclaredLoss(1e-6, None, 1)
    >>> round(stated.largest_charge, 3), round(stated.epsilon_at(stated.largest_charge, 1.0), 2)
    (0.695, 4.22)
    """

    delta: float
    epsilon: float | None
    rows: int

    @property
    def cut(self) -> float:
        """D: what all answers may cut off together."""
        return self.delta * PART

    @property
    def drawn(self) -> float:
        """How far all draws together may be from their laws: an owner is in two cells for each row, at most."""
        return OUTPUTS * 2 * self.rows * DRAWN

    @property
    def is_possible(self) -> bool:
        """Whether draws leave room for some ε."""
        return self.delta * FOR_DRAWS > 3 * self.drawn

    @property
    def largest_epsilon(self) -> float:
        """The ε that is not exceeded, whatever is asked: as declared, and such that draws take their part of δ."""
        by_draws = math.log(self.delta * FOR_DRAWS / self.drawn - 1)
        return by_draws if self.epsilon is None else min(by_draws, self.epsilon)

    @property
    def largest_charge(self) -> float:
        """The largest allowance with which that ε holds."""
        low, high = 0.0, 100.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._lost(middle, 1.0, self.largest_epsilon) <= self.delta else (low, middle)
        return low * (1 - 1e-9)

    def epsilon_at(self, charge: float, share: float, delta: float | None = None) -> float:
        """Give a small ε of answers that took ``charge``, a ``share`` of the allowance: at δ, or at another; else ∞."""
        if charge == 0:
            return 0.0
        most = self.delta if delta is None else delta
        tried = (self.largest_epsilon, *(MOST_EPSILON * 2.0**-k for k in range(10)))
        high = min((one for one in tried if self._lost(charge, share, one) <= most), default=math.inf)
        low = 0.0
        for _ in range(HALVINGS if math.isfinite(high) else 0):
            middle = (low + high) / 2
            low, high = (low, middle) if self._lost(charge, share, middle) <= most else (middle, high)
        return high

    def told(self, success: float, share: float) -> float:
        """Give how often two hypotheses are told apart, if normal answers would tell them apart so often.

        >>> DeclaredLoss(0.001, None, 1).told(0.75, 1.0) > 0.75
        True
        """
        cut = self.cut * min(1.0, share)
        return min(1.0, (cut + success / (1 - cut) + self.drawn) * ROUNDED)

    def _lost(self, charge: float, share: float, epsilon: float) -> float:
        part = min(1.0, share)
        cut, drawn = self.cut * part, self.drawn * part
        return (cut + normal_delta(charge, epsilon) / (1 - cut) + (1 + math.exp(epsilon)) * drawn) * ROUNDED


@dataclass(frozen=True)
class Cutting:
    """Where the noise of an output is cut off: of an ``allowance``, with D = ``delta``, moved in ``cells`` cells.

    >>> Cutting(0.25, 5e-7, 2).cut_at(0.05), Cutting(0.25, 5e-7, 2).cut_within(0.01)
    (6.0, 5.9375)
    """

    allowance: float
    delta: float
    cells: int

    def cut_at(self, moved: float) -> float:
        """Give the least cut, in deviations, for an answer that is moved by so many."""
        return next((k / DIGITS for k in range(1, FARTHEST) if self._fits(k / DIGITS, moved)), FARTHEST / DIGITS)

    def cut_within(self, moved: float) -> float:
        """Give the same for an answer that is moved by so much of its flat part."""
        each = ((k / DIGITS, moved * k / DIGITS) for k in range(1, FARTHEST))
        return next((cut for cut, by in each if self._fits(cut, by)), FARTHEST / DIGITS)

    def _fits(self, cut: float, moved: float) -> bool:
        return self.cells * lost_outside(cut, moved) * ROUNDED <= self.delta * moved**2 / self.allowance


def lost_outside(cut: float, moved: float) -> float:
    """Bound the mass outside the flat part of a normal number that is cut off, under either hypothesis.

    >>> f"{lost_outside(5.0, 0.1):.2e}"
    '7.66e-07'
    """
    return tail(cut) + tail(cut - moved)


def normal_delta(charge: float, epsilon: float) -> float:
    """Give δ of a normal answer at ε, rounded up: Q(ε/μ − μ/2) − e^ε·Q(ε/μ + μ/2), μ² its charge.

    >>> round(normal_delta(1.0, 1.0), 6)
    0.126937
    """
    if charge <= 0:
        return 0.0
    root = math.sqrt(charge)
    upper = tail(epsilon / root - root / 2)
    return max(0.0, upper - math.exp(epsilon) * tail(epsilon / root + root / 2)) + 1e-12 * upper


def tail(x: float) -> float:
    """Give the probability that a standard normal number exceeds x."""
    return 0.5 * math.erfc(x / math.sqrt(2))
