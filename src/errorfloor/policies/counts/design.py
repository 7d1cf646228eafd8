"""``design_counts``: the noise table for counts that tells neighbouring counts apart least."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.checks import Array, whole
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise import Certificate
from errorfloor.policies.chain import Chain, LawBounds, lower_bound
from errorfloor.policies.conic import solve_all
from errorfloor.policies.counts.floor import CountFloor
from errorfloor.policies.counts.rules import CountRules
from errorfloor.policies.counts.table import CountTable
from errorfloor.policies.counts.tail import affinity, tail_row, widest_row
from errorfloor.policies.counts.telling import least_telling
from errorfloor.policies.counts.weights import rows_of_weights

OBJECTIVES = ("average", "worst", "distinguish", "entropy")
FAINT = 1e-12  # probabilities of the moved row that the solver leaves out
CAP_ROOM = 1e-5  # relative: how far the supremum may rise so that the sum is least
PROVED = 0.05  # the relative gap above which no table is given; below, the certificate states it
MOST_ROWS = 400
ENERGY = 8.0  # a step costs 4‖√p − √p′‖² = 8(1 − ρ)


def design_counts(
    *,
    max_noise: int,
    variance: float,
    keep_zero: bool,
    unbiased: bool = True,
    least_positive: int = 1,
    objective: str = "average",
    own_rows: int | None = None,
) -> CountTable:
    """Design a noise table for counts: for each true count i the law p_i of the published count j.

    Rules: |j − i| ≤ ``max_noise``, j ≥ 0, E(j − i)² ≤ ``variance``, E j = i if ``unbiased``; j = 0 or
    j ≥ ``least_positive``; a true 0 stays 0 if ``keep_zero``. (Noise of mean zero can never move a true 0, so with
    ``unbiased`` and without ``keep_zero`` the row of 0 alone has a bias.) Counts below ``own_rows``, twice the largest
    noise by default, have rows of their own; from there on one row is moved along.

    With ρ_i = Σ_j √(p_i(j) p_{i+1}(j)), the objective is

    - ``"average"``: least Σ_i 4‖√p_{i+1} − √p_i‖² = Σ_i 8(1 − ρ_i) over the pairs of neighbours below ``own_rows``;
    - ``"worst"``: least sup_i 8(1 − ρ_i) over all pairs, which is what floors need for a unit that stands in many
      cells, and then the least sum;
    - ``"distinguish"``: least sup_i TV(p_i, p_{i+1}) over all pairs, so that ``floor().distinguish()``, the best
      probability of telling one unit more from one published count, is the least that any table allows; then the
      least sum;
    - ``"entropy"``: greatest entropy of each row, the table in use at statistical offices, for comparison.

    Guarantee: the moved row is the one with the least 8(1 − ρ) between itself and its shift (or the greatest entropy),
    and no table of any kind has a lower average in the long run; among tables with that row from ``own_rows`` on (for
    "distinguish", with any one row moved along) the certificate's lower bound is proved, and the table's own value is
    computed from the weights that are drawn.

    Parameters are keyword-only. Raises ``InputError`` for a variance that the noise cannot have, and ``IllPosedError``
    for counts at which the rules contradict one another, naming them. ``table.explain()`` names the counts that cannot
    have what the others have.

    >>> table = design_counts(max_noise=3, variance=2.0, keep_zero=True)
    >>> widest = design_counts(max_noise=3, variance=2.0, keep_zero=True, objective="entropy")
    >>> bool(table.information() < widest.information()), bool(table.information(99) < widest.information(99))
    (True, True)
    """
    if objective not in OBJECTIVES:
        raise InputError(f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
    rules = CountRules(max_noise, variance, unbiased, keep_zero, least_positive)
    length = _length(rules, own_rows)
    laws, bound, method, compared = _found(rules, length, objective)
    table = CountTable(rows_of_weights(rules, laws), rules, objective)
    value = _value(table, objective)
    if value - bound > PROVED * value:
        raise ConvergenceError(
            f"the table was found to a gap of {(value - bound) / value:.1g} only, more than {PROVED:g}: "
            f"a smaller max_noise, or a variance further from its limits, may help"
        )
    certificate = Certificate(value=value, lower_bound=min(bound, value), method=method, reference=compared)
    return replace(table, certificate=certificate)


def _length(rules: CountRules, own_rows: Any) -> int:
    if own_rows is None:
        return rules.first_whole + rules.max_noise
    if whole("own_rows", own_rows) < rules.first_whole or own_rows > MOST_ROWS:
        raise InputError(
            f"own_rows must be from {rules.first_whole}, below which noise is cut off at 0, to {MOST_ROWS}; "
            f"got {own_rows}"
        )
    return int(own_rows)


def _found(rules: CountRules, length: int, objective: str) -> tuple[Array, float, str, str]:
    """Laws, a lower bound in the certificate's scale, how they were found, and what the bound holds for."""
    compared = f"among all tables with the same rows from {length} on"
    if objective == "distinguish":
        laws, bound = least_telling(rules, length)
        method = "linear program; lower bound from multipliers"
        return laws, 0.5 * (1 + bound), method, f"among all tables that move one row along from {length} on"
    if objective == "entropy":
        return *_widest(rules, length), "closed form; lower bound from multipliers", compared
    return *_least(rules, length, objective == "worst"), "conic program; lower bound from multipliers", compared


