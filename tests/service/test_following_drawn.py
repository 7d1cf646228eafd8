"""The noise of standing questions is drawn as little as it can be, and costs; nothing takes long after the charge."""

import numpy as np
import pytest

from errorfloor.access.course import Course
from errorfloor.access.grid import TimeGrid
from errorfloor.answering.asking import Attendant, attended_by
from errorfloor.engines.allotment import Allotment
from errorfloor.errors import EngineError, RefusedError
from errorfloor.following.block import AT_ONCE
from errorfloor.joint.one_block import OneBlock
from errorfloor.preparing.cost import drawing_cost
from errorfloor.random import RowBits
from followed_house import HORIZON, SUM, House


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 4)
    return made


@pytest.fixture
def drawn(monkeypatch):
    """How many groups were drawn each time."""
    seen, honest = [], OneBlock.sample

    def sample(self, count, bits):
        if isinstance(bits, RowBits):
            seen.append(count)
        return honest(self, count, bits)

    monkeypatch.setattr(OneBlock, "sample", sample)
    return seen


def test_noise_is_the_same_however_many_groups_are_drawn_at_a_time(house):
    with house.open() as db:
        block = db.follow(SUM, **HORIZON).blocks[0]
        tags = np.arange(4 * AT_ONCE + 6, dtype="<u8").reshape(-1, 2)
        together = block.noise(tags)
        assert (np.concatenate([block.noise(tags[:5]), block.noise(tags[5:])]) == together).all()
        assert (block.noise(tags, ["2024-03", "2024-02"]) == together[:, [2, 1]]).all()


def test_noise_is_drawn_once_for_all_months_and_again_only_where_rows_are_missing(house, drawn):
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert drawn == []
        found.release("2024-02")
        assert drawn == [2]  # both months at once; every group is in both
        found.release("2024-04")
        assert drawn == [2, 3, 1]  # the third group lacks rows in the first two months
        db.follow(SUM, **HORIZON).figures()
        assert drawn == [2, 3, 1, 1]


def test_what_is_drawn_costs_and_is_refused_before_a_month_is_pinned(house):
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        heard = []

        class Hearing(Attendant):
            def showing(self, rows, drawing):
                heard.append((rows, drawing))

            def releasing(self, prepared, drawing=0.0):
                heard.append((len(prepared), drawing))

        with attended_by(Hearing()):
            found.release("2024-03")
        one, three = (drawing_cost(groups, 24) for groups in (1, 3))
        assert heard == [(9, one + three), (3, one)]
        before = found.released
        with (
            attended_by(Course(TimeGrid(1.25), time_limit=drawing_cost(3, 24) / 2)),
            pytest.raises(RefusedError, match="with fewer groups, or for a shorter horizon"),
        ):
            found.release("2024-04")
        assert found.released == before


def test_drawing_can_be_stopped_until_a_month_is_pinned(house):
    with house.open() as db:
        found, stopped = db.follow(SUM, **HORIZON), Allotment()

        class Leaving(Attendant):
            allotment = stopped

            def releasing(self, prepared, drawing=0.0):
                stopped.stop()

        with attended_by(Leaving()), pytest.raises(EngineError, match="nobody is waiting"):
            found.release("2024-01")
        assert found.released == ()
        assert found.release("2024-01").num_rows == 2
