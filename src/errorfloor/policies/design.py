"""The designer of policies: from where answers may live and what quality is wanted, to the best p(y|s)."""

from typing import Any

from errorfloor.checks import positive, whole
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.policies.designing import (
    CELLS_A_LENGTH,
    FEWEST_NODES,
    MOST_CELLS,
    MOST_NODES,
    NODES_A_LENGTH,
    PolicyGrid,
    design_on,
)
from errorfloor.policies.policy import Policy
from errorfloor.policies.wish import PolicyWish
from errorfloor.support import Interval


def design_answer(
    outputs: Any,
    values: Interval,
    *,
    max_loss: float | None = None,
    average_loss: float | None = None,
    loss_weight: float | None = None,
    weight: Any = None,
    loss: Any = "squared",
    noise: Any = None,
    objective: str = "average",
    tolerance: float = 0.02,
    nodes: int | None = None,
    cells: int | None = None,
) -> Policy:
    """Give the policy p(y|s) that reveals least about the true value s while every answer stays in ``outputs``.

    Minimises J = ∫q(s)I(s)ds, the average information, or with ``objective="worst"`` the supremum of I(s); subject to
    E[ℓ(y − s)|s] ≤ ``max_loss`` for every s, or on average (``average_loss``), or with ϱ times the mean loss added to
    the objective (``loss_weight``).

    Guarantee: no draw leaves ``outputs``, nor y − s ``noise``, at nodes or between them; the bound on the loss holds
    for every s; the information is that of the law that is sampled; ``policy.certificate`` states average and
    supremum and a proved lower bound.

    Parameters
    ----------
    outputs
        Where answers live: ``Interval``, ``HalfLine``, ``Integers(low, high)``, or a list of numbers.
    values
        The ``Interval`` of true values.
    max_loss, average_loss, loss_weight
        The quality, one of the three; not needed where ``noise`` already forces the answer to follow the value.
    weight
        None: all values matter alike. Or a function p(s), for a query f(x) = x.
    loss
        "squared", "absolute", or a factor for the squared loss.
    noise
        Where y − s must stay too.
    objective
        "average" or "worst".
    tolerance
        The grids are refined until value and lower bound differ by less than this share.
    nodes, cells
        Fix the grids instead: the number of steps of s, and of cells of an interval of answers.

    Raises
    ------
    IllPosedError
        A constant answer would do, or none is good enough; the message says which.
    ConvergenceError
        The tolerance was not reached on the finest grid.

    Examples
    --------
    >>> share = design_answer(Interval(0, 1), Interval(0, 1), max_loss=0.04, nodes=12, cells=24)
    >>> share.largest_loss <= 0.04, bool(Interval(0, 1).contains(share.sample(0.01, rng=1)))
    (True, True)
    >>> share.certificate.average_information <= share.certificate.largest_information
    True
    >>> design_answer(Interval(0, 1), Interval(0, 1))
    Traceback (most recent call last):
    errorfloor.errors.IllPosedError: without a quality term the best answer is the same for every value and tells
    nothing (J = 0): set max_loss, average_loss or loss_weight
    """
    wish = PolicyWish.parse(outputs, values, max_loss, average_loss, loss_weight, weight, loss, noise, objective)
    tolerance = positive("tolerance", tolerance)
    steps = max(FEWEST_NODES, round(NODES_A_LENGTH * wish.values.width / wish.length))
    count = max(2 * FEWEST_NODES, round(CELLS_A_LENGTH * (wish.high - wish.low) / wish.length))
    if nodes is not None or cells is not None:
        steps = steps if nodes is None else whole("nodes", nodes, least=2)
        count = count if cells is None else whole("cells", cells, least=2)
        if steps > MOST_NODES or count > MOST_CELLS:
            raise InputError(
                f"at most {MOST_NODES} nodes and {MOST_CELLS} cells are solved for, got {steps} and {count}: "
                f"narrow the values, or allow more loss"
            )
        return design_on(wish, PolicyGrid.of(wish, steps, count))
    if steps > MOST_NODES or count > MOST_CELLS:
        raise ConvergenceError(
            f"laws change over a length of {wish.length:.3g}, and values as wide as {wish.values.width:g} would take "
            f"{steps} nodes and {count} cells, above {MOST_NODES} and {MOST_CELLS}: narrow the values, or ask for less"
        )
    before = None
    while steps <= MOST_NODES and count <= MOST_CELLS:
        policy = design_on(wish, PolicyGrid.of(wish, steps, count))
        certificate = policy.certificate
        assert certificate is not None, "every design has a certificate"
        settled = wish.noise is None or (
            before is not None and abs(before - certificate.value) <= tolerance * certificate.value
        )
        if certificate.gap <= tolerance and settled:
            return policy
        before = certificate.value
        steps, count = 2 * steps, 2 * count if wish.points is None else count
    raise ConvergenceError(
        f"the tolerance {tolerance:g} was not reached with {steps // 2} nodes: allow more, or fix nodes and cells"
    )
