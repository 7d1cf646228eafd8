"""The adversary's game by another route: posteriors and quadrature over answers, and games played with real draws.

It reads the bytes of the value table itself and shares no code with what makes and certifies it.
"""

import lzma
import math
from pathlib import Path

import numpy as np

import errorfloor

NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
FILE = Path(errorfloor.__file__).parent / "floors" / "adversary" / "value.table"


def read(content):
    plain = lzma.decompress(content.split(b"\n", 1)[1])
    rows, columns, period = np.frombuffer(plain, "<i8", 3)
    levels = np.frombuffer(plain, "<i8", rows, offset=24) / 2**30
    size = rows * columns
    planes = np.frombuffer(plain, "u1", 8 * size, offset=24 + 8 * rows).reshape(8, rows, columns).astype(np.uint64)
    second = sum(planes[place] << np.uint64(8 * place) for place in range(8)).astype(np.int64)
    first = np.zeros_like(second)
    whole = np.zeros_like(second)
    for row in range(rows):  # second differences, summed twice
        first[row] = second[row] + (first[row - 1] if row else 0)
        whole[row] = first[row] + (whole[row - 1] if row else 0)
    return levels, whole / 2**36, period / 2**30


class Table:
    """W from the bytes, by its definition."""

    def __init__(self, content):
        self.levels, self.coefficients, self.period = read(content)

    def win(self, charge, prior):
        below = int(np.searchsorted(self.levels, charge, side="right")) - 1
        below = min(below, len(self.levels) - 2)
        part = (charge - self.levels[below]) / (self.levels[below + 1] - self.levels[below])
        curve = (1 - part) * self.coefficients[below] + part * self.coefficients[below + 1]
        rare = np.minimum(prior, 1 - prior)
        with np.errstate(divide="ignore"):
            x = np.log1p(-rare) - np.log(rare)
        inside = x <= self.period
        x = np.where(inside, x, 0.0)
        turns = np.pi * x / self.period
        r = np.polynomial.chebyshev.chebval(np.cos(turns), curve)  # cos(nθ) is a Chebyshev polynomial of cos θ
        return np.where(inside, np.minimum(1.0, 1 - np.sqrt(rare * (1 - rare)) * r), 1.0)

    def after(self, charge, cost, prior):
        """E W(A − a, π′): integrate over the answers y of noise on [−1, 1] that is moved by s or not."""
        shift = math.sqrt(cost) / math.pi
        if shift >= 2:
            return 1.0
        low, high = shift - 1, 1.0
        parts = np.concatenate([[0], np.geomspace(1e-8, 0.5, 60)]) * (high - low)
        edges = np.concatenate([low + parts, (high - parts[:-1])[::-1]])
        half = np.diff(edges)[:, None] / 2
        y = (edges[:-1, None] + half + half * NODES).ravel()
        weight = (half * WEIGHTS).ravel()
        still, moved = np.cos(np.pi * y / 2) ** 2, np.cos(np.pi * (y - shift) / 2) ** 2
        seen = prior * moved + (1 - prior) * still
        decided = shift / 2 - math.sin(math.pi * shift) / (2 * math.pi)  # answers that only one hypothesis can give
        return float((weight * seen * self.win(charge - cost, prior * moved / seen)).sum()) + decided


def play(table, charge, games, rng, draw):
    """Play the policy that the table names best, at even odds, and give how often the right one is named.

    ``draw(n, rng)`` gives noise on [−1, 1]. What is left goes down in 240 steps; the policy is found on a grid of odds.
    """
    left = charge * (np.arange(240, -1, -1) / 240) ** 1.6
    x = 0.05 * np.arange(140)
    chosen = policy(table, left, x)
    odds, place, truth = np.zeros(games), np.zeros(games, dtype=int), rng.random(games) < 0.5
    playing = np.arange(games)
    while len(playing):
        near = np.rint(np.minimum(np.abs(odds[playing]), x[-1]) / x[1]).astype(int)
        goal = chosen[place[playing], near]
        playing, goal = playing[goal > 0], goal[goal > 0]
        shift = np.sqrt(left[place[playing]] - left[goal]) / np.pi
        y = draw(len(playing), rng) + shift * truth[playing]
        with np.errstate(divide="ignore"):
            moved = np.log(np.where(np.abs(y - shift) < 1, np.cos(np.pi * (y - shift) / 2) ** 2, 0.0))
            still = np.log(np.where(np.abs(y) < 1, np.cos(np.pi * y / 2) ** 2, 0.0))
        odds[playing] += np.clip(moved - still, -1e3, 1e3)
        place[playing] = goal
    return float(((odds > 0) == truth).mean())


def policy(table, left, x):
    """Give what should be left after the next answer, by what is left and the logarithm of odds; 0 is to stop."""
    far = np.linspace(0, 24, 1201)
    known = [table.win(charge, 1 / (1 + np.exp(far))) for charge in left]
    prior = 1 / (1 + np.exp(-x))
    chosen = np.zeros((len(left), len(x)), dtype=int)
    t, w = np.polynomial.legendre.leggauss(64)
    for place in range(len(left) - 1):
        best = prior.copy()
        goals = {min(place + step, len(left) - 1) for step in (1, 4, 16, 64, len(left))}
        for goal in sorted(goals):
            shift = math.sqrt(left[place] - left[goal]) / math.pi
            y, weight = shift / 2 + (1 - shift / 2) * t, (1 - shift / 2) * w
            still, moved = np.cos(np.pi * y / 2) ** 2, np.cos(np.pi * (y - shift) / 2) ** 2
            seen = (prior[:, None] * moved + (1 - prior[:, None]) * still) * weight
            reached = np.abs(x[:, None] + np.log(moved) - np.log(still))
            decided = shift / 2 - math.sin(math.pi * shift) / (2 * math.pi)
            total = (seen * np.interp(reached, far, known[goal], right=1.0)).sum(axis=1) + decided
            better = total > best
            chosen[place][better], best[better] = goal, total[better]
    return chosen
