"""How much each true value matters: q(s) for information, p(s) for quality."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers, vector
from errorfloor.errors import InputError
from errorfloor.support import Box, Interval

NODES, SHARES = np.polynomial.legendre.leggauss(6)
QUADRATURE = 200_000  # points at which a query is evaluated
MOST_ENTRIES = 6  # with eight points along each of them, a little more


@dataclass(frozen=True)
class Weights:
    """Cumulated weights: ``information``(s) = ∫q and ``quality``(s) = ∫p up to s, and 1/q's where it is known.

    >>> flat = Weights.uniform(Interval(0, 2))
    >>> flat.steps(np.array([0.0, 1.0, 2.0]))[0].tolist(), flat.nodes(np.array([0.0, 1.0, 2.0])).tolist()
    ([0.5, 0.5], [0.25, 0.5, 0.25])
    """

    values: Interval
    density: Callable[[Array], Array] | None = None
    table: tuple[Array, Array, Array] | None = None  # s, ∫q, ∫p

    @classmethod
    def uniform(cls, values: Interval) -> "Weights":
        """Every value matters alike."""
        return cls(values)

    @classmethod
    def of_function(cls, values: Interval, function: Callable[..., Any]) -> "Weights":
        """p(s) given as a function, for the query f(x) = x, where q = p; it need not be normalised.

        >>> bell = Weights.of_function(Interval(-3, 3), lambda s: np.exp(-(s**2)))
        >>> round(float(bell.nodes(np.linspace(-3, 3, 7)).sum()), 9)
        1.0
        """

        def checked(s: Array) -> Array:
            try:
                with np.errstate(all="ignore"):  # what is not a number is refused below
                    found = np.broadcast_to(np.asarray(function(s), dtype=float), s.shape)
            except (TypeError, ValueError, ArithmeticError) as problem:
                raise InputError(f"weight must give a number for each value of an array of them: {problem}") from None
            if not (np.isfinite(found) & (found > 0)).all():
                raise InputError("weight must be a positive, finite number at every value: narrow the values instead")
            return found

        grid = np.linspace(values.low, values.high, 513)
        mass = float(_integrals(checked, grid).sum())
        return cls(values, density=lambda s: checked(s) / mass)

    @classmethod
    def of_query(
        cls, query: Callable[..., Any], gradient: Callable[..., Any], data: Interval | Box, weight: Any = None
    ) -> "Weights":
        """Derive q(s) = ∫p(x)|∇f|²δ(f(x) − s)dx and p(s) = ∫p(x)δ(f(x) − s)dx from a query and a weight on the data.

        ``query`` and ``gradient`` take points (count, n) and give (count,) and (count, n); so does ``weight``, uniform
        without it. The integrals are sums over a regular grid of the data.

        >>> both = Weights.of_query(lambda x: x.sum(axis=1), np.ones_like, Box([0, 0], [1, 1]))
        >>> both.values, both.nodes(np.array([0.0, 1.0, 2.0])).round(3).tolist()
        (Interval(low=0.0, high=2.0), [0.167, 0.666, 0.167])
        """
        if not isinstance(data, (Interval, Box)):
            raise InputError(f"data must be an Interval or a Box of data, got {type(data).__name__}")
        if not callable(query) or not callable(gradient) or not (weight is None or callable(weight)):
            raise InputError("query, gradient and weight must be functions of points of the data, (count, n)")
        low, high = data.bounding_box
        if len(low) > MOST_ENTRIES:
            raise InputError(f"weights are integrated over at most {MOST_ENTRIES} entries of data, got {len(low)}")
        side = max(8, int(QUADRATURE ** (1 / len(low))))
        axes = [a + (b - a) * (np.arange(side) + 0.5) / side for a, b in zip(low, high, strict=True)]
        x = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
        p = np.ones(len(x)) if weight is None else vector("weight", weight(x))
        s = vector("query", query(x))
        slope = numbers("gradient", gradient(x))
        if slope.size != x.size or len(slope) != len(x) or not np.isfinite(slope).all():
            raise InputError(f"gradient must give finite numbers of shape {x.shape}, as the points, got {slope.shape}")
        slope = slope.reshape(x.shape)
        if len(s) != len(x) or len(p) != len(x) or not (p >= 0).all() or not p.any():
            raise InputError("query and weight must give one number for each point of the data, weights not negative")
        corners = np.stack([part.ravel() for part in np.meshgrid(*zip(low, high, strict=True))], axis=1)
        ends = vector("query", query(corners))
        values = Interval(min(float(s.min()), float(ends.min())), max(float(s.max()), float(ends.max())))
        order = np.argsort(s, kind="stable")
        q = np.cumsum((p * (slope**2).sum(axis=1))[order]) / p.sum()
        places = np.concatenate([[values.low], s[order], [values.high]])
        of_p = np.cumsum(p[order]) / p.sum()
        return cls(values, table=(places, np.concatenate([[0.0], q, q[-1:]]), np.concatenate([[0.0], of_p, of_p[-1:]])))

    @property
    def bounds_steps(self) -> bool:
        """Whether the harmonic mean of q over a step is known, so that what happens between nodes can be bounded."""
        return self.table is None

    def steps(self, nodes: Array) -> tuple[Array, Array]:
        """The arithmetic and the harmonic mean of q between neighbouring nodes."""
        if self.table is not None:
            places, q, _ = self.table
            mean = np.diff(np.interp(nodes, places, q)) / np.diff(nodes)
            if not (mean > 0).all():
                raise InputError("the query gives no weight to a part of the values: narrow them, or take fewer nodes")
            return mean, mean
        if self.density is None:
            flat = np.full(len(nodes) - 1, 1 / self.values.width)
            return flat, flat
        density = self.density
        h = np.diff(nodes)
        return _integrals(density, nodes) / h, h / _integrals(lambda s: 1 / density(s), nodes)

    def nodes(self, nodes: Array) -> Array:
        """The share of quality that each node stands for: p times a hat function."""
        h = np.diff(nodes)
        if self.table is not None:
            places, _, p = self.table
            fine = np.linspace(0, 1, 33)
            s = nodes[:-1, None] + h[:, None] * fine
            mass = np.diff(np.interp(s, places, p), axis=1)
            second = (mass * (fine[:-1] + fine[1:]) / 2).sum(axis=1)
            first = mass.sum(axis=1) - second
        elif self.density is None:
            first = second = h / 2 / self.values.width
        else:
            density = self.density
            u = (NODES + 1) / 2
            mass = SHARES / 2 * h[:, None] * density(nodes[:-1, None] + h[:, None] * u)
            first, second = (mass * (1 - u)).sum(axis=1), (mass * u).sum(axis=1)
        share = np.append(first, 0.0) + np.insert(second, 0, 0.0)
        return np.asarray(share / share.sum())


def _integrals(function: Callable[[Array], Array], nodes: Array) -> Array:
    """∫ over each step, by Gauss and Legendre's rule."""
    h = np.diff(nodes)
    s = nodes[:-1, None] + h[:, None] * (NODES + 1) / 2
    return np.asarray(h / 2 * (SHARES * function(s)).sum(axis=1))


def parse(weight: Any, values: Interval) -> Weights:
    """Give the weights meant by None, a function, or ``Weights``."""
    if weight is None:
        return Weights.uniform(values)
    if isinstance(weight, Weights):
        if weight.values.low > values.low or weight.values.high < values.high:
            raise InputError(
                f"weight covers [{weight.values.low:g}, {weight.values.high:g}], not all of the values "
                f"[{values.low:g}, {values.high:g}]"
            )
        return weight
    if callable(weight):
        return Weights.of_function(values, weight)
    raise InputError(f"weight must be None, a function of s, or Weights.of_query(…), got {type(weight).__name__}")
