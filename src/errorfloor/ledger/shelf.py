"""The shelf of a ledger: how what was released for its charges is kept, found again, and forgotten.

A book says that an answer was charged; its shelf keeps the answer, as bytes that only the service can read and nobody
can change unseen. Nothing on the shelf is needed to know what was spent, and whatever is missing from it is drawn
again, alike and free.
"""

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar, final

from errorfloor.errors import LedgerError
from errorfloor.ledger.book import Book
from errorfloor.ledger.connections import marks, paged
from errorfloor.ledger.entry import Head
from errorfloor.ledger.terms import GONE, term_name

Result = TypeVar("Result")
LAST = 20  # answers over the same that are looked through
PAGE = 100  # answers that are read at a time, without their content
ROOM = 2**30  # bytes that kept answers take together, unless the catalogue says otherwise
TURNS = 64  # a shelf is counted when so many answers were put on it
LARGE = 1024  # or one that takes more than this part of the room
ABOVE_ALL = 2**63 - 1  # no answer has so large a number
FACTS = "number, text, seal, size"  # of an answer on the shelf
FOLLOWED, RELEASED = (hashlib.sha256(f"errorfloor followed {what}".encode()).hexdigest() for what in ("", "period"))
LASTING = (FOLLOWED, RELEASED)  # what standing questions are, and what they released: it never makes room


class KeptOutput(NamedTuple):
    """How an output is found: by what was ``asked`` for; by what it is ``over``, in any groups; by its ``label``."""

    asked: str
    over: str
    label: str | None = None


@dataclass(frozen=True)
class Kept:
    """A released answer: ``text`` is what is said of it as JSON, ``content`` its cells, ``seal`` binds the two.

    ``size`` is how many bytes both have, ``number`` its place on the shelf, from 1. Where only what is said is wanted,
    ``content`` is left out.

    >>> Kept('{"outputs": [{"asked": "ab", "over": "cd", "label": null}], "snapshots": []}', "seal", 0).outputs
    (KeptOutput(asked='ab', over='cd', label=None),)
    """

    text: str
    seal: str
    size: int
    content: bytes | None = None
    number: int = 0

    @classmethod
    def of(cls, text: str, seal: str, content: bytes) -> "Kept":
        """Give one that is not on a shelf yet."""
        return cls(text, seal, len(text.encode()) + len(content), content)

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data, one line of an export."""
        return {"text": self.text, "seal": self.seal, "content": base64.b64encode(self.content or b"").decode()}

    @classmethod
    def from_json(cls, plain: Any) -> "Kept":
        """Read what ``to_json`` gave; raises LedgerError if it is not that."""
        match plain:
            case {"text": str(text), "seal": str(seal), "content": str(content)}:
                try:
                    whole = base64.b64decode(content, validate=True)
                    found = cls.of(text, seal, whole)
                    _ = found.facts
                    return found
                except (ValueError, LedgerError):
                    pass
        raise LedgerError("this is not a kept answer: give the lines that errorfloor ledger export --kept wrote")

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What is said of it."""
        try:
            found: Mapping[str, Any] = json.loads(self.text)
            _ = [(one["asked"], one["over"], one["label"]) for one in found["outputs"]]
            _ = [(table, version, identity) for table, version, identity in found["snapshots"]]
        except (ValueError, KeyError, TypeError):
            raise damaged(self.number) from None
        return found

    @property
    def time(self) -> str:
        """When it was released."""
        return str(self.facts["time"])

    @property
    def outputs(self) -> tuple[KeptOutput, ...]:
        """How its outputs are found."""
        return tuple(KeptOutput(one["asked"], one["over"], one["label"]) for one in self.facts["outputs"])

    @property
    def lasts(self) -> bool:
        """Whether it stays when others have to make room: it could not be drawn again from what is registered."""
        return any(one.over in LASTING for one in self.outputs)

    @property
    def outlives(self) -> bool:
        """Whether it stays when somebody is erased from a snapshot that it was computed from: it names nobody."""
        return self.facts.get("outlives") is True

    @property
    def labels(self) -> set[str]:
        """The labels that its outputs were charged under."""
        return {one["label"] for one in self.facts["outputs"] if one["label"] is not None}


def damaged(number: int) -> LedgerError:
    """Say that a kept answer is not what was written."""
    return LedgerError(
        f"kept answer {number} was changed by something else: restore the ledger from its newest backup; or run "
        f"errorfloor ledger forget --answer {number}, after which it is drawn again as it was, free of charge",
        number=number,
    )


