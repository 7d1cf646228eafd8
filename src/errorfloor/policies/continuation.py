"""From coarse grids to fine ones: most answers are never given, and coarse values tell which.

An optimal policy uses few of many cells. A chain of every second node, solved first, shows which; the fine chain is
solved on those, and its multipliers are tried on all the others. Cells whose matrices they do not make positive
semi-definite are added, until none is left: then the bound is proved for the whole grid.
"""

from dataclasses import replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.bound import added_cost, indefinite, lower_bound
from errorfloor.policies.chain import Chain, ChainSolution, LawBounds
from errorfloor.policies.conic import TOLERANCE, solve_all

FEW_NODES = 40  # coarser chains are not made
FEW_CELLS = 96  # so many are solved for without trying to use fewer
USED = 1e-4  # a cell is used where some node gives it more than this
ENOUGH = 1e-3  # the tolerance of coarser chains, which only show where answers are
SHARP = 1e-7  # the tolerance on chosen cells: a blunt solution would use all of them a little
MOST_SHARE = 0.7  # of the cells; with more of them all are taken
MOST_ROUNDS = 30


def solve(chain: Chain, tolerance: float = TOLERANCE, cells: Array | None = None) -> ChainSolution:
    """Give the laws of least objective, with a lower bound proved for the whole grid.

    ``cells`` may mark those that a nearby problem's solution uses.

    >>> s, y = np.linspace(0, 1, 9)[:, None], np.linspace(0, 1, 200)
    >>> near = LawBounds(coefficients=(y - s) ** 2, bounds=np.full(9, 0.03))
    >>> chain = Chain(couplings=np.full(8, 32.0), allowed=np.ones((9, 200), dtype=bool), rows=(near,))
    >>> found = solve(chain)
    >>> found.gap < 1e-6, int((found.laws.max(axis=0) > 1e-6).sum()) < 20
    (True, True)
    """
    count = chain.allowed.shape[1]
    if count <= FEW_CELLS or any(rows.equal for rows in chain.rows):
        return solve_all(chain, tolerance)
    if cells is not None:
        chosen = _with_neighbours(cells)
    elif len(chain.allowed) > 2 * FEW_NODES and not chain.worst:
        coarse = solve(_every_second(chain), ENOUGH)
        chosen = _with_neighbours(coarse.laws.max(axis=0) > USED)
    else:
        chosen = np.zeros(count, dtype=bool)
        chosen[:: count // (FEW_CELLS // 2)] = True
        chosen[-1] = True
    for _ in range(MOST_ROUNDS):
        chosen = _feasible(chain, chosen)
        if chosen.sum() > MOST_SHARE * count:
            return solve_all(chain, tolerance)
        found = solve_all(_restrict(chain, chosen), min(tolerance, SHARP))
        laws = np.zeros(chain.allowed.shape)
        laws[:, chosen] = found.laws
        proved, dual = lower_bound(chain, found.dual)
        whole = ChainSolution(laws, dual, found.value, proved, found.iterations)
        broken = _broken(chain, found, 0.1 * tolerance)
        if whole.gap <= tolerance or not (broken & ~chosen).any():
            return whole
        used = np.zeros(count, dtype=bool)
        used[np.flatnonzero(chosen)[found.laws.max(axis=0) > USED]] = True
        chosen = _with_neighbours(used) | _representatives(broken)
    raise ConvergenceError(f"the cells that a policy needs were not found in {MOST_ROUNDS} rounds")


def _broken(chain: Chain, found: ChainSolution, tolerance: float) -> Array:
    """Cells whose matrices the multipliers, lowered by a share of what may be lost, do not make semi-definite."""
    couplings = chain.couplings if found.dual.steps is None else chain.couplings * found.dual.steps
    lam = found.dual.normalisation
    lam = lam - tolerance * abs(found.value) / len(lam)
    return indefinite(couplings, added_cost(chain, found.dual.rows) - lam[:, None], chain.allowed)


def _restrict(chain: Chain, chosen: Array) -> Chain:
    rows = tuple(replace(kind, coefficients=kind.coefficients[:, chosen]) for kind in chain.rows)
    cost = None if chain.cost is None else chain.cost[:, chosen]
    return replace(chain, allowed=chain.allowed[:, chosen], cost=cost, rows=rows)


def _every_second(chain: Chain) -> Chain:
    """The same chain on every second node; steps in a row couple as springs do, 1/(1/c + 1/c′)."""
    nodes = np.unique(np.append(np.arange(0, len(chain.allowed), 2), len(chain.allowed) - 1))
    compliance = np.concatenate([[0.0], np.cumsum(1 / chain.couplings)])
    share = np.gradient(nodes.astype(float))
    share[[0, -1]] /= 2
    rows = tuple(
        LawBounds(
            kind.coefficients[nodes] * (share[:, None] if kind.shared else 1.0),
            kind.bounds if kind.shared else kind.bounds[nodes],
            kind.equal,
            kind.shared,
        )
        for kind in chain.rows
    )
    cost = None if chain.cost is None else chain.cost[nodes] * share[:, None]
    return Chain(1 / np.diff(compliance[nodes]), chain.allowed[nodes], cost, rows, chain.worst)


def _with_neighbours(chosen: Array) -> Array:
    wide = chosen.copy()
    wide[1:] |= chosen[:-1]
    wide[:-1] |= chosen[1:]
    return wide


def _representatives(broken: Array) -> Array:
    """The middle and the quarters of every run of broken cells."""
    kept = np.zeros_like(broken)
    where = np.flatnonzero(broken)
    for run in np.split(where, np.flatnonzero(np.diff(where) > 1) + 1):
        kept[run[(len(run) * np.array([1, 2, 3])) // 4]] = True
    return kept


def _feasible(chain: Chain, chosen: Array) -> Array:
    """Add cells until every node has some that are allowed and keep well within its bounds."""
    chosen = chosen.copy()
    for i in np.flatnonzero(~(chain.allowed & chosen).any(axis=1)):
        options = np.flatnonzero(chain.allowed[i])
        chosen[options[[0, len(options) // 2, -1]]] = True
    for kind in chain.rows:
        if kind.shared:
            continue
        least = np.where(chain.allowed, kind.coefficients, np.inf)
        short = np.where(chosen, least, np.inf).min(axis=1) >= 0.5 * kind.bounds
        chosen[least[short].argmin(axis=1)] = True
    return chosen
