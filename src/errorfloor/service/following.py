"""Standing questions: a sum for every month to come, with its running total, priced once for the whole horizon.

The noises of all months of a group are one draw of the joint noise of running totals: each month's figure and each
running total is within the bound that was asked for. ``following.proof.md`` says what one charge covers.

*Guarantee*: a month is read in the snapshot in which it was first released, and in no other: which one that is, is
durable before the first look at it. So its figure never changes, and a correction never shows under the same noise. The
noise goes by a number that is drawn at random with the charge, and kept in the ledger with it: no other ledger has it.
"""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from errorfloor.catalogue import Table
from errorfloor.charging import Charging, look
from errorfloor.charging.refusal import refusal
from errorfloor.charging.settling import Stand, terms_of
from errorfloor.charging.standing import Standing, allowances_of
from errorfloor.checks import Array
from errorfloor.errors import CatalogueError, InputError, RefusedError
from errorfloor.floors.words import rounded_up
from errorfloor.identity import Key, Label, Part
from errorfloor.ledger import Entry, Record
from errorfloor.ledger.book import Deposit
from errorfloor.pricing import Account, FactsCache
from errorfloor.random import RowBits
from errorfloor.service.asking import attendant
from errorfloor.service.cell_noise import CellNoise
from errorfloor.service.ends import cut
from errorfloor.service.horizon import Horizon
from errorfloor.service.horizon_price import (
    ERROR,
    check_priced,
    check_question,
    date_of,
    horizon_charges,
    rows_of_owner,
    summed_column,
)
from errorfloor.service.joint_noise import JointAdded, horizon_noise
from errorfloor.service.known import part_of_it
from errorfloor.service.preparation import PlannedQuestion, PreparedOutput, plan, prepared_for
from errorfloor.service.reading import VERSIONS, ReadQuestion
from errorfloor.service.releasing import tags_of, values_before_noise
from errorfloor.service.rounding import BITS, GRAINS, in_grains, multiples
from errorfloor.service.spending import LEAST_SHARE, at_least, most_of
from errorfloor.sql.double_words import DoubleWord
from errorfloor.sql.plan import Compare, Literal, TableColumn, all_of
from errorfloor.sql.question import Question
from errorfloor.vault import is_current, snapshot

if TYPE_CHECKING:
    from errorfloor.service.database import Database

CANCELLED = "cancelled"


