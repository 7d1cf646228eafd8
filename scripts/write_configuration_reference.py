"""Write docs/reference/configuration.md from the catalogue's own models and the server's settings.

Which words there are, their types, limits and defaults come from the code; what each means is said here, and a word
without a sentence, or a sentence without a word, stops the script.
"""

from dataclasses import fields
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from errorfloor.access.settings import Settings
from errorfloor.catalogue.columns import Declaration, Prior, PrivateColumn, PublicColumn
from errorfloor.catalogue.model import Catalogue, Growth, Limit, Owner, Period, Place, Quota, Table
from errorfloor.catalogue.reading import Reading
from errorfloor.catalogue.records import RecordColumn
from errorfloor.catalogue.sign_in import SignIn
from errorfloor.catalogue.trajectories import Rows, Trajectories
from errorfloor.designer.cache import SWITCH

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "configuration.md"
NOT_WRITTEN = {"folder"}  # where the catalogue was read from: known, not declared
EXAMPLE = """\
[place]
engine = "duckdb"

[quota]
analyst = 0.25

[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]
public = { household = "text", day = "date", area = { type = "number", resolution = 0.5, unit = "m²" } }
owner = { column = "household", floor = 0.2 }

[tables.meters.private.kwh]
range = [0, 50]
resolution = 0.001
floor = 2.0
unit = "kWh"
prior = { mean = 10, deviation = 8 }
"""
SECTIONS: dict[str, tuple[type[Declaration], str, dict[str, str]]] = {
    "The file": (
        Catalogue,
        "The top level. You choose the names of tables and streams; they must differ in more than capital letters.",
        {
            "place": "where things are kept",
            "quota": "shares of every allowance for analysts and periods",
            "sign_in": "an identity provider that vouches for people; tokens still work",
            "limit": "what one question may take over the network",
            "tables": "a section for each table; may be empty where there are streams",
            "streams": "a section for each stream of trajectories",
        },
    ),
    "[place]": (
        Place,
        "Paths are relative to the catalogue.",
        {
            "engine": "where snapshots are kept and questions are computed",
            "snapshots": "a folder, with a file or a folder for each snapshot, or `postgresql://user@host/database`",
            "ledger": "what has been spent: a SQLite file, or `postgresql://user@host/database`",
            "keys": "the secrets from which noise follows; only its owner may read the file",
            "anchor": "a file that remembers where the ledger ends; or `!` and a command that does",
            "kept_bytes": "what all kept answers together may take beside the ledger; the oldest are removed first",
        },
    ),
    "[quota]": (
        Quota,
        "Each is a share of every allowance. Times are universal (UTC), and weeks begin on Monday. Quotas may be "
        "changed at any time.",
        {
            "analyst": "what one analyst may use, ever",
            "day": "what everybody together may use in a day",
            "week": "what everybody together may use in a week",
            "month": "what everybody together may use in a month",
            "analyst_day": "what one analyst may use in a day",
            "analyst_week": "what one analyst may use in a week",
            "analyst_month": "what one analyst may use in a month",
        },
    ),
    "[sign_in]": (
        SignIn,
        "An OpenID Connect provider; needs the extra `oidc`. Somebody who is in none of the three lists is refused.",
        {
            "issuer": "the provider's URL, as it names itself",
            "client_id": "the name by which it knows this server",
            "address": "the URL at which people reach this server; they are sent back to `/login/callback` below it",
            "secret_file": "a file with the client's secret, which only its owner may read; none for a public client",
            "secret_variable": "the environment variable that has the client's secret, instead of a file",
            "scopes": "what the provider is asked for",
            "name": "the claim that names a person, for quotas and logs; choose one that people cannot change",
            "role": "the claim whose values give roles",
            "owner": "values that make an owner",
            "analyst": "values that make an analyst",
            "reader": "values that make a reader",
            "tables": "for each value of the claim that `role` names, the tables and streams that it opens, or `*` for "
            "all; without this section, everybody may see all",
        },
    ),
    "[limit]": (
        Limit,
        "A question over a limit is refused before work starts, and the refusal names the number. `ef.open` has no "
        "limits. They may be changed at any time.",
        {
            "cells": "groups times outputs of one answer",
            "bytes": "the size of one reply, bounded from public facts",
            "memory": "roughly how many bytes the public facts of one question may take while it is priced",
            "running_per_token": "questions that one token may have in progress at once; reading the ledger counts as "
            "one",
            "question": "the share of the whole allowance that one question may take; if you declare it, it also "
            "limits `errorfloor ask`; an owner may give `--over-limit`",
        },
    ),
    "[tables.NAME]": (
        Table,
        "A table without private columns is public, and others can be joined to it on its row key.",
        {
            "source": "files (`.parquet`, `.csv`, `.tsv`, `.txt`, `.csv.gz`; `.xlsx`, `.xls` and `.ods` with the extra "
            "`excel`), one, several, or a pattern such as `parts/*.csv`; a folder of Parquet files; "
            "`file.duckdb::table`; or `schema.table`",
            "version": "a name for this state of the data; choose a new one whenever the data change",
            "protects": "`records`: who is in the table is a secret, too; columns are then declared under `columns`, "
            "and there is neither row key nor public column; it can never be changed",
            "row_key": "public columns that together identify each row",
            "private": "a section for each private number",
            "public": "the columns that everybody may know, row by row; what is not declared is never read",
            "columns": "of a table that protects records: a section for each column",
            "most_rows": "of a table that protects records: how many rows it can have; everybody may know it",
            "owner": "whose numbers they are, if one owner has several",
            "account_by": "public columns; each of their values has a separate account; fixed by the first question",
            "grows_by": "what the table grows by: it is registered part by part, and parts stay as they are while "
            "others are added",
            "read": "how text files and sheets are written; `errorfloor init` finds this out",
            "min_group": "questions about private columns leave out groups of fewer rows; may rise later but not fall",
            "noises": "`any` lets other noises spend as much as answers with bounds on both sides, of which only about "
            "half as many are then allowed; fixed by the first question",
            "questions": "`shared`: whoever may ask the table sees what others ask from then on; `own`: people see "
            "their own questions, and an owner sees all",
        },
    ),
    "[tables.NAME.read]": (
        Reading,
        "For text files and sheets; `names` is for every source. All files of a table are read alike. A field that is "
        "not as declared stops the registration, and the message names its line.",
        {
            "delimiter": "what separates fields",
            "quote": "what stands around a field",
            "escape": "what stands before a quotation mark inside a field",
            "decimal": "what stands before decimals: `.` or `,`",
            "thousands": "what stands between groups of three digits: `,` `.` `'` `_` or a space",
            "nulls": "spellings of a missing number, date or flag, besides an empty field; texts are taken literally",
            "dates": "the format of dates, such as `%d.%m.%Y`; ISO 8601 needs none",
            "moments": "the format of dates with a time",
            "encoding": "the encoding of text files; any that Python knows",
            "skip": "how many lines there are above the line of names",
            "header": "the names of the columns, in a file that has no line of names",
            "number": "a name for a column that numbers the rows from 1, as the row key of a table that has none. A "
            "row's place is then public, and rows must keep their places in a new version",
            "sheet": "the sheet of a workbook; the first, unless named",
            "names": 'what a column is called in the source: `{ pay = "Gehalt in €" }`',
        },
    ),
    "[tables.NAME.owner]": (
        Owner,
        "",
        {
            "column": "the public column that names the owner; of a table that protects records, a column of the "
            "source, or none if each row has a different owner",
            "floor": "the share of guesses, at even odds, in which whoever tries to tell two histories apart must be "
            "wrong",
            "apart": "for each private column, the most by which each number differs in the two histories; by default "
            "the width of the range; fixed by the first question",
            "per": "the two histories differ within one period, and each period has an allowance; fixed by the first "
            "question",
            "joined": "owners who joined in one period share an account, separate from the others; fixed by the first "
            "question",
            "rows": "of a table that protects records: how many rows of an owner count at most; 1 unless given",
            "register": "a name for the people whom this table and others are about: these tables share one account of "
            "owners, and a table that joined never leaves",
            "max_delta": "of a table that protects records: answers get normal noise that is cut off, and all of them "
            "together are (ε, δ)-differentially private with this δ; it never changes",
            "max_epsilon": "with `max_delta`: the ε that all answers together never exceed; it never changes. Without "
            "it, ε follows from the floor",
            "life": "with `per`: the floor of a further account, for two histories that differ in any periods; at most "
            "`floor`; fixed by the first question, but may rise",
        },
    ),
    "[tables.NAME.owner.per]": (
        Period,
        "",
        {
            "column": "the public column that says which period a row is in",
            "period": "the length of a period, for a date or moment; of any other column each value is a period",
        },
    ),
    "[tables.NAME.owner.joined]": (
        Period,
        "[Who comes later](../how-to-declare.md#who-comes-later).",
        {
            "column": "the public column that says when an owner joined: the same in all rows, parts and versions",
            "period": "the length of a period, for a date or moment; of any other column each value is a period",
        },
    ),
    "[tables.NAME.grows_by]": (
        Growth,
        "[How to let a table grow](../how-to-grow.md).",
        {
            "column": "a public date or moment, text or whole number of the row key, which says in which part a row is",
            "part": "the length of a part, for a date or moment; of any other column each value is a part",
            "corrected": 'versions of parts that were registered again: `{ "2024-01" = "2" }`; all others have the '
            "table's",
        },
    ),
    "[tables.NAME.public.COLUMN]": (
        PublicColumn,
        'A type alone may be abbreviated: `tariff = "text"`.',
        {
            "type": "what the column holds; `whole` is a whole number, `moment` a date with a time, `flag` yes or no",
            "resolution": "numbers are kept as whole multiples of it; needed for `number`, and for nothing else",
            "unit": "shown in sentences and tables",
        },
    ),
    "[tables.NAME.columns.COLUMN]": (
        RecordColumn,
        "Of a table that protects records: either `values` or a `range`. [How to choose](../how-to-records.md).",
        {
            "values": "the texts that can occur",
            "range": "the range of numbers or days; a value outside is stored as the nearest end",
            "resolution": "numbers are kept as whole multiples of it",
            "rest": "what is stored for any other text, and for missing values",
            "unit": "shown in sentences and tables",
        },
    ),
    "[tables.NAME.private.COLUMN]": (
        PrivateColumn,
        "Also for the private states of a stream, without `nulls`, `impute` and `prior`.",
        {
            "range": "values outside are clamped to it; take it from what is known about such data, never from the "
            "data",
            "resolution": "values are kept as whole multiples of it; the ends of the range must be such multiples",
            "floor": "the least root-mean-square error of any estimate of an entry, in the worst case over the range; "
            "must be below the width of the range over √12",
            "unit": "shown in sentences and tables",
            "nulls": "`forbidden`: a null stops the registration; `public`: it is public which rows are null; "
            "`impute`: a constant replaces nulls",
            "impute": "the constant that replaces nulls",
            "distance": "the example in sentences, which say how well two values this far apart can be told apart; a "
            "tenth of the range by default",
            "prior": "what everybody may be assumed to believe in advance: a normal distribution cut to the range",
        },
    ),
    "[tables.NAME.private.COLUMN.prior]": (
        Prior,
        "",
        {"mean": "the mean of that distribution", "deviation": "its standard deviation"},
    ),
    "[streams.NAME]": (
        Trajectories,
        "A system x[k+1] = A x[k], of which C x[k] is measured. Declare either a system and its quality, or a plan.",
        {
            "A": "the matrix of the system",
            "C": "what is measured",
            "horizon": "the number of the last step of a trip",
            "states": "the names of the states, in the order of A",
            "plan": "a JSON file with a plan, in place of the system and its quality",
            "private": "a section for each private state: its floor is for the start of a trip",
            "public": "states that are released exactly",
            "max_loss": "the most that the mean of Σ|noise|² over a trip may be",
            "loss_weight": "instead of `max_loss`, the price of that mean",
            "bound": "instead, a bound on the noise of each number at every step; one, or one for each output",
            "method": "with `bound`: `product` is the best of simple shapes, `best` the best of all (up to "
            "three states)",
            "deviation": "additional independent noise on every answer; one deviation, or one for each step",
            "step": "answers are multiples of it",
        },
    ),
}


