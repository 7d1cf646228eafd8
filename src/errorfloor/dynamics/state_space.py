"""State spaces: how an initial state moves the answers of a whole trajectory, and the law of the noise on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, matrix, numbers, points, symmetric, whole
from errorfloor.dynamics.gramian import complement, gramian_root, observable_subspace
from errorfloor.errors import InputError
from errorfloor.noise import Gaussian, LinearImage, Noise
from errorfloor.noise.information import matrix_root
from errorfloor.random import Bits, bits_from

LONGEST_HORIZON = 10**7


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The system x[k+1] = A_k x[k] with the outputs C_k x[k], k = 0 … T, T the ``horizon``.

    ``A`` is an n×n matrix, or T of them; ``C`` an m×n matrix, or T + 1 of them. ``states`` names the n entries of the
    state, for ``protect`` and for words.
    """

    A: Array
    C: Array
    horizon: int
    states: tuple[str, ...] = field(default=(), kw_only=True)

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the fields that it fills

        def __init__(self, A: ArrayLike, C: ArrayLike, horizon: int, *, states: Sequence[str] = ()) -> None: ...

    def __post_init__(self) -> None:
        horizon = whole("horizon", self.horizon)
        if horizon > LONGEST_HORIZON:
            raise InputError(f"horizon must be at most {LONGEST_HORIZON}, got {horizon}")
        C = _stack("C", self.C, horizon + 1)
        A = _stack("A", self.A, horizon)
        if A.shape[1] != A.shape[2]:
            raise InputError(f"A must be square, got {A.shape[1]}×{A.shape[2]}")
        if C.shape[2] != A.shape[1]:
            raise InputError(f"C must have one column for each of the {A.shape[1]} states, got {C.shape[2]}")
        names = tuple(self.states)
        if names and (len(names) != A.shape[1] or len(set(names)) != len(names)):
            raise InputError(f"states must be {A.shape[1]} different names, got {list(names)!r}")
        if not all(isinstance(name, str) and name for name in names):
            raise InputError(f"states must be names, got {list(names)!r}")
        for name, value in (("A", A), ("C", C), ("horizon", horizon), ("states", names)):
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """The number n of states."""
        return int(self.A.shape[1])

    @property
    def outputs(self) -> int:
        """The number m of numbers in each answer."""
        return int(self.C.shape[1])

    @property
    def constant(self) -> bool:
        """Whether the matrices are the same at every step."""
        return len(self.A) == 1 and len(self.C) == 1

    def state_name(self, state: int) -> str:
        """The name of a state, or its number.

        >>> StateSpace([[1.0]], [[1.0]], 1).state_name(0)
        'state 0'
        """
        return self.states[state] if self.states else f"state {state}"

    def step_matrix(self, k: int) -> Array:
        """A_k."""
        return np.asarray(self.A[min(k, len(self.A) - 1)])

    def output_matrix(self, k: int) -> Array:
        """C_k."""
        return np.asarray(self.C[min(k, len(self.C) - 1)])

    def transition(self, k: int) -> Array:
        """Φ_k = A_{k−1} … A_0, which carries the initial state to step k.

        >>> StateSpace([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 9).transition(3)
        array([[1., 3.],
               [0., 1.]])
        """
        last = whole("step", k, least=0)
        if last > self.horizon:
            raise InputError(f"step must be one of 0 … {self.horizon}, got {last}")
        if len(self.A) == 1:
            return np.linalg.matrix_power(self.A[0], last)
        carried = np.eye(self.dimension)
        for step in self.A[:last]:
            carried = step @ carried
        return carried

    def carry(self, state: Any) -> Array:
        """Give the outputs of the trajectory from an initial state (or from many, along the last axis).

        The result has shape (…, T + 1, m).

        >>> StateSpace([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3).carry([5.0, 2.0])[:, 0]
        array([ 5.,  7.,  9., 11.])
        """
        now = np.atleast_1d(numbers("state", state)) if self.dimension == 1 else points("state", state, self.dimension)
        if now.shape[-1] != self.dimension:
            raise InputError(f"state must have {self.dimension} entries along the last axis, got shape {now.shape}")
        path = np.empty((*now.shape[:-1], self.horizon + 1, self.outputs))
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(self.horizon + 1):
                path[..., k, :] = now @ self.output_matrix(k).T
                if k < self.horizon:
                    now = now @ self.step_matrix(k).T
        if not np.isfinite(path).all():
            raise InputError("the trajectory overflows double precision: shorten the horizon, or rescale the state")
        return path

    @cached_property
    def gramian_root(self) -> Array:
        """R with RᵀR = G = ΨᵀΨ, Ψ the stacked C_k Φ_k."""
        seen = self.observable
        if not self.constant or seen.shape[1] == self.dimension:
            return gramian_root(self.A, self.C, self.horizon)
        # rows C Φ_k stay in what is observed: kept there, a part that grows unseen cannot leak in by rounding
        return np.asarray(gramian_root(seen.T @ self.A @ seen, self.C @ seen, self.horizon) @ seen.T)

    @property
    def gramian(self) -> Array:
        """G = Σ_k Φ_kᵀ C_kᵀ C_k Φ_k, n×n.

        >>> StateSpace([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 2).gramian.round(12)
        array([[3., 3.],
               [3., 5.]])
        """
        return np.asarray(self.gramian_root.T @ self.gramian_root)

    def weight_roots(self, weights: Any) -> Array:
        """Give square roots of quality weights, one m×m matrix for each step, or one for all.

        ``weights`` are T + 1 numbers, one for each step; or an m×m matrix; or T + 1 of those.

        >>> StateSpace([[1.0]], [[1.0]], 2).weight_roots([1.0, 0.0, 4.0])[:, 0, 0]
        array([1., 0., 2.])
        """
        given = numbers("weights", weights)
        if given.ndim > 1:
            each = _stack("weights", given, self.horizon + 1)
            return np.stack([matrix_root(symmetric("weights", one, self.outputs)) for one in each])
        if given.shape != (self.horizon + 1,):
            raise InputError(
                f"weights must be {self.horizon + 1} numbers, one for each step, or matrices, got shape {given.shape}"
            )
        if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
            raise InputError("weights must be finite and not negative, and not all zero")
        return np.sqrt(given)[:, None, None] * np.eye(self.outputs)

    def weighted(self, roots: Array) -> "StateSpace":
        """Give the system whose outputs are these, multiplied by roots of quality weights."""
        A = self.A[0] if len(self.A) == 1 else self.A
        return StateSpace(A, roots @ self.C, self.horizon, states=self.states)

    @cached_property
    def observable(self) -> Array:
        """An orthonormal basis, one a column, of the directions of the initial state that move any answer."""
        return observable_subspace(self.A, self.C, self.horizon)

    @property
    def never_at_risk(self) -> Array:
        """An orthonormal basis of the directions of the initial state that no answer depends on.

        >>> StateSpace([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], 5).never_at_risk
        array([[0.],
               [1.]])
        """
        return complement(self.observable)


