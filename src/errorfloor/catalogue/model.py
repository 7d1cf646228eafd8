"""What the custodian declares, validated once; everything else in the server trusts it.

Numbers are exact fractions: 0.001 is one thousandth. A private column holds whole multiples of its resolution between
the ends of its range, which are such multiples themselves. Whatever is not declared public is private.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from errorfloor.catalogue.columns import MOST_STEPS as MOST_STEPS
from errorfloor.catalogue.columns import NAME, Declaration, Double, MistakesError, misnamed
from errorfloor.catalogue.columns import PrivateColumn as PrivateColumn
from errorfloor.catalogue.columns import PublicColumn as PublicColumn
from errorfloor.catalogue.growth import Growth as Growth
from errorfloor.catalogue.growth import mistakes_in_growth
from errorfloor.catalogue.near import near
from errorfloor.catalogue.owner import Owner as Owner
from errorfloor.catalogue.owner import Period as Period
from errorfloor.catalogue.owner import mistakes_in_periods
from errorfloor.catalogue.reading import Reading, Sources
from errorfloor.catalogue.records import RecordColumn as RecordColumn
from errorfloor.catalogue.records import mistakes_in_records
from errorfloor.catalogue.registers import mistakes_in_registers
from errorfloor.catalogue.sign_in import SignIn
from errorfloor.catalogue.trajectories import Trajectories

Share = Annotated[Double, Field(gt=0, le=1)]


class Table(Declaration):
    """A table: where it comes from, which version it is, its columns, and on what its accounts are kept.

    A table without private columns is public; others can be joined to it on its row key. Questions about private
    columns leave out groups of fewer than ``min_group`` rows.

    With ``grows_by`` it is registered in parts, each of which stays as it is while others are added.

    One that ``protects`` records keeps secret who is there at all: it has neither row key nor public columns, each of
    its ``columns`` has a declared domain, and ``most_rows``, which is public, bounds its size.

    >>> Table(source="areas.csv", version="1", row_key=("area",), public={"area": "text"}).private
    {}
    """

    source: Sources
    version: str = Field(min_length=1, max_length=100)
    protects: Literal["values", "records"] = "values"
    row_key: tuple[str, ...]
    private: dict[str, PrivateColumn] = Field(default_factory=dict)
    public: dict[str, PublicColumn]
    columns: dict[str, RecordColumn] = Field(default_factory=dict)
    most_rows: int = Field(default=10**6, ge=1, le=10**12)
    owner: Owner | None = None
    account_by: tuple[str, ...] = ()
    grows_by: Growth | None = None
    min_group: int = Field(default=1, ge=1, le=10**9)
    noises: Literal["raised cosine", "any"] = "raised cosine"
    questions: Literal["own", "shared"] = "own"
    read: Reading = Reading()

    @property
    def hides_records(self) -> bool:
        """Whether it is a secret who is there at all."""
        return self.protects == "records"

    @property
    def is_public(self) -> bool:
        """Whether nothing in it is a secret."""
        return not self.private and not self.hides_records

    @property
    def compared(self) -> dict[str, PublicColumn]:
        """The columns that questions may compare and group by."""
        return {name: one.public for name, one in self.columns.items()} if self.hides_records else self.public

    @property
    def shared(self) -> bool:
        """Whether whoever may ask the table sees what others asked; it holds for what is asked from then on."""
        return self.questions == "shared"

    @property
    def exact(self) -> bool:
        """Whether accounts count raised-cosine answers by the adversary's game, and leave little for other noises.

        Not for a table that is declared for ``any`` noise: there all count alike, by the bound that holds for each.
        """
        return self.noises == "raised cosine"

    @property
    def per(self) -> Period | None:
        """What the allowances of owners are for, if each period has one."""
        return None if self.owner is None else self.owner.per

    @property
    def joined(self) -> Period | None:
        """When each owner joined, if those who joined in one period have an account of their own."""
        return None if self.owner is None else self.owner.joined

    @property
    def owners_by(self) -> Period | None:
        """What the accounts of owners are divided by: the periods of rows, or those in which owners joined."""
        return self.per or self.joined

    @property
    def lifelong(self) -> "Table":
        """The same table with what is promised to owners for life, if that is declared beside what each period has."""
        if self.owner is None or self.owner.life is None:
            return self
        whole = {"floor": self.owner.life, "per": None, "life": None}
        return self.model_copy(update={"owner": self.owner.model_copy(update=whole)})

    @property
    def divided_by(self) -> tuple[tuple[str, str | None], ...]:
        """The public columns that accounts are divided by, of dates with the period: rows stay where they are."""
        owners = () if self.owners_by is None else ((self.owners_by.column, self.owners_by.period),)
        return (*((column, None) for column in self.account_by), *owners)

    @model_validator(mode="before")
    @classmethod
    def _without_public(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("protects") != "records":
            return given
        owner = given.get("owner")
        named = {"owner": {"column": "", "rows": 1, **owner}} if isinstance(owner, dict) else {}
        return {"row_key": (), "public": {}, **given, **named}

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        if self.hides_records:
            yield from (("columns", text) for _, text in mistakes_in_names((), tuple(self.columns), {}))
            yield from mistakes_in_records(self)
            return
        owner = () if self.owner is None else (self.owner.column,)
        named = {"row_key": self.row_key, "account_by": self.account_by, "owner.column": owner}
        named["owner.per.column"] = () if self.per is None else (self.per.column,)
        named["owner.joined.column"] = () if self.joined is None else (self.joined.column,)
        named["grows_by.column"] = () if self.grows_by is None else (self.grows_by.column,)
        yield from mistakes_in_names(tuple(self.private), tuple(self.public), named)
        if not self.private and (self.owner is not None or self.account_by):
            word = "account_by" if self.owner is None else "owner"
            yield word, "is for accounts, and a table without private columns has none: leave it out"
        if not self.row_key:
            yield "row_key", "must have at least 1 of them, got []"
        if self.columns:
            yield "columns", 'is for protects = "records"'
        if self.owner is not None and self.owner.rows is not None:
            yield "owner.rows", 'is for protects = "records": all rows of an owner count here'
        for word in ("max_delta", "max_epsilon"):
            if self.owner is not None and getattr(self.owner, word) is not None:
                yield f"owner.{word}", 'is for protects = "records"; `errorfloor ledger epsilon` states ε here'
        yield from self._mistakes_in_distances()
        yield from self._mistakes_in_growth()
        yield from () if self.owner is None else mistakes_in_periods(self.owner, self.public)

    def _mistakes_in_distances(self) -> Iterator[tuple[str, str]]:
        for column, distance in () if self.owner is None else self.owner.apart.items():
            if column not in self.private:
                yield "owner.apart", f"names {column!r}, which is not a private column{near(column, self.private)}"
            elif distance >= self.private[column].width:
                width = float(self.private[column].width)
                yield (
                    f"owner.apart.{column}",
                    f"is {float(distance):g}, and two values of {column} differ by at most {width:g}: leave it out",
                )

    def _mistakes_in_growth(self) -> Iterator[tuple[str, str]]:
        growth = self.grows_by
        if growth is None or growth.column not in self.public:
            return
        if not self.private:
            yield "grows_by", "is for tables with private columns: declare a new version of a public one instead"
        if self.account_by or self.per is not None:
            yield "grows_by", "cannot be declared together with account_by or owner.per yet: leave one of them out"
        yield from mistakes_in_growth(growth, self.public[growth.column], in_key=growth.column in self.row_key)


def mistakes_in_names(
    private: tuple[str, ...], public: tuple[str, ...], named: dict[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """Give what is wrong with a table's names: of its columns, and of those that its other words refer to.

    >>> list(mistakes_in_names((), ("day",), {"row_key": ("dya",)}))
    [('row_key', "names 'dya', which is not among the public columns: did you mean day?")]
    """
    for kind, columns in (("private", private), ("public", public)):
        for name in columns:
            if not NAME.fullmatch(name):
                yield kind, misnamed("column", name)
    lowered = [name.lower() for name in (*private, *public)]
    for name in sorted({name for name in lowered if lowered.count(name) > 1}):
        spelt = [given for given in (*private, *public) if given.lower() == name]
        same = len(set(spelt)) == 1
        yield (
            "",
            f"declares {name} both private and public"
            if same
            else f"has columns whose names differ only in capital letters: {', '.join(spelt)}",
        )
    for word, columns in named.items():
        for column in sorted(set(columns), key=columns.index):
            if columns.count(column) > 1:
                yield word, f"names {column!r} twice"
            if column in private:
                yield word, f"names {column!r}, which is private; only public columns are allowed here"
            elif column not in public:
                yield word, f"names {column!r}, which is not among the public columns{near(column, public)}"


class Place(Declaration):
    """Where things are kept: snapshots on an engine, the ledger, the keys.

    ``engine`` is duckdb, postgresql or spark; ``snapshots`` a folder of files, or a PostgreSQL URL; ``kept_bytes`` what
    kept answers may take beside the ledger. Paths are relative to the catalogue.

    >>> Place().snapshots
    'vault.duckdb'
    """

    engine: Literal["duckdb", "postgresql", "spark"] = "duckdb"
    snapshots: str = Field(default="vault.duckdb", min_length=1)
    ledger: str = Field(default="ledger.sqlite", min_length=1)
    keys: str = Field(default="keys.json", min_length=1)
    anchor: str = Field(default="ledger.anchor", min_length=1)
    kept_bytes: int = Field(default=2**30, ge=2**16)

    @property
    def is_server(self) -> bool:
        """Whether ``snapshots`` is the address of a database, perhaps with its password, and no path."""
        return self.engine == "postgresql"

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        is_url = self.snapshots.startswith(("postgresql://", "postgres://"))
        if is_url != self.is_server:
            wanted = "a URL such as postgresql://user@host/database" if not is_url else "a file or folder, not a URL"
            yield "snapshots", f"must be {wanted} for engine = {self.engine!r}"


class Quota(Declaration):
    """Shares of every allowance, so that one analyst, or one month, does not use all of it; none unless declared.

    ``analyst`` is what one analyst may use, ever; ``day``, ``week`` and ``month`` what all together may use in one;
    ``analyst_day``, ``analyst_week`` and ``analyst_month`` what one analyst may use in one. They may be changed at any
    time: floors do not depend on them.

    >>> Quota(analyst=0.25, month=0.1).shares
    {'analyst': 0.25, 'month': 0.1}
    """

    analyst: Share | None = None
    day: Share | None = None
    week: Share | None = None
    month: Share | None = None
    analyst_day: Share | None = None
    analyst_week: Share | None = None
    analyst_month: Share | None = None

    @property
    def shares(self) -> dict[str, float]:
        """What is declared, by kind."""
        return {kind: share for kind, share in self if share is not None}


class Limit(Declaration):
    """What one question may take through a network door, so that nobody can stop the server for others.

    ``cells`` are groups times outputs, ``bytes`` those of the reply, ``memory`` the bytes that a question takes while
    it is worked on, about. ``running_per_token`` is how many questions one token may have under way. ``question`` is
    the share of the whole allowance that one question may take, unless an owner says that it may take more; where it is
    declared, it holds for the command ``ask``, too.

    >>> Limit().cells, Limit(question=0.5).question
    (100000, 0.5)
    """

    cells: int = Field(default=100_000, ge=1)
    bytes: int = Field(default=2**25, ge=2**16)
    memory: int = Field(default=2**29, ge=2**20)
    running_per_token: int = Field(default=4, ge=1)
    question: Share = 0.1


class Catalogue(Declaration):
    """Everything that is declared.

    >>> Catalogue.model_validate({"tables": {}}).place.engine
    'duckdb'
    """

    place: Place = Place()
    quota: Quota = Quota()
    limit: Limit = Limit()
    tables: dict[str, Table]
    streams: dict[str, Trajectories] = Field(default_factory=dict)
    sign_in: SignIn | None = None
    folder: Path = Field(default=Path(), exclude=True)

    @field_validator("tables")
    @classmethod
    def _named(cls, tables: dict[str, Table]) -> dict[str, Table]:
        found = list(mistakes_in_table_names(tuple(tables)))
        if found:
            raise MistakesError(found)
        return tables

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        yield from (("streams", misnamed("stream", name)) for name in self.streams if not NAME.fullmatch(name))
        lowered = [name.lower() for name in (*self.tables, *self.streams)]
        for name in self.streams:  # accounts go by these names
            if lowered.count(name.lower()) > 1:
                yield "streams", f"names {name!r}, and so does a table or another stream: choose another name"
        if self.sign_in is not None:
            yield from self.sign_in.mistakes_in_tables([*self.tables, *self.streams])
        yield from mistakes_in_registers(self.tables)


def mistakes_in_table_names(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the names of tables.

    >>> list(mistakes_in_table_names(("Meters", "meters")))
    [('', 'has names that differ only in capital letters: Meters, meters')]
    """
    for name in names:
        if not NAME.fullmatch(name):
            yield "", misnamed("table", name)
    lowered = [name.lower() for name in names]
    same = [name for name in names if lowered.count(name.lower()) > 1]
    if same:
        yield "", f"has names that differ only in capital letters: {', '.join(same)}"
