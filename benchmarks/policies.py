"""Policies on the few cells that they use against all cells of the grid at once, and how the cost grows with the grid.

Clarabel solves both. On the largest grid, 400 × 800, all cells at once take it more than half an hour.
"""

import resource
import time
from collections.abc import Callable
from multiprocessing import get_context

import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.policies import design_answer
from errorfloor.policies.chain import Chain, LawBounds
from errorfloor.policies.conic import solve, solve_all
from errorfloor.support import HalfLine, Interval

GRIDS = ((50, 100), (50, 200), (100, 200))
LARGEST = (400, 800)  # on chosen cells alone
LINEAR = 1.1  # the largest exponent that is called linear
GROWTH = (100, 200, 400)
DRAWS = 1_000_000


def shares(nodes: int, cells: int) -> Chain:
    """A share that stays in [0, 1] with a mean squared error of at most 0.01."""
    s, y = np.linspace(0, 1, nodes + 1)[:, None], (np.arange(cells) + 0.5) / cells
    rows = (LawBounds((y - s) ** 2, np.full(nodes + 1, 0.01)),)
    return Chain(np.full(nodes, 4.0 * nodes), np.ones((nodes + 1, cells), dtype=bool), rows=rows)


def chosen(chain: Chain) -> float:
    return solve(chain).value


def whole(chain: Chain) -> float:
    return solve_all(chain).value


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
    against_the_whole_grid(report)
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


def against_the_whole_grid(report: Report) -> None:
    """Both once on each grid, one after the other."""
    rows = []
    for nodes, cells in GRIDS:
        value, taken, _ = alone(chosen, nodes, cells)
        best, long, _ = alone(whole, nodes, cells)
        rows.append([f"{nodes} × {cells}", long / taken, f"{abs(value - best) / best:.1e}"])
        print(f"  {nodes} × {cells}: {taken:.2f} s; whole {long:.2f} s", flush=True)
    columns = ["values × answers", "time of all cells", "objectives differ by"]
    report.rows("The same chain problem, all cells at once in units of chosen ones", columns, rows)
    _, taken, memory = alone(chosen, *LARGEST)
    report.note(f"On {LARGEST[0]} × {LARGEST[1]}, chosen cells take {taken:.1f} s and {memory:.0f} MiB.")


def growth(report: Report, cells: int) -> None:
    """How time grows with the number of nodes, and the exponent that fits."""
    chains = {nodes: shares(nodes, cells) for nodes in GROWTH}
    times = side_by_side({nodes: lambda chain=chain: solve(chain) for nodes, chain in chains.items()}, 3)
    first = GROWTH[0]
    report.rows(
        f"Growth with the number of values, {cells} cells of answers",
        ["values", f"× the time of {first}"],
        [[str(nodes), times[nodes] / times[first]] for nodes in GROWTH],
    )
    fit = float(np.polyfit(np.log(GROWTH), np.log(list(times.values())), 1)[0])
    report.note(f"Fitted exponent: {fit:.2f}. {'linear' if fit <= LINEAR else 'MORE THAN LINEAR'}.")
