"""The chain problem of a noise table: true counts are nodes, published counts are cells."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.chain import Chain, LawBounds
from errorfloor.policies.counts.rules import CountRules

ENERGY = 8.0  # a step costs 4‖√p − √p′‖² = 8(1 − ρ)


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
