"""What is asked of a policy, checked once, and refused where the theory says that nothing is left to design."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive
from errorfloor.errors import IllPosedError, InputError, SupportError
from errorfloor.noise import Loss
from errorfloor.policies.answers import Cells, Integers, loss_of, reach
from errorfloor.support import HalfLine, Interval

MOST_POINTS = 4096
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


@dataclass(frozen=True)
class PolicyWish:
    """Outputs, values and quality of a policy.

    ``points`` are the answers where they are a finite set, else None; ``low`` and ``high`` the stretch that an optimal
    policy can need.
    """

    values: Interval
    low: float
    high: float
    points: Array | None
    noise: Interval | HalfLine | None
    loss: Loss
    named_loss: str | float
    weights: Weights
    worst: bool
    max_loss: float | None = None
    average_loss: float | None = None
    loss_weight: float | None = None

    @classmethod
    def parse(
        cls,
        outputs: Any,
        values: Any,
        max_loss: Any,
        average_loss: Any,
        loss_weight: Any,
        weight: Any,
        loss: Any,
        noise: Any,
        objective: Any,
    ) -> "PolicyWish":
        """Check every argument of ``design_answer``."""
        if not isinstance(values, Interval):
            raise InputError(f"values must be an Interval of true values, got {type(values).__name__}")
        if noise is not None and not isinstance(noise, (Interval, HalfLine)):
            raise InputError(f"noise must be an Interval or a HalfLine for y − s, got {type(noise).__name__}")
        if objective not in ("average", "worst"):
            raise InputError(f"objective must be 'average' or 'worst', got {objective!r}")
        given = {"max_loss": max_loss, "average_loss": average_loss, "loss_weight": loss_weight}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise InputError(f"give one of max_loss, average_loss and loss_weight, got {' and '.join(named)}")
        quality = {name: positive(name, given[name]) for name in named}
        if isinstance(outputs, (Interval, HalfLine)):
            points = None
            low, high = reach(outputs, values, noise)
        else:
            low, high = reach(None, values, noise)
            points = _points(outputs, low, high)
            low, high = float(points[0]), float(points[-1])
        wish = cls(
            values,
            low,
            high,
            points,
            noise,
            loss_of(loss),
            loss if isinstance(loss, str) else float(loss),
            Weights.of(values, weight),
            objective == "worst",
            **quality,
        )
        wish._refuse()
        return wish

    @property
    def length(self) -> float:
        """A length over which laws change: the root of the loss that is asked for, or what the noise allows."""
        width = self.values.width
        candidates = [width]
        bound = self.max_loss if self.max_loss is not None else self.average_loss
        if bound is not None:
            squared = self.loss.weight
            candidates.append(bound if squared is None else (bound / float(squared[0, 0])) ** 0.5)
        if self.loss_weight is not None:
            rate = self.loss_weight * width if self.worst else self.loss_weight
            power = 1 / 3 if self.loss.weight is None else 1 / 4
            scale = 1.0 if self.loss.weight is None else float(self.loss.weight[0, 0])
            candidates.append((1 / (rate * scale)) ** power)
        if isinstance(self.noise, Interval):
            candidates.append(self.noise.width / 5)
        return min(candidates)

    def _refuse(self) -> None:
        common = self._constant_answers()
        free = self.max_loss is None and self.average_loss is None and self.loss_weight is None
        if free and self.noise is None:
            raise IllPosedError(
                "without a quality term the best answer is the same for every value and tells nothing (J = 0): set "
                "max_loss, average_loss or loss_weight"
            )
        if free and common is not None:
            raise IllPosedError(
                f"without a quality term J = 0: answers in {common[0]:g} … {common[1]:g} are allowed for every value, "
                f"so the answer need not depend on it; set max_loss, average_loss or loss_weight, or narrow the noise"
            )
        s = np.linspace(self.values.low, self.values.high, 2049)
        if self.max_loss is not None:
            nearest = self._nearest(s)
            least = float(self._loss_at(nearest - s).max())
            if self.max_loss <= least * (1 + 1e-9):
                raise IllPosedError(
                    f"max_loss {self.max_loss:g} cannot be met: at some value every allowed answer loses {least:.6g} "
                    f"or more",
                    smallest=least,
                )
        if common is None or (self.max_loss is None and self.average_loss is None):
            return
        if self.points is None:
            options = np.linspace(*common, 2049)
        else:
            options = self.points[(self.points >= common[0]) & (self.points <= common[1])]
        if self.max_loss is not None:
            ends = np.array([self.values.low, self.values.high])
            constant = float(self._loss_at(options[:, None] - ends).max(axis=1).min())
            if self.max_loss >= constant:
                raise IllPosedError(
                    f"max_loss {self.max_loss:g} is met by one constant answer, whose loss is at most {constant:.6g} "
                    f"everywhere: it tells nothing (J = 0), and no policy is better; ask for less",
                    largest=constant,
                )
        elif self.average_loss is not None:
            share = self.weights.nodes(s)
            constant = float((self._loss_at(options[:, None] - s) * share).sum(axis=1).min())
            if self.average_loss >= constant * (1 - 1e-6):
                raise IllPosedError(
                    f"average_loss {self.average_loss:g} is at least the spread of the values themselves, "
                    f"{constant:.6g}: the best answer is constant and tells nothing (J = 0); ask for less, or for "
                    f"max_loss, which averages cannot undercut",
                    largest=constant,
                )

    def _loss_at(self, w: Array) -> Array:
        return np.abs(w) if self.loss.weight is None else float(self.loss.weight[0, 0]) * w**2

    def _constant_answers(self) -> tuple[float, float] | None:
        """The answers that are allowed for every value, if they have a length (or are some points)."""
        low, high = self.low, self.high
        if self.noise is not None:
            (a,), (b,) = self.noise.bounding_box
            low, high = max(low, self.values.high + float(a)), min(high, self.values.low + float(b))
        if self.points is not None:
            inside = self.points[(self.points >= low) & (self.points <= high)]
            return (float(inside[0]), float(inside[-1])) if inside.size else None
        return (low, high) if low < high else None

    def _nearest(self, s: Array) -> Array:
        low, high = np.full_like(s, self.low), np.full_like(s, self.high)
        if self.noise is not None:
            (a,), (b,) = self.noise.bounding_box
            low, high = np.maximum(low, s + float(a)), np.minimum(high, s + float(b))
        if self.points is None:
            return np.clip(s, low, high)
        after = np.clip(np.searchsorted(self.points, s), 1, max(1, len(self.points) - 1))
        left, right = self.points[after - 1], self.points[np.minimum(after, len(self.points) - 1)]
        return np.where(np.abs(left - s) <= np.abs(right - s), left, right)

    def cells(self, count: int) -> Cells:
        """The answers cut into about ``count`` cells; points stay points."""
        return Cells.of_interval(self.low, self.high, count) if self.points is None else Cells.of_points(self.points)


def _points(outputs: Any, low: float, high: float) -> Array:
    """Points that a policy can need: within the stretch, and the next one beyond either end."""
    if isinstance(outputs, Integers):
        points = outputs.points(low, high)
    else:
        try:
            points = Cells.of_points(outputs).low
        except InputError as problem:
            raise InputError(
                f"outputs must be an Interval, a HalfLine, Integers or a list of numbers: {problem}"
            ) from None
        first = max(int(np.searchsorted(points, low, side="right")) - 1, 0)
        last = min(int(np.searchsorted(points, high, side="left")), points.size - 1)
        points = points[first : last + 1] if first <= last else points[last : first + 1]
    if points.size > MOST_POINTS:
        raise SupportError(
            f"outputs hold {points.size} points between {low:g} and {high:g}; at most {MOST_POINTS} are solved for"
        )
    if points.size < 2:
        raise IllPosedError("only one answer is left for all values: it is constant and tells nothing (J = 0)")
    return points
