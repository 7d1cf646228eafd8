"""What the custodian declares, validated once; everything else in the server trusts it.

Numbers are exact fractions: 0.001 is one thousandth. A private column holds whole multiples of its resolution between
the ends of its range, which are such multiples themselves. Whatever is not declared public is private.
"""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from errorfloor.catalogue.near import near
from errorfloor.catalogue.numbers import Double, Exact
from errorfloor.catalogue.numbers import exact as exact

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
PublicType = Literal["text", "whole", "number", "date", "moment", "flag"]
MOST_STEPS = 2**40  # from zero, at most: products of two columns and sums of many rows then stay within 126 bits
NEAR_IGNORANCE = 0.99  # of the error of somebody who sees no answer: a floor above it leaves next to nothing to spend
LEAST_FLOOR = Fraction(1, 100)  # of the resolution: below it the floor says nothing, and rounding would decide it


class MistakesError(ValueError):
    """Mistakes in one declaration, each with the word it is about ("" for the whole).

    >>> str(MistakesError([("range", "needs low < high")]))
    'range needs low < high'
    """

    def __init__(self, found: Iterable[tuple[str, str]]) -> None:
        self.found = tuple(found)
        super().__init__("; ".join(f"{word} {text}".strip() for word, text in self.found))


def printable(text: str) -> str:
    """Accept a text that can stand in a sentence."""
    if not text.isprintable():
        raise ValueError("must not hold line breaks or other signs that cannot be printed")
    return text


Unit = Annotated[str, Field(max_length=40), BeforeValidator(lambda v: printable(v) if isinstance(v, str) else v)]


