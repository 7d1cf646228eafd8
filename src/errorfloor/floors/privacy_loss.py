"""What answers state as (ε, δ): each by what is cut from its likelihood ratio, and by a moment of the rest.

Two hypotheses move an answer by d; p and q are its densities under them, X = e^ℓ a level, α > 1 an order. An answer has

    δ_k = ∫(p − Xq)₊      and      M_k = ∫ min(p, Xq)^α q^{1−α},

and all together δ(ε) ≤ Σδ_k + C·e^{−(α−1)ε}·ΠM_k, C = (1 − 1/α)^{α−1}/α. Proof: ``privacy_loss.proof.md``.

*Guarantee*: the ε that is given is never too small for questions that were fixed beforehand; and for questions that
follow from answers if Σδ_k and Σ log M_k keep, on every transcript, limits that were fixed beforehand.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors.worst_case import rule
from errorfloor.noise import Gaussian, Noise, Product, RaisedCosine, Translation
from errorfloor.noise.raised_cosine import minus_sine

NODES = 16  # on each panel
PANELS = 24  # on each side, their lengths in a geometric progression
UP = 1 + 1e-9  # above the error of the quadrature, which is below 10⁻¹² of what it gives
ORDERS = 1 + np.geomspace(0.5, 300, 40)  # at least 1.5, which `privacy_loss.proof.md` needs in part 4
SHARES = (0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)  # of δ that is left for the moment; each gives a level
STEP = 1.01  # between the charges at which parts of an answer are tried
COARSE = 1.2  # between those with which the order and the level are looked for
TRIED = 6  # orders and levels, of those that seem best
FLATTEST = 1e-3  # how near the moment of the smallest parts must be to that of many small ones
LARGEST = math.pi**2  # the charge from which half of the answers decide for certain: no ε is stated from there on


class StatedLoss(NamedTuple):
    """An ε with the order and the level that prove it, and the share of δ that is cut; infinite if none was found."""

    epsilon: float
    order: float = math.inf
    level: float = math.inf
    cut: float = 0.0


class Shifted(NamedTuple):
    """An answer, given ``times`` times: √(I·d²) is at most h·slope + error for an entry that changes by h.

    >>> Shifted(True, np.array([2.0]), 0.0).times
    1
    """

    gaussian: bool
    slopes: Array
    error: float
    times: int = 1


def shifted(noise: Noise, jacobian: Array, error: float) -> tuple[Shifted, ...] | None:
    """Give the answers of a noise, a row of the Jacobian for each coordinate; None for any other noise.

    >>> [one.slopes.round(2).tolist() for one in shifted(RaisedCosine(-1.0, 1.0), np.array([[1.0, 0.5]]), 0.0)]
    [[3.14, 1.57]]
    """
    match noise:
        case Translation():
            return shifted(noise.base, jacobian, error)
        case Product():
            each = [shifted(one, row[None, :], error) for one, row in zip(noise.factors, jacobian, strict=True)]
            known = [one for one in each if one is not None]
            return sum(known, ()) if len(known) == len(each) else None
        case RaisedCosine() | Gaussian():
            slopes = np.linalg.norm(noise.information_root @ jacobian, axis=0)
            unsure = 2 * error * float(np.sqrt(np.abs(noise.information).sum())) if error else 0.0
            return (Shifted(isinstance(noise, Gaussian), slopes, unsure),)
        case _:
            return None


def loss_of(answers: Sequence[Shifted], slopes: Array, distance: float, delta: float) -> StatedLoss:
    """Give an ε for an entry that changes by ``distance``, and moves the answers with these slopes.

    >>> round(loss_of([Shifted(True, np.ones(1), 0.0)], np.ones(1), 1.0, 1e-5).epsilon, 2)  # Gaussian; exact: 4.38
    4.73
    """
    charges = (distance * slopes + [one.error for one in answers]) ** 2
    counts, normal = np.array([one.times for one in answers]), np.array([one.gaussian for one in answers])
    gaussian = float(counts[normal] @ charges[normal])
    return epsilon_of(delta, charges[~normal], counts[~normal], gaussian=gaussian)


def epsilon_of(
    delta: float, charges: Array, counts: Array, *, gaussian: float = 0.0, split: bool = False
) -> StatedLoss:
    """Give an ε for raised-cosine answers of some charges I·d², each so many times.

    ``gaussian`` is the sum of the charges of Gaussian answers. With ``split`` a charge may be that of several answers
    together, raised cosine or Gaussian, of which only the sum is known.

    >>> loss = epsilon_of(1e-3, np.array([0.01]), np.array([1]))
    >>> round(loss.epsilon, 2)  # the smallest is 0.346
    0.38
    >>> epsilon_of(1e-3, np.array([1.0]), np.array([1])).epsilon  # more than that is certain
    inf
    """
    some = charges > 0
    charges, counts = charges[some], counts[some]
    if delta <= 0 or (charges >= LARGEST).any() or not math.isfinite(gaussian):
        return StatedLoss(math.inf)
    if not len(charges) and not gaussian:
        return StatedLoss(0.0)
    rounded, many = _rounded(charges, counts, COARSE)
    rough = _convex_pairs if split else pairs
    found = sorted(
        _epsilon(delta, order, level, gaussian, many, *rough(rounded, order, level))
        for order in map(float, ORDERS)
        for level in _levels(order, delta)
    )
    fine, many = _rounded(charges, counts, STEP)
    exact = split_pairs if split else pairs
    likely = [one for one in found if math.isfinite(one.epsilon)][:TRIED]
    return min(
        (_epsilon(delta, one.order, one.level, gaussian, many, *exact(fine, one.order, one.level)) for one in likely),
        default=StatedLoss(math.inf),
    )


def pairs(charges: Array, order: float, level: float) -> tuple[Array, Array]:
    """Give δ_k and log M_k of raised-cosine answers.

    >>> cut, moment = pairs(np.array([0.01]), 5.0, 1.0)
    >>> f"{cut[0]:.3e} {np.expm1(moment[0]):.6f}"
    '1.703e-04 0.123034'
    """
    cut, moment = _moments(charges, order, level)
    return cut, np.log1p(moment)


def split_pairs(charges: Array, order: float, level: float) -> tuple[Array, Array]:
    """Give bounds on Σδ_j and Σ log M_j over all ways to divide each charge among raised-cosine and Gaussian answers.

    They are a·sup δ(b)/b and a·sup log M(b)/b over 0 < b ≤ a: on a grid of b, between its points by the order of
    experiments, and below it by part 4 of the proof.
    """
    least = min(1e-6, float(charges.min()) / STEP)
    while _smallest(least, order, level)[1] > (1 + FLATTEST) * order * (order - 1) / 2:
        least /= 10
    count = 2 + math.ceil(math.log(float(charges.max()) / least) / math.log(STEP))
    grid = least * STEP ** np.arange(count)
    cut, convex = _convex_pairs(np.minimum(grid, LARGEST * (1 - 1e-12)), order, level)
    first = _smallest(least, order, level)
    steepest = [
        np.maximum.accumulate(np.concatenate([[start], values[1:] / grid[:-1]]))
        for start, values in zip(first, (cut, convex), strict=True)
    ]
    place = np.searchsorted(grid, charges)
    return charges * steepest[0][place], charges * steepest[1][place]


def _convex_pairs(charges: Array, order: float, level: float) -> tuple[Array, Array]:
    """Give δ and log E f(x) ≥ log M, f(x) = x^α and from X on its tangent: convex, so both rise with the charge."""
    cut, moment = _moments(charges, order, level)
    return cut, np.log1p(moment + order * math.exp((order - 1) * level) * cut)


def _smallest(charge: float, order: float, level: float) -> tuple[float, float]:
    """Bound δ(b)/b and log M(b)/b for all 0 < b ≤ charge, and for Gaussian answers: part 4 of the proof."""
    turn, edge = math.sqrt(charge) / 2, math.exp(level / 2)
    third = 2 * order * (2 * order - 1) * (2 * order - 2) * edge ** max(0.0, 2 * order - 3)
    second = order * (2 * order - 1) * edge ** (2 * order - 2)
    far = max(1.0, 6 * second / (third * turn))
    beyond = third * turn / 24 + third * turn * math.log(far) / 6 + second / far
    return turn * (edge / (edge - 1)) ** 3 / (6 * math.pi), order * (order - 1) / 2 + beyond / (2 * math.pi)


def _moments(charges: Array, order: float, level: float) -> tuple[Array, Array]:
    """Give δ and M − 1, both rounded up: E ψ(min(x, X)) − αδ with x = p/q and ψ(x) = x^α − 1 − α(x − 1) ≥ 0."""
    turn = 0.5 * np.sqrt(charges)
    edge = np.arctan2(np.sin(turn), math.expm1(level / 2) + 2 * np.sin(turn / 2) ** 2)
    beyond = minus_sine(2 * edge) / (2 * math.pi)  # the probability under q that the ratio is above the level
    above = minus_sine(2 * (edge + turn)) / (2 * math.pi)  # the same under p
    cut, lost = above - math.exp(level) * beyond, 1e-15 * above  # what the difference may have lost in rounding

    def excess(loss: Array) -> Array:
        return np.asarray(np.expm1(order * loss) - order * np.expm1(loss))

    total = excess(np.array(level)) * beyond + (order - 1) * minus_sine(2 * turn) / (2 * math.pi)
    t = turn[:, None, None]
    place, weight = _panels(edge, np.full_like(edge, math.pi / 2))
    loss = 2 * np.log1p(np.sin(t) / np.tan(place) - 2 * np.sin(t / 2) ** 2)
    total = total + (excess(loss) * np.sin(place) ** 2 * weight).sum(axis=(1, 2)) * (2 / math.pi)
    end = math.pi / 2 - turn
    place, weight = _panels(np.minimum(turn, end) / 100, end, from_zero=True)
    loss = 2 * np.log(np.sin(place) / np.sin(place + t))
    total = total + (excess(loss) * np.sin(place + t) ** 2 * weight).sum(axis=(1, 2)) * (2 / math.pi)
    return (cut + lost) * UP, np.maximum(total * UP - order * (cut - lost).clip(min=0) / UP, 0.0)


def _panels(start: Array, stop: Array, from_zero: bool = False) -> tuple[Array, Array]:
    """Give nodes and weights of a quadrature from ``start``, or from zero, to ``stop``, a row for each."""
    edges = start[:, None] * (stop / start)[:, None] ** (np.arange(PANELS + 1) / PANELS)
    if from_zero:
        edges = np.concatenate([np.zeros((len(edges), 1)), edges], axis=1)
    half = np.diff(edges)[..., None] / 2
    nodes, weights = rule(NODES)
    return edges[:, :-1, None] + half * (1 + nodes), half * weights


def _levels(order: float, delta: float) -> list[float]:
    """Give levels near the best one, at which X^{α−1} = 1/(αδ″): there a shift of the level changes nothing."""
    found = [-math.log(order * delta * share) / (order - 1) for share in SHARES]
    return [level for level in found if 1e-3 < level < 300 / order]


def _epsilon(
    delta: float, order: float, level: float, gaussian: float, counts: Array, cut: Array, moment: Array
) -> StatedLoss:
    gone = float(counts @ cut) * UP
    if gone >= delta:
        return StatedLoss(math.inf)
    total = float(counts @ moment) * UP + order * (order - 1) * gaussian / 2
    constant = (order - 1) * math.log1p(-1 / order) - math.log(order)
    return StatedLoss(
        max(0.0, (total + constant - math.log(delta - gone)) / (order - 1)) * UP, order, level, gone / delta
    )


def _rounded(charges: Array, counts: Array, ratio: float) -> tuple[Array, Array]:
    """Round charges up to powers of a ratio, each counted together, if there are more than a few different ones."""
    different, place = np.unique(charges, return_inverse=True)
    if len(different) > 50:
        rounded = np.exp(np.ceil(np.log(charges) / math.log(ratio)) * math.log(ratio)) * UP
        different, place = np.unique(np.minimum(rounded, LARGEST * (1 - 1e-12)), return_inverse=True)
    return different, np.bincount(place, weights=counts, minlength=len(different))
