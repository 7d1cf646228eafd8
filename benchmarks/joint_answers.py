"""Joint noise: many sums at once, each within its bound, which add up.

The unit is π²/b², what one answer within ±b tells about an entry. *Expected* is what the theory gave for a first
strategy, with cosines alone and looser integrals. *Matrix* is the unbounded matrix mechanism: the normal noise of the
best covariance at the same largest root-mean-square error, which keeps no bound; the column says how many times more
the bounded noise tells.
"""

import math
import resource
import subprocess
import sys
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from benchmarks.joint_information import Mean, by_curvature, by_score
from benchmarks.report import Report
from errorfloor.checks import Array
from errorfloor.joint import JointNoise, Margins, design_joint
from errorfloor.joint.normal import nested, running, table, totals
from errorfloor.joint.table import exposure_of, spread_of, subsets
from errorfloor.joint.tree import TreeNoise
from errorfloor.random import bits_from

UNIT = math.pi**2
TREE = (400, 250)  # groups, and cells of each
SECONDS, GIBIBYTES = 10, 1
DRAWN, WEIGHED = 10_000_000, 200_000  # numbers drawn of each; and draws for the score
FEW, MANY = 64, 6_000_000  # draws for the curvature at first; and times the cells, at most
LARGE = """
import time
begun = time.perf_counter()
from errorfloor.joint import Margins, design_joint
noise = design_joint(Margins({shape}, [(0, 1), (0,), ()]), 1.0)
noise.sample(1)
print(time.perf_counter() - begun)
"""


def main(report: Report) -> None:
    cases = {
        "a total and 2 parts": (total_and(2), 1.545),
        "a total and 10 parts": (total_and(10), 1.92),
        "a total and 100 parts": (total_and(100), 2.08),
        "8 running totals": (np.tril(np.ones((8, 8))), 3.58),
        "32 running totals": (np.tril(np.ones((32, 32))), 6.83),
        "100 running totals": (np.tril(np.ones((100, 100))), 10.72),
        "365 running totals": (np.tril(np.ones((365, 365))), None),
        "528 ranges of 32 cells": (ranges(32), 12.06),
        "2 × 2, all margins": (Margins((2, 2)), 2.60),
        "3 × 3, all margins": (Margins((3, 3)), 2.84),
        "5 × 5, all margins": (Margins((5, 5)), 3.13),
        "50 × 40 × 12, all margins": (Margins((50, 40, 12)), None),
        f"total, {TREE[0]} groups, 100,000 parts": (Margins(TREE, [(0, 1), (0,), ()]), None),
    }
    noises = {name: design_joint(answers, 1.0) for name, (answers, _) in cases.items()}
    compared(report, cases, noises)
    checked(report, {name: (cases[name][0], noise) for name, noise in noises.items()})
    in_sql(report)


def compared(report: Report, cases: dict[str, tuple[Any, float | None]], noises: dict[str, JointNoise]) -> None:
    """What each costs beside what was expected, beside independent noise, and beside noise without bounds."""
    rows, missed = [], []
    for name, (answers, expected) in cases.items():
        noise, matrix = noises[name], matrix_of(answers)
        value = float(noise.certificate.value) / UNIT if noise.certificate else math.inf
        alone = float(np.asarray(matrix.power(2).sum(axis=0)).max())
        told = value * UNIT * largest_square(noise, answers) / unbounded(answers)
        rows.append([name, "" if expected is None else f"{expected:g}", value, alone, told, f"{noise.accepted:.2f}"])
        if expected is not None and value > expected:
            missed.append(f"{name}: {value:.2f}, expected {expected:g}")
        if value > alone:
            missed.append(f"{name}: {value:.2f}, independent noise that does not add up {alone:g}")
    columns = ["answers, equal bounds", "expected", "ours", "independent", "× matrix", "accepted at least"]
    report.rows("What joint answers tell about the most exposed cell", columns, rows)
    report.note(f"Dearer than a figure beside it: {'; '.join(missed) or 'none'}.")
    report.note("Expected figures of tables with margins were estimates by Gibbs sampling, of the information itself.")
    seconds, gibibytes = apart(LARGE.format(shape=TREE))
    print(f"  a tree of {math.prod(TREE):,} cells: {seconds:.1f} s, {gibibytes:.2f} GiB")
    kept = seconds <= SECONDS and gibibytes <= GIBIBYTES
    report.note(
        f"A tree of {math.prod(TREE):,} cells is designed and drawn within {SECONDS} seconds and {GIBIBYTES} GiB, "
        f"imports and all: {'yes' if kept else 'no'}."
    )


