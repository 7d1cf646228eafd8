"""``design_counts``: the noise table for counts that tells neighbouring counts apart least."""

from typing import Any

import numpy as np

from errorfloor.blas import one_thread
from errorfloor.checks import Array, whole
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise import Certificate
from errorfloor.policies.counts.barrier import Objective, Solution, solve
from errorfloor.policies.counts.chain import Chain
from errorfloor.policies.counts.floor import CountFloor
from errorfloor.policies.counts.lower_bound import least_bound, least_energy, least_missing_entropy
from errorfloor.policies.counts.rules import CountRules
from errorfloor.policies.counts.table import CountTable
from errorfloor.policies.counts.tail import Tail, tail_row, widest_row
from errorfloor.policies.counts.telling import least_telling
from errorfloor.policies.counts.weights import rows_of_weights

OBJECTIVES = ("average", "worst", "distinguish", "entropy")
ENERGY = 8.0  # 4‖√p − √p′‖² = 8(1 − ρ)
CAP_ROOM = 1e-5  # relative: how far the supremum may rise so that the sum is least
PROVED = 0.05  # the relative gap above which no table is given; below, the certificate states it
MOST_ROWS = 400


@one_thread()
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
    if objective == "distinguish":
        return _proved(*_least_telling(rules, length), f"among all tables that move one row along from {length} on")
    tail = (widest_row if objective == "entropy" else tail_row)(rules.max_noise, rules.variance)
    chain = Chain(rules, tail, length)
    found, bound = _found(chain, objective)
    table = CountTable(rows_of_weights(chain, found.probabilities), rules, objective)
    method = "interior point on the chain of counts; lower bound from multipliers"
    return _proved(
        table, method, _value(table, objective), bound, f"among all tables with the same rows from {length} on"
    )


def _proved(table: CountTable, method: str, value: float, bound: float, reference: str) -> CountTable:
    """Give the table its certificate, unless the bound is too far below."""
    if value - bound > PROVED * value:
        raise ConvergenceError(
            f"the table was found to a gap of {(value - bound) / value:.1g} only, more than {PROVED:g}: "
            f"a smaller max_noise, or a variance further from its limits, may help"
        )
    certificate = Certificate(value=value, lower_bound=min(bound, value), method=method, reference=reference)
    return CountTable(table.weights, table.rules, table.objective, certificate)


def _least_telling(rules: CountRules, length: int) -> tuple[CountTable, str, float, float]:
    """Give the table for one cell, how it was found, its value ½(1 + sup TV), and the lower bound of that."""
    rows, bound = least_telling(rules, length)
    last = rows[-1]
    tail = Tail(last, float(np.sqrt(last[1:] * last[:-1]).sum()), level=0.0, price=0.0)
    table = CountTable(rows_of_weights(Chain(rules, tail, length), np.concatenate(rows)), rules, "distinguish")
    return table, "linear program; lower bound from multipliers", CountFloor(table).distinguish(), 0.5 * (1 + bound)


def _length(rules: CountRules, own_rows: Any) -> int:
    if own_rows is None:
        return rules.first_whole + rules.max_noise
    if whole("own_rows", own_rows) < rules.first_whole or own_rows > MOST_ROWS:
        raise InputError(
            f"own_rows must be from {rules.first_whole}, below which noise is cut off at 0, to {MOST_ROWS}; "
            f"got {own_rows}"
        )
    return int(own_rows)


def _found(chain: Chain, objective: str) -> tuple[Solution, float]:
    """Solve, and give the lower bound in the certificate's scale."""
    start = chain.start()
    if objective == "average":
        found = solve(chain, Objective("energy"), start)
        return found, ENERGY * least_energy(chain, found)
    if objective == "entropy":
        found = solve(chain, Objective("entropy"), start)
        return found, least_missing_entropy(chain, found)
    tightest = solve(chain, Objective("bound"), start)
    bound = least_bound(chain, tightest)
    if not chain.free.any() or tightest.bound is None:
        return tightest, ENERGY * bound
    # a point well inside the cap, from which the sum can be lowered
    nearby = solve(chain, Objective("bound"), start, tolerance=0.2 * CAP_ROOM * tightest.bound)
    cap = tightest.bound * (1 + CAP_ROOM)
    try:
        return solve(chain, Objective("energy", cap=cap), nearby.probabilities), ENERGY * bound
    except ConvergenceError:
        return tightest, ENERGY * bound  # the supremum is what was asked for; the sum stays what it is


def _value(table: CountTable, objective: str) -> float:
    if objective == "entropy":
        return float(sum(_missing_entropy(row) for row in table.probabilities[:-1]))
    energies = ENERGY * (1 - np.cos(table.angles))
    return float(energies[:-1].sum() if objective == "average" else energies.max())


def _missing_entropy(row: Array) -> float:
    p = row[row > 0]
    return float(np.log(len(row)) + (p * np.log(p)).sum())
