"""Means of given losses, kinks included, under noise in an ellipsoid: exact along parallel lines, Gauss rules across.

Along a line u² is a polynomial, and the loss is cut where it has kinks, so that each line's integral is exact but for
rounding; what is left is a function of the line, smooth but where kinks meet. The lines run askew to all axes, or a
kink could run along them.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.ball_polynomials import lines_rule
from errorfloor.noise.loss import Loss
from errorfloor.noise.piecewise_losses import smooth_parts
from errorfloor.noise.piecewise_quadrature import simplex_rule
from errorfloor.noise.recent import Recent
from errorfloor.noise.spectral_axis import gauss, legendre

LINES = {2: (200, 320), 3: (40, 56), 4: (12, 16)}  # of a rule and of a finer one, along each direction across
POINTS = 8  # of a rule on a piece of a line
MOST_NODES = 6_000_000
APART = 4.0  # between the middles of lines that are laid end to end, each of length two
CHUNK = 4096


@dataclass(frozen=True)
class LinesRule:
    """Nodes in the unit ball and weights with Σ weight·p(node) = ∫ℓp for polynomials p."""

    nodes: Array
    weights: Array


_rules: Recent[tuple[LinesRule, LinesRule]] = Recent(kept=2)


def lines_rules(loss: Loss, frame: Array, middle: Array, degree: int) -> tuple[LinesRule, LinesRule]:
    """Give a rule and a finer one for ∫ℓ(middle + frame·y)p(y), p of at most this degree along each line.

    >>> one = Loss(None, lambda w: np.abs(w[..., 0]))
    >>> coarse, fine = lines_rules(one, np.eye(2), np.zeros(2), 2)
    >>> round(float(coarse.weights.sum()), 4), round(float(fine.weights.sum()), 4)  # ∫|x| over the disc is 4/3
    (1.3333, 1.3333)
    """
    key = (loss.function, frame.tobytes(), middle.tobytes(), degree)

    def both() -> tuple[LinesRule, LinesRule]:
        coarse, fine = (_along_lines(loss, frame, middle, degree, count) for count in LINES[len(frame)])
        return coarse, fine

    return _rules.find(key, both)


def _along_lines(loss: Loss, frame: Array, middle: Array, degree: int, count: int) -> LinesRule:
    across, across_weights = lines_rule(len(frame), count)
    half = np.sqrt(1 - (across**2).sum(axis=0))
    turned = _askew(len(frame))

    def place(line: Array, t: Array) -> Array:
        inner = np.concatenate([across[:, line], (half[line] * t)[None]])
        return np.asarray(np.tensordot(turned, inner, axes=1))

    def laid_out(x: Array) -> Array:
        """The loss along all lines, laid end to end on one."""
        line = np.floor(x / APART + 0.5).astype(np.intp)
        y = place(line, x - APART * line)
        return np.asarray(loss(middle + np.moveaxis(np.tensordot(frame, y, axes=1), 0, -1)))

    ends = APART * np.arange(len(half))[:, None] + np.array([-1.0, 1.0])
    leaves = smooth_parts(ends[..., None], Loss(None, laid_out), POINTS, MOST_NODES)
    nodes, weights = simplex_rule(1, POINTS)
    moments = np.zeros((len(half), degree + 1))  # ∫ℓ P_k along each line, P_k Legendre's polynomials
    for start in range(0, len(leaves.cell), CHUNK):
        line, part = leaves.cell[start : start + CHUNK], leaves.part[start : start + CHUNK]
        inner = np.einsum("qi,pij->pqj", nodes, part)
        t = inner[..., 1] - inner[..., 0]
        share = 2 * np.abs(np.linalg.det(part))[:, None] * weights
        values = laid_out(APART * line[:, None] + t) * share
        table = legendre(t.reshape(-1), degree).reshape(*t.shape, degree + 1)
        np.add.at(moments, line, np.einsum("pq,pqk->pk", values, table))
    # the same functional of polynomials, as a sum over the nodes of one Gauss rule for every line
    t, weight = gauss(degree + 1)
    table = legendre(t, degree)
    spread = (moments * (np.arange(degree + 1) + 0.5)) @ table.T * weight
    line = np.repeat(np.arange(len(half)), len(t))
    nodes = np.ascontiguousarray(place(line, np.tile(t, len(half))))
    return LinesRule(nodes, (across_weights[:, None] * spread).reshape(-1))


def _askew(dimension: int) -> Array:
    """A rotation whose last column, along which the lines run, is far from every axis, diagonal and face."""
    return np.linalg.qr(np.random.default_rng(5).normal(size=(dimension, dimension)))[0]
