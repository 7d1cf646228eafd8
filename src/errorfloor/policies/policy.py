"""A policy: the law of the answer for every true value, known exactly between the nodes too."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers, vector
from errorfloor.errors import InputError
from errorfloor.floors import Floor, Pair, floor, floor_of_any_noise
from errorfloor.floors.two_point import success
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.noise import Gaussian
from errorfloor.policies import sphere
from errorfloor.policies.answers import loss_of
from errorfloor.policies.law import AnswerLaw
from errorfloor.values import Value

PIECES = 16  # of each step, where suprema between nodes are bounded
NOTHING = 1e-300  # information below this is none
SAME = 1e-9  # relative, what is stated and what is found again on another machine
OBJECTIVES = ("average", "worst")


@dataclass(frozen=True, eq=False)
class PolicyCertificate(Value):
    """Numbers of the policy that is sampled, and a bound that no other policy beats.

    ``value`` is the objective: the average or the largest information, plus ϱ times the mean loss where there is a
    weight ϱ. ``lower_bound`` is proved for all policies named in ``scope``. Floors follow from ``largest_information``.
    The average is ∫qI: with the weights of a query it counts |∇f|², and is about the data, not about s.

    >>> known = PolicyCertificate(
    ...     objective="average", value=80.0, lower_bound=78.0, scope="every policy", average_information=80.0,
    ...     largest_information=90.0, largest_loss=0.01, average_loss=0.009,
    ... )
    >>> known.gap
    0.025
    >>> print(known.explain())
    average information 80, largest 90; mean loss at most 0.01 at every value, 0.009 on average; the objective 80 is
    proved to be within 0.026 of the least that every policy can have
    """

    objective: str
    value: float
    lower_bound: float
    scope: str
    average_information: float
    largest_information: float
    largest_loss: float
    average_loss: float
    loss_weight: float | None = None

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES or not isinstance(self.scope, str):
            raise InputError(f"a certificate's objective must be 'average' or 'worst', got {self.objective!r}")
        for name in ("value", "average_information", "largest_information", "largest_loss", "average_loss"):
            _stated(name, getattr(self, name), least=0.0)
        if self.loss_weight is not None:
            _stated("loss_weight", self.loss_weight, least=0.0)
        if _stated("lower_bound", self.lower_bound) > self.value:
            raise InputError(f"a certificate's lower_bound {self.lower_bound:g} is above its value {self.value:g}")

    @property
    def gap(self) -> float:
        """The relative distance of value and bound."""
        return (self.value - self.lower_bound) / self.value if self.value > 0 else 0.0

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"average information {self.average_information:.4g}, largest {rounded_up(self.largest_information, 4)}; "
            f"mean loss at most {rounded_up(self.largest_loss, 4)} at every value, {self.average_loss:.4g} on average; "
            f"the objective {self.value:.4g} is proved to be within {max(self.gap, 0.0) * 1.01 + 5e-4:.2g} of the "
            f"least that {self.scope} can have"
        )


def _stated(name: str, number: Any, least: float = -math.inf) -> float:
    plain = isinstance(number, (int, float)) and not isinstance(number, bool)
    if not plain or not math.isfinite(number) or number < least:
        raise InputError(f"a certificate's {name} must be a finite number{'' if least < 0 else ' ≥ 0'}, got {number!r}")
    return float(number)


@dataclass(frozen=True, eq=False)
class Policy(AnswerLaw):
    """The law p(y|s) of an answer y to the true value s.

    At ``nodes`` s_i the probabilities of the ``cells`` are the rows of ``laws``; between nodes √p moves on great
    circles at constant speed. So every row is a law, and the information between two nodes is exactly 4(angle/h)².

    Guarantee: a draw is in a cell that one of the neighbouring nodes' laws uses; ``largest_information`` is the
    supremum over s of the Fisher information of the answer about s; ``largest_loss`` bounds E[ℓ(y − s)|s] for every s.

    Functions of s (``information``, ``expected_loss``, ``bias``) are for the designer. Evaluated at the true value they
    would tell about it: what is stated about an answer is a supremum over s, or a function of the released y such as
    ``estimate``.

    >>> from errorfloor.policies import Cells
    >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
    >>> two.pdf(1.0, [0.0, 0.5, 1.0]).round(6).tolist(), round(float(two.information(0.3)), 6)
    ([0.2, 0.5, 0.8], 1.656375)
    >>> set(two.sample(np.full(100, 0.5), rng=1).tolist())
    {0.0, 1.0}
    """

    loss: str | float = "squared"
    weights: Array | None = None
    certificate: PolicyCertificate | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.loss, (str, int, float)):
            raise InputError(f"loss must be 'squared', 'absolute' or a number, got {self.loss!r}")
        loss_of(self.loss)
        share = (
            np.full(len(self.nodes), 1 / len(self.nodes)) if self.weights is None else vector("weights", self.weights)
        )
        if share.shape != self.nodes.shape or (share < 0).any() or not share.any():
            raise InputError("weights must be one number for each node, not negative and not all zero")
        self._set(weights=share)
        self._check_certificate()

    def _check_certificate(self) -> None:
        """What a certificate states must be what the laws have: a file may have been changed."""
        known = self.certificate
        if known is None:
            return
        if not isinstance(known, PolicyCertificate):
            raise InputError(f"certificate must be a PolicyCertificate, got {type(known).__name__}")
        for name in ("largest_information", "largest_loss"):
            stated, own = getattr(known, name), getattr(self, name)
            if not math.isclose(stated, own, rel_tol=SAME, abs_tol=1e-300):
                what = name.replace("_", " ")
                raise InputError(
                    f"the certificate states a {what} of {stated:.6g}, but the laws have {own:.6g}: one was changed"
                )

    # -- for the designer: functions of the true value

    @cached_property
    def _information(self) -> Array:
        return np.asarray(4 * (self._angles / np.diff(self.nodes)) ** 2)

    def information(self, s: Any) -> Any:
        """The Fisher information of the answer about s, exact; at a node the larger of its two sides."""
        s = numbers("s", s)
        step, t = self._place(s)
        before = np.where(t == 0, np.maximum(step - 1, 0), step)
        return np.maximum(self._information[step], self._information[before])[()]

    def expected_loss(self, s: Any) -> Any:
        """E[ℓ(y − s)|s]."""
        return self._mean(s, lambda part: self.cells.mean_loss(loss_of(self.loss), part))

    def bias(self, s: Any) -> Any:
        """E[y|s] − s."""
        return self._mean(s, lambda part: self.cells.middle - part[:, None])

    # -- what may be stated

    @property
    def largest_information(self) -> float:
        """The supremum of the information over all values: what floors follow from."""
        return float(self._information.max())

    @cached_property
    def largest_loss(self) -> float:
        """A proved upper bound on E[ℓ(y − s)|s] for every s."""
        return float(self._largest(lambda s: self.cells.mean_loss(loss_of(self.loss), s)).max())

    @cached_property
    def largest_bias(self) -> float:
        """A proved upper bound on |E[y|s] − s| for every s."""
        up = self._largest(lambda s: self.cells.middle - s[:, None]).max()
        down = self._largest(lambda s: s[:, None] - self.cells.middle).max()
        return float(max(up, down))

    def largest_average_loss(self, weights: Any) -> float:
        """A proved upper bound on the mean of E[ℓ(y − s)|s] under weights of s.

        ``weights`` gives for increasing values of s the weight of each, p(s) times a hat function: what the loss is on
        average, if it is linear from one value to the next. It is at most its chord and a bend above.
        """
        h = np.diff(self.nodes)
        costs = self._pieces(lambda s: self.cells.mean_loss(loss_of(self.loss), s))
        fine = np.append((self.nodes[:-1, None] + h[:, None] * np.arange(PIECES) / PIECES).ravel(), self.nodes[-1])
        share = weights(fine)
        ends = sphere.means(self.laws, self._angles, costs)
        above = sphere.bends(self.laws, self._angles, costs).T.ravel()
        chords = float(share[:-1] @ ends[:-1].T.ravel() + share[-1] * ends[-1, -1])
        return (chords + float((share[:-1] + share[1:]) @ above)) * (1 + 1e-12)

    def _largest(self, cost: Any) -> Array:
        return sphere.largest_between(self.laws, self._angles, self._pieces(cost))

    def _pieces(self, cost: Any) -> list[Array]:
        """A cost at the ends of all pieces of the steps."""
        h = np.diff(self.nodes)
        return [cost(self.nodes[:-1] + h * k / PIECES) for k in range(PIECES + 1)]

    def possible(self, y: Any) -> tuple[Any, Any]:
        """The least and the greatest true value at which the released y can occur: a certain interval."""
        cell = self._answered(y)
        used = self.laws > 0
        grown = used.copy()  # a node's neighbour reaches up to it
        grown[1:] |= used[:-1]
        grown[:-1] |= used[1:]
        low = self.nodes[grown.argmax(axis=0)]
        high = self.nodes[len(self.nodes) - 1 - grown[::-1].argmax(axis=0)]
        return low[cell][()], high[cell][()]

    def estimate(self, y: Any) -> tuple[Any, Any]:
        """A centred estimate of the true value from the released y, and its root-mean-square error, under ``weights``.

        Both are functions of y alone: mean and deviation of s given y when s is distributed as the weights say.

        >>> from errorfloor.policies import Cells
        >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
        >>> [round(float(number), 3) for number in two.estimate(1.0)]
        [0.603, 0.27]
        """
        cell = self._answered(y)
        nodes, shares = np.polynomial.legendre.leggauss(4)
        u = (nodes + 1) / 2
        h = np.diff(self.nodes)
        s = self.nodes[:-1, None] + h[:, None] * u
        prior = h[:, None] * shares / 2 * self._prior(u)
        law = self.law(s.ravel()) * prior.ravel()[:, None]
        mass = law.sum(axis=0)
        mean = s.ravel() @ law / np.where(mass > 0, mass, 1.0)
        spread = ((s.ravel()[:, None] - mean) ** 2 * law).sum(axis=0) / np.where(mass > 0, mass, 1.0)
        return mean[cell][()], np.sqrt(spread)[cell][()]

    def _answered(self, y: Any) -> Array:
        """The cells of released answers."""
        cell, inside = self._cell(numbers("y", y))
        if not inside.all():
            raise InputError("y must be an answer of this policy")
        return cell

    def _prior(self, u: Array) -> Array:
        """The weights as a density, linear between nodes."""
        h = np.diff(self.nodes)
        around = np.append(h, 0.0) / 2 + np.insert(h, 0, 0.0) / 2
        density = self.weights / around  # type: ignore[operator]
        return np.asarray(density[:-1, None] * (1 - u) + density[1:, None] * u)

    # -- floors

    def floor(self, jacobian: Any = 1.0, **options: Any) -> Floor:
        """What nobody can learn about the entries behind s, by the supremum of the information over all values.

        ``jacobian`` and ``options`` are those of ``errorfloor.floor``. Along the values the law moves no faster than a
        Gaussian's with the largest information; what is stated holds for every noise of that information.

        >>> from errorfloor.policies import Cells
        >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
        >>> round(two.floor(ranges=(0, 1)).distinguish(1.0), 6)
        0.8
        """
        information = self.largest_information
        if information < NOTHING:  # the same law everywhere, whatever moves or errs behind it
            return floor(Gaussian(1.0), 0.0 * numbers("jacobian", jacobian), **options | {"evaluation_error": 0.0})
        return floor_of_any_noise(information, jacobian, **options)

    def angle(self, distance: Any) -> Any:
        """The largest angle between the laws at two values at most ``distance`` apart, at most ½∫√I along the way."""
        h = np.abs(numbers("distance", distance))
        if np.isnan(h).any():
            raise InputError("distance must be a number, got nan")
        along = np.insert(np.cumsum(self._angles), 0, 0.0)

        def reached(s: Array) -> Array:
            return np.asarray(np.interp(s, self.nodes, along))

        ahead = reached(self.nodes + h[..., None]) - along
        behind = along - reached(self.nodes - h[..., None])
        return np.maximum(ahead.max(axis=-1), behind.max(axis=-1))[()]

    def distinguish(self, distance: Any) -> Any:
        """Best probability of telling two values of s ``distance`` apart from one answer, at even odds.

        At most ½(1 + sin ½∫√I), the integral over the worst stretch of that length: ``floor().distinguish`` or less.
        """
        return success(self.angle(distance))

    def pair(self, first: float, second: float) -> Pair:
        """Exact distances between the laws of the answer at two declared values.

        >>> from errorfloor.policies import Cells
        >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
        >>> round(two.pair(0.0, 1.0).total_variation, 6)
        0.6
        """
        p, q = self.law(numbers("values", [first, second]))
        return Pair.of_laws(abs(float(second) - float(first)), p, q)

    def explain(self) -> str:
        """Say what the policy promises, in sentences that hold for every true value."""
        said = (
            f"Answers to values in {self.nodes[0]:g} … {self.nodes[-1]:g}; whatever the value, the mean loss is at "
            f"most {rounded_up(self.largest_loss, 4)}, the bias at most {rounded_up(self.largest_bias)} and the "
            f"information at most {rounded_up(self.largest_information, 4)}"
        )
        if self.largest_information >= NOTHING:
            off = math.sqrt(1 / self.largest_information)
            said += f", so that an unbiased estimate from one answer is off by {rounded_down(off)} or more"
        return said + (f". {self.certificate.explain()}." if self.certificate else ".")