def _stack(name: str, value: Any, count: int) -> Array:
    given = numbers(name, value)
    if given.ndim < 3:
        return matrix(name, given)[None]
    if given.ndim > 3 or given.shape[0] not in (1, count):
        raise InputError(f"{name} must be a matrix, or {count} matrices, got an array of shape {given.shape}")
    checked = matrix(name, given.reshape(given.shape[0] * given.shape[1], -1))
    return checked.reshape(given.shape)


def combined(matrix: Array, rows: Array) -> Array:
    """Give matrix·rows by sums of products in a fixed order, the same for one column as for a million.

    >>> combined(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[3.0], [4.0]]))
    array([[11.],
           [ 4.]])
    """
    out = np.zeros((len(matrix), rows.shape[1]))
    for i, coefficients in enumerate(matrix.tolist()):
        first = True
        for coefficient, row in zip(coefficients, rows, strict=True):
            if coefficient == 0.0:
                continue
            term = row if coefficient == 1.0 else coefficient * row
            out[i] = term if first else out[i] + term
            first = False
    return out


@dataclass(frozen=True, eq=False)
class Start:
    """z = ``embedding``·s, s drawn from ``noise``; its information about the initial state is WᵀW, W = ``weights``.

    ``weights`` is meant on the directions that stay uncertain; see ``errorfloor.dynamics.knowledge``. The product is
    formed term by term in a fixed order, so that one draw and a thousand together are the same to the last bit.

    >>> start = Start(Gaussian(1.0), np.array([[2.0], [0.0]]), np.array([[0.5, 0.0]]))
    >>> start.covariance
    array([[4., 0.],
           [0., 0.]])
    """

    noise: Noise
    embedding: Array
    weights: Array

    @cached_property
    def covariance(self) -> Array:
        """Σ, n×n."""
        inner = self.noise.covariance
        product = self.embedding @ inner @ self.embedding.T
        return np.asarray((product + product.T) / 2)

    @property
    def mean(self) -> Array:
        """E z."""
        return np.asarray(self.embedding @ self.noise.mean)

    @property
    def repeatable(self) -> bool:
        """Whether the same bits give the same z on every machine."""
        return isinstance(self._simple[0], _Standard) or self._simple[0].repeatable

    @property
    def law(self) -> dict[str, Any]:
        """What decides the draw, as plain JSON types."""
        return {"noise": self.noise.law, "embedding": self.embedding.tolist()}

    def draw(self, count: int, rng: Any = None) -> Array:
        """Draw z, of shape (count, n)."""
        number = whole("count", count, least=0)
        noise, embedding = self._simple
        drawn = noise._sample(number, bits_from(rng)).reshape(number, noise.dimension)
        return combined(embedding, drawn.T).T

    @cached_property
    def _simple(self) -> tuple["Noise | _Standard", Array]:
        """The noise without the matrices in front of it, which are gathered in one."""
        noise: Any = self.noise
        embedding = self.embedding
        while isinstance(noise, LinearImage):
            noise, embedding = noise.base, embedding @ noise.matrix
        if isinstance(noise, Gaussian) and np.array_equal(noise.covariance, np.eye(noise.dimension)):
            noise = _Standard(noise.dimension)
        return noise, embedding


@dataclass(frozen=True)
class _Standard:
    """Standard normal numbers, each coordinate from the bits of its own draw."""

    dimension: int
    repeatable: bool = True

    def _sample(self, count: int, bits: Bits) -> Array:
        return bits.normals(self.dimension, count).T
