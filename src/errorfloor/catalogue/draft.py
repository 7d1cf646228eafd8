"""A catalogue to begin with: what a schema can tell is filled in, what only the custodian knows is left to choose."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from errorfloor.catalogue.columns import NAME, PublicType
from errorfloor.catalogue.model import Place
from errorfloor.catalogue.proposals import is_identifier, plain, unit_of
from errorfloor.catalogue.reading import Reading
from errorfloor.errors import CatalogueError

HEAD = """\
# The catalogue: what errorfloor is told about the data, and what it must never let anybody learn.
#
# It was drafted from the names and types of the columns; no value is in it. It is not accepted until every "choose" is
# replaced. Lines that begin with # explain or propose something: remove the # to declare it.

[place]
engine = {engine}  # duckdb, postgresql or spark: where the snapshots are kept and questions are computed
snapshots = {snapshots}  # {kind}
ledger = {ledger}  # what has been spent: a file, or the URL of a PostgreSQL database
anchor = {anchor}  # where the ledger ends; keep it elsewhere if you can, so that an older ledger is refused
keys = {keys}  # secrets from which the noise follows: only its owner may read it; keep a backup
kept_bytes = {kept_bytes}  # what kept answers may take beside the ledger; the oldest make room
# Paths are relative to this file.

# [quota]
# analyst = 0.25  # no analyst uses more than a quarter of any allowance
# month = 0.1  # everybody together uses no more than a tenth in one month; also day, week, analyst_day and so on

[limit]
question = 0.1  # of the whole allowance, for one question; an owner may give --over-limit
# cells = 100000  # groups times outputs of one answer over the network; also bytes and memory
# running_per_token = 4  # questions that one token may have in progress
"""

GUIDE = """
# ---- What a table declares
#
# version     A name for this state of the data; give a new one whenever the data change. What has been spent stays
#             spent.
# row_key     Public columns that together identify each row.
# account_by  By default each private column has one account, and an answer costs what it reveals about the row it
#             reveals most about. With public columns named here, each of their values has a separate account: right for
#             groups that questions keep apart, such as years. The first question fixes it.
# grows_by    A table that gets new rows every month is registered part by part, and what was answered about a month
#             stays free: { column = "day", part = "month" }, a public date of the row key; or a batch, without part.
# min_group   Questions about private columns leave out groups of fewer rows, and say so: one small group sets the price
#             of all. It may rise later and not fall.
# noises      With "any" all noises may spend alike, and the same floors last for about half as many answers with bounds
#             on both sides; without it other noises may spend next to nothing. The first question fixes it.
# questions   With "shared" whoever may ask this table sees the questions that others asked it from then on, and finds
#             their answers, which are free to ask again. Otherwise people see their own questions, and an owner all.
#
# public      What everybody may know, including the row key. Questions filter, group and join by these columns, and
#             what they hold, row by row, is not protected. Whatever is not declared public is private: a column that
#             is nowhere in this file is never read. Think before you declare each one.
# private     Numbers that are only ever seen through noise. A key, a code or a year that everybody may know is not such
#             a number: delete its section and declare it public. Delete the section of a number that nobody needs.
#
# range       Values outside are clamped to it. Take it from what is known about such data (the size of a fuse, a pay
#             scale), never from the data: the least and greatest values are facts about two persons, and everybody may
#             read this range. A wider range needs more noise; a narrower one clamps more.
# resolution  Values are kept as whole multiples of it, and the ends of the range are such multiples: the last digit
#             that matters.
# floor       How far off any estimate of one value must be (root-mean-square, worst case over the range), in the
#             column's own unit, whatever is asked. With the range 0 … 50 kWh, floor = 2.0 promises that nobody pins a
#             reading down to 2 kWh, even knowing all the others. It must stay below the range over √12 (14.4 there),
#             the error of a blind guess. A higher floor allows fewer answers, or wider ones.
# unit        For text and tables.
# nulls       "forbidden": a null stops the registration. "public": which rows are null is public. "impute": a
#             constant takes their place, given as impute = 0.
# distance    The example in the headline: how often two values this far apart can be told apart. A tenth of the range
#             if left out.
# prior       What everybody believes in advance, from public sources, as the mean and deviation of a normal
#             distribution: answers then also state how far off somebody is who believes it.
#
# owner       Whose numbers they are, if one person, household or firm has several. Its floor is the share of guesses,
#             at even odds, in which whoever tries to tell two histories of an owner apart must be wrong: 0.2 means
#             right at most 80 times in 100, and 0.5 would be a coin toss. Without an owner only single values are
#             protected, not the habits that show in many of them. With apart, the two histories differ by at most
#             so much in each number; with per = { column = "day", period = "month" }, within one month, and each
#             month has an allowance: less is promised, and more can be asked. The first question fixes both.
"""

TABLE = """

