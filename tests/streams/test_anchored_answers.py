"""What a reader pulls is anchored first, so that no older ledger can answer its step again."""

import shutil

import pytest

from errorfloor.errors import LedgerError
from errorfloor.identity import Key
from errorfloor.ledger import FileAnchor, SqlLedger
from errorfloor.service.example import example_database
from errorfloor.streams import Journal, Stream


@pytest.fixture
def example():
    with example_database() as database:
        yield database.declared_streams.journal("cars").stream


class DyingAnchor(FileAnchor):
    dying = False

    def advance(self, head):
        if self.dying:
            raise OSError("the process ends between commit and anchor")
        super().advance(head)


def test_an_answer_that_was_pulled_cannot_be_given_again_from_an_older_ledger(tmp_path, example):
    key = Key.fresh()
    anchor, place, copy = DyingAnchor(tmp_path / "anchor"), tmp_path / "ledger.sqlite", tmp_path / "copy"

    def journal(ledger):
        return Journal(Stream(example.plan, name="cars", states=example.states, keys=key, ledger=ledger))

    with SqlLedger(place, anchor, create=True) as ledger:
        journal(ledger).answer("car 7", "monday", 0, [120.0])
    shutil.copy(place, copy)
    with SqlLedger(place, anchor, create=True) as ledger:
        anchor.dying = True
        with pytest.raises(OSError, match="between commit and anchor"):
            journal(ledger).answer("car 7", "monday", 1, [130.0])
        anchor.dying = False
        assert [one.step for one in journal(ledger).answers("car 7", "monday")] == [0, 1]
    for left in tmp_path.glob("ledger.sqlite*"):
        left.unlink()
    shutil.copy(copy, place)
    with pytest.raises(LedgerError, match="older"):
        SqlLedger(place, anchor)


def test_a_name_is_the_same_however_its_accents_are_written(example):
    journal = Journal(example)
    first = journal.answer("car é", "monday", 0, [120.0])
    again = journal.answer("car e\u0301", "monday", 0, [120.0])
    assert first.fresh and not again.fresh and first.answer == again.answer
