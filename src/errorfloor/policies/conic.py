"""A chain problem as a program over cones, which Clarabel solves.

With d_ij ≥ ½(p_ij + p_{i+1,j}) − √(p_ij p_{i+1,j}) a chain problem is linear: ‖v_{i+1} − v_i‖² = 2Σ_j d_ij, and d is
large enough where (p + p′, p + p′ − 2d, p − p′) lies in a second-order cone. Cells that a neighbour may not use pay
their whole probability. What Clarabel finds is believed only as far as ``bound`` proves it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.bound import lower_bound
from errorfloor.policies.chain import Chain, ChainSolution, Dual, LawBounds

TOLERANCE = 1e-8
CLOSE = 1e-4  # the largest gap that is not called a failure
SHARPER = 1e-3  # of the tolerance: a proof adds up what is left undone at every node
FINEST = 1e-11  # no tolerance below this is asked of Clarabel


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
