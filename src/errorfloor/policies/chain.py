"""The chain problem: how the law of an answer may change along the true values, and what is paid for it.

Values s_0 < … < s_N are nodes, answers y_1 … y_M cells, p_ij the probability of cell j at node i, v = √p:

    minimise  Σ_i c_i ‖v_{i+1} − v_i‖² + Σ_ij cost_ij p_ij
    subject to  Σ_j p_ij = 1,  and rows Σ_j a_ij p_ij ≤ b_i (or = b_i), each row for itself or all together.

With ``worst`` the first sum is replaced by max_i c_i ‖v_{i+1} − v_i‖²; with ``most`` no step may exceed that. All of
this is convex in p, for −√(pp′) is. The law of the ``last`` node may be given.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError


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
