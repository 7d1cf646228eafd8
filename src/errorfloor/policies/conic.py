"""A chain problem as a program over cones, which Clarabel solves.

With d_ij ≥ ½(p_ij + p_{i+1,j}) − √(p_ij p_{i+1,j}) a chain problem is linear: ‖v_{i+1} − v_i‖² = 2Σ_j d_ij, and d is
large enough where (p + p′, p + p′ − 2d, p − p′) lies in a second-order cone. Cells that a neighbour may not use pay
their whole probability. What Clarabel finds is believed only as far as ``chain`` proves it.

An optimal policy uses few of many cells. A chain of every second node, solved first, shows which; the fine chain is
solved on those, and its multipliers are tried on all the others. Cells whose matrices they do not make positive
semi-definite are added, until none is left: then the bound is proved for the whole grid.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.chain import Chain, ChainSolution, Dual, LawBounds, added_cost, indefinite, lower_bound

TOLERANCE = 1e-8
CLOSE = 1e-4  # the largest gap that is not called a failure
SHARPER = 1e-3  # of the tolerance: a proof adds up what is left undone at every node
FINEST = 1e-11  # no tolerance below this is asked of Clarabel
FEW_NODES = 40  # coarser chains are not made
FEW_CELLS = 96  # so many are solved for without trying to use fewer
USED = 1e-4  # a cell is used where some node gives it more than this
ENOUGH = 1e-3  # the tolerance of coarser chains, which only show where answers are
SHARP = 1e-7  # the tolerance on chosen cells: a blunt solution would use all of them a little
MOST_SHARE = 0.7  # of the cells; with more of them all are taken
MOST_ROUNDS = 30


def solve_all(chain: Chain, tolerance: float = TOLERANCE) -> ChainSolution:
    """Give the laws of least objective, every cell of the grid an unknown.

    >>> two = Chain(couplings=np.array([1.0]), allowed=np.array([[True, True, False], [False, True, True]]))
    >>> abs(solve_all(two).value) < 1e-6  # the answer in the middle is allowed at both nodes
    True
    """
    program = _Program(chain)
    unknowns, dual, iterations = program.solve(max(SHARPER * tolerance, FINEST))
    laws = np.zeros(chain.allowed.shape)
    laws[chain.allowed] = np.maximum(unknowns[: program.laws], 0.0)
    laws /= laws.sum(axis=1, keepdims=True)
    if chain.last is not None:
        laws[-1] = chain.last
    proved, multipliers = lower_bound(chain, program.multipliers(dual))
    found = ChainSolution(laws, multipliers, chain.energy(laws), proved, iterations)
    missed = _missed(chain, found)
    if not missed <= max(CLOSE, tolerance):
        raise ConvergenceError(
            f"the chain problem of {len(chain.allowed)} nodes and {chain.allowed.shape[1]} cells was not solved: "
            f"a relative gap of {missed:.2g} is left"
        )
    return found


def _missed(chain: Chain, found: ChainSolution) -> float:
    """How far a solution is from proved: its gap, and what its broken rows are worth, relative to its objective."""
    broken = 0.0
    for kind, multipliers in zip(chain.rows, found.dual.rows, strict=True):
        over = kind.of(found.laws) - kind.bounds
        worth = np.abs(multipliers) * (np.abs(over) if kind.equal else np.maximum(over, 0.0))
        broken += float(worth.sum())
    c = chain.couplings
    nothing = 1e-7 * float(c.max() if chain.worst else c.sum())  # beside what the couplings could cost
    return (abs(found.value - found.lower_bound) + broken) / max(abs(found.value), nothing)


class _Program:
    """Unknowns p, d and, where the worst step counts, its bound; constraints stand in the order that Clarabel wants."""

    def __init__(self, chain: Chain) -> None:
        allowed, self.chain = chain.allowed, chain
        linked = allowed[:-1] & allowed[1:]
        self.laws, links = int(allowed.sum()), int(linked.sum())
        self.size = self.laws + links + chain.worst
        self.unit = max(float(chain.couplings.max()), 0.0 if chain.cost is None else float(np.abs(chain.cost).max()))
        place = np.cumsum(allowed).reshape(allowed.shape) - 1
        self.node = np.nonzero(allowed)[0]
        self.free = np.arange(len(allowed)) < len(allowed) - (chain.last is not None)
        self.pairs = place[:-1][linked], place[1:][linked], self.laws + np.arange(links)
        joined = np.isin(np.arange(self.laws), np.concatenate(self.pairs[:2]))
        self.lone = np.flatnonzero(~joined)
        # what each step costs: twice the d, and probabilities that have nowhere to go
        ends = [(allowed[:-1] & ~linked, place[:-1]), (allowed[1:] & ~linked, place[1:])]
        step = np.concatenate([np.nonzero(linked)[0], *(np.nonzero(alone)[0] for alone, _ in ends)])
        at = np.concatenate([self.pairs[2], *(where[alone] for alone, where in ends)])
        each = chain.couplings[step] / self.unit * np.where(at < self.laws, 1.0, 2.0)
        self.steps = self._matrix(len(chain.couplings), (step, at, each))

    def solve(self, tolerance: float) -> tuple[Array, Array, int]:
        """Give the unknowns, the multipliers of all constraints, and how many iterations they took."""
        import clarabel
        from scipy.sparse import csc_matrix, vstack

        equal, below, links = list(self._equalities()), list(self._inequalities()), len(self.pairs[2])
        blocks = [*equal, *below, (self._cones(), np.zeros(3 * links))]
        cones = [
            clarabel.ZeroConeT(sum(len(sides) for _, sides in equal)),
            clarabel.NonnegativeConeT(sum(len(sides) for _, sides in below)),
            *[clarabel.SecondOrderConeT(3)] * links,
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        matrix = vstack([left for left, _ in blocks], format="csc")
        sides = np.concatenate([sides for _, sides in blocks])
        nothing = csc_matrix((self.size, self.size))
        found = clarabel.DefaultSolver(nothing, self._objective(), matrix, sides, cones, settings).solve()
        return np.array(found.x), np.array(found.z), int(found.iterations)

    def multipliers(self, dual: Array) -> Dual:
        """Sort Clarabel's multipliers by what they belong to."""
        chain, nodes, start = self.chain, len(self.chain.allowed), 0

        def next_ones(count: int) -> Array:
            nonlocal start
            start += count
            return dual[start - count : start]

        normalisation = np.zeros(nodes)
        normalisation[self.free] = -self.unit * next_ones(int(self.free.sum()))
        if chain.last is not None:
            next_ones(int(chain.allowed[-1].sum()))
        rows: dict[int, Array] = {}
        for k in sorted(range(len(chain.rows)), key=lambda k: not chain.rows[k].equal):
            kind = chain.rows[k]
            at = self._binding(kind) if kind.equal else np.arange(kind.multipliers)
            rows[k] = np.zeros(kind.multipliers)
            rows[k][at] = self.unit * next_ones(len(at))
        steps = next_ones(len(chain.couplings)) if chain.worst or chain.most is not None else None
        return Dual(normalisation, tuple(rows[k] for k in range(len(rows))), steps)

    def _matrix(self, rows: int, *entries: tuple[Array, Array, Array]) -> Any:
        from scipy.sparse import csr_matrix

        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csr_matrix((value, (row, column)), shape=(rows, self.size))

    def _sums(self, coefficients: Array) -> Any:
        """A row for every node."""
        entries = self.node, np.arange(self.laws), coefficients[self.chain.allowed]
        return self._matrix(len(self.chain.allowed), entries)

    def _binding(self, rows: LawBounds) -> Array:
        """The nodes at which equalities say what nothing else says."""
        return np.flatnonzero(self.free & (self.chain.allowed & (rows.coefficients != 0)).any(axis=1))

    def _objective(self) -> Array:
        q = np.zeros(self.size) if self.chain.worst else np.asarray(self.steps.sum(axis=0)).ravel()
        if self.chain.worst:
            q[-1] = 1.0
        if self.chain.cost is not None:
            q[: self.laws] += self.chain.cost[self.chain.allowed] / self.unit
        return q

    def _equalities(self) -> Iterator[tuple[Any, Array]]:
        chain = self.chain
        yield self._sums(np.ones(chain.allowed.shape))[self.free], np.ones(int(self.free.sum()))
        if chain.last is not None:
            given = np.flatnonzero(self.node == len(chain.allowed) - 1)
            entries = np.arange(len(given)), given, np.ones(len(given))
            yield self._matrix(len(given), entries), chain.last[chain.allowed[-1]]
        for kind in chain.rows:
            if kind.equal:
                nodes = self._binding(kind)
                yield self._sums(kind.coefficients)[nodes], kind.bounds[nodes]

    def _inequalities(self) -> Iterator[tuple[Any, Array]]:
        chain, count = self.chain, len(self.chain.couplings)
        for kind in chain.rows:
            if not kind.equal:
                sums = self._sums(kind.coefficients)
                yield (type(sums)(sums.sum(axis=0)) if kind.shared else sums), np.atleast_1d(kind.bounds)
        if chain.worst:
            top = np.arange(count), np.full(count, self.size - 1), np.ones(count)
            yield self.steps - self._matrix(count, top), np.zeros(count)
        elif chain.most is not None:
            yield self.steps, np.full(count, chain.most / self.unit)
        entries = np.arange(len(self.lone)), self.lone, -np.ones(len(self.lone))
        yield self._matrix(len(self.lone), entries), np.zeros(len(self.lone))

    def _cones(self) -> Any:
        """−(p + p′, p + p′ − 2d, p − p′), link after link."""
        first, second, d = self.pairs
        k, one = 3 * np.arange(len(d)), np.ones(len(d))
        plus = [(k + m, end, -one) for m in range(2) for end in (first, second)]
        return self._matrix(3 * len(d), *plus, (k + 1, d, 2 * one), (k + 2, first, -one), (k + 2, second, one))


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