@final
class Shelf:
    """What is kept, as one transaction sees it."""

    def __init__(self, book: Book) -> None:
        self._run = book.connection.run

    def put(self, kept: Kept) -> int:
        """Add an answer at the end, and give its number; outputs that are there already stay with the older answer."""
        (last,) = self._run("SELECT coalesce(max(number), 0) AS number FROM @kept")
        number = last["number"] + 1
        values = number, kept.text, kept.seal, kept.size, kept.content
        self._run(f"INSERT INTO @kept ({FACTS}, content) VALUES (?, ?, ?, ?, ?)", *values)
        for one in kept.outputs:
            insert = "INSERT INTO @kept_outputs (asked, over_what, label, number) VALUES (?, ?, ?, ?)"
            self._run(f"{insert} ON CONFLICT DO NOTHING", *one, number)
        return int(number)

    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""
        found, places = {}, {}
        for one in asked:
            for row in self._run("SELECT number FROM @kept_outputs WHERE asked = ?", one):
                places[one] = row["number"]
        for number in set(places.values()):
            for row in self._run(f"SELECT {FACTS}, content FROM @kept WHERE number = ?", number):
                found[number] = _kept(row)
        return {one: found[number] for one, number in places.items() if number in found}

    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels, without their content."""
        found: dict[str, Kept] = {}
        wanted = list(labels)
        for start in range(0, len(wanted), PAGE):
            some = wanted[start : start + PAGE]
            outputs = f"SELECT label, number AS place FROM @kept_outputs WHERE label IN ({marks(len(some))})"
            joined = f"SELECT label, {FACTS} FROM ({outputs}) AS outputs JOIN @kept ON number = place"
            found |= {row["label"]: _kept(row) for row in self._run(joined, *some)}
        return found

    def over(self, over: str, limit: int, beyond: int | None = None, *, oldest: bool = False) -> list[Kept]:
        """The last answers with an output over the same, newest first, without their content; or the ``oldest``, first.

        They are ``beyond`` a number: before it, or after it.
        """
        side, order, begin = (">", "number", 0) if oldest else ("<", "number DESC", ABOVE_ALL)
        some = f"SELECT DISTINCT number FROM @kept_outputs WHERE over_what = ? AND number {side} ?"
        wanted = f"SELECT {FACTS} FROM @kept WHERE number IN ({some} ORDER BY {order} LIMIT ?) ORDER BY {order}"
        return [_kept(row) for row in self._run(wanted, over, begin if beyond is None else beyond, limit)]

    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order; with their content if they are wanted ``whole``."""
        columns, most = (f"{FACTS}, content", 1) if whole else (FACTS, PAGE)
        page = f"SELECT {columns} FROM @kept WHERE number > ? ORDER BY number LIMIT ?"
        return map(_kept, paged(partial(self._run, page), after, limit, most, lambda row: row["number"]))

    def beyond(self, room: int) -> list[int]:
        """The oldest of what does not last, by number, without which the rest of it takes at most so many bytes."""
        lasting = f"SELECT number FROM @kept_outputs WHERE over_what IN ({marks(len(LASTING))})"
        others = f"SELECT number, size FROM @kept WHERE number NOT IN ({lasting})"
        taken = f"SELECT number, sum(size) OVER (ORDER BY number DESC) AS taken FROM ({others}) AS others"
        found = f"SELECT number FROM ({taken}) AS newest WHERE taken > ?"
        return [row["number"] for row in self._run(found, *LASTING, room)]

    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers for good."""
        for number in numbers:
            self._run("DELETE FROM @kept_outputs WHERE number = ?", number)
            self._run("DELETE FROM @kept WHERE number = ?", number)


def _kept(row: dict[str, Any]) -> Kept:
    content = row.get("content")
    return Kept(row["text"], row["seal"], row["size"], None if content is None else bytes(content), row["number"])


class Keeping(ABC):
    """The part of a ledger that has a shelf.

    Guarantee: what is given was charged in this very ledger, which goes on from its anchor; so an answer that was put
    on the shelf of another ledger, or of an older one, is not given. Charges never depend on the shelf. What does not
    last takes at most ``room`` bytes: the oldest answers make room, and are drawn again when they are asked again. What
    lasts neither takes nor makes room, and has no limit but what was charged for it.
    """

    room: int = ROOM

    @abstractmethod
    def _read(self, work: Callable[[Book], Result]) -> Result: ...

    @abstractmethod
    def _write(self, work: Callable[[Book], Result]) -> Result: ...

    @abstractmethod
    def _kept(self) -> Head | None: ...

    @abstractmethod
    def _check(self, book: Book, kept: Head | None) -> None: ...

    def keep(self, answer: Kept) -> bool:
        """Put an answer on the shelf, durably; say whether it was put there.

        It is not if all that was charged for it is there already, so that what is free to ask takes no room; if it
        takes nearly all the room, or more; if one of its outputs was never charged here; or if a person was erased from
        a snapshot that it was computed from, and it does not outlive that.
        """
        room = self.room - self.room * TURNS // LARGE  # what comes between two counts takes the rest at most
        if answer.size > room and not answer.lasts:
            return False
        kept = self._kept()

        def work(book: Book) -> bool:
            self._check(book, kept)
            shelf = Shelf(book)
            there = shelf.by_label(answer.labels)
            if answer.labels <= there.keys() or not _is_charged(book, answer) or _is_erased(book, answer):
                return False
            number = shelf.put(answer)
            if number % TURNS == 0 or answer.size * LARGE > self.room:
                shelf.take_away(shelf.beyond(room))
            return True

        return self._write(work)

    def kept(self, asked: Collection[str]) -> dict[str, Kept]:
        """Give the answers with those outputs, whole; one that is not there is left out."""
        kept = self._kept()

        def work(book: Book) -> dict[str, Kept]:
            self._check(book, kept)
            found = Shelf(book).by_asked(asked)
            return {one: answer for one, answer in found.items() if _is_charged(book, answer)}

        return self._read(work)

    def kept_over(
        self,
        over: Collection[str],
        limit: int = LAST,
        chosen: Callable[[Mapping[str, Any]], bool] | None = None,
        looked_at: int | None = None,
    ) -> list[Kept]:
        """Give the last answers with an output over any of these, without their content, newest first.

        Of those that are not ``chosen`` by what is said of them none is given, nor counted among the last. If at most
        so many are ``looked_at`` for each, it is the first ones, and they are given oldest first.
        """
        kept = self._kept()

        def work(book: Book) -> list[Kept]:
            self._check(book, kept)
            count = min(limit, PAGE)
            found = {
                one.number: one for what in over for one in islice(_over(book, what, count, chosen, looked_at), limit)
            }
            return [one for _, one in sorted(found.items(), reverse=looked_at is None)]

        return self._read(work)

    def kept_of(self, labels: Collection[str]) -> dict[str, Kept]:
        """Give the answers that were charged under labels, without their content."""
        return self._read(lambda book: Shelf(book).by_label(labels))

    def kept_page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """Give the answers on the shelf after a number, in order, at most ``limit``; ``whole`` with their content."""

        def read(start: int, count: int) -> list[Kept]:
            return self._read(lambda book: list(Shelf(book).page(start, count, whole=whole)))

        return paged(read, after, limit, 1 if whole else PAGE, lambda one: one.number)

    def forget(self, chosen: Callable[[Kept], bool]) -> int:
        """Take answers off the shelf for good; what was charged stays charged. Give how many they were."""

        def work(book: Book) -> int:
            shelf = Shelf(book)
            numbers = [one.number for one in shelf.page() if chosen(one)]
            shelf.take_away(numbers)
            return len(numbers)

        return self._write(work)


def from_snapshot(identity: str, table: str) -> Callable[[Kept], bool]:
    """Choose the answers that were computed from a snapshot of a table, and what else may name somebody who was in it.

    A standing question whose rows or groups go by who a row is about may; what others released outlives the snapshot.
    """

    def chosen(one: Kept) -> bool:
        if one.outlives:
            return False
        is_question = one.lasts and not one.facts["snapshots"] and one.facts["table"] == table
        return is_question or any(known == identity for _, _, known in one.facts["snapshots"])

    return chosen


def _over(
    book: Book, what: str, count: int, chosen: Callable[[Mapping[str, Any]], bool] | None, looked_at: int | None
) -> Iterator[Kept]:
    """Give the answers over the same that are chosen and were charged; so many are read at a time."""
    beyond, seen = None, 0
    while looked_at is None or seen < looked_at:
        page = Shelf(book).over(what, count, beyond, oldest=looked_at is not None)
        yield from (one for one in page if (chosen is None or chosen(one.facts)) and _is_charged(book, one))
        if len(page) < count:
            return
        beyond, seen = page[-1].number, seen + count


def _is_charged(book: Book, answer: Kept) -> bool:
    return bool(answer.labels) and book.known(answer.labels) == answer.labels


def _is_erased(book: Book, answer: Kept) -> bool:
    gone = [term_name((table, GONE, identity)) for table, _, identity in answer.facts["snapshots"]]
    return not answer.outlives and bool(book.terms(gone))
