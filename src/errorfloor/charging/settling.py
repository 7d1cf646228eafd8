"""The one way to a private number: charge, durably; then look; one fixed failure for whatever goes wrong after that.

Answers, releases and trips all take it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from errorfloor.accounts import REGISTER, Account, Charge, share
from errorfloor.catalogue import Catalogue, PrivateColumn, Table
from errorfloor.catalogue.allowance import Protected
from errorfloor.catalogue.model import Owner, Period, PublicColumn
from errorfloor.catalogue.registers import promised
from errorfloor.charging.refusal import charged_before, check_share, unspent
from errorfloor.charging.standing import QuotaStanding, Standing, quota_standings, standings
from errorfloor.errors import AllowanceError, AnswerFailedError
from errorfloor.identity import Key, Label
from errorfloor.ledger import Entry, Ledger, Quotas, Settlement
from errorfloor.ledger.decision import asked_of
from errorfloor.ledger.entry import JSON
from errorfloor.ledger.quotas import NO_QUOTAS, holder_of, part
from errorfloor.vault import Snapshot

Terms = dict[str | tuple[str, ...], object]
Result = TypeVar("Result")


def terms_of(name: str, table: Table, accounts: Iterable[Account], snapshots: Iterable[Snapshot]) -> Terms:
    """Say what must never change, as the ledger keeps it.

    What the accounts of a table and of the columns that are charged mean; the floors that were promised, which may
    rise and not fall; and which snapshot a version is: its noise belongs to that snapshot, and is never drawn for
    another.
    """
    columns = sorted({account.column for account in accounts if account.column})
    return {
        **table_terms(name, table),
        **column_terms(name, {column: table.private[column] for column in columns}),
        **{path: {"identity": identity} for one in snapshots for path, identity in snapshot_paths(name, one)},
    }


def snapshot_paths(name: str, snapshot: Snapshot) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give where a ledger keeps which snapshot a version, or each part that is read, is."""
    path = name, "snapshot", snapshot.table_name
    for one in snapshot.parts:
        yield (*path, one.version, one.name), one.identity
    if not snapshot.parts:
        yield (*path, snapshot.version), snapshot.identity


def table_terms(name: str, table: Table) -> Terms:
    """Say what the accounts of a table are: one per cell of its partition, entries by row key, owners by a column."""
    if table.hides_records:
        assert table.owner is not None
        owner = table.owner
        loss = {"max_delta": owner.max_delta, "max_epsilon": owner.max_epsilon, "rows": owner.most_rows}
        stated = loss if owner.stated is not None else {}
        return {(name,): {"protects": "records", "owner": owner.column, **stated}, **owner_terms(name, table)}
    fixed: Terms = {
        (name,): {
            "row_key": [_key(column, table.public[column]) for column in sorted(table.row_key)],
            "account_by": [_key(column, table.public[column]) for column in table.account_by],
            "owner": None if table.owner is None else _key(table.owner.column, table.public[table.owner.column]),
            **({"noises": table.noises} if table.exact else {}),
            **(
                {"apart": {name: str(one) for name, one in sorted(table.owner.apart.items())}}
                if table.owner is not None and table.owner.apart
                else {}
            ),
            **({"per": _period(table.per, table)} if table.per is not None else {}),
            **({"joined": _joined(table.joined, table)} if table.joined is not None else {}),
            **_life(table.owner),
        }
    }
    fixed[name, "smallest group"] = {"min_group": table.min_group}
    return fixed | owner_terms(name, table)


def owner_terms(name: str, table: Table) -> Terms:
    """Say what was promised to owners, and whether they share their accounts with those of other tables."""
    if table.owner is None:
        return {}
    floor, register = {"floor": table.owner.floor}, table.owner.register
    fixed: Terms = {(name, "owner floor"): floor, (name, REGISTER): {"register": register}}
    accounts = table.owner.accounts_of(name)
    if register is not None:
        about = {word: value for word, value in promised(table).items() if word not in ("floor", "life")}
        fixed[accounts,] = about | _life(table.owner)
        fixed[accounts, "owner floor"] = floor
    if table.owner.life is not None:
        fixed |= {(one, "owner floor", "life"): {"floor": table.owner.life} for one in {name, accounts}}
    return fixed


def _life(owner: Owner | None) -> dict[str, JSON]:
    """Say that owners have an account for life beside those of periods: it counts from the first charge, or never."""
    return {} if owner is None or owner.life is None else {"life": True}


def column_terms(name: str, columns: Mapping[str, PrivateColumn]) -> Terms:
    """Say what the floors of columns, or of states of a stream, are about, and what they are."""
    fixed: Terms = {}
    for column, declared in columns.items():
        fixed[name, "column", column] = {**meaning(declared), "unit": declared.unit}
        fixed[name, "floor", column] = {"floor": declared.floor}
    return fixed


