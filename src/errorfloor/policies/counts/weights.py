"""From probabilities to whole numbers of 2⁻⁶⁴, so that what is drawn is exactly what is stated."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.counts.rules import CountRow, CountRules

WHOLE = 2**64
DUST = 1e-9  # probabilities that the solver leaves where none belongs
BESIDE = 1e-7  # dust is kept beside a probability above this, where it is the thin end of something
MARGIN = 1e-14  # relative distance kept from the bound on the variance


def rows_of_weights(rules: CountRules, laws: Array) -> tuple[tuple[int, ...], ...]:
    """Give each row's weights on the noises −D … D; they add up to 2⁶⁴ exactly.

    ``laws`` has a row for each true count and a column for each published one; the last row is taken as it is.

    Guarantee: means that are bound are met exactly wherever whole numbers allow it, and within D·2⁻⁶⁴ always; bounds on
    the mean square hold.
    """
    D, out = rules.max_noise, []
    cleaned = _without_dust(laws)
    for i in range(len(laws)):
        row = rules.row(i)
        p = row.only_choice if row.settled else cleaned[i, list(row.published)]
        if i == len(laws) - 1:
            p = laws[i, list(row.published)]
        elif not row.settled:
            p = restored(p, row, rules)
        weights = [0] * (2 * D + 1)
        for k, weight in zip(row.noise.tolist(), _whole_numbers(p, row.noise, row.mean), strict=True):
            weights[k + D] = weight
        out.append(tuple(weights))
    return tuple(out)


def _without_dust(laws: Array) -> Array:
    beside = np.zeros(laws.shape)
    beside[:-1] = laws[1:]
    beside[1:] = np.maximum(beside[1:], laws[:-1])
    return np.where((laws < DUST) & (beside < BESIDE), 0.0, laws)


def nearest(row: CountRow) -> Array:
    """Give the least noisy probabilities that a row allows.

    >>> nearest(CountRow(count=1, published=(0, 2, 3), mean=True, limited=True)).tolist()
    [0.5, 0.5, 0.0]
    """
    noise = row.noise
    near = np.zeros(len(noise))
    if not row.mean:
        closest = noise**2 == (noise**2).min()
        return np.asarray(closest / closest.sum())
    a, b = int(noise[noise <= 0][-1]), int(noise[noise >= 0][0])
    if a == b:
        near[noise == 0] = 1.0
    else:
        near[noise == a], near[noise == b] = b / (b - a), -a / (b - a)
    return near


def restored(p: Array, row: CountRow, rules: CountRules) -> Array:
    """Bring sum and mean back to what they were before dust was swept away, and stay below the bound."""
    k = row.noise.astype(float)
    moments = np.stack([k**0, k])[: 1 + row.mean]
    wanted = np.array([1.0, 0.0])[: 1 + row.mean]
    for _ in range(2):
        p = p * (1 + moments.T @ np.linalg.lstsq((moments * p) @ moments.T, wanted - moments @ p, rcond=None)[0])
    excess = float(k**2 @ p) - rules.variance * (1 - MARGIN)
    if row.limited and excess > 0:
        near = nearest(row)
        share = excess / (float(k**2 @ p) - float(k**2 @ near))
        p = (1 - share) * p + share * near
    return p


def _whole_numbers(p: Array, noise: Array, mean: bool) -> list[int]:
    weights = [int(float(x) * WHOLE) for x in p]
    if len(weights) == 1:
        return [WHOLE]
    missing = WHOLE - sum(weights)
    # what is missing goes to the two closest noises that hold the most
    heavy = [m for m in range(len(p)) if p[m] > 1e-6] or [int(np.argmax(p))]
    if len(heavy) == 1:
        weights[heavy[0]] += missing
        return weights
    a, b = min(
        ((x, y) for x in heavy for y in heavy if x < y),
        key=lambda pair: (noise[pair[1]] - noise[pair[0]], abs(noise[pair[0]] + noise[pair[1]])),
    )
    share = 0
    if mean:
        moment = sum(int(k) * weight for k, weight in zip(noise, weights, strict=True))
        low, high = int(noise[a]), int(noise[b])
        share = _nearest_quotient(-moment - low * missing, high - low)
    weights[b] += share
    weights[a] += missing - share
    return weights


def _nearest_quotient(above: int, below: int) -> int:
    return (2 * above + below) // (2 * below)
