"""One door to the data: price and ask, release, and streams, in the order that keeps the promise.

Parse → bounds from public facts → noise → charge, durably → only then the private scan → draw → answer.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from errorfloor.answering.answer import Answer, Price
from errorfloor.answering.asking import Asking, attendant
from errorfloor.answering.keeping import Keeper
from errorfloor.answering.known import Known
from errorfloor.answering.simulation import Simulation
from errorfloor.catalogue import Catalogue
from errorfloor.charging.refusal import lost_parts
from errorfloor.charging.settling import NO_LIMITS, Grant
from errorfloor.closing import Closing
from errorfloor.display import tables_in_html, tables_in_text
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, InputError
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import Ledger, MemoryLedger
from errorfloor.ledger.terms import Deposit
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import Prepared, ReadQuestion
from errorfloor.service.dummy import KEY, dummy_engine
from errorfloor.service.faces import FollowFace, StreamFace
from errorfloor.service.listing import ListingFace, table_facts
from errorfloor.wishes import QuestionWords, check_words, taking

if TYPE_CHECKING:  # what questions do not need is loaded when it is used
    from errorfloor.bulk.request import ChargedRelease, Wanted
    from errorfloor.planning.floor_plan import FloorPlan
    from errorfloor.streams import Streams


class Database(ListingFace, FollowFace, StreamFace, Closing):
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
        self,
        catalogue: Catalogue,
        *,
        engine: Engine,
        ledger: Ledger,
        keys: KeyRing | Key,
        older: Sequence[Key] = (),
        is_dry: bool = False,
    ) -> None:
        self.catalogue = catalogue
        self.is_dry = is_dry
        self._whole = catalogue  # also where a grant shows a part of it
        self._engine = engine
        self.ledger = ledger
        self._key = keys if isinstance(keys, Key) else keys.current
        self.keys = (keys,) if isinstance(keys, Key) else tuple(keys.keys)
        others = [key for key in reversed((*older, *self.keys)) if key.id != self._key.id]
        self._keeper = Keeper(ledger, [self._key, *others])
        self._known = Known(losing=partial(lost_parts, ledger))
        self._planned: list[Streams] = []
        self._dry: Self | None = None
        self._dummies: list[Database] = []  # all that were made, also for catalogues that came after
        self._grant = NO_LIMITS
        self._lock = threading.Lock()

    @taking(QuestionWords)
    def price(self, sql: str, *, analyst: str | None = None, **wish: Unpack[QuestionWords]) -> Price:
        """Say what an answer would state and cost; nothing is charged and no private column is read."""
        given = _wished(Database.price, wish)
        return replace(self._asking(sql, given, analyst).price(), unused=self._unused(sql, given))

    @taking(QuestionWords)
    def ask(
        self, sql: str, *, analyst: str | None = None, charge: bool = True, **wish: Unpack[QuestionWords]
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
        given = _wished(Database.ask, wish)
        read = self._read(sql, given)
        by_column = given.by_column(read.question.families)

        def keep(piece: ReadQuestion, answered: Prepared, time: str | None) -> None:
            self._known.hold(replace(answered, packed=None), piece, by_column)  # whose bytes nothing would count
            if time is not None and not self.is_dry:
                self._keeper.keep(answered, piece, by_column, analyst=analyst, time=time)

        answer = self._asking(sql, given, analyst).answer(self._engine, keep, spend=charge)
        return replace(answer, kept_by=(self._keeper, read, by_column, analyst), unused=self._unused(sql, given))

    @taking(QuestionWords)
    def simulate(self, sql: str, *, analyst: str | None = None, **wish: Unpack[QuestionWords]) -> Simulation:
        """Say how many more answers of this price could be given, and how exact the next one could be.

        Nothing is charged; public facts and the ledger are all that is read.
        """
        return self._asking(sql, _wished(Database.simulate, wish), analyst, alone=True).simulation()

    def plan(
        self, questions: Any, candidates: Mapping[str, Any] | None = None, *, analyst: str | None = None
    ) -> "FloorPlan":
        """Say what questions would take together, what fits, and which floors would allow it; nothing is charged.

        ``questions`` are mappings with ``sql``, ``max_error`` (of several the first counts) or ``spend``, and perhaps a
        ``name``; ``candidates`` has by table lists of floors for private columns, and for ``owner`` floors or mappings
        as in the catalogue. Public facts and the ledger are all that is read.
        """
        from errorfloor.planning.listed import considered, listed
        from errorfloor.planning.planner import Planner

        asking = partial(self._asking, analyst=analyst)
        planner = Planner(self.catalogue, self._engine, self._known, self.ledger, asking, self.is_dry)
        return planner.plan(listed(questions), considered(candidates or {}, self.catalogue))

    def release(
        self,
        table: str,
        target: str | Path,
        *,
        columns: "Mapping[str, Wanted]",
        batch: str,
        overwrite: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> "ChargedRelease":
        """Write a copy of a registered table whose private columns carry noise, charged to the table's accounts.

        The table leaves sorted by its row key, with its public columns and the private ones that are named; the
        catalogue says what else there is to say of them.

        Parameters
        ----------
        table
            The name of the table.
        target
            A file ending in .parquet, .csv, .arrow or .feather; or file.duckdb::table.
        columns
            For each private column an interval that the noise must not leave, a noise, or a policy; or a
            ``errorfloor.Column`` of one of them with the lattice step to use.
        batch
            A name that no other release of other data has had, such as "2013-q1".
        overwrite
            Replace an existing target.
        progress
            Called with the number of rows written so far.

        Raises
        ------
        InputError
            What was given cannot be used; nothing was charged, read or written.
        AllowanceError
            The release would break a declared floor; nothing was charged, read or written.
        """
        from errorfloor.bulk.declared import release_table

        if self.is_dry:
            raise InputError("a dry run has no rows to release: open the catalogue without dry")
        return release_table(self, table, target, columns=columns, batch=batch, overwrite=overwrite, progress=progress)

    def tables(self) -> list[dict[str, Any]]:
        """Give what is declared of each table and how many rows it has (None: not registered), as plain JSON types."""
        return [table_facts(name, table, self._rows(name)) for name, table in self.catalogue.tables.items()]

    def dry(self) -> Self:
        """Give the same tables with dummy rows, made from the catalogue alone; what they answer is free.

        It is made once, and closed with this one.
        """
        if self.is_dry:
            return self
        with self._lock:
            if self._dry is None:
                self._dry = self.of_dummies(self.catalogue)
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
        other.catalogue, other._known = catalogue, Known(losing=self._known.losing)
        other._dry = None
        return other

    def check_registered(self) -> None:
        """Raise CatalogueError if a declared table is not registered in its version, or was declared otherwise."""
        for name in self.catalogue.tables:
            self._known.snapshot(self.catalogue, name, self._engine)

    def check_ledger(self) -> None:
        """Raise LedgerError if a declared table was registered with another ledger; one that was not is left out."""
        registered = [name for name in self.catalogue.tables if self._rows(name) is not None]
        found = [self._known.snapshot(self.catalogue, name, self._engine) for name in registered]
        self.ledger.check_belong(Deposit(one.table_name, *which) for one in found for which in one.identities)

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        for one in self._dummies:
            one.close()
        self._engine.close()
        self.ledger.close()

    @classmethod
    def of_dummies(cls, catalogue: Catalogue) -> Self:
        """Open dummy rows in place of the tables of a catalogue; nothing of it but the declarations is used."""
        declared, engine = dummy_engine(catalogue)
        return cls(declared, engine=engine, ledger=MemoryLedger(), keys=KEY, is_dry=True)

    def __repr__(self) -> str:
        return tables_in_text("Database", [table_facts(name, one, None) for name, one in self.catalogue.tables.items()])

    def _repr_html_(self) -> str:
        return tables_in_html(self.tables())

    def _asking(self, sql: str, wish: QuestionWish, analyst: str | None, *, alone: bool = False) -> Asking:
        quotas = self._grant.quotas(self.catalogue.quota.shares, analyst)
        read = self._read(sql, wish)
        wish = wish.by_column(read.question.families)
        prepared, pieces = self._known.pieces(read, wish, self.catalogue, self._engine, self._keeper, alone=alone)
        attendant().priced(prepared)
        return Asking.of(prepared, pieces, self.ledger, self._keeper.keys, self._grant, quotas, is_dry=self.is_dry)

    def _unused(self, sql: str, wish: QuestionWish) -> tuple[str, ...]:
        """Give the names of bounds that no output of a question has."""
        if not isinstance(wish.max_error, Mapping):
            return ()
        question = self._read(sql, wish).question
        columns = {one for columns in question.families.values() for one in columns} | {*question.selected}
        columns -= {key.name for key in question.keys}
        outputs = columns | {*question.families, *(one.asked_as for one in question.outputs)}
        return tuple(name for name in wish.max_error if name not in outputs)

    def _read(self, sql: str, wish: QuestionWish) -> ReadQuestion:
        return self._known.read(sql, self.catalogue, self._engine, asked=(self._keeper, wish))

    def _rows(self, name: str) -> int | None:
        try:
            return self._known.snapshot(self.catalogue, name, self._engine).rows
        except CatalogueError:
            return None


def _wished(method: Callable[..., Any], words: QuestionWords) -> QuestionWish:
    try:
        return QuestionWish(**words)
    except TypeError:
        check_words(method, words)
        raise