[tables.{name}]
source = {source}
version = "1"
row_key = "choose"  # such as {key}
# account_by = {by}
# grows_by = {{ column = "day", part = "month" }}
# min_group = 10
# noises = "any"
# questions = "shared"

[tables.{name}.public]
{public}
"""

OWNER = """
# [tables.{name}.owner]
# column = {column}
# floor = 0.2
"""

COLUMN = """
[tables.{table}.private.{column}]
range = "choose"  # [low, high], from what is known about such data, never from the data
resolution = "choose"  # such as {resolution}
floor = "choose"  # how far off, at least, any estimate of one value must be, in its own unit
# unit = {unit}
# nulls = "public"
# distance = 5
# prior = {{ mean = 10, deviation = 8 }}
"""

READ = """
[tables.{name}.read]  # how the file is written, found in the file itself: check it
{options}
"""

NUMBERED = "its place in the file, which everybody may know; in a new version rows keep theirs, and new ones come last"

NO_TABLE = """

# No table yet. Name its file or table, and errorfloor init drafts this part from its columns:
#     errorfloor init --source meters.parquet
[tables]
"""


@dataclass(frozen=True)
class Chosen:
    """What the custodian has chosen: the row key, the public columns, and the words of each private one."""

    row_key: tuple[str, ...]
    public: tuple[str, ...]
    private: Mapping[str, Mapping[str, Any]]
    number: str = ""  # the column that numbers the rows, if they have no key of their own


@dataclass(frozen=True)
class Schema:
    """The names and types of a table's columns; a type that has no place in a catalogue is None.

    >>> Schema("data/Meter readings.csv", {"kwh": "number"}).name
    'meter_readings'
    """

    source: str
    columns: Mapping[str, PublicType | None]
    read: Reading = field(default_factory=Reading)
    unique: frozenset[str] = frozenset()
    chosen: "Chosen | None" = None

    def filled(self, chosen: "Chosen") -> "Schema":
        """Give the same with what was chosen."""
        return replace(self, chosen=chosen)

    @property
    def proposed_key(self) -> list[str]:
        """Columns that probably identify a row: one that differs in every row, else two that are no numbers.

        The second of them is a date, if there is one: the rows of a person are told apart by when they are from.
        """
        single = [name for name, column in self.names.items() if column in self.unique]
        others = [name for name, column in self.names.items() if self.columns[column] not in ("whole", "number", None)]
        if single:
            return sorted(single, key=lambda name: not is_identifier(name))[:1]
        dates = [name for name in others[1:] if self.columns[self.names[name]] in ("date", "moment")]
        return [*others[:1], *(dates[-1:] or others[1:2])] or list(self.names)[:2]

    @property
    def number(self) -> str:
        """A name for a column that numbers the rows."""
        taken = {name.lower() for name in (*self.names, *self.columns)}
        spelt = ("row_no", *(f"row_no_{number}" for number in range(2, len(taken) + 3)))
        return next(name for name in spelt if name not in taken)

    def is_private(self, name: str) -> bool:
        """Say whether a column is proposed as private: a number that neither names a row nor is called like a code."""
        column = self.names[name]
        number = self.columns[column] in ("whole", "number")
        names_a_row = column in self.unique and self.columns[column] == "whole" and self.proposed_key == [name]
        return number and not is_identifier(name) and not names_a_row

    @cached_property
    def names(self) -> dict[str, str]:
        """Lead from the name that each column is declared by to the one it has."""
        found: dict[str, str] = {}
        for column in self.columns:
            name = column if NAME.fullmatch(column) else plain(column, "column")
            taken = {one.lower() for one in found}
            spelt = (name, *(f"{name}_{number}" for number in range(2, len(self.columns) + 2)))
            found[next(one for one in spelt if one.lower() not in taken)] = column
        return found

    @property
    def name(self) -> str:
        """A name for the table, from that of the file or table it comes from."""
        last = re.split(r"[/\\]", self.source.split("::")[-1])[-1]
        stem = last.rsplit(".", 1)[-1] if _is_table(self.source) else last.rsplit(".", 1)[0]
        return plain(stem.removesuffix(".csv"), "table")


def draft(schemas: Sequence[Schema], place: Place | None = None) -> str:
    """Write a commented catalogue for tables of which only the columns' names and types are known.

    Numbers are proposed as private, with range, resolution and floor left to choose; every other column is proposed, in
    a comment, as public.

    Guarantee: the text is TOML, and ``load`` names each thing that is left to choose.

    Raises CatalogueError where two tables would have the same name.

    >>> text = draft([Schema("meters.parquet", {"household": "text", "kwh": "number"})])
    >>> "[tables.meters.private.kwh]" in text, '# household = "text"' in text
    (True, True)
    """
    names = [schema.name for schema in schemas]
    for schema in schemas:
        if names.count(schema.name) > 1:
            raise CatalogueError(
                f"two sources would both be the table {schema.name}: name one here, and add the other by hand"
            )
    return "".join([_head(place or Place()), GUIDE, *map(_table, schemas)]) + ("" if schemas else NO_TABLE)


def _head(place: Place) -> str:
    kinds = {
        "duckdb": "a folder of DuckDB files, made when the first table is registered",
        "postgresql": "the database; everything is kept in its schema errorfloor",
        "spark": "a folder, made when the first table is registered",
    }
    quoted = {word: _quoted(value) for word, value in place.model_dump().items()}
    return HEAD.format(kind=kinds[place.engine], **quoted)


def _table(schema: Schema) -> str:
    kinds = {name: schema.columns[column] for name, column in schema.names.items()}
    usable = {name: kind for name, kind in kinds.items() if kind is not None}
    if schema.chosen is not None:
        return _filled(schema, schema.chosen)
    numbers = {name: kind for name, kind in usable.items() if schema.is_private(name)}
    others = [name for name in usable if name not in numbers]
    lines = [f"# {name} = {_public(kind)}" for name, kind in usable.items()]
    lines += [
        f"# {_quoted(column)} cannot be declared: it is neither number, text, date nor flag"
        for name, column in schema.names.items()
        if name not in usable
    ]
    text = TABLE.format(
        name=schema.name,
        source=_quoted(schema.source),
        key=json.dumps(schema.proposed_key or ["id"], ensure_ascii=False),
        by=json.dumps(others[-1:] or ["area"], ensure_ascii=False),
        public="\n".join(lines),
    )
    if options := list(_options(schema)):
        text += READ.format(name=schema.name, options="\n".join(options))
    if numbers:
        text += OWNER.format(name=schema.name, column=_quoted((others or ["household"])[0]))
    for name, kind in numbers.items():
        resolution = "1" if kind == "whole" else "0.001"
        text += COLUMN.format(table=schema.name, column=name, resolution=resolution, unit=_unit(name))
    return text


def _filled(schema: Schema, chosen: Chosen) -> str:
    """Write a table in which nothing is left to choose."""
    lines = [f"\n\n[tables.{schema.name}]", f"source = {_quoted(schema.source)}", 'version = "1"']
    lines += [f"row_key = {_quoted(list(chosen.row_key))}", "", f"[tables.{schema.name}.public]"]
    lines += [f'{chosen.number} = "whole"  # {NUMBERED}'] if chosen.number else []
    lines += [f"{name} = {_public(schema.columns[schema.names[name]])}" for name in chosen.public]
    text = "\n".join(lines) + "\n"
    if options := [*([f"number = {_quoted(chosen.number)}"] if chosen.number else []), *_options(schema)]:
        text += READ.format(name=schema.name, options="\n".join(options))
    for name, words in chosen.private.items():
        declared = "\n".join(f"{word} = {_quoted(value)}" for word, value in words.items())
        text += f"\n[tables.{schema.name}.private.{name}]\n{declared}\n"
    return text


def _options(schema: Schema) -> Iterator[str]:
    """Write what is not as usual, a line for each."""
    for word, value in schema.read.model_dump(exclude_defaults=True).items():
        yield f"{word} = {_quoted(value)}"
    renamed = {name: column for name, column in schema.names.items() if name != column}
    if renamed:
        yield f"names = {{ {', '.join(f'{name} = {_quoted(column)}' for name, column in renamed.items())} }}"


def _unit(column: str) -> str:
    """Propose a unit where the name of a column tells one, and otherwise leave a gap.

    >>> _unit("kwh"), _unit("monthly_pay"), _unit("score")
    ('"kWh"', '"EUR"', '"…"  # such as "kWh", "EUR" or "days"')
    """
    found = unit_of(column)
    return _quoted(found) if found else '"…"  # such as "kWh", "EUR" or "days"'


def _public(kind: PublicType | None) -> str:
    return '{ type = "number", resolution = 0.01 }' if kind == "number" else _quoted(str(kind))


def _is_table(source: str) -> bool:
    """Tell schema.table, as PostgreSQL has it, from a file."""
    return "::" in source or not re.search(r"[/\\]|\.(parquet|csv|tsv|tab|txt|gz|xls[xmb]?|ods)$", source.lower())


def _quoted(text: Any) -> str:
    """Write a TOML string, number or list; JSON's escapes are TOML's, but for the sign DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
