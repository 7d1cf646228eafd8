"""The solver of policies against Clarabel on the same grid, and how its time and memory grow with the grid."""

import time
import tracemalloc

import cvxpy as cp
import numpy as np

from benchmarks.stopwatch import side_by_side
from errorfloor.policies import design_answer
from errorfloor.policies.chain import Chain, Rows
from errorfloor.policies.continuation import solve
from errorfloor.support import HalfLine, Interval

ALLOWED = 1 / 20  # of Clarabel's time
DRAWS = 1_000_000


def shares(nodes: int, cells: int) -> Chain:
    """A share that stays in [0, 1] with a mean squared error of at most 0.01."""
    s, y = np.linspace(0, 1, nodes + 1)[:, None], (np.arange(cells) + 0.5) / cells
    rows = (Rows((y - s) ** 2, np.full(nodes + 1, 0.01)),)
    return Chain(np.full(nodes, 4.0 * nodes), np.ones((nodes + 1, cells), dtype=bool), rows=rows)


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


def against_clarabel(nodes: int, cells: int) -> float:
    """Both once, one after the other; print and give the ratio."""
    chain = shares(nodes, cells)
    start = time.perf_counter()
    ours = solve(chain)
    middle = time.perf_counter()
    theirs = clarabel(chain)
    end = time.perf_counter()
    ratio = (middle - start) / (end - middle)
    print(
        f"  {nodes} × {cells}: {middle - start:8.2f} s against {end - middle:8.1f} s of Clarabel: 1/{1 / ratio:.0f}; "
        f"objectives {ours.value:.6f} and {theirs:.6f}, proved gap {ours.gap:.1e}"
    )
    return ratio


def peak(chain: Chain) -> int:
    tracemalloc.start()
    solve(chain)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def main() -> None:
    print("\nPolicies: our solver against Clarabel, the same chain")
    against_clarabel(50, 100)
    ratio = against_clarabel(400, 800)
    print(f"  promised at 400 × 800: at most {ALLOWED:g} of its time: {'kept' if ratio <= ALLOWED else 'BROKEN'}")
    print("\nPolicies: growth with the number of nodes, 800 cells")
    before = None
    for nodes in (50, 100, 200, 400):
        chain = shares(nodes, 800)
        taken = side_by_side({"solve": lambda chain=chain: solve(chain)}, 3)["solve"]
        memory = peak(chain) / (chain.allowed.size * 8)
        grown = "" if before is None else f", {taken / before:.2f} × the time of half as many"
        print(f"  {nodes:>4} nodes: {memory:5.1f} arrays of the grid's size{grown}")
        before = taken
    policy = design_answer(HalfLine(0.0), Interval(0, 50), max_loss=9.0)
    s = np.random.default_rng(1).uniform(0, 50, DRAWS)
    generator = np.random.default_rng(1)
    times = side_by_side({"policy": lambda: policy.sample(s), "normal": lambda: generator.standard_normal(DRAWS)}, 3)
    print(f"\nPolicies: a draw, secure bits, takes {times['policy'] / times['normal']:.0f} × NumPy's normal")