@dataclass(frozen=True, eq=False)
class Following:
    """A standing question that is paid for: ``release`` gives what is known up to a period.

    ``standings`` say how accounts stood after the charge; ``fresh`` whether it was made now. ``drawn`` is the random
    number that was charged with it, by which its noise goes.
    """

    database: "Database"
    question: Question
    horizon: Horizon
    added: JointAdded
    owner_rows: int
    label: Label
    key: Key
    drawn: str
    standings: tuple[Standing, ...]
    fresh: bool
    _steps: dict[str, dict[tuple[Any, ...], int]] = field(default_factory=dict, repr=False)
    _shown: dict[tuple[Any, ...], tuple[tuple[Any, ...], Array]] = field(default_factory=dict, repr=False)

    @property
    def max_error(self) -> float:
        """The bound of every period's figure and of every running total."""
        return self.added.high

    def outputs(self) -> list[dict[str, Any]]:
        """Say of each column of numbers how far it may be off, as plain JSON types."""
        one = self.question.outputs[0]
        bounds = {one.name: 1, f"{one.name}_total": 1, f"{one.name}_moving": 2}
        said = {"exact": False, "step": self.added.lattice.step, "unit": one.unit}
        return [
            {"name": name, "low": -times * self.max_error, "high": times * self.max_error, **said}
            for name, times in bounds.items()
        ]

    def explain(self) -> str:
        """Say what was charged, and what is certain."""
        names, unit = self.horizon.names, self.question.outputs[0].unit
        return " ".join(
            [
                f"Every {self.horizon.part} from {names[0]} to {names[-1]}, and every running total, is within "
                f"±{rounded_up(self.max_error)}{f' {unit}' if unit else ''}; all {len(names)} are paid for.",
                *(one.explain() for one in self.standings),
            ]
        )

    def release(self, through: str, *, moving: int | None = None) -> pa.Table:
        """Give the figures and the running totals up to a period, whose rows are all there; nothing is charged.

        A period that was never released is read now, and then for ever, in the version that is registered now. With
        ``moving``, totals of so many periods come along, from where there are so many; they are within twice the bound.

        Raises InputError for a period outside of the horizon, CatalogueError where a version that was released is
        gone, RefusedError where somebody has more rows in a period than was priced, or it was cancelled.
        """
        names = self.horizon.names
        if through not in names:
            raise InputError(f"through names a {self.horizon.part} from {names[0]} to {names[-1]}, got {through!r}")
        wanted = names[: names.index(through) + 1]
        for name in wanted:
            if name not in self._steps:
                self._read(name)
        if moving is not None and (not isinstance(moving, int) or not 1 <= moving <= len(names)):
            raise InputError(f"moving is a number of periods from 1 to {len(names)}, got {moving!r}")
        return self._table(wanted, moving)

    def cancel(self) -> None:
        """Release nothing more; what was charged stays charged, and what was released stays free."""
        note = {**self._note, "event": CANCELLED}
        self.database.ledger.settle([Entry(self._id(CANCELLED), {}, note)], {}, {})

    @property
    def released(self) -> tuple[str, ...]:
        """The periods that were released so far."""
        known = self.database.ledger.known(self._id("part", name) for name in self.horizon.names)
        return tuple(name for name in self.horizon.names if self._id("part", name) in known)

    @property
    def _note(self) -> dict[str, Any]:
        names = self.horizon.names
        about = {"table": self.question.table, "key": self.key.id, "event": "followed"}
        return about | {"follow": f"{names[0]} … {names[-1]}"}

    @property
    def _accounts(self) -> list[Account]:
        return [one.account for one in self.standings]

    def _id(self, *what: str) -> str:
        return self.key.release_id(Label("follow", (self.label.encoded, *what)))

    def _read(self, name: str) -> None:
        """Release a period: find out in which snapshot, once and for all; then look."""
        ledger, own = self.database.ledger, self._id("part", name)
        record = ledger.found({own}).get(own)
        if record is None:
            if self._id(CANCELLED) in ledger.known({self._id(CANCELLED)}):
                raise RefusedError(f"this question was cancelled, and {name} was not released before", reason="follow")
            here = self._planned(name)
            taken = here.snapshots[0]
            ledger.check(terms_of(taken.table_name, here.table, self._accounts, here.snapshots))
            ledger.check_belong(Deposit(taken.table_name, *one) for one in taken.identities)
            note = {**self._note, "part": name, "version": taken.version, "read": taken.whose[2]}
            ledger.settle([Entry(own, {}, note)], {}, {})
            record = ledger.found({own})[own]  # another process may have been first
        self._look(name, self._planned(name, record))

    def _planned(self, name: str, record: Record | None = None) -> PlannedQuestion:
        """Bound the question for one period, and check that it is what was priced; public facts only.

        ``record`` says from which snapshot, or which parts of a table that grows, it was released: no other is read.
        """
        database, engine, table_name = self.database, self.database._engine, self.question.table
        first, last = self.horizon.days[name]
        pinned = None if record is None else [tuple(one) for one in cast(list[list[str]], record.note["read"])]
        table = database.catalogue.tables[table_name]
        if record is not None and pinned is not None:
            table = _as_it_was(table, str(record.note["version"]), pinned)
        catalogue = database.catalogue.model_copy(update={"tables": {**database.catalogue.tables, table_name: table}})
        day = TableColumn(0, self.horizon.column, "date")
        within = [Compare("<=", Literal(first, "date"), day), Compare("<=", day, Literal(last, "date"))]
        asked = replace(self.question, version=table.version, where=all_of([self.question.where, *within]))
        try:
            whole = snapshot(catalogue, table_name, engine)
        except CatalogueError:
            if pinned is None:
                raise
            raise _gone(table_name, name) from None
        if pinned is None:
            taken = part_of_it(whole, asked) if whole.parts else whole
            ends = " AND ".join(map(engine.dialect.literal, (first, last)))
            rows = f"{taken.relation} AS r WHERE {taken.columns[self.horizon.column]} BETWEEN {ends}"
            if not engine.query(f"SELECT 1 AS one FROM {rows} LIMIT 1").num_rows:
                raise RefusedError(f"{table_name} has no row of {name} yet: register it first", reason="follow")
        else:
            taken = whole.reading([part for part, _, _ in pinned])
            if taken.whose[2] != tuple(pinned):
                raise _gone(table_name, name)
        found = plan(ReadQuestion("", asked, table, (taken,)), catalogue, engine, FactsCache())
        check_priced(found, name, self.owner_rows, self.added)
        return found

    def _look(self, name: str, planned: PlannedQuestion) -> None:
        bounds, place = planned.bounds, self.horizon.names.index(name)
        output = PreparedOutput(
            planned.question.outputs[0], CellNoise.same(self.added, len(bounds.rows)), Label("follow", (name,))
        )
        prepared = prepared_for(planned, (output,), self.database._engine)
        tags, groups = tags_of(bounds.groups, self.key), list(bounds.groups)
        noise = self._noise(tags)
        shown = list(zip(*(one.shown.to_pylist() for one in bounds.groups.columns), strict=True)) or [()]
        defined = bounds.outputs[0].defined[bounds.kind]

        def work() -> Array | None:
            (values,) = values_before_noise(prepared, self.database._engine)
            if not all(is_current(one, self.database._engine) for one in planned.snapshots):
                return None
            safe = DoubleWord(np.where(defined, values.high, 0.0), np.where(defined, values.low, 0.0))
            return _steps(safe, noise[:, place], self.added)

        steps = look(work)
        for group, seen, each in zip(groups, shown, noise, strict=True):
            self._shown.setdefault(group, (seen, each))
        self._steps[name] = dict(zip(groups, steps.tolist(), strict=True))

    def _noise(self, tags: Array) -> Array:
        """Draw the noise of all periods for groups, a row each: a group's follows from its own key."""
        assert self.added.form is not None
        bits = RowBits(self.key.derive(Label("follow", (self.label.encoded, self.drawn))), tags)
        return self.added.form.sample(len(tags), bits) * self.added.bound

    def _table(self, names: Sequence[str], moving: int | None) -> pa.Table:
        output = self.question.outputs[0].name
        keys = [one.name for one in self.question.keys]
        rows: dict[str, list[Any]] = {word: [] for word in (self.horizon.part, *keys)}
        cells: list[int] = []
        sums: list[int] = []
        for group, (seen, noise) in sorted(self._shown.items(), key=lambda one: repr(one[1][0])):
            empty = _steps(DoubleWord(np.zeros(len(noise)), np.zeros(len(noise))), noise, self.added).tolist()
            total = 0
            for place, name in enumerate(names):
                step = self._steps[name].get(group, empty[place])  # where a group has no rows, there is noise alone
                total += step
                rows[self.horizon.part].append(name)
                for key, value in zip(keys, seen, strict=True):
                    rows[key].append(value)
                cells.append(step)
                sums.append(total)
        found: dict[str, Any] = dict(rows)
        for column, numbers in ((output, cells), (f"{output}_total", sums)):
            found |= self._within(column, np.array(numbers, dtype=np.int64), self.max_error)
        if moving is not None:
            totals = np.array(sums, dtype=np.int64).reshape(-1, len(names))
            before = np.concatenate([np.zeros((len(totals), 1), dtype=np.int64), totals], axis=1)[:, :-1]
            last = np.zeros_like(totals)
            last[:, moving - 1 :] = totals[:, moving - 1 :] - before[:, : max(0, len(names) - moving + 1)]
            there = np.broadcast_to(np.arange(len(names)) >= moving - 1, totals.shape).ravel()
            columns = self._within(f"{output}_moving", last.ravel(), 2 * self.max_error)
            found |= {name: pa.array(one, mask=~there) for name, one in columns.items()}
        return pa.table(found)

    def _within(self, name: str, steps: Array, bound: float) -> dict[str, Array]:
        """Give released numbers, and the ends of the intervals in which the truth certainly lies."""
        exact, half, nowhere = (
            multiples(steps, self.added.lattice),
            np.full(len(steps), bound),
            np.full(len(steps), math.inf),
        )
        low, high = cut(exact, (-half, half), (-nowhere, nowhere), self.added.lattice.step)
        return {name: exact, f"{name}_low": low, f"{name}_high": high}


