"""The chain problem: how the law of an answer may change along the true values, and what is paid for it.

Values s_0 < … < s_N are nodes, answers y_1 … y_M cells, p_ij the probability of cell j at node i, v = √p:

    minimise  Σ_i c_i ‖v_{i+1} − v_i‖² + Σ_ij cost_ij p_ij
    subject to  Σ_j p_ij = 1,  and rows Σ_j a_ij p_ij ≤ b_i (or = b_i), each row for itself or all together.

With ``worst`` the first sum is replaced by max_i c_i ‖v_{i+1} − v_i‖²; with ``most`` no step may exceed that. All of
this is convex in p, for −√(pp′) is. The law of the ``last`` node may be given.

A number that no policy's objective is below follows from any multipliers near the best ones. For multipliers λ of
normalisation, μ ≥ 0 of the rows and weights w of the steps, the objective on unit rows is at least Σλ_i − Σμ_i b_i
wherever each cell's matrix T_j = Σ_i w_i c_i (e_i − e_{i+1})(e_i − e_{i+1})ᵀ + diag(δ_ij), with
δ_ij = cost_ij + μ_i a_ij − λ_i, is positive semi-definite on the nodes that the cell may use. Pivots c_i + x_i show
it, with

    x_0 = δ_0,   x_i = δ_i + 1/(1/c_{i−1} + 1/x_{i−1}),   δ the diagonal part, and x infinite where a node is left out:

no large numbers are subtracted. Where a pivot is not positive the λ are lowered a little, until all are. Where the last
law is given its λ may differ from cell to cell, and is as large as the pivots allow.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError, InputError

ROUNDING = 64 * np.finfo(float).eps  # covers the few roundings of each x, relative to what they are made of
SHARE = 1e-3  # of the largest change of a λ, which all may be changed by
FIRST = 1e-14
HALVINGS = 4
MOST = 1e30  # a larger change of the λ would prove nothing


@dataclass(frozen=True)
class LawBounds:
    """Linear bounds on the laws: Σ_j ``coefficients``_ij p_ij ≤ ``bounds``_i for every node i, or = where ``equal``.

    Where ``shared`` the sums over all nodes are added up and obey one bound.

    >>> LawBounds(np.ones((3, 2)), np.full(3, 0.5)).multipliers
    3
    """

    coefficients: Array
    bounds: Array
    equal: bool = False
    shared: bool = False

    @property
    def multipliers(self) -> int:
        """How many bounds these are."""
        return 1 if self.shared else len(self.coefficients)

    def of(self, p: Array) -> Array:
        """The left sides."""
        sums: Array = np.einsum("ij,ij->i", self.coefficients, p)
        return np.asarray(sums.sum(keepdims=True) if self.shared else sums)


@dataclass(frozen=True)
class Chain:
    """A chain problem: ``couplings`` c (N of them), and for nodes × cells what is ``allowed`` and its ``cost``.

    >>> two = Chain(couplings=np.array([1.0]), allowed=np.ones((2, 2), dtype=bool))
    >>> round(two.energy(np.array([[1.0, 0.0], [0.5, 0.5]])), 4)
    0.5858
    """

    couplings: Array
    allowed: Array
    cost: Array | None = None
    rows: tuple[LawBounds, ...] = ()
    worst: bool = False
    most: float | None = None
    last: Array | None = None

    def __post_init__(self) -> None:
        if self.allowed.shape[0] != len(self.couplings) + 1:
            raise InputError(f"{len(self.couplings)} couplings join one node more, got {self.allowed.shape[0]} nodes")
        if not self.allowed.any(axis=1).all():
            node = int(np.argmin(self.allowed.any(axis=1)))
            raise InputError(f"node {node} of the values has no answer that is allowed")

    def steps(self, p: Array) -> Array:
        """c_i ‖v_{i+1} − v_i‖² for every step."""
        return np.asarray(self.couplings * (np.diff(np.sqrt(p), axis=0) ** 2).sum(axis=1))

    def energy(self, p: Array) -> float:
        """The objective of laws p."""
        steps = self.steps(p)
        spent = 0.0 if self.cost is None else float((self.cost * p).sum())
        return float(steps.max() if self.worst else steps.sum()) + spent


@dataclass(frozen=True)
class Dual:
    """Multipliers: of normalisation, of each kind of rows, and, for the worst step, the weights of the steps."""

    normalisation: Array
    rows: tuple[Array, ...] = ()
    steps: Array | None = None


@dataclass(frozen=True)
class ChainSolution:
    """Laws p (rows of unit sum), multipliers, the objective, and a number that no laws' objective is below."""

    laws: Array
    dual: Dual
    value: float
    lower_bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """The relative distance of value and bound."""
        return (self.value - self.lower_bound) / self.value if self.value > 0 else 0.0


