"""How a ledger keeps what was released for its charges, finds it again, and forgets it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import Head
from errorfloor.ledger.shelf import Kept
from errorfloor.ledger.terms import GONE, term_name

Result = TypeVar("Result")
LAST = 20  # answers over the same that are looked through
PAGE = 100  # answers that are read at a time
ROOM = 2**30  # bytes that kept answers take together, unless the catalogue says otherwise
TURNS = 64  # a shelf is counted when so many answers were put on it
LARGE = 1024  # or one that takes more than this part of the room


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
            there = book.shelf.by_label(answer.labels)
            if answer.labels <= there.keys() or not _is_charged(book, answer) or _is_erased(book, answer):
                return False
            number = book.shelf.put(answer)
            if number % TURNS == 0 or answer.size * LARGE > self.room:
                book.shelf.take_away(book.shelf.beyond(room))
            return True

        return self._write(work)

    def kept(self, asked: Collection[str]) -> dict[str, Kept]:
        """Give the answers with those outputs, whole; one that is not there is left out."""
        kept = self._kept()

        def work(book: Book) -> dict[str, Kept]:
            self._check(book, kept)
            found = book.shelf.by_asked(asked)
            return {one: answer for one, answer in found.items() if _is_charged(book, answer)}

        return self._read(work)

    def kept_over(
        self,
        over: Collection[str],
        limit: int = LAST,
        chosen: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> list[Kept]:
        """Give the last answers with an output over any of these, without their content, newest first.

        Of those that are not ``chosen`` by what is said of them none is given, nor counted among the last.
        """
        kept = self._kept()

        def work(book: Book) -> list[Kept]:
            self._check(book, kept)
            count = min(limit, PAGE)
            found = {one.number: one for what in over for one in islice(_newest(book, what, count, chosen), limit)}
            return [one for _, one in sorted(found.items(), reverse=True)]

        return self._read(work)

    def kept_of(self, labels: Collection[str]) -> dict[str, Kept]:
        """Give the answers that were charged under labels, without their content."""
        return self._read(lambda book: book.shelf.by_label(labels))

    def kept_page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """Give the answers on the shelf after a number, in order, at most ``limit``; ``whole`` with their content."""
        most = 1 if whole else PAGE
        while limit is None or limit > 0:
            count = most if limit is None else min(limit, most)
            start = after
            page = self._read(lambda book: list(book.shelf.page(start, count, whole=whole)))  # noqa: B023 (called at once)
            yield from page
            if len(page) < count:
                return
            after, limit = page[-1].number, None if limit is None else limit - count

    def forget(self, chosen: Callable[[Kept], bool]) -> int:
        """Take answers off the shelf for good; what was charged stays charged. Give how many they were."""

        def work(book: Book) -> int:
            numbers = [one.number for one in book.shelf.page() if chosen(one)]
            book.shelf.take_away(numbers)
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


def _newest(book: Book, what: str, count: int, chosen: Callable[[Mapping[str, Any]], bool] | None) -> Iterator[Kept]:
    """Give the answers over the same that are chosen and were charged, newest first; so many are read at a time."""
    before = None
    while True:
        page = book.shelf.over(what, count, before)
        yield from (one for one in page if (chosen is None or chosen(one.facts)) and _is_charged(book, one))
        if len(page) < count:
            return
        before = page[-1].number


def _is_charged(book: Book, answer: Kept) -> bool:
    return bool(answer.labels) and book.known(answer.labels) == answer.labels


def _is_erased(book: Book, answer: Kept) -> bool:
    gone = [term_name((table, GONE, identity)) for table, _, identity in answer.facts["snapshots"]]
    return not answer.outlives and bool(book.terms(gone))
