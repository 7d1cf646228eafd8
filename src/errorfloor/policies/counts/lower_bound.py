"""Lower bounds that hold for every table within the rules, from any multipliers: what certificates quote."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.counts.barrier import Solution
from errorfloor.policies.counts.chain import Chain


def least_energy(chain: Chain, found: Solution) -> float:
    """Bound Σ_i (1 − ρ_i), i < length, from below.

    Guarantee: holds for all tables with the chain's settled rows and tail, whatever ``found`` is; a poor solution gives
    a poor bound, never a false one.
    """
    return _least(chain, found, np.ones(chain.length))


def least_bound(chain: Chain, found: Solution) -> float:
    """Bound sup_i (1 − ρ_i) from below, likewise: no average of the 1 − ρ_i exceeds their supremum."""
    gaps = 1 - chain.affinities(found.probabilities)
    both_fixed = ~(chain.free[1:] | chain.free[:-1])
    given = float(max([1 - chain.tail.affinity, *gaps[both_fixed].tolist()]))
    total = float(found.weight.sum())
    if total == 0:
        return given
    average = _least(chain, found, found.weight) / total
    share = min(1.0, total)
    return max(given, share * average + (1 - share) * given)


def least_missing_entropy(chain: Chain, found: Solution) -> float:
    """Bound Σ_i (log(2D+1) − entropy of row i), i < length, from below: log Z(μ, ν) + νV bounds a row's entropy."""
    full = np.log(2 * chain.rules.max_noise + 1)
    missing = 0.0
    for i, row in enumerate(chain.rows[:-1]):
        if row.settled:
            p = row.only_choice
            missing += full + float((p * np.log(p)).sum())
            continue
        k = row.noise.astype(float)
        exponent = -found.slope[i] * k - found.price[i] * k**2
        top = exponent.max()
        missing += full - (top + np.log(np.exp(exponent - top).sum()) + found.price[i] * chain.rules.variance)
    return float(missing)


def _least(chain: Chain, found: Solution, weights: Array) -> float:
    """Bound Σ w_i(1 − ρ_i): Σ w_i less λ_i + ν_i V of each free row and less the pull on each fixed one.

    λ_i is the least that makes every column's quadratic form non-negative, which the positive vector √p shows.
    """
    roots = np.sqrt(found.probabilities)
    pulled = np.zeros(len(roots))
    np.add.at(pulled, chain.left, 0.5 * weights[chain.link] * roots[chain.right])
    np.add.at(pulled, chain.right, 0.5 * weights[chain.link] * roots[chain.left])
    at_rows = np.bincount(chain.row_of, pulled * roots)
    needed = pulled / roots - found.slope[chain.row_of] * chain.noise - found.price[chain.row_of] * chain.noise**2
    levels = np.full(chain.length + 1, -np.inf)
    np.maximum.at(levels, chain.row_of, needed)
    costs = np.where(chain.free, levels + found.price * chain.rules.variance, at_rows)
    return float(weights.sum() - costs.sum())