def follow(
    database: "Database",
    sql: str,
    *,
    column: str | None,
    part: str | None,
    since: str,
    until: str,
    max_error: float,
    owner_rows: int | None,
    analyst: str | None,
) -> Following:
    """Charge a standing question for its whole horizon, once; asked again it is free."""
    if database.is_dry:
        raise InputError("a dry run has no months to come: open the catalogue without dry")
    read = database._known.read(sql, database.catalogue, database._engine)
    column = date_of(read) if column is None else column
    check_question(read, column)
    growth = read.table.grows_by
    part = part or (None if growth is None or growth.column != column else growth.part) or "month"
    horizon = Horizon.of(column, part, since, until)
    _check_names(read.question, part)
    rows = rows_of_owner(read, owner_rows)
    bound = float(max_error) if isinstance(max_error, (int, float)) and not isinstance(max_error, bool) else math.nan
    if not 0 < bound < math.inf:
        raise InputError(f"max_error must be a positive number, got {max_error!r}")
    table, name, output = read.table, read.question.table, read.question.outputs[0]
    accounts = [Account(name, summed_column(output.formula)[0], "")]
    if table.owner is not None:
        accounts.append(Account(table.owner.accounts_of(name), "", ""))
    allowances = allowances_of(table, accounts)
    reach = max((most_of(limit) for account, limit in allowances.items() if not account.column), default=0.0) ** 0.5
    added = horizon_noise(len(horizon.names), bound, evaluation_error=bound * ERROR, together=reach)
    if added is None:
        raise InputError(f"max_error {bound:g} cannot be kept for {len(horizon.names)} running totals: ask for fewer")
    cost = {
        account: at_least(charge, allowances[account], 2 * LEAST_SHARE)
        for account, charge in horizon_charges(read, added, len(horizon.names), rows).items()
    }
    function = read.question.function_of(output)
    about: tuple[Part, ...] = (column, part, horizon.names[0], horizon.names[-1], rows, added.law)
    label = Label("follow drawn", (VERSIONS, (function[0], *function[2:]), about))
    keys = database._keeper.keys
    known = database.ledger.known(one.release_id(label) for one in keys)
    key = next((one for one in keys if one.release_id(label) in known), keys[0])
    note = {"table": name, "version": read.question.version, "output": output.name, "key": key.id}
    note |= {"follow": f"{horizon.names[0]} … {horizon.names[-1]}"} | ({} if analyst is None else {"analyst": analyst})
    note |= {"drawn": secrets.token_hex(16)}  # the first one stays

    def words_for(excess: float) -> str:
        return f"ask with a max_error of at least {rounded_up(bound * math.sqrt(excess) * 1.01)}, or for less time"

    def words(stand: Stand, fresh: Sequence[bool]) -> str:
        again = "what was released before can be asked again"
        return refusal(
            "standing question", stand.accounts, stand.quotas, again=again, instead=lambda part: words_for(1 / part)
        )

    quotas = database._grant.quotas(database.catalogue.quota.shares, analyst)
    charging = Charging(
        database.ledger,
        table,
        [Entry(key.release_id(label), cost, note)],
        allowances,
        terms_of(name, table, cost, read.snapshots),
        words,
        quotas,
        database._grant,
    )
    limit = attendant().question

    def instead(stand: Stand, fresh: Sequence[bool]) -> str:
        return words_for(max(one.used_by_this for one in stand.accounts) / (limit or 1.0))

    charging.check_question(limit, instead)
    settled = charging.settle()
    stand = charging.stand(settled, charged=True)
    own = key.release_id(label)
    drawn = str(database.ledger.found({own})[own].note["drawn"])
    return Following(database, read.question, horizon, added, rows, label, key, drawn, stand.accounts, settled.fresh[0])


