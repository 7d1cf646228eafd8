"""One call from a problem to its best noise: in closed form, on disk, or computed."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from errorfloor.blas import one_thread
from errorfloor.designer.cache import recall, remember
from errorfloor.designer.closed_forms import closed_form
from errorfloor.designer.feasibility import check_stretch, check_well_posed
from errorfloor.designer.problem import ErrorProblem, Problem, Progress, error_problem
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.support import Support

PATIENCE = 2.0  # seconds before anything is shown


@contextmanager
def progress_bar(console: Any = None, patience: float = PATIENCE) -> Iterator[Progress]:
    """Give a progress callback that draws itself on standard error, once it has waited long enough.

    Nothing is shown where standard error is no terminal, or rich is not installed; ``console`` overrides both.

    >>> with progress_bar() as told:
    ...     told("eigen-solver", 0.5)
    """
    began, tasks = time.monotonic(), dict[str, Any]()
    bar: Any = None

    def told(what: str, share: float) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - began >= patience:
            bar = _drawn_on(console)
        if bar is not None:
            tasks[what] = tasks[what] if what in tasks else bar.add_task(what, total=1.0)
            bar.update(tasks[what], completed=min(max(share, 0.0), 1.0))

    try:
        yield told
    finally:
        if bar is not None:
            bar.stop()


def _drawn_on(console: Any) -> Any:
    if console is None and not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console or Console(stderr=True), transient=True)
    bar.start()
    return bar


def design(
    support: Support,
    *,
    jacobian: Any = None,
    sensitivity: Any = None,
    loss: Any = None,
    loss_weight: float | None = None,
    max_loss: float | None = None,
    objective: str = "information",
    information_cap: float | None = None,
    condition_cap: float | None = None,
    progress: Progress | None = None,
) -> Noise:
    """Give the noise on ``support`` that reveals least about the data behind a query.

    Minimises J = Tr(K I_w), K = C Cᵀ for a linear query with Jacobian C (P2); with ``loss_weight`` ϱ it minimises
    J + ϱ E ℓ(w) (P3), with ``max_loss`` ϑ it minimises J subject to E ℓ(w) ≤ ϑ (P4). Closed forms are used where they
    are known; otherwise the noise is computed, and kept on disk for the next identical call ($ERRORFLOOR_CACHE moves
    the folder, or switches it off).

    Guarantee: ``noise.information`` is that of the density that is sampled. ``noise.certificate`` states its objective,
    a proved lower bound for every noise that is independent of the data, lives on the support and meets the quality,
    and how that is known.

    Parameters
    ----------
    support
        Where the noise must stay.
    jacobian
        The m×n matrix of the query's derivatives; the identity without it.
    sensitivity
        Instead of ``jacobian``: the m×m matrix K = E[F Fᵀ] of a query that is not linear.
    loss
        "squared" (default), a positive definite matrix R for wᵀRw, or "absolute" on products of intervals.
    loss_weight, max_loss
        The quality asked for; at most one of them.
    objective
        "information": as above. "error": maximise Tr I⁻¹ (P1), which needs a cap.
    information_cap, condition_cap
        For "error": the most that the information I_ii about any entry may be, or the condition number of I.
    progress
        Told what is being done and which share of it; by default a bar on the terminal after two seconds.

    Raises
    ------
    IllPosedError
        No best noise exists; the message names the hypothesis that fails.
    InputError
        An argument cannot be used, or the problem is beyond the designer (a general one in five or more dimensions;
        answers that nearly depend on one another).
    ConvergenceError
        A solver did not reach its tolerance.

    Examples
    --------
    >>> from errorfloor.support import HalfLine, Interval, Reals
    >>> design(Interval(-0.5, 0.5))
    RaisedCosine(low=-0.5, high=0.5)
    >>> design(HalfLine(0.0), max_loss=0.3).scale ** 2
    0.1...
    >>> bounded = design(Interval(-0.5, 0.5), max_loss=0.02)
    >>> round(bounded.expected_loss(), 12), bounded.certificate.gap < 1e-10
    (0.02, True)
    >>> design(Reals(1))
    Traceback (most recent call last):
    errorfloor.errors.IllPosedError: noise of infinite variance is optimal: set max_loss or loss_weight
    """
    if objective not in ("information", "error"):
        raise InputError(f"objective must be 'information' or 'error', got {objective!r}")
    caps = {"information_cap": information_cap, "condition_cap": condition_cap}
    if objective == "error":
        asked = error_problem(support, jacobian, sensitivity, loss_weight, max_loss, **caps)
        return _recalled(asked, progress)
    if any(cap is not None for cap in caps.values()):
        raise InputError("information_cap and condition_cap belong to objective='error': leave them out, or set it")
    problem = Problem.parse(support, jacobian, sensitivity, loss, loss_weight, max_loss)
    check_well_posed(problem)
    known = closed_form(problem)
    if known is not None:
        return known
    check_stretch(problem)
    return _recalled(problem, progress)


def _recalled(problem: Problem | ErrorProblem, progress: Progress | None) -> Noise:
    """Find a design on disk, or compute it and keep it there."""
    known = recall(problem.to_dict(), problem.value_of)
    if known is not None:
        return known
    with one_thread(), nullcontext(progress) if progress is not None else progress_bar() as told:
        noise = _computed(problem, told)
    remember(problem.to_dict(), noise)
    return noise


def _computed(problem: Problem | ErrorProblem, told: Progress) -> Noise:
    from errorfloor.designer import largest_error, numerical  # the solvers are loaded by the first problem for them

    if isinstance(problem, ErrorProblem):
        return largest_error.largest_error(problem, told)
    return numerical.numerical_design(problem, told)
