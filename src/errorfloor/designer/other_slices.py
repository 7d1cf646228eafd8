"""What every other slice costs at least, where the best one was found by a search: its cost is convex in the offset."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.convex_bound import Shadow, Slopes, least_of_convex, simplex
from errorfloor.designer.feasibility import inner_point
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.offsets import Offsets, is_convex
from errorfloor.designer.problem import Problem
from errorfloor.designer.regular import solve_regular
from errorfloor.designer.slices import Costs, on_slice, slice_at
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise import Certificate
from errorfloor.noise.piecewise_losses import TOLERATED

EXACT = 1e-12  # relative rounding of a value or a bound of one slice
RULES = {2: TOLERATED[2], 3: TOLERATED[3]}  # what means of losses with kinks may be off by, by a slice's dimension
FINEST = 1e-11  # gaps below this are not worth a finer look: rounding would count
COARSEST = 1e-2  # gaps above this are not met by a coarser look
NEAR = 1e-3  # of the width of the noise: how far from the chosen slice others are looked at
SOUGHT = 1e-5  # a gap with which the bound is content
DOUBLINGS = 8
PROVED = "no other slice is better by more than the gap: what slices cost is convex in their offset"
UNPROVED = "no proof that no other slice is better: "


@dataclass(frozen=True)
class OtherSlices:
    """What slices of a convex support cost, in units of a ``cost`` that one has, without a bound on the loss."""

    problem: Problem
    offsets: Offsets
    cost: float

    @cached_property
    def half_spaces(self) -> tuple[Array, Array]:
        """Unit normals and depths around all slices that can cost less, in the units of the offsets."""
        A, b = self.offsets.around
        loss, weight = self.problem.loss, self.problem.loss_weight
        if loss is not None and weight is not None and loss.function is None:
            # a slice costs at least the weight times the least loss on it
            within = self.cost / weight
            if loss.weight is None:
                axes, reach = np.eye(A.shape[1]), np.full(A.shape[1], within)
            else:
                values, vectors = np.linalg.eigh(loss.weight)
                axes, reach = vectors.T, np.sqrt(within / values)
            A, b = np.vstack([A, axes, -axes]), np.concatenate([b, reach, reach])
        return A, (b - A @ self.offsets.point) / self.offsets.size

    @cached_property
    def deepest(self) -> tuple[Array, float]:
        """The offset of a slice through the middle of the support, and its depth."""
        offset = self.offsets.of(inner_point(self.problem.support))
        return offset, self.offsets.inside(offset)[1]

    def pulled(self, offset: Array, depth: float) -> Array:
        """The offset, or one nearer to the deepest slice that lies so deep: depth is concave."""
        own = self.offsets.inside(offset)[1]
        far, most = self.deepest
        if own >= depth or most <= own:
            return offset
        share = min((depth - max(own, 0.0)) / (most - max(own, 0.0)), 1.0)
        return np.asarray(offset + share * (far - offset))

    def least(self, offset: Array) -> tuple[float, float] | None:
        """A proved lower bound of what the slice at an offset costs, and its gap; None where there is none."""
        point = self.offsets.inside(offset)[0]
        if not self.problem.support.contains(point):
            return None
        try:
            place = slice_at(self.problem.support, self.offsets.basis, point, proved=False)
            _, inner, constant = on_slice(self.problem, place)
            own = solve_regular(inner).certificate
        except (InputError, ConvergenceError):
            return None
        if own is None or own.lower_bound is None or own.gap is None:
            return None
        return (own.lower_bound + (self.problem.loss_weight or 0.0) * constant) / self.cost, own.gap

    def slopes(self, offset: Array, lower: float, step: float) -> Slopes | None:
        """What bounds of the cost at a slice and at others around it say about its slope."""
        costs = Costs(self.problem, self.offsets.basis)
        steps = step * simplex(len(self.offsets.across))
        values = np.array([costs(self.offsets.inside(offset + each)[0]) for each in steps]) / self.cost
        loss = self.problem.loss
        by_rule = loss is not None and loss.weight is None  # an absolute loss is a given one along a slice
        off = EXACT + (RULES.get(self.offsets.basis.shape[1], 0.0) if by_rule else 0.0)
        return Slopes.between(offset, lower - EXACT * abs(lower), steps, values + off * np.abs(values))

    def shadow(self) -> Shadow:
        """The set of the offsets of all slices that can cost less.

        Of a given loss nothing is known far out. Where there is only one direction to go, a slice that is proved to
        cost more than the chosen one bounds what lies beyond.
        """
        A, b = self.half_spaces
        shadow = Shadow(self.offsets.across, A, b)
        if len(self.offsets.across) > 1:
            return shadow
        ends = shadow.box(np.zeros((0, 1)), np.zeros(0))
        for sign, end in zip((-1.0, 1.0), ends, strict=True):
            if np.isfinite(end[0]):
                continue
            for reach in 2.0 ** np.arange(DOUBLINGS):
                found = self.least(np.array([sign * reach]))
                if found is not None and found[0] >= 1 + EXACT:
                    A, b = np.vstack([A, sign * self.offsets.across]), np.append(b, reach)
                    break
        return Shadow(self.offsets.across, A, b)


def least_of_all(
    problem: Problem, offsets: Offsets, own: Certificate, constant: float, progress: Progress | None = None
) -> tuple[float | None, str]:
    """Give a lower bound for the noises on all slices, and how it is known, or None and why there is none.

    ``own`` is the certificate of the slice at offset 0, its loss without a ``constant``. With a bound ϑ on the loss
    every noise that meets it has J ≥ J + ϱ(Q − ϑ), ϱ the weight on that slice.
    """
    weight = own.loss_weight or 0.0
    if not is_convex(problem.support):
        return None, UNPROVED + "the support is not convex"
    fixed = replace(problem, loss=problem.loss if weight else None, loss_weight=weight or None, max_loss=None)
    bounded = problem.max_loss is not None and own.loss is not None
    cost = own.value + weight * (constant + (own.loss or 0.0) * bounded)
    if not cost > 0:
        return None, UNPROVED + "the loss is negative"
    others = OtherSlices(fixed, offsets, cost)
    tries, tried = 4 + 4 * len(offsets.across), 0

    def step(gap: float) -> float:
        """How far to look for the slope: what is not known of the values counts less the farther, curvature more."""
        return min(float(np.sqrt(np.clip(gap, FINEST, COARSEST))), others.deepest[1] / 4)

    gap = own.gap or 0.0

    def slopes_at(offset: Array) -> Slopes | None:
        nonlocal tried
        tried += 1
        if progress is not None:
            progress("bounding other slices", tried / tries)
        place = others.pulled(offset, 1.5 * step(gap))
        if offset.any() or place.any() or bounded or own.lower_bound is None:
            known = others.least(place)
        else:
            known = (own.lower_bound + weight * constant) / cost, gap
        return None if known is None else others.slopes(place, known[0], step(known[1]))

    found = least_of_convex(
        others.shadow(),
        slopes_at,
        radius=max(NEAR, 3 * step(gap)),
        sought=max(SOUGHT, 3 * gap),
        tries=tries,
    )
    lower = -np.inf if found is None else found * cost - weight * (problem.max_loss or 0.0)
    if lower <= 0:
        return None, UNPROVED + "what is known near this one says nothing about those far away"
    return float(lower), PROVED