class Declaration(BaseModel):
    """Common to all declarations: frozen, and no word is accepted that means nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Prior(Declaration):
    """What everybody may be assumed to believe of an entry beforehand: a normal law cut to the column's range.

    >>> Prior(mean=10, deviation=8).deviation
    8.0
    """

    mean: Double
    deviation: Double = Field(gt=0)


class PrivateColumn(Declaration):
    """A private numeric column.

    ``floor`` is the root-mean-square error, in the column's unit, below which nobody's estimate of an entry may get in
    the worst case over the range. ``nulls``: ``forbidden``; ``public`` (which entries are null is no secret); or
    ``impute``, with the constant to put in their place. ``distance`` is the example used in words: how well two values
    that far apart can be told.

    >>> kwh = PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0, unit="kWh")
    >>> kwh.steps, kwh.example
    ((0, 50000), 5.0)
    """

    range: tuple[Exact, Exact]
    resolution: Exact
    floor: Double = Field(gt=0)
    unit: Unit = ""
    nulls: Literal["forbidden", "public", "impute"] = "forbidden"
    impute: Exact | None = None
    distance: Double | None = Field(default=None, gt=0)
    prior: Prior | None = None

    @property
    def low(self) -> Fraction:
        """The least value; smaller ones are clamped to it."""
        return self.range[0]

    @property
    def high(self) -> Fraction:
        """The greatest value; larger ones are clamped to it."""
        return self.range[1]

    @property
    def width(self) -> Fraction:
        """The width of the range."""
        return self.high - self.low

    @property
    def steps(self) -> tuple[int, int]:
        """The ends of the range as stored: whole multiples of the resolution."""
        return int(self.low / self.resolution), int(self.high / self.resolution)

    @property
    def example(self) -> float:
        """The distance used in words: the declared one, or a tenth of the range."""
        return self.distance if self.distance is not None else float(self.width / 10)

    @property
    def ignorance(self) -> float:
        """The root-mean-square error of somebody who sees no answer and finds every value equally likely."""
        return float(self.width) / 12**0.5

    @model_validator(mode="after")
    def _consistent(self) -> "PrivateColumn":
        found = list(self._off_the_lattice()) or list(self._beyond_the_range())
        if found:
            raise MistakesError(found)
        return self

    def _off_the_lattice(self) -> Iterator[tuple[str, str]]:
        if self.low >= self.high:
            yield "range", f"needs low < high, got {_text(self.low)} … {_text(self.high)}"
        if self.resolution <= 0:
            yield "resolution", f"must be positive, got {_text(self.resolution)}"
            return
        for end in self.range:
            if (end / self.resolution).denominator != 1:
                yield (
                    "range",
                    f"must begin and end on multiples of the resolution {_text(self.resolution)}, "
                    f"and {_text(end)} is not one",
                )
        if max(map(abs, self.steps)) > MOST_STEPS:
            yield (
                "resolution",
                f"{_text(self.resolution)} puts the range {max(map(abs, self.steps)):.3g} steps from zero; at most "
                f"{MOST_STEPS:.3g} can be kept exactly: choose a coarser one",
            )

    def _beyond_the_range(self) -> Iterator[tuple[str, str]]:
        if self.floor >= NEAR_IGNORANCE * self.ignorance:
            yield (
                "floor",
                f"must stay below {NEAR_IGNORANCE * self.ignorance:.4g}, got {self.floor:g}: somebody who sees no "
                f"answer at all is off by {self.ignorance:.4g} (the range over √12)",
            )
        elif self.floor < LEAST_FLOOR * self.resolution:
            yield (
                "floor",
                f"{self.floor:g} is less than a hundredth of the resolution {_text(self.resolution)} and would protect "
                f"nothing: declare a larger one",
            )
        if self.nulls == "impute" and self.impute is None:
            yield "nulls", "= 'impute' needs the constant to put in place of a null: impute = …"
        if self.impute is not None:
            if self.nulls != "impute":
                yield "impute", f"is given but nulls = {self.nulls!r}: leave it out, or declare nulls = 'impute'"
            elif not self.low <= self.impute <= self.high or (self.impute / self.resolution).denominator != 1:
                yield "impute", f"= {_text(self.impute)} must lie in the range, on a multiple of the resolution"
        if self.distance is not None and self.distance > self.width:
            yield "distance", f"{self.distance:g} is wider than the range {_text(self.width)}"


class PublicColumn(Declaration):
    """A public column; a ``number`` is kept as whole multiples of its resolution, a ``whole`` as it is.

    >>> PublicColumn.model_validate("whole").step, PublicColumn(type="number", resolution="0.5").step
    (Fraction(1, 1), Fraction(1, 2))
    """

    type: PublicType
    resolution: Exact | None = None
    unit: Unit = ""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        return {"type": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _resolved(self) -> "PublicColumn":
        if self.type == "number":
            if self.resolution is None or self.resolution <= 0:
                text = "must be given and positive for a public number: { type = 'number', resolution = 0.01 }"
                raise MistakesError([("resolution", text)])
        elif self.resolution is not None:
            raise MistakesError([("resolution", f"is for numbers; this column is declared {self.type!r}")])
        return self

    @property
    def step(self) -> Fraction | None:
        """The exact value of one stored unit; None for what is not a number."""
        return Fraction(1) if self.type == "whole" else self.resolution


class Owner(Declaration):
    """Whose numbers they are, when one owner has several.

    ``floor`` is the share of guesses, at even odds, in which anybody who tries to tell two histories of an owner apart
    must be wrong: 0.5 is a coin, 0.2 means right at most 80 times in 100.

    >>> Owner(column="household", floor=0.2).floor
    0.2
    """

    column: str
    floor: Double = Field(gt=0, lt=0.5)


class Table(Declaration):
    """A table: where it comes from, which version it is, its columns, and on what its accounts are kept.

    A table without private columns is public; others can be joined to it on its row key.

    >>> Table(source="areas.csv", version="1", row_key=("area",), public={"area": "text"}).private
    {}
    """

    source: str = Field(min_length=1)
    version: str = Field(min_length=1, max_length=100)
    row_key: tuple[str, ...] = Field(min_length=1)
    private: dict[str, PrivateColumn] = {}
    public: dict[str, PublicColumn]
    owner: Owner | None = None
    account_by: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> "Table":
        owner = () if self.owner is None else (self.owner.column,)
        named = {"row_key": self.row_key, "account_by": self.account_by, "owner.column": owner}
        found = list(mistakes_in_names(tuple(self.private), tuple(self.public), named))
        if not self.private and (self.owner is not None or self.account_by):
            word = "account_by" if self.owner is None else "owner"
            found.append((word, "is for accounts, and a table without private columns has none: leave it out"))
        if found:
            raise MistakesError(found)
        return self


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
                yield kind, _misnamed("column", name)
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
                yield word, f"names {column!r}, which is private; only public columns can stand here"
            elif column not in public:
                yield word, f"names {column!r}, which is not among the public columns{near(column, public)}"


class Place(Declaration):
    """Where things are kept: snapshots on an engine, the ledger, the keys.

    ``engine`` is duckdb, postgresql or spark; ``snapshots`` a DuckDB file, a PostgreSQL URL, or a folder for Spark.
    Paths are relative to the catalogue.

    >>> Place().snapshots
    'vault.duckdb'
    """

    engine: Literal["duckdb", "postgresql", "spark"] = "duckdb"
    snapshots: str = Field(default="vault.duckdb", min_length=1)
    ledger: str = Field(default="ledger.sqlite", min_length=1)
    keys: str = Field(default="keys.json", min_length=1)
    anchor: str = Field(default="ledger.anchor", min_length=1)

    @model_validator(mode="after")
    def _fitting(self) -> "Place":
        is_url = self.snapshots.startswith(("postgresql://", "postgres://"))
        if is_url != (self.engine == "postgresql"):
            wanted = "a URL such as postgresql://user@host/database" if not is_url else "a file or folder, not a URL"
            raise MistakesError([("snapshots", f"must be {wanted} for engine = {self.engine!r}")])
        return self


class Catalogue(Declaration):
    """Everything that is declared.

    >>> Catalogue.model_validate({"tables": {}}).place.engine
    'duckdb'
    """

    place: Place = Place()
    tables: dict[str, Table]
    folder: Path = Field(default=Path(), exclude=True)

    @field_validator("tables")
    @classmethod
    def _named(cls, tables: dict[str, Table]) -> dict[str, Table]:
        found = list(mistakes_in_table_names(tuple(tables)))
        if found:
            raise MistakesError(found)
        return tables


def mistakes_in_table_names(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the names of tables.

    >>> list(mistakes_in_table_names(("Meters", "meters")))
    [('', 'has names that differ only in capital letters: Meters, meters')]
    """
    for name in names:
        if not NAME.fullmatch(name):
            yield "", _misnamed("table", name)
    lowered = [name.lower() for name in names]
    same = [name for name in names if lowered.count(name.lower()) > 1]
    if same:
        yield "", f"has names that differ only in capital letters: {', '.join(same)}"


def _misnamed(what: str, name: str) -> str:
    shown = name if len(name) <= 70 else f"{name[:67]}..."
    return f"names a {what} {shown!r}; a name is a letter, then letters, digits and _ (at most 63)"


def _text(value: Fraction) -> str:
    return f"{float(value):.12g}"
