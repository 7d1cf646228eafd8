"""The information of a joint density itself, beside the bound that is certified.

Along a cell it is the mean of the curvature −∂² log γ, which the certificate bounds term by term. In trees these are
one-dimensional integrals; in one block, of each bounded sum, what all other bounds let through at each of its values,
from draws that are common to all values. And it is the mean square of the score, from draws that weigh as much as they
would be accepted (at accepted numbers its variance is not finite): that both agree shows that there are no boundary
terms.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from errorfloor.checks import Array
from errorfloor.joint import JointNoise
from errorfloor.joint.one_block import OneBlock
from errorfloor.joint.table import TableNoise, exposure_of, interactions
from errorfloor.joint.taper import accepted_share
from errorfloor.joint.tree import TreeNoise
from errorfloor.random import bits_from

AT_ONCE, MOST = 2**21, 20_000  # numbers that a batch holds, and draws
FINE = 512  # steps of a bound, in trees
_NODES, _WEIGHTS = (np.asarray(part) for part in np.polynomial.legendre.leggauss(12))


class Mean(NamedTuple):
    """A mean, and its standard error."""

    value: float
    doubt: float


def by_curvature(noise: JointNoise, draws: int) -> Mean:
    """Give the information along the most exposed cell as the mean of the curvature."""
    form, cell = noise.form, int(noise.place[noise.information_along().argmax()])
    if isinstance(form, TreeNoise):
        return Mean(tree_curvature(form, int(form.leaves[cell])), 0.0)
    return block_curvature(form, cell, draws)


def by_score(noise: JointNoise, draws: int) -> Mean:
    """Give the same as the mean square of the score."""
    form, cell = noise.form, int(noise.place[noise.information_along().argmax()])
    batch, found = batch_of(form, draws), []
    for seed in range(math.ceil(draws / batch)):
        if isinstance(form, TreeNoise):
            found.append(tree_scores(form, int(form.leaves[cell]), bits_from(seed), batch))
        else:
            found.append(block_scores(form, cell, bits_from(seed), batch))
    weights, scores = (np.concatenate(each) for each in zip(*found, strict=True))
    squares = weights * np.where(weights > 0, scores, 0.0)
    mean = float(squares.sum() / weights.sum())
    return Mean(mean, float(np.std(squares - mean * weights) / math.sqrt(weights.size) / weights.mean()))


def batch_of(form: Any, draws: int) -> int:
    numbers = FINE if isinstance(form, TreeNoise) else block_of(form)[0].shape[0]
    return min(max(1, AT_ONCE // numbers), MOST, draws)


def block_of(form: OneBlock | TableNoise) -> tuple[Any, Array, Array]:
    """Give the sums, their bounds, and where tapers start."""
    if isinstance(form, OneBlock):
        return form.rows.matrix, form.bounds, form.starts
    sizes = form.margins.sizes
    return form.margins.matrix, np.repeat(form.bounds, sizes), np.repeat(form.starts, sizes)


def normals_of(form: OneBlock | TableNoise, bits: Any, count: int) -> tuple[Array, Array]:
    """Draw cells of the normal part, a row each; and Σ⁻¹ times them."""
    if isinstance(form, OneBlock):
        drawn = form.factor @ bits.normals(form.cells, count)
        return drawn.T, np.linalg.solve(form.factor @ form.factor.T, drawn).T
    parts = interactions(bits.normals(form.cells, count).T.reshape(count, *form.margins.shape))
    both = zip(np.sqrt(form.variances), parts, strict=True)
    drawn, normal = np.zeros((2, count, form.cells))
    for root, part in both:
        drawn += root * part.reshape(count, -1)
        normal += part.reshape(count, -1) / root
    return drawn, normal


def block_scores(form: OneBlock | TableNoise, cell: int, bits: Any, count: int) -> tuple[Array, Array]:
    """Draw normal numbers; give how often each would be accepted, and the square of the score along a cell.

    Of a table, whose cells are alike, it is the mean over all of them.
    """
    matrix, bounds, starts = block_of(form)
    drawn, normal = normals_of(form, bits, count)
    shown = (matrix @ drawn.T).T
    slope = log_slope(shown, bounds, starts)
    if isinstance(form, OneBlock):
        square = (slope @ matrix[:, [cell]].toarray().ravel() - normal[:, cell]) ** 2
    else:
        square = (((matrix.T @ slope.T).T - normal) ** 2).mean(axis=1)
    return accepted_share(shown / bounds, starts), square


def block_curvature(form: OneBlock | TableNoise, cell: int, draws: int) -> Mean:
    """Give (Σ⁻¹)_ii and, of each sum with the cell, its 2κ² times how likely it is in its taper, once sec² is taken in.

    That is ∫1_jφh/∫c_j²φh, h(y) how often all other bounds are kept where the sum is y: normal numbers given that sum
    are those not given it, moved along.
    """
    matrix, bounds, starts = block_of(form)
    own = matrix[:, [cell]].toarray().ravel()
    touched = np.flatnonzero(own)
    if isinstance(form, OneBlock):
        covariance = form.factor @ form.factor.T
        spread = np.asarray(matrix[touched] @ covariance)
        constant = float(np.linalg.inv(covariance)[cell, cell])
    else:
        parts = interactions(matrix[touched].toarray().reshape(len(touched), *form.margins.shape))
        both = zip(form.variances, parts, strict=True)
        spread = sum((size * part for size, part in both), np.zeros(1)).reshape(len(touched), -1)
        constant = float(exposure_of(form.margins) @ (1 / form.variances))
    along = np.asarray((matrix @ spread.T).T)  # of every sum with each of the touched ones
    square = along[np.arange(len(touched)), touched]
    batch = min(batch_of(form, draws), math.ceil(draws / 4))
    inside, whole = [], []
    for seed in range(math.ceil(draws / batch)):
        shown = np.asarray((matrix @ normals_of(form, bits_from(seed), batch)[0].T).T)
        each = [
            let_through(shown, row, along[place] / square[place], float(square[place]), bounds, starts)
            for place, row in enumerate(touched.tolist())
        ]
        for kept, parts in ((inside, 0), (whole, 1)):
            kept.append(np.stack([one[parts] for one in each], axis=1))
    top, bottom = np.concatenate(inside), np.concatenate(whole)
    share = top.mean(axis=0) / bottom.mean(axis=0)
    times = own[touched] ** 2 * 2 * (math.pi / (2 * (1 - starts[touched]) * bounds[touched])) ** 2
    off = ((top - share * bottom) / bottom.mean(axis=0)) @ times
    return Mean(constant + float(share @ times), float(np.std(off) / math.sqrt(len(off))))


def let_through(
    shown: Array, row: int, along: Array, square: float, bounds: Array, starts: Array
) -> tuple[Array, Array]:
    """Give, for each draw, ∫1_jφW and ∫c_j²φW over the values y of a sum, W what all other bounds let through."""
    rest = shown - shown[:, [row]] * along
    start, bound = float(starts[row]), float(bounds[row])
    inside = whole = np.zeros(len(shown))
    for first, last in ((0.0, start), (start, 1.0)):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            y = bound * (first + (last - first) * (1 + float(node)) / 2)
            others = rest + y * along
            others[:, row] = 0.0
            through = accepted_share(others / bounds, starts) * math.exp(-y * y / 2 / square) * weight * (last - first)
            own = accepted_share(np.array([[y / bound]]), np.array([start]))[0]
            whole = whole + through * own
            inside = inside + (through if first == start else 0.0)
    return inside, whole


def tree_curvature(form: TreeNoise, leaf: int) -> float:
    """Go down the path to a leaf, with the density of each node on it, on a grid whose steps are parts of its bound.

    Of a family whose parent is at x, log F(x) is taken off, F the density of the sum of its tapered normal numbers.
    """
    path = path_to(form, leaf)
    top, q, bound = path[0], float(form.variances[path[0]]), float(form.bounds[path[0]])
    y = bound * np.arange(FINE + 1) / FINE
    given = np.exp(-y * y / 2 / q)
    density = given * accepted_share(y[:, None] / bound, form.starts[[top]])
    found = 1 / q + taper_of(y, given, bound, float(form.starts[top])) / (2 * np.trapezoid(density, y))
    density = density / (2 * np.trapezoid(density, y))
    for node in path[1:]:
        family = np.flatnonzero(form.parents == form.parents[node])
        numbers = np.stack([form.variances[family], form.bounds[family], form.starts[family]], axis=1)
        kinds, kind, times = np.unique(numbers, axis=0, return_inverse=True, return_counts=True)
        own = int(kind.ravel()[np.flatnonzero(family == node)[0]])
        x, waves = grid_of(kinds, times, bound)
        step, size = x[1] - x[0], 2 * (len(x) - 1)

        def back(wave: Array, step: float = step, size: int = size) -> Array:
            return np.fft.irfft(wave, size)[: size // 2 + 1] / step

        whole = back(np.prod(waves ** times[:, None], axis=0))
        rest = np.prod(waves ** (times - (np.arange(len(times)) == own))[:, None], axis=0)
        above = np.where(x <= bound, np.interp(x, y, density), 0.0)
        near = x <= bound + 2 * step
        bend = np.gradient(np.gradient(np.log(whole[near]), x[near]), x[near])
        found += 2 * float(np.trapezoid(np.where(x[near] <= bound, above[near] * bend, 0.0), x[near]))
        ratio = np.where(x <= bound, above / np.maximum(whole, 1e-300), 0.0)
        around = back(np.fft.rfft(np.concatenate([ratio, ratio[-2:0:-1]])) * step * rest)
        q, bound, start = kinds[own].tolist()
        y = bound * np.arange(FINE + 1) / FINE
        given = np.exp(-y * y / 2 / q) / math.sqrt(2 * math.pi * q) * np.interp(y, x, around)
        density = given * accepted_share(y[:, None] / bound, np.array([start]))
        scale = 2 * float(np.trapezoid(density, y))  # 1, but for the grid
        found += 1 / q + taper_of(y, given, bound, start) / scale
        density = density / scale
    return float(found)


def taper_of(y: Array, given: Array, bound: float, start: float) -> float:
    """Give 2κ²·∫ over both tapers of a density without its cos²."""
    there = y >= bound * start * (1 - 1e-12)
    return 2 * (math.pi / (2 * (1 - start) * bound)) ** 2 * 2 * float(np.trapezoid(given[there], y[there]))


def path_to(form: TreeNoise, leaf: int) -> list[int]:
    path = [leaf]
    while form.parents[path[0]] >= 0:
        path.insert(0, int(form.parents[path[0]]))
    return path


def grid_of(kinds: Array, times: Array, bound: float) -> tuple[Array, Array]:
    """Give a grid from 0 on, and the transforms of the density of each kind of sibling."""
    step = float(kinds[:, 1].min()) / FINE
    size = 2 ** math.ceil(math.log2(2 * max(float(kinds[:, 1] @ times), 2 * bound) / step + 2))
    x = step * np.arange(size // 2 + 1)
    single = np.array(
        [
            accepted_share(x[:, None] / b, np.array([t])) * np.exp(-x * x / 2 / q) / math.sqrt(2 * math.pi * q)
            for q, b, t in kinds
        ]
    )
    return x, np.fft.rfft(np.concatenate([single, single[:, -2:0:-1]], axis=1), axis=1) * step


def tree_scores(form: TreeNoise, leaf: int, bits: Any, count: int) -> tuple[Array, Array]:
    """The same as of a block, down the path to a leaf: given the noise above, the density of a family is normalised."""
    path = path_to(form, leaf)
    top = path[0]
    w = bits.normals(1, count)[0] * math.sqrt(form.variances[top])
    weight = accepted_share(w[:, None] / form.bounds[top], form.starts[top : top + 1])
    score = log_slope(w, form.bounds[top], form.starts[top]) - w / form.variances[top]
    for node in path[1:]:
        family = np.flatnonzero(form.parents == form.parents[node])
        q, bounds, starts = form.variances[family], form.bounds[family], form.starts[family]
        free = bits.normals(family.size, count).T * np.sqrt(q)
        parts = free + (q / q.sum()) * (w - free.sum(axis=1))[:, None]
        numbers, times = np.unique(np.stack([q, bounds, starts], axis=1), axis=0, return_counts=True)
        x, waves = grid_of(numbers, times, float(form.bounds[form.parents[node]]))
        whole = np.fft.irfft(np.prod(waves ** times[:, None], axis=0))[: len(x)] / (x[1] - x[0])
        log_sum = np.log(np.maximum(whole, 1e-300))
        normal = -w * w / (2 * q.sum()) - 0.5 * math.log(2 * math.pi * q.sum())
        weight = weight * accepted_share(parts / bounds, starts) * np.exp(normal - np.interp(np.abs(w), x, log_sum))
        at = int(np.flatnonzero(family == node)[0])
        own, slope = parts[:, at], np.sign(w) * np.interp(np.abs(w), x, np.gradient(log_sum, x))
        score = score - slope + log_slope(own, bounds[at], starts[at]) - own / q[at]
        w = own
    return weight, score**2


def log_slope(w: Array, bounds: Array, starts: Array) -> Array:
    """Give the derivative of log c²."""
    bend = math.pi / (2 * (1 - starts))
    return -np.sign(w) * 2 * bend / bounds * np.tan(bend * np.maximum(np.abs(w) / bounds - starts, 0.0))