def reference() -> str:
    """Give the whole page."""
    parts = [
        "# Configuration",
        "There are two places: the catalogue, a file that declares the data, and the settings of the server, "
        "which are options of its command. `scripts/write_configuration_reference.py` writes this page.",
        "## The catalogue",
        "`errorfloor.toml`, in TOML. `errorfloor init` drafts it with every word explained; [how to declare your "
        "data](../how-to-declare.md) helps you choose. Numbers are read exactly as they are written. A word that is "
        "not listed here is refused, and the message names the nearest that is.",
        f"```toml\n{EXAMPLE}```",
    ]
    for title, (model, text, words) in SECTIONS.items():
        named = set(model.model_fields) - NOT_WRITTEN
        assert named == set(words), f"{title}: {sorted(named ^ set(words))} in the model or here, not in both"
        parts.append(f"### {f'`{title}`' if title.startswith('[') else title}")
        if text:
            parts.append(text)
        rows = [_row(name, model.model_fields[name], words[name]) for name in model.model_fields if name in words]
        parts.append("\n".join(["| word | type | default | |", "|---|---|---|---|", *rows]))
    parts += [
        "## The server",
        "Each setting is an option of `errorfloor serve`; none is read from anywhere else.",
        "\n".join(
            ["| option | type | default | limits | |", "|---|---|---|---|---|", *map(_setting, fields(Settings))]
        ),
        "## The environment",
        f"| variable | |\n|---|---|\n| `{SWITCH}` | the folder in which designs of noise are cached; `off` switches "
        "the cache off. It holds nothing private. |",
    ]
    return "\n\n".join(parts) + "\n"


