"""How much each true value matters: q(s) for information, p(s) for quality."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.support import Interval

NODES, SHARES = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True)
class Weights:
    """The weight of each true value s: for the query f(x) = x that of information, q(s), is that of quality, p(s).

    >>> flat = Weights(Interval(0, 2))
    >>> flat.steps(np.array([0.0, 1.0, 2.0]))[0].tolist(), flat.nodes(np.array([0.0, 1.0, 2.0])).tolist()
    ([0.5, 0.5], [0.25, 0.5, 0.25])
    """

    values: Interval
    density: Callable[[Array], Array] | None = None

    @classmethod
    def of(cls, values: Interval, function: Any) -> "Weights":
        """Give those meant by None, for values that matter alike, or by a function p(s), which need not be normalised.

        >>> bell = Weights.of(Interval(-3, 3), lambda s: np.exp(-(s**2)))
        >>> round(float(bell.nodes(np.linspace(-3, 3, 7)).sum()), 9)
        1.0
        """
        if function is None:
            return cls(values)
        if not callable(function):
            raise InputError(f"weight must be None or a function of s, got {type(function).__name__}")

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

    def steps(self, nodes: Array) -> tuple[Array, Array]:
        """The arithmetic and the harmonic mean of q between neighbouring nodes."""
        if self.density is None:
            flat = np.full(len(nodes) - 1, 1 / self.values.width)
            return flat, flat
        density = self.density
        h = np.diff(nodes)
        return _integrals(density, nodes) / h, h / _integrals(lambda s: 1 / density(s), nodes)

    def nodes(self, nodes: Array) -> Array:
        """The share of quality that each node stands for: p times a hat function."""
        h = np.diff(nodes)
        if self.density is None:
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