def meaning(column: PrivateColumn) -> dict[str, JSON]:
    """Say which numbers a column holds.

    >>> meaning(PrivateColumn(range=(0, 50), resolution="0.5", floor=2.0))["resolution"]
    '1/2'
    """
    return {
        "range": [str(column.low), str(column.high)],
        "outside": "clamped",
        "resolution": str(column.resolution),
        "nulls": column.nulls,
        "impute": None if column.impute is None else str(column.impute),
    }


def _period(per: Period, table: Table) -> list[JSON]:
    return [*_key(per.column, table.public[per.column]), per.period]


def _joined(joined: Period, table: Table) -> list[JSON]:
    """Say by what owners' accounts are divided, and into which parts rows are, which are compared with their versions.

    Rows of a part would be in another one if the table grew by something else, and be compared with none.
    """
    growth: list[JSON] = [] if table.grows_by is None else [table.grows_by.column, table.grows_by.part]
    return [*_period(joined, table), growth]


def _key(name: str, column: PublicColumn) -> list[JSON]:
    return [name, column.type, None if column.resolution is None else str(column.resolution)]


@dataclass(frozen=True)
class Grant:
    """Some tables and streams, and shares of every allowance for one question and for one day; None is no limit.

    ``token`` is what the day's share is counted by. A table that is not named does not exist for who has the grant;
    public tables that are joined have to be named, too.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     narrow = db.within(Grant("3f2a", question=0.01))
    ...     price = narrow.price("SELECT avg(kwh) FROM meters", spend=0.05)
    >>> price.affordable, price.quotas[0].name
    (False, 'the quota of token 3f2a in one question of meters.kwh')
    """

    token: str = ""
    tables: tuple[str, ...] = ()
    question: float | None = None
    day: float | None = None

    def covers(self, name: str) -> bool:
        """Whether a table or stream is named, or all are."""
        return not self.tables or name in self.tables

    def part_of(self, catalogue: Catalogue) -> Catalogue:
        """Give the part of a catalogue that it covers."""
        if not self.tables:
            return catalogue
        tables = {name: table for name, table in catalogue.tables.items() if self.covers(name)}
        streams = {name: stream for name, stream in catalogue.streams.items() if self.covers(name)}
        return catalogue.model_copy(update={"tables": tables, "streams": streams})

    def quotas(self, shares: Mapping[str, float], analyst: str | None) -> Quotas:
        """Give quotas together with the share of a day."""
        if not shares and analyst is None and self.day is None:
            return NO_QUOTAS
        own = {} if self.day is None else {"token_day": self.day}
        return Quotas({**shares, **own}, analyst, self.token if own else None)

    def of_question(
        self, asked: Mapping[Account, Charge], allowances: Mapping[Account, Charge]
    ) -> tuple[QuotaStanding, ...]:
        """Say how the share for one question stands: it is whole again for each."""
        if self.question is None:
            return ()
        holder = holder_of("token_question", self.token)
        return tuple(
            QuotaStanding(
                replace(account, holder=holder), charge, charge, part(allowances[account], self.question), self.question
            )
            for account, charge in sorted(asked.items())
        )


NO_LIMITS = Grant()


class Stand(NamedTuple):
    """How the accounts and the quotas of a charge stand once it is made."""

    accounts: tuple[Standing, ...]
    quotas: tuple[QuotaStanding, ...]

    @property
    def affordable(self) -> bool:
        """Whether every allowance and every quota suffices."""
        return all(one.used <= 1 for one in (*self.accounts, *self.quotas))


Advice = Callable[[Stand, Sequence[bool]], str]


