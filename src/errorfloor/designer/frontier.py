"""The frontier of information against loss: what each step of quality costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive
from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.problem import Problem
from errorfloor.designer.progress import ProgressBar
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

    Each point is the design with ``max_loss`` set to that loss. Without ``max_losses`` they run, evenly in logarithms,
    from a fiftieth of the way above the least loss that the support allows to the loss beyond which nothing is gained
    (on an unbounded support: over a factor of a hundred around the query's own scale).

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
    problem = Problem.parse(support, jacobian, sensitivity, loss, None, float(losses[-1]))
    if problem.rank != support.dimension:
        raise InputError(
            f"a frontier needs independent answers, but K has rank {problem.rank} of {support.dimension}: ask for "
            f"{problem.rank} of them"
        )
    asked: dict[str, Any] = {"jacobian": jacobian, "sensitivity": sensitivity, "loss": loss}
    noises = []
    with ProgressBar() as bar:
        told = bar if progress is None else progress
        for k, bound in enumerate(losses.tolist()):
            told("frontier", k / len(losses))
            noises.append(design(support, max_loss=bound, progress=told, **asked))
    own = np.array([noise.expected_loss(loss) for noise in noises])
    information = np.array([float(np.trace(problem.sensitivity @ noise.information)) for noise in noises])
    return Frontier(tuple(noises), own, information)


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