def chain_of(rules: CountRules, moved: Array, length: int) -> Chain:
    """Give the chain of the counts 0 … ``length``, the last of which has the noise ``moved`` on −D … D.

    >>> rules = CountRules(max_noise=1, variance=0.5, unbiased=True, keep_zero=True)
    >>> chain = chain_of(rules, np.array([0.25, 0.5, 0.25]), length=2)
    >>> chain.allowed.astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]
    >>> chain.last.tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    rows = [rules.row(count) for count in range(length + 1)]
    noise = np.arange(length + rules.max_noise + 1.0) - np.arange(length + 1.0)[:, None]
    allowed = np.zeros(noise.shape, dtype=bool)
    for row in rows[:-1]:
        allowed[row.count, list(row.published)] = True
    last = np.zeros(noise.shape[1])
    last[-len(moved) :] = moved
    allowed[-1] = last > 0
    bound = np.array([row.limited for row in rows])
    bound[-1] = False
    meant = LawBounds(noise * np.array([[row.mean] for row in rows]), np.zeros(len(rows)), equal=True)
    limited = LawBounds(noise**2 * bound[:, None], np.where(bound, rules.variance, 1.0))
    return Chain(np.full(length, ENERGY / 2), allowed, rows=(meant, limited), last=last)


def _least(rules: CountRules, length: int, worst: bool) -> tuple[Array, float]:
    moved = tail_row(rules.max_noise, rules.variance)
    chain = replace(chain_of(rules, moved, length), worst=worst)
    # a cone that holds next to nothing has no interior; the bound is proved with all of them
    seen = chain.allowed.copy()
    seen[-1, -len(moved) :] &= moved > FAINT
    solved = replace(chain, allowed=seen)
    found = solve_all(solved)
    bound = lower_bound(chain, found.dual)[0]
    if not worst:
        return found.laws, bound
    beyond = ENERGY * (1 - affinity(moved))
    most = max(found.value, beyond) * (1 + CAP_ROOM)
    try:
        laws = solve_all(replace(solved, worst=False, most=most)).laws
    except ConvergenceError:
        laws = found.laws  # the supremum is what was asked for; the sum stays what it is
    return laws, max(bound, beyond)


def _widest(rules: CountRules, length: int) -> tuple[Array, float]:
    """Rows of greatest entropy, and a bound on the sum of log(2D + 1) less their entropies, the last row's left out."""
    laws, missing = np.zeros((length + 1, length + rules.max_noise + 1)), 0.0
    for count in range(length + 1):
        row = rules.row(count)
        if row.settled:
            p = row.only_choice
            most = -float((p * np.log(p)).sum())
        else:
            p, most = widest_row(row.noise, rules.variance, mean=row.mean)
        laws[count, list(row.published)] = p
        missing += np.log(2 * rules.max_noise + 1) - most if count < length else 0.0
    return laws, float(missing)


def _value(table: CountTable, objective: str) -> float:
    if objective == "distinguish":
        return CountFloor(table).distinguish()
    if objective == "entropy":
        rows = table.probabilities[:-1]
        most = np.log(rows.shape[1])  # of the entropy of a row
        return float(sum(most + (p * np.log(p)).sum() for p in (row[row > 0] for row in rows)))
    energies = ENERGY * (1 - np.cos(table.angles))
    return float(energies[:-1].sum() if objective == "average" else energies.max())
