"""The designer of policies: from where answers may live and what quality is wanted, to the best p(y|s)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive, whole
from errorfloor.errors import ConvergenceError, IllPosedError, InputError
from errorfloor.policies import sphere
from errorfloor.policies.answers import Cells
from errorfloor.policies.chain import Chain, ChainSolution, Dual, LawBounds, lower_bound
from errorfloor.policies.conic import solve
from errorfloor.policies.policy import Policy, PolicyCertificate
from errorfloor.policies.wish import PolicyWish
from errorfloor.support import Interval

UNUSED = 1e-6  # a cell that no value gives more than this is left out
NODES_A_LENGTH, CELLS_A_LENGTH = 5, 10
FEWEST_NODES, MOST_NODES, MOST_CELLS = 16, 2048, 8192
MOST_ROUNDS = 12
TOLERANCE = 1e-8  # of each chain problem: a blunter solution would use every cell a little


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


@dataclass(frozen=True)
class PolicyGrid:
    """Nodes of the values and cells of the answers."""

    nodes: Array
    cells: Cells

    @classmethod
    def of(cls, wish: PolicyWish, nodes: int, cells: int) -> "PolicyGrid":
        """Equal steps."""
        values = wish.values.low + wish.values.width * (np.arange(nodes + 1) / nodes)
        values[-1] = wish.values.high
        return cls(values, wish.cells(cells))


def design_on(wish: PolicyWish, grid: PolicyGrid) -> Policy:
    """Give the best policy on a grid, with a certificate.

    The chain is solved a few times. Its couplings are turned towards the angles θ of the great circles, for which
    Σcθ² ≥ Σc(θ₀² − g‖Δ₀‖²) + Σcg‖Δ‖² with g = θ₀/sin θ₀, a chain problem again; and the bound on the loss at the
    nodes is tightened until it holds between them.
    """
    _, harmonic = wish.weights.steps(grid.nodes)
    share = wish.weights.nodes(grid.nodes)
    h = np.diff(grid.nodes)
    loss = grid.cells.mean_loss(wish.loss, grid.nodes)
    allowed = grid.cells.allowed(wish.noise, grid.nodes)
    if not allowed.any(axis=1).all():
        raise IllPosedError(
            "between two nodes no answer keeps y − s within the noise for all values: take more nodes and cells, or "
            "wider noise"
        )
    if wish.max_loss is not None:
        least = float(np.where(allowed, loss, np.inf).min(axis=1).max())
        if wish.max_loss <= least:
            raise IllPosedError(
                f"max_loss {wish.max_loss:g} cannot be met on this grid: at some node every allowed cell loses "
                f"{least:.6g} or more; take more cells, or allow more loss",
                smallest=least,
            )
    base = 4 / h**2 if wish.worst else 4 * harmonic / h
    cost = None if wish.loss_weight is None else wish.loss_weight * share[:, None] * loss
    bound = wish.max_loss if wish.max_loss is not None else wish.average_loss
    aim, tight = np.zeros(len(h)), 1.0
    best: Policy | None = None
    cells: Array | None = None
    for _ in range(MOST_ROUNDS):
        rows = _rows(wish, loss, share, tight)
        chain = Chain(base / sphere.sine_ratio(aim**2), allowed, cost, rows, wish.worst)
        found = solve(chain, TOLERANCE, cells)
        cells = found.laws.max(axis=0) > UNUSED
        policy = _policy(wish, grid, found)
        share_of = wish.weights.nodes
        reached = policy.largest_loss if wish.max_loss is not None else policy.largest_average_loss(share_of)
        if bound is None or reached <= bound:
            policy = replace(policy, certificate=_certificate(wish, grid, policy, chain, found, aim))
            better = best is None or policy.certificate.value < best.certificate.value  # type: ignore[union-attr]
            if best is not None and not policy.certificate.value < best.certificate.value * (1 - 1e-4):  # type: ignore[union-attr]
                return policy if better else best
            best = policy if better else best
        if bound is not None and (reached > bound or reached < bound * (1 - 1e-4)):
            tight *= bound / reached * (1 - 2e-5)
        if not wish.worst:
            aim = sphere.angles(np.sqrt(found.laws))
    if best is None:
        raise ConvergenceError(f"the loss between nodes did not come down to the bound in {MOST_ROUNDS} rounds")
    return best


def _rows(wish: PolicyWish, loss: Array, share: Array, tight: float) -> tuple[LawBounds, ...]:
    if wish.max_loss is not None:
        return (LawBounds(loss, np.full(len(loss), wish.max_loss * tight)),)
    if wish.average_loss is not None:
        return (LawBounds(loss * share[:, None], np.array([wish.average_loss * tight]), shared=True),)
    return ()


def _policy(wish: PolicyWish, grid: PolicyGrid, found: ChainSolution) -> Policy:
    """Leave out the cells that are hardly used; what is sampled is what is left."""
    used = found.laws.max(axis=0) > UNUSED
    laws = found.laws[:, used]
    laws = laws / laws.sum(axis=1, keepdims=True)
    return Policy(grid.nodes, grid.cells.chosen(used), laws, wish.named_loss, wish.weights.nodes(grid.nodes))


def _certificate(
    wish: PolicyWish, grid: PolicyGrid, policy: Policy, chain: Chain, found: ChainSolution, aim: Array
) -> PolicyCertificate:
    mean, _ = wish.weights.steps(grid.nodes)
    average = float(mean * np.diff(grid.nodes) @ policy.information(grid.nodes[:-1] + np.diff(grid.nodes) / 2))
    mean_loss = policy.largest_average_loss(wish.weights.nodes)
    paid = 0.0 if wish.loss_weight is None else wish.loss_weight * mean_loss
    value = (policy.largest_information if wish.worst else average) + paid
    proved, scope = _proved(wish, grid, chain, found, aim)
    return PolicyCertificate(
        objective="worst" if wish.worst else "average",
        value=value,
        lower_bound=float(min(max(proved, 0.0), value)),  # neither information nor loss is negative
        scope=scope,
        average_information=average,
        largest_information=policy.largest_information,
        largest_loss=policy.largest_loss,
        average_loss=mean_loss,
        loss_weight=wish.loss_weight,
    )


def _proved(wish: PolicyWish, grid: PolicyGrid, chain: Chain, found: ChainSolution, aim: Array) -> tuple[float, str]:
    """The bound for the wish itself: losses as asked for, angles for chords, answers anywhere."""
    scope = "every policy with these answers"
    dual = found.dual
    asked = wish.max_loss if wish.max_loss is not None else wish.average_loss
    loose = replace(chain, rows=tuple(replace(one, bounds=np.full_like(one.bounds, asked)) for one in chain.rows))
    saved = 0.0
    if wish.points is None and wish.noise is None:
        loose, dual, saved = _anywhere(wish, grid, loose, dual)
        scope = "every policy"
    if wish.noise is not None:
        scope = "every policy on this grid"
    if wish.noise is None and (wish.average_loss is not None or wish.loss_weight is not None):
        scope += ", taking its quality at the nodes,"
    bound = lower_bound(loose, dual)[0] - saved
    if wish.worst:
        if wish.loss_weight is None:
            step = float(np.diff(grid.nodes).min())
            bound = (4 / step * np.arcsin(min(1.0, step * np.sqrt(max(bound, 0.0)) / 4))) ** 2
        return bound, scope
    # Σcθ² ≥ Σc(θ₀² − g‖Δ₀‖²) + Σcg‖Δ‖², cg the chain's couplings, whatever the θ₀
    plain = chain.couplings * sphere.sine_ratio(aim**2)
    chord = (aim * sphere.sine_ratio((aim / 2) ** 2)) ** 2
    return bound + float((plain * aim**2 - chain.couplings * chord).sum()), scope


def _anywhere(wish: PolicyWish, grid: PolicyGrid, chain: Chain, dual: Dual) -> tuple[Chain, Dual, float]:
    """The chain on single points, multipliers to try on it, and what answers between two of the points may save.

    A cell's mean squared loss is g²/12 above its middle's, g the width; between middles, and between the first and last
    of them and the ends, it is below its chord by at most g²/4. An absolute loss is its own chord between a cell's
    ends, except where a node lies inside, and then at most g/2 below.
    """
    low, high, g = grid.cells.low, grid.cells.high, float(grid.cells.width.max())
    if wish.loss.weight is not None:
        points = Cells.of_points(np.concatenate([low[:1], grid.cells.middle, high[-1:]]))
        above, below = (float(wish.loss.weight[0, 0]) * g**2 / part * np.ones(len(grid.nodes)) for part in (12, 4))
    else:
        edges = np.append(low, high[-1])
        points = Cells.of_points(edges)
        on_edge = np.abs(edges[:, None] - grid.nodes).min(axis=0) < 1e-9 * g
        outside = (grid.nodes <= edges[0]) | (grid.nodes >= edges[-1])
        above, below = np.zeros(len(grid.nodes)), np.where(on_edge | outside, 2e-9 * g, g / 2)
    loss = points.mean_loss(wish.loss, grid.nodes)
    share = wish.weights.nodes(grid.nodes)
    charged = np.zeros(len(grid.nodes))
    cost = None
    if wish.loss_weight is not None:
        charged = wish.loss_weight * share
        cost = charged[:, None] * loss
    for kind, multipliers in zip(chain.rows, dual.rows, strict=True):
        charged = charged + np.maximum(multipliers, 0.0) * (share if kind.shared else 1.0)
    rows = tuple(replace(kind, coefficients=loss * (share[:, None] if kind.shared else 1.0)) for kind in chain.rows)
    free = replace(chain, allowed=np.ones(loss.shape, dtype=bool), cost=cost, rows=rows)
    tried = replace(dual, normalisation=dual.normalisation - charged * above)
    return free, tried, float(charged @ below)
