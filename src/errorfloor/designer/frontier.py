"""The frontier of information against loss: what each step of quality costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.blas import one_thread
from errorfloor.checks import Array, positive
from errorfloor.designer.cache import recall, remember
from errorfloor.designer.closed_forms.certified import closed_form
from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.numerical import numerical_design
from errorfloor.designer.problem import Problem
from errorfloor.designer.progress import ProgressBar
from errorfloor.designer.well_posed import check_stretch, check_well_posed
from errorfloor.errors import InputError
from errorfloor.noise import Loss, Noise
from errorfloor.support import Support

POINTS = 12


@dataclass(frozen=True, eq=False)
class Frontier:
    """Noises of least information at rising losses, each a design with its own certificate.

    >>> from errorfloor.noise import Gaussian
    >>> frontier = Frontier((Gaussian(1.0), Gaussian(4.0)), np.array([1.0, 4.0]), np.array([1.0, 0.25]))
    >>> len(frontier), frontier[1].information
    (2, array([[0.25]]))
    """

    noises: tuple[Noise, ...]
    losses: Array
    information: Array

    def __len__(self) -> int:
        """The number of points."""
        return len(self.noises)

    def __getitem__(self, index: int) -> Noise:
        """The noise of a point."""
        return self.noises[index]

    def plot(self, **options: Any) -> Any:
        """Draw the curve (needs the extra ``plots``); options are those of ``errorfloor.plots.frontier``."""
        from errorfloor import plots

        return plots.frontier(self, **options)


def tradeoff(
    support: Support,
    *,
    jacobian: Any = None,
    sensitivity: Any = None,
    loss: Any = "squared",
    max_losses: Sequence[float] | None = None,
    points: int = POINTS,
    progress: Progress | None = None,
) -> Frontier:
    """Give the frontier of J = Tr(K I_w) against E ℓ(w): the least information at each of several losses.

    Each point is the design with ``max_loss`` set to that loss, found from its neighbour's, and kept on disk as designs
    are. Without ``max_losses`` they
    run, evenly in the logarithm, from a fiftieth of the way above the least loss that the support allows to the loss
    beyond which nothing is gained (on an unbounded support: over a factor of a hundred around the query's own scale).

    Guarantee: every point is certified by itself; J falls along the curve and is convex in the loss.

    Parameters
    ----------
    support, jacobian, sensitivity, loss
        As for ``design``.
    max_losses
        The losses of the points, in any order.
    points
        Their number, if they are not given.
    progress
        As for ``design``.

    Raises
    ------
    IllPosedError, InputError
        As ``design`` does.

    Examples
    --------
    >>> from errorfloor.support import Interval
    >>> frontier = tradeoff(Interval(-1, 1), max_losses=[0.05, 0.1, 0.2])
    >>> frontier.information.round(4)
    array([20.0124, 10.7996,  9.8696])
    """
    if max_losses is None:
        losses = _losses(support, jacobian, sensitivity, loss, points)
    else:
        losses = np.sort([positive("max_losses", value) for value in max_losses])
    if len(losses) == 0:
        raise InputError("max_losses must hold at least one loss")
    if progress is not None:
        noises = _walk(support, jacobian, sensitivity, loss, losses, progress)
    else:
        with ProgressBar() as bar:
            noises = _walk(support, jacobian, sensitivity, loss, losses, bar)
    K = Problem.parse(support, jacobian, sensitivity, loss, None, float(losses[-1])).sensitivity
    own = np.array([noise.expected_loss(loss) for noise in noises])
    return Frontier(tuple(noises), own, np.array([float(np.trace(K @ noise.information)) for noise in noises]))


def _walk(
    support: Support, jacobian: Any, sensitivity: Any, loss: Any, losses: Array, progress: Progress
) -> list[Noise]:
    """The noises of rising losses, found from the largest down.

    An inactive bound is recognised first, and each point starts from its neighbour.
    """
    noises: list[Noise] = []
    start: tuple[GroundState, float] | None = None
    for k, bound in enumerate(losses[::-1].tolist()):
        progress("frontier", k / len(losses))
        problem = Problem.parse(support, jacobian, sensitivity, loss, None, bound)
        check_well_posed(problem)
        noise, start = _point(problem, start)
        noises.append(noise)
    return noises[::-1]


def _point(problem: Problem, start: tuple[GroundState, float] | None) -> tuple[Noise, tuple[GroundState, float] | None]:
    if problem.rank != problem.support.dimension:
        raise InputError(
            f"a frontier needs independent answers, but K has rank {problem.rank} of {problem.support.dimension}: ask "
            f"for {problem.rank} of them"
        )
    known = closed_form(problem)
    if known is not None:
        return known, None
    check_stretch(problem)
    question = problem.question
    kept = None if question is None else recall(question, problem.value_of)
    if kept is not None and kept.certificate is not None:
        weight = kept.certificate.loss_weight or 0.0
        return kept, (GroundState(kept, kept.certificate.value), weight) if weight > 0 else None
    with one_thread():
        noise, state, weight = numerical_design(problem, start=start)
    if question is not None:
        remember(question, noise)
    return noise, (state, weight) if weight > 0 else None


def _losses(support: Support, jacobian: Any, sensitivity: Any, loss: Any, points: int) -> Array:
    """Losses from tight to loose."""
    if points < 2:
        raise InputError(f"points must be at least 2, got {points}")
    quality: dict[str, Any] = {} if support.is_bounded else {"loss": loss, "loss_weight": 1.0}
    own = design(support, jacobian=jacobian, sensitivity=sensitivity, **quality).expected_loss(loss)
    least = smallest_loss(support, Loss.parse(loss, support.dimension))
    return np.asarray(
        least + (own - least) * np.geomspace(*((0.02, 1.0) if support.is_bounded else (0.1, 10.0)), points)
    )