def indefinite(couplings: Array, diagonal: Array, allowed: Array) -> Array:
    """Tell for each column whether its matrix is not positive definite.

    >>> allowed = np.ones((2, 2), dtype=bool)
    >>> indefinite(np.array([1.0]), np.array([[1.0, 1.0], [-0.49, -0.51]]), allowed)
    array([False,  True])
    """
    return _eliminated(couplings, diagonal, allowed)[0]


def _eliminated(couplings: Array, diagonal: Array, allowed: Array) -> tuple[Array, Array]:
    """Which columns are not positive definite, and what the nodes before the last add to its diagonal."""
    left_out = ~allowed
    some = np.asarray(left_out.any(axis=1))
    broken = np.zeros(diagonal.shape[1], dtype=bool)
    x = added = np.zeros(diagonal.shape[1])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        resistance: Array = np.asarray(1 / couplings)
        for i, row in enumerate(diagonal):
            added = added if i == 0 else 1 / (resistance[i - 1] + 1 / x)
            x = row + added
            if some[i]:
                x[left_out[i]] = np.inf
            broken |= ~(x > (-couplings[i] if i < len(couplings) else 0.0))
    return broken, added


def added_cost(chain: Chain, rows: tuple[Array, ...]) -> Array:
    """What a probability costs besides its share of the steps: its own cost, and what the rows' multipliers charge."""
    extra = np.zeros(chain.allowed.shape) if chain.cost is None else chain.cost.copy()
    for m, kind in zip(rows, chain.rows, strict=True):
        extra += kind.coefficients * m[:, None]
    return extra


def lower_bound(chain: Chain, dual: Dual) -> tuple[float, Dual]:
    """Give a proved lower bound on the objective, and the multipliers, made feasible, that prove it."""
    rows = tuple(m if kind.equal else np.maximum(m, 0.0) for m, kind in zip(dual.rows, chain.rows, strict=True))
    couplings, steps = chain.couplings, None
    paid = [m * kind.bounds for m, kind in zip(rows, chain.rows, strict=True)]
    if dual.steps is not None:
        steps = np.maximum(dual.steps, 0.0)
        steps = steps / steps.sum() if chain.worst else steps
        couplings = couplings * (steps if chain.worst else 1 + steps)
    if chain.most is not None and steps is not None:
        paid.append(chain.most * steps)
    extra = added_cost(chain, rows)
    weights = np.zeros(len(extra))
    weights[:-1] += couplings
    weights[1:] += couplings
    scale = np.minimum(weights, np.abs(dual.normalisation) + ROUNDING * weights + 1e-300)
    scale = np.maximum(scale, SHARE * scale.max())
    if chain.last is not None:
        scale[-1] = 0.0

    def tested(lam: Array) -> tuple[Array, Array]:
        """The margin for rounding is taken off the matrix that is tested; a law that is given needs no proof."""
        diagonal = extra - lam[:, None] - ROUNDING * (np.abs(extra) + np.abs(lam)[:, None])
        if chain.last is not None:
            diagonal[-1] = np.inf
        return _eliminated(couplings * (1 - ROUNDING), diagonal, chain.allowed)

    lam = dual.normalisation - scale * _least(lambda low: not tested(dual.normalisation - low * scale)[0].any())
    if chain.last is not None:  # cell by cell, the most that its multiplier may be
        used = chain.last > 0
        lam[-1] = float(((extra[-1] + tested(lam)[1])[used] * chain.last[used]).sum())
    sums = [lam, *(-part for part in paid)]
    total, size = (sum(float(part.sum()) for part in parts) for parts in (sums, [np.abs(part) for part in sums]))
    return float(total - ROUNDING * size), Dual(lam, rows, steps)


def _least(proves: Callable[[float], bool]) -> float:
    """A number not much above the least that proves: tried in powers of four, then halved towards."""
    if proves(0.0):
        return 0.0
    below, above = 0.0, FIRST
    while not proves(above):
        below, above = above, 4 * above
        if not above < MOST:
            raise ConvergenceError("the chain problem has no solution, or its solver found none")
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        below, above = (below, middle) if proves(middle) else (middle, above)
    return above
