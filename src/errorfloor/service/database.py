"""One door to the data: price and ask, in the order that keeps the promise.

Parse → bounds from public facts → noise → charge, durably → only then the private scan → draw → answer.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from errorfloor.catalogue import Catalogue, load
from errorfloor.engines import Engine, open_engine
from errorfloor.errors import AllowanceError, InputError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Entry, Ledger, open_ledger
from errorfloor.pricing import Account, Charge
from errorfloor.service.advice import advice
from errorfloor.service.answer import Answer, Price
from errorfloor.service.noises import Wish
from errorfloor.service.preparation import Known, Prepared, allowances_of, prepare
from errorfloor.service.releasing import look_and_release
from errorfloor.service.standing import Standing, standings
from errorfloor.service.sticky import release_id


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

    def __init__(self, catalogue: Catalogue, *, engine: Engine, ledger: Ledger, keys: KeyRing) -> None:
        self.catalogue = catalogue
        self._engine = engine
        self._ledger = ledger
        self._key = keys.current
        self._known = Known()

    def price(
        self, sql: str, *, max_error: Any = None, spend: Any = None, support: Any = None, max_loss: Any = None
    ) -> Price:
        """Say what an answer would state and cost; nothing is charged and no private column is read."""
        wish = Wish.of(max_error=max_error, spend=spend, support=support, max_loss=max_loss)
        prepared = prepare(sql, wish, self.catalogue, self._engine, self._known)
        return Price(prepared, self._standings(prepared, self._fresh(prepared), charged=False))

    def ask(
        self, sql: str, *, max_error: Any = None, spend: Any = None, support: Any = None, max_loss: Any = None
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

        Raises
        ------
        RefusedError
            The question is not one that is answered; the message says what to ask.
        AllowanceError
            The answer would break a declared floor; nothing was charged.
        """
        wish = Wish.of(max_error=max_error, spend=spend, support=support, max_loss=max_loss)
        prepared = prepare(sql, wish, self.catalogue, self._engine, self._known)
        fresh = self._charge(prepared)
        table, places = look_and_release(prepared, self._engine, self._key)
        return Answer(prepared, self._standings(prepared, fresh, charged=True), table, places, tuple(fresh))

    def left(self) -> list[Standing]:
        """Say how each undivided account, and each divided one that was charged, stands."""
        found: list[Standing] = []
        charged = sorted(self._ledger.accounts())
        for name, table in self.catalogue.tables.items():
            accounts = [Account(name, column, "") for column in table.private] if not table.account_by else []
            if table.owner is not None:
                accounts.append(Account(name, "", ""))
            accounts += [account for account in charged if account.table == name and account not in accounts]
            spent = self._ledger.spent(accounts)
            limits = allowances_of(table, accounts)
            found += [Standing(a, table, Charge(0.0, 0.0), spent[a], limits[a]) for a in accounts]
        return found

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- charge

    def _entries(self, prepared: Prepared) -> list[Entry]:
        question = prepared.question
        return [
            Entry(
                release_id(self._key, one.label),
                one.charges,
                {"output": one.output.name, "table": question.table, "version": question.version, "key": self._key.id},
            )
            for one in prepared.outputs
            if one.label is not None
        ]

    def _fresh(self, prepared: Prepared) -> list[bool]:
        labels = [entry.label for entry in self._entries(prepared)]
        known = self._ledger.known(labels)
        return [label not in known and label not in labels[:place] for place, label in enumerate(labels)]

    def _charge(self, prepared: Prepared) -> list[bool]:
        entries = self._entries(prepared)
        if not entries:
            return []
        try:
            return self._ledger.charge(entries, prepared.allowances, prepared.terms)
        except AllowanceError as problem:
            found = self._standings(prepared, self._fresh(prepared), charged=False)
            raise AllowanceError(advice(prepared, found), **problem.fields) from None

    def _standings(self, prepared: Prepared, fresh: Sequence[bool], *, charged: bool) -> tuple[Standing, ...]:
        """Say how the accounts stand after the answer; ``fresh`` says which outputs are charged now."""
        entries = self._entries(prepared)
        return standings(self._ledger, prepared.table, entries, prepared.allowances, fresh=fresh, charged=charged)


def open_database(path: str | Path = "errorfloor.toml") -> Database:
    """Open the tables that a catalogue declares, with its vault, ledger and keys.

    >>> open_database("nowhere.toml")
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no catalogue nowhere.toml: ...
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"open takes the path of a catalogue, got {type(path).__name__}")
    catalogue = load(path)
    keys = KeyRing(catalogue.folder / catalogue.place.keys)
    ledger = open_ledger(catalogue.place, catalogue.folder)
    engine = open_engine(catalogue.place, catalogue.folder, read_only=True)
    return Database(catalogue, engine=engine, ledger=ledger, keys=keys)