def _row(name: str, field: FieldInfo, words: str) -> str:
    if field.is_required():
        default = "**needed**"
    elif field.default in (None, (), "") or isinstance(field.default, Declaration) or field.default_factory:
        default = ""
    else:
        default = f"`{field.default}`"
    return f"| `{name}` | {_type(field.annotation)}{_limits(field)} | {default} | {words.replace('|', chr(92) + '|')} |"


def _type(kind: Any) -> str:
    """Say a type in words."""
    if get_origin(kind) is Annotated:
        return _type(get_args(kind)[0])
    if kind == Rows:
        return "matrix"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in get_args(kind) if one is not NoneType))
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kind))
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        return f"list of {_type(inner[0])}s" if Ellipsis in inner else f"list of {len(inner)} {_type(inner[0])}s"
    if get_origin(kind) is dict and get_origin(get_args(kind)[1]) is Annotated:
        return "section of numbers"
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, Declaration)):
        return "section"
    return {
        date: "day",
        str: "text",
        float: "number",
        Fraction: "number",
        int: "whole number",
        bool: "yes or no",
        Path: "file",
    }[kind]


def _limits(field: FieldInfo) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    found = [*field.metadata]
    for one in get_args(field.annotation):  # Share | None carries its limits inside
        found += [inner for part in getattr(one, "__metadata__", ()) for inner in getattr(part, "metadata", ())]
    said = [f"{sign} {getattr(one, word):.12g}" for one in found for word, sign in signs.items() if hasattr(one, word)]
    return f" {', '.join(said)}" if said else ""


def _setting(one: Any) -> str:
    least, most = one.metadata["least"], one.metadata["most"]
    limits = (
        " … ".join("" if end is None else f"{end:.12g}" for end in (least, most))
        if (least, most) != (None, None)
        else ""
    )
    default = "" if one.default in (None, False) else f"`{one.default}`"
    option = f"`--{one.name.replace('_', '-')}`"
    return f"| {option} | {_type(one.type)} | {default} | {limits.strip()} | {one.metadata['help']} |"


if __name__ == "__main__":
    TARGET.write_text(reference())