@dataclass(frozen=True)
class Charging:
    """A charge to be made: its entries in the ledger, under which terms, within which allowances, quotas and grant.

    ``words`` says what to do instead where it is refused, from how everything would stand and which labels are not
    free. All of it follows from public facts.

    Guarantee: what is not free is charged all or not at all, and is durable before ``settle`` returns or the block of
    ``settling`` begins; a refusal charges nothing.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     _ = db.ask("SELECT avg(kwh) FROM meters", max_error=0.001)
    Traceback (most recent call last):
    errorfloor.errors.AllowanceError: this answer would let an entry of meters.kwh be estimated to ...
    """

    ledger: Ledger
    table: Protected
    entries: Sequence[Entry]
    allowances: Mapping[Account, Charge]
    terms: Terms
    words: Advice = field(repr=False)
    quotas: Quotas = NO_QUOTAS
    grant: Grant = NO_LIMITS

    def preview(self) -> Settlement:
        """Say what is not free, and how the accounts stand now; nothing is written."""
        return self.ledger.preview(self.entries, self.quotas)

    def stand(self, settled: Settlement, *, charged: bool) -> Stand:
        """Say how accounts and quotas stand after the charge; ``charged`` says whether that has been made."""
        found = standings(self.table, self.allowances, settled, charged=charged)
        of_quotas = quota_standings(self.quotas, self.allowances, settled, charged=charged)
        return Stand(found, (*of_quotas, *self.grant.of_question(settled.asked, self.allowances)))

    def check_question(self, limit: float | None = None, instead: Advice | None = None) -> None:
        """Refuse a question that takes more than is granted for one, or than ``limit``, before it is charged.

        ``instead`` says what to ask that takes no more than the limit.
        """
        most = asked_of(self.entries, self.entries)
        is_large = limit is not None and any(
            share(one, self.allowances[account]) > limit for account, one in most.items()
        )
        if self.grant.question is None and not is_large:
            return
        now = self.preview()  # what is free now stays so: the charge can only be smaller
        broken = [one for one in self.grant.of_question(now.asked, self.allowances) if one.used > 1]
        found = self.stand(now, charged=False)
        if broken:
            raise AllowanceError(self._refused(found, now), accounts=[one.to_dict() for one in broken])
        if (
            limit is not None and instead is not None and is_large and found.affordable
        ):  # what cannot be afforded has other advice
            check_share(found.accounts, limit, lambda: instead(found, now.fresh))

    @contextmanager
    def settling(self, *, spend: bool = True) -> Iterator[Settlement]:
        """Charge what is not free, durably, before the block; it is anchored after it.

        Private columns may be read in the block, and what was read may leave only after it.
        """
        with ExitStack() as stack:
            charging = self.ledger.settling(self.entries, self.allowances, self.terms, self.quotas, spend=spend)
            try:
                settled = stack.enter_context(charging)
            except AllowanceError as problem:
                now = self.preview()
                found = self.stand(now, charged=False)
                said = self._refused(found, now) if spend else unspent(found.accounts)
                raise AllowanceError(said, **problem.fields) from None
            yield settled

    def settle(self) -> Settlement:
        """Charge what is not free; it is durable and anchored on return."""
        with self.settling() as settled:
            return settled

    def _refused(self, stand: Stand, now: Settlement) -> str:
        """Say what is refused, what to do instead, and what was charged before."""
        return f"{self.words(stand, now.fresh)}; {charged_before(self.ledger, stand.accounts)}"


def together(each: Sequence[Mapping[Account, Charge]]) -> dict[Account, Charge]:
    """Give what several parts cost: an entry is in one of them, and an owner may be in all.

    >>> kwh, owners = Account("meters", "kwh", ""), Account("meters", "", "")
    >>> one, two = Charge(1.0, 0.0), Charge(2.0, 0.0)
    >>> found = together([{kwh: one, owners: one}, {kwh: two, owners: one}])
    >>> found[kwh].information, found[owners].information
    (2.0, 2.0)
    """
    total: dict[Account, Charge] = {}
    for charges in each:
        for account, charge in charges.items():
            before = total.get(account)
            if before is None:
                total[account] = charge
            elif account.column and before.profile is None and charge.profile is None:
                amounts = charge.amounts()
                total[account] = Charge.of({name: max(one, amounts[name]) for name, one in before.amounts().items()})
            else:
                total[account] = before + charge
    return total


def charged_under(ledger: Ledger, labels: Sequence[Label], keys: Sequence[Key], in_use: Key) -> list[Key]:
    """Give for each label the first key that it was charged under; else the one in use, which would draw its noise."""
    if len(keys) == 1:
        return [in_use] * len(labels)
    known = ledger.known(key.release_id(label) for label in labels for key in keys)
    return [next((key for key in keys if key.release_id(label) in known), in_use) for label in labels]


def look(work: Callable[[], Result | None], *, said: tuple[type[Exception], ...] = ()) -> Result:
    """Do what reads private numbers, once it is charged.

    Raises AnswerFailedError, always the same, if anything fails or nothing is given: what is said of it could depend on
    private values. What is ``said`` passes: errors in words that are fixed beforehand.

    >>> look(lambda: 1 / 0)
    Traceback (most recent call last):
    errorfloor.errors.AnswerFailedError: ...
    """
    result = None
    try:
        result = work()
    except said:
        raise
    except Exception:  # leaving the block drops it, so that nothing of it stays in the error below
        result = None
    if result is None:
        raise AnswerFailedError
    return result
