"""Working block by block changes no bit, whatever the number of groups."""

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from errorfloor.answering import releasing
from errorfloor.answering.releasing import BLOCK, BLOCK_OF_MANY, SMALL, in_blocks
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.catalogue import Catalogue
from errorfloor.engines import open_engine
from errorfloor.identity import Key, KeyRing, Label
from errorfloor.ledger import MemoryLedger
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.noises import within
from errorfloor.preparing.rounding import released
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from errorfloor.vault import register

ASKED = {
    "in turn": ("avg(x) AS a, var_samp(x) AS b", {"max_error": 90.0}),
    "one is public": ("avg(x) AS a, count(*) AS n", {"max_error": 90.0}),
    "noises differ": ("avg(x) AS a, sum(x) AS b", {"spend": 0.01}),
}


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


@pytest.mark.parametrize("many", [False, True], ids=["one thread", "threads"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_packed_block_by_block_is_what_was_released(tmp_path, monkeypatch, asked, many):
    source = tmp_path / "readings.parquet"
    row = "range AS id, (range * range) % 701 AS k, (range % 97) / 2 AS x"
    duckdb.sql(f"COPY (SELECT {row} FROM range(4000)) TO '{source}' (FORMAT parquet)")
    private = {"x": {"range": [0, 50], "resolution": 0.5, "floor": 0.5}}
    public = {"id": "whole", "k": "whole"}
    table = {"source": source.name, "version": "1", "row_key": ["id"], "public": public, "private": private}
    catalogue = Catalogue.model_validate({"tables": {"readings": table}, "folder": tmp_path})
    keys, (outputs, wish) = KeyRing.create(tmp_path / "keys.json"), ASKED[asked]
    text = f"SELECT k, {outputs} FROM readings GROUP BY k"
    with open_engine(catalogue.place, tmp_path, read_only=False) as engine:
        register(catalogue, "readings", engine=engine)
    found = []
    with open_engine(catalogue.place, tmp_path, read_only=True) as engine:
        for blocks in (False, True):
            ledger = MemoryLedger()
            enter_all(ledger, engine)
            with monkeypatch.context() as patched:
                if blocks:
                    for name, size in (("BLOCK", 50), ("BESIDE", 50), ("SMALL", 10 if many else 10_000)):
                        patched.setattr(releasing, name, size)
                    patched.setattr(releasing, "BLOCK_OF_MANY", 60)
                found.append(Database(catalogue, engine=engine, ledger=ledger, keys=keys).ask(text, **wish))
                patched.setattr(releasing, "scanned", None)  # what is asked again is read
                found.append(Database(catalogue, engine=engine, ledger=ledger, keys=keys).ask(text, **wish))
    assert found[0].to_arrow().num_rows > 300
    assert all(one.to_arrow().equals(found[0].to_arrow()) for one in found)
    assert all(list(one.cells()) == list(found[1].cells()) for one in found[3:])
