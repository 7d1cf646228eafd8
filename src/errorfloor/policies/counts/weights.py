"""From probabilities to whole numbers of 2⁻⁶⁴, and draws by their thresholds: what is drawn is what is stated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.policies.counts.rules import CountRow, CountRules

WHOLE = 2**64
DUST = 1e-9  # probabilities that the solver leaves where none belongs
BESIDE = 1e-7  # dust is kept beside a probability above this, where it is the thin end of something
MARGIN = 1e-14  # relative distance kept from the bound on the variance
MOST_COUNT = 2**62


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
        share = (2 * (-moment - low * missing) + high - low) // (2 * (high - low))  # rounded to the nearest
    weights[b] += share
    weights[a] += missing - share
    return weights


@dataclass(frozen=True, eq=False)
class Thresholds:
    """For each row the noises that occur, and the first of the words that choose each of them."""

    first: NDArray[np.uint64]  # rows × most, padded with the greatest word
    noise: NDArray[np.int64]
    used: NDArray[np.int64]  # how many of a row are not padding

    def chosen(self, counts: Array, words: Array) -> NDArray[np.int64]:
        """Give the published counts that uniform words choose."""
        row = np.minimum(counts, len(self.used) - 1)
        place = np.zeros(counts.shape, dtype=np.int64)
        for column in range(1, self.first.shape[1]):
            place += words >= self.first[row, column]
        place = np.minimum(place, self.used[row] - 1)  # the greatest word reaches the padding too
        return np.asarray(counts + self.noise[row, place])


def thresholds(weights: tuple[tuple[int, ...], ...]) -> Thresholds:
    """Cut the words 0 … 2⁶⁴ − 1 of each row into runs as long as its weights.

    >>> cut = thresholds(((0, 2**64, 0), (2**62, 2**63, 2**62)))
    >>> cut.noise.tolist(), cut.first[1].tolist() == [0, 2**62, 2**62 + 2**63]
    ([[0, 0, 0], [-1, 0, 1]], True)
    """
    width = max(sum(1 for weight in row if weight) for row in weights)
    reach = (len(weights[0]) - 1) // 2
    first = np.full((len(weights), width), 2**64 - 1, dtype=np.uint64)
    noise = np.zeros((len(weights), width), dtype=np.int64)
    used = np.zeros(len(weights), dtype=np.int64)
    for i, row in enumerate(weights):
        below = 0
        for m, weight in enumerate(row):
            if weight:
                first[i, used[i]], noise[i, used[i]] = below, m - reach
                used[i] += 1
                below += weight
    return Thresholds(first, noise, used)


def as_counts(name: str, value: Any) -> NDArray[np.int64]:
    """Give whole numbers ≥ 0, or say what they are instead.

    >>> as_counts("counts", [1.0, 2.5])
    Traceback (most recent call last):
    errorfloor.errors.InputError: counts must be whole numbers from 0 on
    """
    given = np.asarray(value)
    if given.dtype == np.bool_ or given.dtype.kind not in "iuf" or not _whole(given):
        raise InputError(f"{name} must be whole numbers from 0 on")
    return given.astype(np.int64)


def as_keys(name: str, value: Any) -> NDArray[np.uint64]:
    """Give 64-bit words; numbers in [0, 1), as other software has them, are taken for their first 53 bits.

    >>> as_keys("keys", [0.5]).tolist() == [2**63]
    True
    """
    given = np.asarray(value)
    if given.dtype.kind == "f":
        if not ((given >= 0) & (given < 1)).all():
            raise InputError(f"{name} must be 64-bit words, or fractions in [0, 1)")
        return (given * 2.0**53).astype(np.uint64) << np.uint64(11)
    if given.dtype.kind == "O" and all(isinstance(key, int) and 0 <= key < 2**64 for key in given.flat):
        return given.astype(np.uint64)
    if given.dtype.kind not in "iu" or (given.dtype.kind == "i" and (given < 0).any()):
        raise InputError(f"{name} must be 64-bit words from 0 to 2⁶⁴ − 1, or fractions in [0, 1)")
    return given.astype(np.uint64)


def _whole(given: Array) -> bool:
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        return False
    return bool((given >= 0).all() and (given <= MOST_COUNT).all())
