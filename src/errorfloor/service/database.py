"""One door to the data: price and ask, in the order that keeps the promise.

Parse → bounds from public facts → noise → charge, durably → only then the private scan → draw → answer.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from errorfloor.catalogue import Catalogue, Table, load
from errorfloor.engines import Engine, open_engine
from errorfloor.errors import AllowanceError, CatalogueError, InputError
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import Entry, Ledger, MemoryLedger, Quotas, Settlement, open_ledger
from errorfloor.ledger.quotas import part as quota_part
from errorfloor.pricing import Account, Charge
from errorfloor.service.advice import advice
from errorfloor.service.answer import Answer, Price
from errorfloor.service.attending import attendant
from errorfloor.service.description import about, page, table_facts
from errorfloor.service.grant import NO_LIMITS, Grant
from errorfloor.service.noises import Wish
from errorfloor.service.preparation import Known, Prepared, allowances_of, prepare
from errorfloor.service.quota import QuotaStanding, quota_standings
from errorfloor.service.releasing import look_and_release
from errorfloor.service.share import check_share, takes_more
from errorfloor.service.simulation import Simulation, rooms
from errorfloor.service.standing import Standing, asked, standings_from
from errorfloor.service.sticky import release_id

MOST_RECORDS = 1000  # in one page of the history
NOTHING = Charge(0.0, 0.0)


class Database:
    """Private tables that answer questions; made by ``errorfloor.open``.

    ``price`` charges nothing. ``ask`` charges first and answers then; asking the same again gives the same answer and
    is free. Use it as a context manager, or close it.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     first = db.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
    ...     again = db.ask("select AVG(kwh) from meters", max_error=0.5)
    >>> first.to_arrow().column(0) == again.to_arrow().column(0), first.fresh, again.fresh
    (True, (True,), (False,))
    """

    def __init__(
        self, catalogue: Catalogue, *, engine: Engine, ledger: Ledger, keys: KeyRing | Key, is_dry: bool = False
    ) -> None:
        self.catalogue = catalogue
        self.is_dry = is_dry
        self._engine = engine
        self.ledger = self._ledger = ledger
        self._key = keys if isinstance(keys, Key) else keys.current
        self.keys = (keys,) if isinstance(keys, Key) else tuple(keys.keys)
        self._known = Known()
        self._dry: Self | None = None
        self._dummies: list[Database] = []  # all that were made, also for catalogues that came after
        self._grant = NO_LIMITS
        self._lock = threading.Lock()

    def price(
        self,
        sql: str,
        *,
        max_error: Any = None,
        spend: Any = None,
        support: Any = None,
        max_loss: Any = None,
        analyst: str | None = None,
    ) -> Price:
        """Say what an answer would state and cost; nothing is charged and no private column is read."""
        wish = Wish.of(max_error=max_error, spend=spend, support=support, max_loss=max_loss)
        quotas = self._quotas(analyst)
        prepared = self._prepared(sql, wish)
        entries = self._entries(prepared, analyst)
        return self._price(prepared, entries, self._ledger.preview(entries, quotas), quotas)

    def ask(
        self,
        sql: str,
        *,
        max_error: Any = None,
        spend: Any = None,
        support: Any = None,
        max_loss: Any = None,
        analyst: str | None = None,
        charge: bool = True,
    ) -> Answer:
        """Answer a question.

        Parameters
        ----------
        sql
            ``SELECT [public keys], aggregates FROM table [WHERE …] [GROUP BY …] [ORDER BY …] [LIMIT …]``.
        max_error
            A bound on |released − true| of every cell; a mapping gives one for each output by name.
        spend
            Instead, the share of the whole allowance to spend; the bound follows.
        support
            Instead, an ``Interval`` for released − true, or ``HalfLine(0.0)`` for answers that are never too small.
        max_loss
            With a half-line: the mean square of released − true, at most.
        analyst
            Whose quotas count; None is the custodian, who has none of his own.
        charge
            With False nothing is spent: what was released before is given again, anything else is refused.

        Raises
        ------
        RefusedError
            The question is not one that is answered; the message says what to ask.
        AllowanceError
            The answer would break a declared floor or exceed a quota, or would have to be charged with ``charge``
            off; nothing was charged.
        """
        wish = Wish.of(max_error=max_error, spend=spend, support=support, max_loss=max_loss)
        quotas = self._quotas(analyst)
        prepared = self._prepared(sql, wish)
        entries = self._entries(prepared, analyst)
        self._check_question(prepared, entries, quotas, spend=charge)
        with self._settling(prepared, entries, quotas, spend=charge) as settled:
            stated = self._price(prepared, entries, settled, quotas, charged=not self.is_dry)
            if entries and not self.is_dry:
                attendant().looking(stated, settled.fresh, [entry.label for entry in entries])
            table, places = look_and_release(prepared, self._engine, self._key)
        return Answer(prepared, stated.standings, stated.quotas, self.is_dry, table, places, tuple(settled.fresh))

    def simulate(
        self,
        sql: str,
        *,
        max_error: Any = None,
        spend: Any = None,
        support: Any = None,
        max_loss: Any = None,
        analyst: str | None = None,
    ) -> Simulation:
        """Say how many more answers of this price could be given, and how exact the next one could be.

        Nothing is charged; public facts and the ledger are all that is read.
        """
        wish = Wish.of(max_error=max_error, spend=spend, support=support, max_loss=max_loss)
        quotas = self._quotas(analyst)
        prepared = self._prepared(sql, wish)
        entries = self._entries(prepared, analyst)
        now = self._ledger.preview(entries, quotas)
        as_new = Settlement([True] * len(entries), now.time, now.spent)
        priced = self._price(prepared, entries, as_new, quotas)
        return Simulation(prepared, rooms(priced.standings, priced.quotas, now.spent), free=not any(now.fresh))

    def tables(self) -> list[dict[str, Any]]:
        """Give what is declared of each table and how many rows it has (None: not registered), as plain JSON types."""
        return [table_facts(name, table, self._rows(name)) for name, table in self.catalogue.tables.items()]

    def history(self, after: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """Give what was charged, in order: at most ``limit`` records after the one with number ``after``."""
        if not isinstance(after, int) or after < 0 or not isinstance(limit, int) or not 1 <= limit <= MOST_RECORDS:
            raise InputError(f"after must be at least 0 and limit 1 to {MOST_RECORDS}, got {after!r} and {limit!r}")
        found: list[dict[str, Any]] = []
        while True:
            read = page(self._ledger.entries(after, limit))
            found += [one for one in read if self._grant.covers(about(one))]
            if len(read) < limit or len(found) >= limit:
                return found[:limit]
            after = read[-1]["sequence"]

    def quotas(self, analyst: str | None = None) -> list[QuotaStanding]:
        """Say how the quotas stand that apply to an analyst now; those that nothing was charged to are unused."""
        holders = self._quotas(analyst).holders(self._ledger.time())
        accounts = self.left() if holders else []
        found = []
        for holder, part in holders.items():
            spent = self._ledger.accounts(holder=holder)
            for whole in accounts:
                account = replace(whole.account, holder=holder)
                limit = quota_part(whole.allowance, part)
                found.append(QuotaStanding(account, part, NOTHING, spent.get(account, NOTHING), limit))
        return found

    def dry(self) -> Self:
        """Give the same tables with dummy rows, made from the catalogue alone; what they answer is free.

        It is made once, and closed with this one.
        """
        if self.is_dry:
            return self
        with self._lock:
            if self._dry is None:
                self._dry = self._of_dummies(self.catalogue)
                self._dummies.append(self._dry)
            return self._dry

    def within(self, grant: Grant) -> Self:
        """Give the same database as one sees it who has only this granted; it is closed with this one.

        What the grant does not cover is refused before anything is charged, and prices say so.
        """
        narrow = copy(self)
        narrow.catalogue, narrow._grant = grant.part_of(self.catalogue), grant
        return narrow

    def renewed(self, catalogue: Catalogue) -> Self:
        """Give the tables of another catalogue, on the same engine, ledger and keys; it is closed with this one."""
        other = copy(self)
        other.catalogue, other._known = catalogue, Known()
        other._dry = None
        return other

    def check_registered(self) -> None:
        """Raise CatalogueError if a declared table is not registered in its version, or was declared otherwise."""
        for name in self.catalogue.tables:
            self._known.snapshot(self.catalogue, name, self._engine)

    def left(self) -> list[Standing]:
        """Say how each undivided account, and each divided one that was charged, stands."""
        found: list[Standing] = []
        spent = self._ledger.accounts()
        for name, table in self.catalogue.tables.items():
            accounts = [Account(name, column, "") for column in table.private] if not table.account_by else []
            if table.owner is not None:
                accounts.append(Account(name, "", ""))
            others = [account for account in spent if account.table == name and account not in accounts]
            accounts += [account for account in others if _is_declared(account, table)]
            limits = allowances_of(table, accounts)
            found += [Standing(a, table, NOTHING, spent.get(a, NOTHING), limits[a]) for a in accounts]
        return found

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        for one in self._dummies:
            one.close()
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- opening

    @classmethod
    def _of(cls, path: str | Path, *, dry: bool, key: str | None) -> Self:
        if not isinstance(path, (str, Path)):
            raise InputError(f"open takes the path of a catalogue, got {type(path).__name__}")
        catalogue = load(path)
        if dry:
            return cls._of_dummies(catalogue)
        ring = KeyRing(catalogue.folder / catalogue.place.keys)
        used: KeyRing | Key = ring if key is None else ring.find(key)
        there = bool(catalogue.tables)
        engine = open_engine(catalogue.place, catalogue.folder, read_only=True) if there else _empty(catalogue)
        try:
            ledger = open_ledger(catalogue.place, catalogue.folder)
        except BaseException:
            engine.close()
            raise
        return cls(catalogue, engine=engine, ledger=ledger, keys=used)

    @classmethod
    def _of_dummies(cls, catalogue: Catalogue) -> Self:
        """Open dummy rows in place of the tables of a catalogue; nothing of it but the declarations is used."""
        from errorfloor.service.dummy import KEY, dummy_engine

        declared, engine = dummy_engine(catalogue)
        return cls(declared, engine=engine, ledger=MemoryLedger(), keys=KEY, is_dry=True)

    # -- charge

    def _prepared(self, sql: str, wish: Wish) -> Prepared:
        prepared = prepare(sql, wish, self.catalogue, self._engine, self._known)
        attendant().priced(prepared)
        return prepared

    def _quotas(self, analyst: str | None) -> Quotas:
        return self._grant.quotas(self.catalogue.quota.shares, analyst)

    def _entries(self, prepared: Prepared, analyst: str | None) -> list[Entry]:
        question = prepared.question
        note = {"table": question.table, "version": question.version, "key": self._key.id}
        if analyst is not None:
            note["analyst"] = analyst
        return [
            Entry(release_id(self._key, one.label), one.charges, {"output": one.output.name, **note})
            for one in prepared.outputs
            if one.label is not None
        ]

    @contextmanager
    def _settling(
        self, prepared: Prepared, entries: list[Entry], quotas: Quotas, *, spend: bool
    ) -> Iterator[Settlement]:
        """Charge what is not free, durably, before the block; it is anchored after it. In a dry run all is free."""
        if not entries or self.is_dry:
            yield self._ledger.preview(entries, quotas)
            return
        with ExitStack() as stack:
            attendant().charging()
            charging = self._ledger.settling(entries, prepared.allowances, prepared.terms, quotas, spend=spend)
            try:
                settled = stack.enter_context(charging)
            except AllowanceError as problem:
                if not spend:
                    raise
                now = self._ledger.preview(entries, quotas)
                found = self._price(prepared, entries, now, quotas)
                words = advice(prepared, found.standings, found.quotas, now.fresh)
                raise AllowanceError(words, **problem.fields) from None
            yield settled

    def _price(
        self, prepared: Prepared, entries: list[Entry], settled: Settlement, quotas: Quotas, *, charged: bool = False
    ) -> Price:
        """Say how the accounts and quotas stand after the answer; ``charged`` says whether it is paid for already."""
        limits = prepared.allowances
        found = standings_from(settled.spent, prepared.table, entries, limits, fresh=settled.fresh, charged=charged)
        of_quotas = quota_standings(quotas, entries, limits, settled, charged=charged)
        of_question = self._grant.of_question(asked(entries, settled.fresh), limits)
        return Price(prepared, found, (*of_quotas, *of_question), self.is_dry)

    def _check_question(self, prepared: Prepared, entries: list[Entry], quotas: Quotas, *, spend: bool) -> None:
        """Refuse a question that would take more than what is granted for one, before it is charged."""
        limit = attendant().question if spend else None
        is_large = limit is not None and takes_more(entries, prepared.allowances, limit)
        if self.is_dry or (self._grant.question is None and not is_large):
            return
        now = self._ledger.preview(entries, quotas)  # what is free now stays so: the charge can only be smaller
        broken = [
            one for one in self._grant.of_question(asked(entries, now.fresh), prepared.allowances) if one.used > 1
        ]
        if broken:
            found = self._price(prepared, entries, now, quotas)
            words = advice(prepared, found.standings, found.quotas, now.fresh)
            raise AllowanceError(words, accounts=[one.to_dict() for one in broken])
        if limit is not None and is_large:
            check_share(self._price(prepared, entries, now, quotas), limit)

    def _rows(self, name: str) -> int | None:
        try:
            return self._known.snapshot(self.catalogue, name, self._engine).rows
        except CatalogueError:
            return None


def _is_declared(account: Account, table: Table) -> bool:
    """Say whether a table still has what an account was opened for."""
    return account.column in table.private if account.column else table.owner is not None


def _empty(catalogue: Catalogue) -> Engine:
    """Give an engine for a catalogue of streams alone: nothing was registered, so there is no vault."""
    from errorfloor.service.dummy import dummy_engine

    return dummy_engine(catalogue)[1]


def open_database(path: str | Path = "errorfloor.toml", *, dry: bool = False, key: str | None = None) -> Database:
    """Open the tables that a catalogue declares, with its vault, ledger and keys; see ``errorfloor.open``.

    >>> open_database("nowhere.toml")
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no catalogue nowhere.toml: ...
    """
    return Database._of(path, dry=dry, key=key)
