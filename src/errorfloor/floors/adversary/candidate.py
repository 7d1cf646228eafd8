"""Make a value table: a dynamic programme over charges that needs no rigour, since the certificate does not trust it.

Run it as ``python -m errorfloor.floors.adversary.candidate FILE``: it is made in a minute and certified in half an
hour on one core.
"""

import math
import sys
from pathlib import Path

import numpy as np
import scipy.fft

from errorfloor.checks import Array
from errorfloor.floors.adversary.answers import multiplier, one_answer
from errorfloor.floors.adversary.certificate import certify
from errorfloor.floors.adversary.table import STEP, UNIT, ValueTable

HALF_PERIOD, INTERVALS = 25.6, 2560  # in logarithms of odds
FIRST, LAST = 0.01, 22.6  # charges of the first and the last level before time is stretched
BELOW = 60  # the programme begins at this part of the first level
LONGER = 1.011  # the table's charge is the programme's over this: the slack that the certificate lives on
WIDTH, LEAST_WIDTH = 0.007, 3e-4  # variance of the smoothing: kinks would cost √a, and nothing pays for that
TAILS, GROWTH = 2e-5, 4e-5  # subtracted from r: pays for tails and for rounding


def candidate() -> ValueTable:
    """Give the table, in whole units.

    At each charge r is the least of: a Gaussian step from the level before (the limit of many small answers), one
    answer from level j, for about a hundred j, and one answer from nothing.
    """
    x = HALF_PERIOD / INTERVALS * np.arange(INTERVALS + 1)
    k = np.pi / HALF_PERIOD * np.arange(INTERVALS + 1)
    decay = k**2 / 2 + 1 / 8
    charges, first = _levels()
    raw = np.zeros((len(charges), len(k)))
    nothing = _values(_cosines(np.exp(-x / 2)) * np.exp(-charges[0] * decay))
    raw[0] = _cosines(np.minimum(nothing, one_answer(charges[0], x)))
    for i in range(1, len(charges)):
        gaussian = _values(raw[i - 1] * np.exp(-(charges[i] - charges[i - 1]) * decay))
        best = np.minimum(gaussian, one_answer(charges[i], x))
        jumps = _jumps(charges, i)
        if len(jumps):
            best = np.minimum(best, _values(raw[jumps] * multiplier(charges[i] - charges[jumps], k)).min(axis=0))
        raw[i] = _cosines(best)
    kept = charges[first:, None]
    smooth = raw[first:] * np.exp(-(WIDTH * kept + LEAST_WIDTH) * decay)
    smooth[:, 0] -= TAILS + GROWTH * np.sqrt(kept[:, 0])
    whole = np.rint(smooth / UNIT)
    modes = int(np.flatnonzero(np.abs(whole).max(axis=0))[-1]) + 1
    levels = np.rint((kept[:, 0] - FIRST) / LONGER / STEP) * STEP
    return ValueTable(levels, whole[:, :modes] * UNIT, round(HALF_PERIOD / STEP) * STEP)


def _levels() -> tuple[Array, int]:
    """Give the charges of all levels, and which of them is the table's first: 2 % apart, closer where r falls fast."""
    down = [FIRST]
    while down[-1] > FIRST / BELOW:
        down.append(down[-1] / 1.02)
    charges = down[::-1]
    while charges[-1] < LAST:
        charges.append(charges[-1] * (1 + 0.02 / (1 + charges[-1] / 6)))
    return np.array(charges), len(down) - 1


def _jumps(charges: Array, i: int) -> Array:
    parts = 0.02 * 1.06 ** np.arange(math.ceil(math.log(0.999 / 0.02) / math.log(1.06)))
    found = np.unique(np.searchsorted(charges, charges[i] * (1 - parts)))
    return np.asarray(found[(found > 0) & (found < i)])


def _cosines(values: Array) -> Array:
    """Give b with values = Σ b_n cos(πnx/L) at the nodes."""
    found = scipy.fft.dct(values, type=1, axis=-1) / INTERVALS
    found[..., [0, -1]] /= 2
    return np.asarray(found)


def _values(coefficients: Array) -> Array:
    halved = coefficients / 2
    halved[..., [0, -1]] *= 2
    return np.asarray(scipy.fft.dct(halved, type=1, axis=-1))


def main(file: Path) -> int:
    """Make, certify and write the table; 1 if it is not certified."""
    table = candidate()
    found = certify(table)
    print(f"{len(table.levels)} levels, {table.coefficients.shape[1]} frequencies; {found}")
    if found.holds:
        file.write_bytes(table.to_bytes())
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