def checked(report: Report, noises: dict[str, tuple[Any, JointNoise]]) -> None:
    """The certified information beside that of the density itself, and whether any bound was ever left."""
    rows, doubtful = [], []
    for name, (answers, noise) in noises.items():
        matrix, farthest, answered = matrix_of(answers), 0.0, 0
        while answered < DRAWN:
            drawn = noise.sample(min(2000, 1 + DRAWN // matrix.shape[0]), rng=bits_from(answered))
            shown = np.abs(matrix @ drawn.T)
            farthest, answered = max(farthest, float(shown.max())), answered + shown.size
        certified, found = float(noise.information_along().max()), shown_by(noise)
        slow = 1 if noise.cells < 1000 else 10 if isinstance(noise.form, TreeNoise) else 250
        score = by_score(noise, WEIGHED // slow)
        columns = [ratio(certified, found), ratio(certified, score), f"{found.value / UNIT:.3f}"]
        rows.append([name, *columns, f"{farthest:.4f}", f"{answered:,}"])
        if certified < found.value + 3 * found.doubt or abs(score.value - found.value) > 5 * score.doubt:
            doubtful.append(name)
    columns = ["answers", "by curvature", "by score", "true", "farthest, in bounds", "numbers drawn"]
    report.rows("The certified information as a multiple of the true one", columns, rows)
    report.note(
        "By curvature: the mean of −∂² log γ, exactly (trees) or ± three standard errors. By score: the mean square of "
        "∂ log γ, of normal numbers that weigh as much as they would be accepted. True: by curvature, in π²/b²."
    )
    report.note(
        f"Not shown to be at least 1, by three standard errors, or curvature and score differ by more than five: "
        f"{', '.join(doubtful) or 'none'}."
    )


def shown_by(noise: JointNoise) -> Mean:
    """Take more draws until the certified information is told from the true one, which is known to half a percent."""
    draws, certified = FEW, float(noise.information_along().max())
    while True:
        found = by_curvature(noise, draws)
        told = certified > found.value + 4 * found.doubt and 3 * found.doubt < 0.005 * found.value
        if told or draws * (FEW + noise.cells) >= MANY:
            return found
        draws *= 2


def ratio(certified: float, found: Mean) -> str:
    """Write how many times the true information is certified."""
    share = certified / found.value
    return f"{share:.4f}" + (f" ± {3 * found.doubt * share / found.value:.4f}" if found.doubt else "")


def in_sql(report: Report) -> None:
    """The law that questions in SQL have: normal, cut off where the exact account may count it as normal."""
    whole, groups = np.zeros(100_000, dtype="<i8"), np.repeat(np.arange(100), 1000).astype("<i8")
    large = nested(100_000, (groups.tobytes(), whole.tobytes()))
    assert large is not None
    places = (np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20), np.zeros(400))
    found = {
        "a total and 10 parts": (totals(10, (bytes(80),)), 10**2),
        "a total and 100 parts": (totals(100, (bytes(800),)), 100**2),
        "20 × 20, all margins": (totals(400, tuple(one.astype("<i8").tobytes() for one in places)), 400**2),
        "50 × 40 × 12, all margins": (table((50, 40, 12), tuple(reversed(subsets(3)))), 24_000**2),
        "total, 100 groups, 100,000 parts": (large, 100_000**2),
        "100 running totals": (running((100,)), 100**2),
        "365 running totals": (running((365,)), 365**2),
    }
    rows = [[name, law.information / UNIT, f"{alone:,}", law.cut] for name, (law, alone) in found.items()]
    columns = ["sums", "joint", "cells of their own, added up", "bounds, in deviations"]
    report.rows("In SQL: what ROLLUP, CUBE and running totals tell, counted with raised cosines", columns, rows)


def total_and(parts: int) -> Array:
    return np.vstack([np.ones((1, parts)), np.eye(parts)])


def ranges(cells: int) -> Array:
    return np.array([[float(i <= k < j) for k in range(cells)] for i in range(cells) for j in range(i + 1, cells + 1)])


def matrix_of(answers: Any) -> Any:
    return answers.matrix if isinstance(answers, Margins) else sparse.csr_matrix(answers)


def largest_square(noise: JointNoise, answers: Any) -> float:
    """Give the largest mean square of an answer, from draws; those of one set of margins are alike."""
    matrix, batches = matrix_of(answers), 40
    count = max(20, 200_000 // matrix.shape[0])
    squares = np.zeros(matrix.shape[0])
    for seed in range(batches):
        drawn = matrix @ noise.sample(count, rng=bits_from(seed)).T
        squares += np.asarray(drawn**2).mean(axis=1) / batches
    sets = (
        np.arange(len(squares))
        if not isinstance(answers, Margins)
        else np.repeat(range(len(answers.sets)), answers.sizes)
    )
    return float((np.bincount(sets, squares) / np.bincount(sets)).max())


def unbounded(answers: Any) -> float:
    """Give the least worst (Σ⁻¹)_ii of noise whose answers all have a mean square of at most 1."""
    if isinstance(answers, Margins):
        spread, exposure = spread_of(answers), exposure_of(answers)
        first = np.log(np.full(exposure.size, 1 / spread.sum(axis=1).max()))

        def cost(logs: Array) -> float:
            variances = np.exp(logs)
            return float(np.log(exposure @ (1 / variances)) + np.log((spread @ variances).max()))

        for _ in range(6):
            first = minimize(cost, first, method="Nelder-Mead", options={"maxiter": 20_000, "adaptive": True}).x
        return math.exp(cost(first))
    rows, best = np.asarray(answers), math.inf
    pull, weights = np.ones(len(rows)), np.ones(rows.shape[1])
    for _ in range(
        150 if rows.shape[1] < 200 else 90
    ):  # Σ = M⁻¹ # P, M = Σλ_jT_jᵀT_j, P = diag p: λ and p by repetition
        root = np.linalg.cholesky(rows.T @ (rows * pull[:, None]))
        values, vectors = np.linalg.eigh((root.T * weights) @ root)
        across = np.linalg.solve(root.T, vectors * values**0.25)
        squares, precise = ((rows @ across) ** 2).sum(axis=1), (np.linalg.inv(across) ** 2).sum(axis=0)
        best = min(best, float(squares.max() * precise.max()))
        pull, weights = pull * (squares / squares.max()) ** 0.5, weights * (precise / precise.max()) ** 0.5
    return best


def apart(program: str) -> tuple[float, float]:
    """Run a program in a process of its own; give the seconds that it prints, and its memory in GiB."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
