"""A problem restricted to a slice, in the slice's own coordinates."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.designer.problem import Problem
from errorfloor.designer.slices.geometry import Slice, moved_by
from errorfloor.noise import Loss


def on_slice(problem: Problem, found: Slice) -> tuple[Slice, Problem, float]:
    """The problem in the slice's own coordinates, and a constant that is left out of its loss."""
    found, loss, offset = (found, None, 0.0) if problem.loss is None else _with_loss(problem.loss, found)
    pseudo = np.linalg.pinv(found.basis)
    K = pseudo @ problem.sensitivity @ pseudo.T
    bound = None if problem.max_loss is None else problem.max_loss - offset
    return found, Problem(found.inner, (K + K.T) / 2, loss, problem.loss_weight, bound, K.shape[0]), offset


def _with_loss(loss: Loss, found: Slice) -> tuple[Slice, Loss, float]:
    """The loss along the slice: quadratic once the slice's coordinates start where it is least, else a function."""
    B, r = found.basis, found.basis.shape[1]
    if loss.weight is not None:
        own = B.T @ loss.weight @ B
        least = -np.linalg.solve(own, B.T @ loss.weight @ found.shift)
        moved = replace(found, shift=found.shift + B @ least, inner=moved_by(found.inner, least))
        return moved, Loss((own + own.T) / 2), float(loss(moved.shift))

    def along(z: Any) -> Any:
        points = np.asarray(z)[..., None] if r == 1 else np.asarray(z)
        return loss(found.shift + points @ B.T)

    return found, Loss(None, along), 0.0
