"""Keep what is released beside the ledger, sealed; find it again under any key, in any process, without a scan.

*Guarantee* (``keeping.proof.md``): a number is given from here only if it was charged in this ledger, was drawn for the
same function of the same snapshots with the same bounds, and is unchanged since.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from errorfloor.accounts import NOTHING, Account, Charge
from errorfloor.answering.kept import KeptAnswer, KeptColumn
from errorfloor.answering.packing import bounds_of, pack
from errorfloor.catalogue import Table
from errorfloor.charging.standing import allowances_of
from errorfloor.engines import Engine
from errorfloor.errors import LedgerError
from errorfloor.identity import Key, Label
from errorfloor.ledger import Kept, Ledger, Record
from errorfloor.ledger.entry import canonical
from errorfloor.ledger.shelf import FOLLOWED, KeptOutput, damaged
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import PlannedQuestion, Prepared, PreparedOutput, ReadQuestion
from errorfloor.preparing.spelling import Absent, compared
from errorfloor.sql.question import Bin, CountedQuantile, Derived, Question

MOST_BYTES = 2**28  # of one answer; a larger one is drawn again
PASSED = 300  # answers over the same, of which those are chosen that something may follow from
OPEN = 4  # answers that are held for the other outputs of a question: to unpack one takes as long as it has outputs


class Checked(NamedTuple):
    """How many answers are kept, in how many bytes, and how many more were sealed with keys that are not there."""

    kept: int
    bytes: int
    sealed_otherwise: int


class Keeper:
    """Keeps and finds answers on the shelf of a ledger; ``keys`` are all of the ring, the one in use first."""

    def __init__(self, ledger: Ledger, keys: Sequence[Key]) -> None:
        self.ledger, self.keys = ledger, tuple(keys)

    def find(self, read: ReadQuestion, wish: QuestionWish) -> tuple[KeptColumn | None, ...]:
        """Give what was released for each output; None where nothing was.

        Raises LedgerError if it was changed since.
        """
        return self.find_each([read], wish)[0]

    def find_each(self, questions: Sequence[ReadQuestion], wish: QuestionWish) -> list[tuple[KeptColumn | None, ...]]:
        """Do the same for several questions at once."""
        wanted = [[one.asked for one in read.found_by(wish)] for read in questions]
        found = self.ledger.kept({asked for names in wanted for asked in names})
        answers = {one.number: self._opened(one) for one in found.values()}
        columns = {asked: _column(answers[one.number], asked) for asked, one in found.items()}
        return [tuple(map(columns.get, names)) for names in wanted]

    def prepared(self, read: ReadQuestion, kept: Sequence[KeptColumn], engine: Engine) -> Prepared:
        """Give a question all of whose outputs were released before, from what is kept of them alone."""
        table, question = read.table, read.question
        records = self.ledger.found({one.label for one in kept if one.label is not None}).values()
        charges = _charges({one.sequence: one for one in records}.values(), table, question.table)
        bounds = bounds_of(question.table, [(one.answer.cells, one.place) for one in kept])
        outputs = tuple(one.prepared(output, bounds) for one, output in zip(kept, question.outputs, strict=True))
        bounds = replace(bounds, left_out=kept[0].answer.facts["left_out"])
        allowances = allowances_of(table, charges)
        absent = _absent(kept, read)
        plan = PlannedQuestion(question, table, read.snapshots, bounds, (), "", (), read.private, allowances, absent)
        return Prepared(plan, outputs, (), "", engine.name, charges)

    def keep(
        self, prepared: Prepared, read: ReadQuestion, wish: QuestionWish, *, analyst: str | None, time: str
    ) -> bool:
        """Keep what was released for a question; say whether it is new.

        A failure is no failure of the answer, which is drawn again as it was.
        """
        content = prepared.packed or pack(prepared)
        if len(content) > MOST_BYTES:
            return False
        said = {
            "time": time,
            "sql": read.text,
            "wish": wish.to_dict(),
            "analyst": analyst,
            "shared": read.table.shared,
            "table": read.question.table,
            "version": read.question.version,
            "snapshots": [[one.table_name, *which] for one in read.snapshots for which in one.identities],
            "cells": len(prepared.bounds.groups),
            "left_out": prepared.bounds.left_out,
            "units": [one.unit for one in prepared.bounds.groups.columns],
            "keys": [key.value.encoded.hex() for key in read.question.keys],
            "outputs": [
                _output(one, found, list(prepared.bounds_of(one).slopes))
                for one, found in zip(prepared.outputs, read.found_by(wish), strict=True)
            ],
            **({"sets": _sets(read.question)} if read.question.sets else {}),
            **({"absent": [one.to_dict() for one in prepared.plan.absent]} if prepared.plan.absent else {}),
            **({"empty": [list(one) for one in prepared.empty]} if prepared.empty else {}),
        }
        try:
            return self.put(said, content)
        except LedgerError:
            return False

    def put(self, said: Mapping[str, Any], content: bytes) -> bool:
        """Put something on the shelf, sealed, with what is said of it; say whether it is new."""
        facts = {**said, "content": hashlib.sha256(content).hexdigest(), "key": self.keys[0].id}
        text = canonical("what is kept", facts)
        return self.ledger.keep(Kept.of(text, _seal(self.keys[0], text), content))

    def found(self, asked: Collection[str]) -> dict[str, KeptAnswer]:
        """Give what is kept under names, whole; what is not there, or was sealed with a lost key, is left out."""
        found = self.ledger.kept(asked)
        return {one: answer for one, kept in found.items() if (answer := self._opened(kept)) is not None}

    def followed(self, most: int, chosen: Callable[[str], bool] = lambda charge: True) -> list[KeptAnswer]:
        """Give the last standing questions, newest first, of those whose charge is chosen by its name."""
        every = self.ledger.kept_over([FOLLOWED], most)
        found = (self._opened(one) for one in every if chosen(str(one.outputs[0].label)))
        return [one for one in found if one is not None]

    def over(
        self, what: str, keys: Collection[str], bound: float, opened: dict[int, KeptAnswer]
    ) -> Iterator[KeptColumn]:
        """Give released outputs over the same, within a bound and by all these keys or more, the oldest first.

        So what follows from them stays the same when others come. An answer that left groups out has no parts of them:
        it is passed over. So are all others, but only the first ``PASSED`` are looked at, and twenty given. ``opened``
        holds some for the next output.
        """

        def is_near(said: Mapping[str, Any]) -> bool:
            ends = (one["added"]["high"] for one in said["outputs"] if one["over"] == what and one["added"] is not None)
            return set(keys) <= set(said["keys"]) and any(end is not None and end <= bound for end in ends)

        return self._columns(what, self._beside(what, is_near, PASSED), opened)

    def beside(self, what: str, seen: Callable[[Mapping[str, Any]], bool] | None = None) -> Iterator[KeptColumn]:
        """Give released outputs over the same, by any groups, newest first; but for answers that left groups out.

        Of answers that are not ``seen``, by what is said of them, no more is read, and they hide none that are.
        """
        return self._columns(what, self._beside(what, seen), {})

    def _beside(
        self, what: str, seen: Callable[[Mapping[str, Any]], bool] | None, looked_at: int | None = None
    ) -> list[Kept]:
        def is_wanted(said: Mapping[str, Any]) -> bool:
            return not said["left_out"] and (seen is None or seen(said))

        return self.ledger.kept_over([what], chosen=is_wanted, looked_at=looked_at)

    def _columns(self, what: str, found: Iterable[Kept], opened: dict[int, KeptAnswer]) -> Iterator[KeptColumn]:
        for one in found:
            for output in one.facts["outputs"]:
                if output["over"] == what and output["label"] is not None:
                    answer = opened.get(one.number)
                    answer = answer or self._opened(self.ledger.kept([output["asked"]]).get(output["asked"], one))
                    column = None if answer is None else _column(answer, output["asked"])
                    if column is not None and column.answer.kept.content is not None:
                        for oldest in [*opened][: len(opened) + 1 - OPEN]:
                            del opened[oldest]
                        opened[column.answer.kept.number] = column.answer
                        yield column

    def charged(self, labels: Iterable[Label]) -> set[bytes]:
        """Give those labels, encoded, that were charged under any key."""
        names = {key.release_id(label): label.encoded for label in labels for key in self.keys}
        return {names[name] for name in self.ledger.known(names)}

    def opened(self, after: int = 0) -> Iterator[KeptAnswer]:
        """Give all that is kept after a number, in order, without its content; what cannot be checked is left out."""
        return (answer for one in self.ledger.kept_page(after) if (answer := self._opened(one)) is not None)

    def of_labels(self, labels: Collection[str]) -> dict[str, KeptAnswer]:
        """Give what is kept for charges, by their labels, without its content."""
        found = self.ledger.kept_of(labels).items()
        return {label: answer for label, one in found if (answer := self._opened(one)) is not None}

    def check(self) -> Checked:
        """Open all that is kept; raises LedgerError, which names the first answer that is not what was written."""
        kept = size = otherwise = 0
        for one in self.ledger.kept_page(whole=True):
            answer = self._opened(one)
            if answer is None:
                otherwise += 1
                continue
            is_whole = not answer.content or answer.cells.groups.size == answer.facts["cells"]
            if not is_whole or self.ledger.known(one.labels) != one.labels:
                raise damaged(one.number)
            kept, size = kept + 1, size + one.size
        return Checked(kept, size, otherwise)

    def _opened(self, kept: Kept) -> KeptAnswer | None:
        """Check the seal; None if it was sealed, or an output was drawn, with a key that this ring does not have."""
        keys = {key.id: key for key in self.keys}
        key = keys.get(str(kept.facts.get("key")))
        if key is None:
            return None
        if not hmac.compare_digest(_seal(key, kept.text), kept.seal):
            raise damaged(kept.number)
        is_ours = all(one["drawn"] in (None, *keys) for one in kept.facts["outputs"])
        return KeptAnswer(kept) if is_ours else None


def _seal(key: Key, text: str) -> str:
    return key.derive(Label("kept answer", (text,))).hex()


def _column(answer: KeptAnswer | None, asked: str) -> KeptColumn | None:
    if answer is None:
        return None
    for place, one in enumerate(answer.facts["outputs"]):
        if one["asked"] == asked:
            return KeptColumn(answer, place)
    raise damaged(answer.kept.number)


def _output(one: PreparedOutput, found: KeptOutput, columns: list[str]) -> dict[str, Any]:
    return {
        "asked": found.asked,
        "over": found.over,
        "name": one.output.asked_as,
        "unit": one.output.unit,
        "label": one.paid,
        "drawn": one.drawn,
        "added": None if one.added is None else one.added.widest.to_dict(),
        "constant": None if one.constant is None else one.constant.error,
        "columns": columns,
        **({"part": True} if isinstance(one.output.part_of, Derived | CountedQuantile) else {}),
        **({"times": one.output.span} if isinstance(one.output.part_of, Bin) else {}),
    }


def _sets(question: Question) -> list[list[str]]:
    """Give the keys of each coarser grouping that was shown, as the keys of all are given."""
    names = {key.name: key.value.encoded.hex() for key in question.keys}
    return [[names[name] for name in kept] for kept in question.sets]


def _absent(kept: Sequence[KeptColumn], read: ReadQuestion) -> tuple[Absent, ...]:
    """Give what was said of values that no row has, of those that a question compares columns with."""
    if not any("absent" in column.answer.facts for column in kept):
        return ()
    whose = {
        (read.snapshots[one.place].table_name, one.name): values for one, values in compared(read.question).items()
    }
    found = (Absent.from_dict(one) for column in kept for one in column.answer.facts.get("absent", ()))
    mine = dict.fromkeys(one.among(whose.get((one.table, one.column), ())) for one in found)
    return tuple(one for one in mine if one.values)


def _charges(records: Iterable[Record], table: Table, name: str) -> dict[Account, Charge]:
    """Give what records charged to accounts that are still declared; quotas are nobody else's.

    What was charged to owners before they joined a register is the register's now.
    """
    total: dict[Account, Charge] = {}
    for record in records:
        for account, charge in record.charges.items():
            declared = account.column in table.private if account.column else table.owner is not None
            if declared and not account.holder:
                if not account.column and table.owner is not None:
                    account = replace(account, table=table.owner.accounts_of(name))
                total[account] = total.get(account, NOTHING) + charge.rounded_up()
    return total


def is_seen(said: Mapping[str, Any], analyst: str | None) -> bool:
    """Say whether a kept question is one's own, shared, or seen by the custodian (None)."""
    return analyst is None or said["analyst"] == analyst or bool(said["shared"])
