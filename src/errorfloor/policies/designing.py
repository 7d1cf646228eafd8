"""From a wish to a policy: grids, the chain problem on them, and what holds between their nodes."""

from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError, IllPosedError
from errorfloor.policies import sphere
from errorfloor.policies.answers import Cells
from errorfloor.policies.bound import lower_bound
from errorfloor.policies.certificate import PolicyCertificate
from errorfloor.policies.chain import Chain, ChainSolution, Dual, LawBounds
from errorfloor.policies.continuation import solve
from errorfloor.policies.policy import Policy
from errorfloor.policies.wish import PolicyWish

UNUSED = 1e-6  # a cell that no value gives more than this is left out
NODES_A_LENGTH, CELLS_A_LENGTH = 5, 10
FEWEST_NODES, MOST_NODES, MOST_CELLS = 16, 2048, 8192
MOST_ROUNDS = 12
TOLERANCE = 1e-8  # of each chain problem: a blunter solution would use every cell a little


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
        reached = _reached(wish, policy)
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


def _reached(wish: PolicyWish, policy: Policy) -> float:
    """The loss that is bounded: at every value, or on average."""
    if wish.max_loss is not None:
        return policy.largest_loss
    return policy.largest_average_loss(wish.weights.nodes)


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
    loose = replace(chain, rows=_loosened(wish, chain))
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


def _loosened(wish: PolicyWish, chain: Chain) -> tuple[LawBounds, ...]:
    bound = wish.max_loss if wish.max_loss is not None else wish.average_loss
    return tuple(replace(rows, bounds=np.full_like(rows.bounds, bound)) for rows in chain.rows)


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
