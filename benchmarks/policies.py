"""The solver of policies against Clarabel on the same grid, and how its time and memory grow with the grid.

BENCH_CELLS=800 is the largest grid, 400 × 800, on which Clarabel takes half an hour; 200 leaves it out.
"""

import os
import resource
import time
import tracemalloc
from collections.abc import Callable
from multiprocessing import get_context

import cvxpy as cp
import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.policies import design_answer
from errorfloor.policies.chain import Chain, Rows
from errorfloor.policies.continuation import solve
from errorfloor.support import HalfLine, Interval

ALLOWED = 20  # times as fast as Clarabel
LARGEST = (400, 800)
MOST_CELLS = int(os.environ.get("BENCH_CELLS", "800"))
GRIDS = tuple(grid for grid in ((50, 100), (100, 200), LARGEST) if grid[1] <= MOST_CELLS)
LINEAR = 1.1  # the largest exponent that is called linear
GROWTH = (100, 200, 400, 800, 1600)
DRAWS = 1_000_000


def shares(nodes: int, cells: int) -> Chain:
    """A share that stays in [0, 1] with a mean squared error of at most 0.01."""
    s, y = np.linspace(0, 1, nodes + 1)[:, None], (np.arange(cells) + 0.5) / cells
    rows = (Rows((y - s) ** 2, np.full(nodes + 1, 0.01)),)
    return Chain(np.full(nodes, 4.0 * nodes), np.ones((nodes + 1, cells), dtype=bool), rows=rows)


def ours(chain: Chain) -> float:
    return solve(chain).value


def clarabel(chain: Chain) -> float:
    nodes, cells = chain.allowed.shape
    p, r = cp.Variable((nodes, cells), nonneg=True), cp.Variable((nodes - 1, cells))
    flat = (nodes - 1) * cells
    before, after, root = (cp.reshape(part, (flat,), order="C") for part in (p[:-1], p[1:], r))
    held = [
        cp.SOC(before + after, cp.vstack([2 * root, before - after]), axis=0),
        cp.sum(p, axis=1) == 1,
        cp.sum(cp.multiply(chain.rows[0].coefficients, p), axis=1) <= chain.rows[0].bounds,
    ]
    energy = 2 * chain.couplings.sum() - 2 * cp.sum(cp.multiply(chain.couplings[:, None] * np.ones((1, cells)), r))
    problem = cp.Problem(cp.Minimize(energy), held)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def alone(solver: Callable[[Chain], float], nodes: int, cells: int) -> tuple[float, float, float]:
    """Objective, seconds of the processor and mebibytes of memory that a solver takes in a process of its own."""
    with get_context("spawn").Pool(1) as process:
        return process.apply(_measured, (solver, nodes, cells))


def _measured(solver: Callable[[Chain], float], nodes: int, cells: int) -> tuple[float, float, float]:
    chain = shares(nodes, cells)
    solver(shares(4, 8))  # what is loaded once is not counted
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()  # minutes long: other work on the machine must not count
    value = solver(chain)
    taken = time.process_time() - start
    return value, taken, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main(report: Report) -> None:
    against_clarabel(report)
    for cells in (96, 800):
        growth(report, cells)
    policy = design_answer(HalfLine(0.0), Interval(0, 50), max_loss=9.0)
    s = np.random.default_rng(1).uniform(0, 50, DRAWS)
    generator = np.random.default_rng(1)
    draws = {
        "NumPy's normal": lambda: generator.standard_normal(DRAWS),
        "a policy's answer, secure bits": lambda: policy.sample(s),
    }
    report.ratios("A draw", side_by_side(draws, 3), "NumPy's normal", per=DRAWS, unit="ns")


def against_clarabel(report: Report) -> None:
    """Both once on each grid, one after the other."""
    rows = []
    for nodes, cells in GRIDS:
        value, taken, memory = alone(ours, nodes, cells)
        theirs, long, much = alone(clarabel, nodes, cells)
        rows.append(
            [f"{nodes} × {cells}", long / taken, much / max(memory, 1.0), f"{abs(value - theirs) / theirs:.1e}"]
        )
        print(
            f"  {nodes} × {cells}: {taken:.2f} s, {memory:.0f} MiB; Clarabel {long:.2f} s, {much:.0f} MiB", flush=True
        )
    columns = ["values × answers", "Clarabel's time", "its memory", "objectives differ by"]
    report.rows("The same chain problem, Clarabel's cost in units of ours", columns, rows)
    if GRIDS[-1] == LARGEST:
        kept = "kept" if rows[-1][1] >= ALLOWED else "BROKEN"
        report.note(f"Promised at {rows[-1][0]}: at most 1/{ALLOWED:.0f} of Clarabel's time. {kept}.")


def growth(report: Report, cells: int) -> None:
    """How time and memory grow with the number of nodes, and the exponents that fit."""
    chains = {nodes: shares(nodes, cells) for nodes in GROWTH}
    times = side_by_side({nodes: lambda chain=chain: solve(chain) for nodes, chain in chains.items()}, 3)
    memory = {nodes: peak(chain) for nodes, chain in chains.items()}
    first = GROWTH[0]
    report.rows(
        f"Growth with the number of values, {cells} cells of answers",
        ["values", f"× the time of {first}", f"× the memory of {first}"],
        [[str(nodes), times[nodes] / times[first], memory[nodes] / memory[first]] for nodes in GROWTH],
    )
    fits = [float(np.polyfit(np.log(GROWTH), np.log(list(found.values())), 1)[0]) for found in (times, memory)]
    verdict = "linear" if max(fits) <= LINEAR else "MORE THAN LINEAR"
    report.note(f"Fitted exponents: time {fits[0]:.2f}, memory {fits[1]:.2f}. {verdict}.")


def peak(chain: Chain) -> int:
    tracemalloc.start()
    solve(chain)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found
