"""The ledger: charge once, durably, and never beyond the allowance."""

import datetime
import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from errorfloor.accounts import REGISTER, Account, Charge
from errorfloor.closing import Closing
from errorfloor.errors import LedgerError
from errorfloor.ledger.anchor import Anchor
from errorfloor.ledger.audit import Replay, accepted, audit, name_of
from errorfloor.ledger.book import Book
from errorfloor.ledger.connections import paged
from errorfloor.ledger.decision import Decision, Settlement, check_clock, decide, look
from errorfloor.ledger.entry import EMPTY, JSON, Entry, Head, Record
from errorfloor.ledger.joining import brought
from errorfloor.ledger.quotas import NO_QUOTAS, Quotas
from errorfloor.ledger.shelf import Keeping
from errorfloor.ledger.terms import Deposit, Path, Pinned, changed, check_belong, pinned_in, term_name, texts
from errorfloor.ledger.total import Total

Result = TypeVar("Result")
PAGE = 1000
AT_ONCE = 16  # acceptances that are looked up together
NO_VERSIONS: Mapping[str, str] = {}


class Ledger(Keeping, Closing):
    """What has been spent, account by account.

    Guarantee: once ``charge`` returns, its entries are durable and anchored; the totals of all processes together never
    exceed the allowances they were charged under.
    """

    is_forgotten: ClassVar[bool] = False  # with its process: then there is nothing to take it for

    def __init__(self, anchor: Anchor | None) -> None:
        self._anchor = anchor
        self._read_only = False
        self._anchoring = ThreadPoolExecutor(1, "errorfloor-anchor")
        self._newest = EMPTY  # of the heads to be anchored
        self._held: tuple[Head, dict[str, str]] = EMPTY, {}  # a head, and terms as they were read there

    @abstractmethod
    def _read(self, work: Callable[[Book], Result]) -> Result:
        """Do work on the book as it stands at one moment."""

    @abstractmethod
    def _write(self, work: Callable[[Book], Result]) -> Result:
        """Do work on the book while nobody else writes; all of it is durable on return, or nothing is written."""

    def close(self) -> None:
        """Let go of files and connections."""
        self._anchoring.shutdown()

    def charge(
        self,
        entries: Sequence[Entry],
        allowances: Mapping[Account, Charge],
        terms: Mapping[Path, object],
        quotas: Quotas = NO_QUOTAS,
    ) -> list[bool]:
        """Charge entries, all or none; say for each label whether it was written (False: it was there, it is free).

        Accounts are compared with ``allowances``, every entry of the call counted. ``terms`` say what the
        accounts of each table mean, by paths (see ``terms.py``); they are kept with the first charge, and may only
        become stricter.
        ``quotas`` are charged and compared in the same transaction.

        Raises AllowanceError if an account or a quota does not cover it, CatalogueError if terms changed or an account
        has no allowance, LedgerError if the ledger is not the one that was anchored or cannot be written.
        """
        with self.settling(entries, allowances, terms, quotas) as settled:
            return settled.fresh

    @contextmanager
    def settling(
        self,
        entries: Sequence[Entry],
        allowances: Mapping[Account, Charge],
        terms: Mapping[Path, object],
        quotas: Quotas = NO_QUOTAS,
        *,
        spend: bool = True,
    ) -> Iterator[Settlement]:
        """Do what ``charge`` does around a block, and say how all the accounts and quotas stand after it.

        What is charged is durable in the block, and anchored when it is left. Private columns may be read in it, while
        the anchor reaches its disk; what was read may leave only after it. Leaving raises LedgerError if the head could
        not be anchored. With ``spend`` off nothing is written, and AllowanceError is raised unless everything is free.
        """
        kept = self._kept()  # before the transaction, whose view of the ledger can then only be newer

        def work(book: Book) -> tuple[Decision, Head, dict[str, str]]:
            self._check(book, kept)
            read_at, read = self._held
            held = dict(read) if read_at == book.tail().head else {}  # another process may have raised a floor since
            decision = decide(
                book,
                entries,
                allowances,
                terms,
                time=_now(),
                quotas=quotas,
                held=held,
                spend=spend,
                is_forgotten=self.is_forgotten,
            )
            if decision.records:
                book.append(decision.records, decision.totals, decision.terms)
                return decision, decision.records[-1].head, held | decision.terms
            return decision, decision.before, held

        decision, head, held = self._write(work) if spend else self._read(work)
        self._held = head, held
        if self._anchor is None or kept == head:
            yield decision.settlement
            return
        self._newest = _newer(self._newest, head)
        try:
            pending = self._anchoring.submit(self._keep, self._anchor, head)
        except RuntimeError:  # its threads are gone
            raise LedgerError("the ledger was closed meanwhile; what was charged stays charged: ask again") from None
        try:
            yield decision.settlement
        finally:
            pending.result()

    def _keep(self, anchor: Anchor, head: Head) -> None:
        """Anchor a head, or a newer one that is durable by now: those who wait behind this find theirs kept already."""
        anchor.advance(_newer(self._newest, head))

    def preview(self, entries: Sequence[Entry], quotas: Quotas = NO_QUOTAS) -> Settlement:
        """Say which entries are not free, and how their accounts and quotas stand now; nothing is written."""
        return self._read(lambda book: look(book, entries, time=_now(), quotas=quotas))

    def spent(self, accounts: Iterable[Account]) -> dict[Account, Charge]:
        """Give what accounts have spent, rounded up; zero for an account that was never charged."""
        wanted = list(accounts)
        totals = self._read(lambda book: book.totals(wanted))
        return {account: totals.get(account, Total()).rounded_up() for account in wanted}

    def accounts(
        self, table: str | None = None, *, holder: str | None = "", versions: Mapping[str, str] = NO_VERSIONS
    ) -> dict[Account, Charge]:
        """Give every account that was ever charged, of one table or of all, and what it has spent, rounded up.

        Quotas are left out; ``holder`` asks for those of one holder instead, or with None for all there is. Where one
        of the ``versions`` of tables is named, accounts of the table have the profile of it.
        """
        totals = self._read(lambda book: book.totals(of=table, holder=holder))
        return {account: totals[account].rounded_up(versions.get(account.table)) for account in sorted(totals)}

    def profiles(self) -> dict[Account, dict[str, Charge]]:
        """Give what accounts have spent at each place of the range, by version of the table; flat ones are left out."""
        totals = self._read(lambda book: book.totals(holder=""))
        versions = {account: sorted({version for _, version in totals[account].places}) for account in sorted(totals)}
        return {a: {one: totals[a].rounded_up(one) for one in found} for a, found in versions.items() if found}

    def accept_clock(self) -> str:
        """Write down what time it is, however long after the last record: charges go on from there."""
        time = _now()
        self.enter({"clock": time}, {}, trusted=time)
        return time

    def accept(self) -> Head:
        """Write down that the ledger is taken for the one in use; anchoring it comes after that."""
        return self._write(accepted)

    def acceptances(self) -> int:
        """Say how often the ledger was taken for the one in use because its custodian vouched for it; never fewer."""
        count, there = 0, True
        while there:
            names = [name_of(count + place) for place in range(AT_ONCE)]
            known = self.known(names)
            more = next((place for place, name in enumerate(names) if name not in known), AT_ONCE)
            count, there = count + more, more == AT_ONCE
        return count

    def enter(
        self,
        note: Mapping[str, JSON],
        terms: Mapping[Path, object],
        check: Callable[[Pinned], None] | None = None,
        *,
        trusted: str | None = None,
    ) -> None:
        """Write down terms that hold from now on, without a charge; nothing is written if all of them held before.

        Owners who join a register bring along what was spent of their accounts. ``check`` is given all terms that hold
        in the same transaction, and may raise. ``trusted`` is a time that somebody vouches for.

        Raises CatalogueError if other terms are held, LedgerError if the clock is far ahead of the last record.
        """
        time = _now() if trusted is None else trusted
        kept, given = self._kept(), texts(terms)

        def work(book: Book) -> Head:
            self._check(book, kept)
            new = changed(book.terms(list(given)), given)
            head, latest = book.tail()
            if terms and not new:
                return head
            if check is not None:
                check(pinned_in(book))
            if trusted is None:
                check_clock(time, latest)
            label = hashlib.sha256(f"errorfloor ledger entry {head.hash}".encode()).hexdigest()
            fixed = {name: json.loads(text) for name, text in new.items()}
            moved, sums = brought(book, new)
            at = max(time, latest)
            record = Record.opening(head, moved, time=at, note=dict(note), terms=fixed, labels=(label,))
            book.append([record], sums, new)
            return record.head

        head = self._write(work)
        if self._anchor is not None:
            self._anchor.advance(head)

    def check_belong(self, deposits: Iterable[Deposit]) -> None:
        """Refuse snapshots that were not registered with this ledger; raises LedgerError."""
        wanted = list(deposits)
        if not self.is_forgotten:
            self._read(lambda book: check_belong(book, wanted))

    def check(self, terms: Mapping[Path, object]) -> None:
        """Refuse terms that no charge would be accepted under, as ``charge`` does; nothing is written."""
        given = texts(terms)
        changed(self._read(lambda book: book.terms(list(given))), given)

    def terms(self, path: Path) -> Mapping[str, Any] | None:
        """Give the terms of one path as they hold now; None if none were fixed."""
        name = term_name(path)
        found = self._read(lambda book: book.terms([name]))
        return json.loads(found[name]) if name in found else None

    def pinned(self, table: str) -> Pinned:
        """Give all the terms of a table as they hold now, by path."""
        return self._read(lambda book: pinned_in(book, table))

    def joined(self, register: str | None) -> set[str]:
        """Give the tables whose owners are in a register."""
        found = self._read(pinned_in)
        return {path[0] for path, terms in found.items() if path[1:] == (REGISTER,) and terms[REGISTER] == register}

    def time(self) -> str:
        """What time it is for quotas: that of the clock, or of the last record if that is later."""
        return max(_now(), self._read(lambda book: book.tail().time))

    def known(self, labels: Iterable[str]) -> set[str]:
        """Give those labels that are charged already."""
        wanted = set(labels)
        return self._read(lambda book: book.known(wanted))

    def found(self, labels: Iterable[str]) -> dict[str, Record]:
        """Give the records with those labels; a label that was never charged is left out.

        What is given is anchored first: an older copy of the ledger, put back later, is then refused.
        """
        wanted, kept = set(labels), self._kept()

        def work(book: Book) -> tuple[dict[str, Record], Head]:
            self._check(book, kept)
            return book.found(wanted), book.tail().head

        found, head = self._read(work)
        if self._anchor is not None and kept != head and not self._read_only:
            self._anchor.advance(head)
        return found

    def head(self) -> Head:
        """Where the ledger stands."""
        return self._read(lambda book: book.tail().head)

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Give the records after one number, in order, at most ``limit`` of them."""

        def read(start: int, count: int) -> list[Record]:
            return self._read(lambda book: list(book.records(start, count)))

        return paged(read, after, limit, PAGE, lambda record: record.sequence)

    def verify(self, checkpoint: Head | None = None) -> Replay:
        """Replay every record: the chain, the totals, the terms, the anchor, and a checkpoint made earlier.

        Raises LedgerError, which names what does not fit.
        """
        kept = self._kept()

        def work(book: Book) -> Replay:
            self._check(book, kept)
            if checkpoint is not None and book.hash_at(checkpoint.sequence) != checkpoint.hash:
                raise LedgerError(
                    f"record {checkpoint.sequence} of the checkpoint is not in this ledger: it is older, or another one"
                )
            return audit(book)

        return self._read(work)

    def _kept(self) -> Head | None:
        """Give the anchored head; None only where no anchor is used."""
        if self._anchor is None:
            return None
        kept = self._anchor.read()
        if kept is None:
            raise self._anchor.missing(self.head())
        return kept

    def _check(self, book: Book, kept: Head | None) -> None:
        """Refuse a book that does not continue the anchored head."""
        if self._anchor is None or kept is None or kept == book.tail().head:
            return
        found = book.hash_at(kept.sequence)
        if found is None:
            raise self._anchor.older(kept, book.tail().head)
        if found != kept.hash:
            raise self._anchor.disagrees(kept)


def _newer(one: Head, other: Head) -> Head:
    return one if one.sequence > other.sequence else other


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
