"""Working block by block changes no bit, whatever the number of groups."""

from fractions import Fraction

import numpy as np
import pytest

from errorfloor.identity import Key, Label
from errorfloor.noise.lattice import Lattice
from errorfloor.service.cell_noise import CellNoise
from errorfloor.service.noises import within
from errorfloor.service.releasing import BLOCK, BLOCK_OF_MANY, SMALL, in_blocks
from errorfloor.service.rounding import released
from errorfloor.sql.double_words import DoubleWord


@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1, 4 * BLOCK - 1, SMALL, SMALL + 1, 3 * BLOCK_OF_MANY + 3])
def test_blocks_give_the_numbers_of_the_whole(size: int) -> None:
    bits = np.random.default_rng(size)
    values, noise = DoubleWord(bits.normal(size=size), np.zeros(size)), bits.uniform(-1, 1, size)
    third = DoubleWord.of(Fraction(1, 3))

    def work(places: slice) -> tuple[np.ndarray, ...]:
        here = DoubleWord(values.high[places], values.low[places]) / third
        return here.high, here.low, released(here, noise[places], 0.0, Lattice("0.001"))

    for whole, found in zip(work(slice(0, size)), in_blocks(size, work), strict=True):
        assert whole.tobytes() == found.tobytes()


@pytest.mark.parametrize("size", [5 * BLOCK + 7, 3 * BLOCK_OF_MANY])
def test_noise_that_is_drawn_in_blocks_is_that_of_the_whole(size: int) -> None:
    key, label = Key("one", "", bytes(32)), Label("answer", (1,))
    tags = np.random.default_rng(size).integers(0, 2**63, (size, 2)).astype("<u8")
    some = within(-0.5, 0.5, evaluation_error=0.0), within(-2.0, 2.0, evaluation_error=0.0)
    kind = np.arange(size) % 2
    for noise in (CellNoise.same(some[0], 2), CellNoise.differing(some, np.array([0, 1]), kind)):
        assert noise.is_each_its_own
        whole = noise.draw(key, label, tags, kind)
        (found,) = in_blocks(size, lambda at, of=noise: (of.draw(key, label, tags[at], kind[at]),))
        assert whole.tobytes() == found.tobytes()


@pytest.mark.parametrize("size", [4 * BLOCK, SMALL + 1])
def test_a_failure_in_a_block_is_a_failure(size: int) -> None:
    def work(places: slice) -> tuple[np.ndarray, ...]:
        if places.start > 0:
            raise ValueError("in a block")
        return (np.zeros(places.stop - places.start),)

    with pytest.raises(ValueError, match="in a block"):
        in_blocks(size, work)