def _check_names(question: Question, part: str) -> None:
    """Refuse keys that are called as a column that comes along."""
    output = question.outputs[0].name
    own = {part, *(f"{output}{end}{side}" for end in ("", "_total", "_moving") for side in ("", "_low", "_high"))}
    for key in question.keys:
        if key.name in own:
            raise RefusedError(f"a column {key.name} comes along with the answer: rename the key", reason="column")


def _as_it_was(table: Table, version: str, pinned: Sequence[tuple[str, ...]]) -> Table:
    """Give the declaration of the versions, of a table or of its parts, in which a period was released."""
    if table.grows_by is None:
        return table.model_copy(update={"version": version})
    corrected = table.grows_by.corrected | {name: version for name, version, _ in pinned}
    return table.model_copy(update={"grows_by": table.grows_by.model_copy(update={"corrected": corrected})})


def _gone(table: str, name: str) -> CatalogueError:
    return CatalogueError(
        f"{name} was first released from a snapshot of {table} that is not in the vault any more, or was declared "
        f"otherwise, and it is never read from another one: put back what was there. If it was erased, cancel this "
        f"question and follow one that begins later",
        table=table,
    )


def _steps(values: DoubleWord, noise: Array, added: JointAdded) -> Array:
    """Give value + noise in steps of the lattice, halves upwards."""
    drawn = DoubleWord(noise, np.zeros_like(noise))
    grains = in_grains(values, added.lattice) + in_grains(drawn, added.lattice)
    return np.asarray((grains + GRAINS // 2) >> BITS)
