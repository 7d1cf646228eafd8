"""Working block by block changes no bit, whatever the number of groups."""

from fractions import Fraction

import numpy as np
import pytest

from errorfloor.noise.lattice import Lattice
from errorfloor.service.releasing import BLOCK, SMALL, in_blocks
from errorfloor.service.rounding import released
from errorfloor.sql.double_words import DoubleWord


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, 2 * BLOCK - 1, 4 * BLOCK + 3])
def test_blocks_give_the_numbers_of_the_whole(size: int) -> None:
    bits = np.random.default_rng(size)
    values, noise = DoubleWord(bits.normal(size=size), np.zeros(size)), bits.uniform(-1, 1, size)
    third = DoubleWord.of(Fraction(1, 3))

    def work(places: slice) -> tuple[np.ndarray, ...]:
        here = DoubleWord(values.high[places], values.low[places]) / third
        return here.high, here.low, released(here, noise[places], 0.0, Lattice("0.001"))

    for whole, found in zip(work(slice(0, size)), in_blocks(size, work), strict=True):
        assert whole.tobytes() == found.tobytes()


def test_a_failure_in_a_block_is_a_failure() -> None:
    def work(places: slice) -> tuple[np.ndarray, ...]:
        if places.start > 0:
            raise ValueError("in a block")
        return (np.zeros(places.stop - places.start),)

    with pytest.raises(ValueError, match="in a block"):
        in_blocks(4 * BLOCK, work)
