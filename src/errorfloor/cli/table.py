"""``errorfloor table``: a cross table with margins that add up, as one question: text, CSV, HTML or JSON."""

import csv
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from errorfloor.answering.answer import stated
from errorfloor.answering.releasing import without_formula
from errorfloor.cli.app import app, print_json, with_options
from errorfloor.cli.questions import OverLimit, QuestionOptions, say_of, within_limit
from errorfloor.display import cell_text, in_columns, key_text, plain_number
from errorfloor.errors import InputError

TOTAL = "total"
Key = tuple[Any, ...]  # the values of some keys; None where it is a total


@dataclass(frozen=True)
class CrossTable:
    """One output of an answer: a row for each value of the row keys, a column for each of the column keys.

    Totals come last. A cell that no row of the table belongs to is missing.

    >>> found = [{"a": a, "b": b, "n": n} for a, b, n in (("x", 1, 2), ("x", None, 2), (None, 1, 2), (None, None, 2))]
    >>> print(CrossTable({"name": "n", "unit": "", "exact": True}, ("a",), ("b",), found).text())
    n by a and b
    a      1  total
    ─────  ─  ─────
    x      2      2
    total  2      2
    """

    output: Mapping[str, Any]
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Mapping[str, Any]]

    @property
    def title(self) -> str:
        """What is shown, and by which keys."""
        unit = f", {self.output['unit']}," if self.output["unit"] else ""
        return f"{self.output['name']}{unit} by {' and '.join(map(', '.join, filter(None, (self.rows, self.columns))))}"

    @property
    def heads(self) -> list[Key]:
        """The values of the column keys, in order."""
        return _ordered(self.columns, self.cells)

    @property
    def sides(self) -> list[Key]:
        """The values of the row keys, in order."""
        return _ordered(self.rows, self.cells)

    def text(self) -> str:
        """Write it as text, numbers below each other; each has its bound where bounds differ."""
        names, lines = self._laid_out(self._shown)
        first = len(self.rows)
        wide = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
        lines = [[one.rjust(wide[i]) if i >= first else one for i, one in enumerate(line)] for line in (names, *lines)]
        return f"{self.title}\n{in_columns(lines[0], lines[1:])}"

    def csv(self) -> str:
        """Write the numbers as CSV, with the name of the output at the head; no text begins as a formula does."""
        names, lines = self._laid_out(self._number)
        first, file = len(self.rows), io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([without_formula(self.title)])
        writer.writerow(map(without_formula, names))
        writer.writerows([[*map(without_formula, line[:first]), *line[first:]] for line in lines])
        return file.getvalue()

    def html(self) -> str:
        """Write it as a table for a page."""
        names, lines = self._laid_out(self._shown)
        first = len(self.rows)
        head = "".join(f'<th scope="col">{html.escape(one)}</th>' for one in names)
        body = "".join(
            "<tr>"
            + "".join(f'<th scope="row">{html.escape(one)}</th>' for one in line[:first])
            + "".join(f"<td>{html.escape(one)}</td>" for one in line[first:])
            + "</tr>\n"
            for line in lines
        )
        caption = f"<caption>{html.escape(self.title)}</caption>"
        return f"<table>\n{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types: null in a key is a total, null for a number is a cell without rows."""
        name = self.output["name"]
        ends = [] if self.output["exact"] else [f"{name}_low", f"{name}_high"]
        found = self._found
        grids = {
            word: [[found.get((side, head), {}).get(column) for head in self.heads] for side in self.sides]
            for word, column in zip(("numbers", "low", "high"), [name, *ends], strict=False)
        }
        return {
            "output": name,
            "row_keys": list(self.rows),
            "column_keys": list(self.columns),
            "rows": [list(side) for side in self.sides],
            "columns": [list(head) for head in self.heads],
            **grids,
        }

    @property
    def _found(self) -> dict[tuple[Key, Key], Mapping[str, Any]]:
        return {(_key(self.rows, cell), _key(self.columns, cell)): cell for cell in self.cells}

    def _laid_out(self, written: Any) -> tuple[list[str], list[list[str]]]:
        heads = [" / ".join(_texts(head)) or self.output["name"] for head in self.heads]
        found = self._found
        lines = [[*_texts(side), *(written(found.get((side, head), {})) for head in self.heads)] for side in self.sides]
        return [*self.rows, *heads], lines

    def _shown(self, cell: Mapping[str, Any]) -> str:
        if cell.get(self.output["name"]) is None:
            return "–"
        alike = self.output["exact"] or ("step" in self.output and not {"least", "parts"} & set(self.output))
        return self._number(cell) if alike else cell_text(cell, self.output["name"], {**self.output, "unit": ""})

    def _number(self, cell: Mapping[str, Any]) -> str:
        value = cell.get(self.output["name"])
        return "" if value is None else plain_number(value, self.output)


def _key(names: Sequence[str], cell: Mapping[str, Any]) -> Key:
    return tuple(cell[name] for name in names)


def _ordered(names: Sequence[str], cells: Iterable[Mapping[str, Any]]) -> list[Key]:
    found = {_key(names, cell) for cell in cells}
    return sorted(found, key=lambda key: [(one is None, 0 if one is None else one) for one in key])


def _texts(key: Key) -> list[str]:
    """Write the values of keys: the first that is summed over is the total, and the others are left empty.

    >>> _texts(("north", None, None)), _texts(("north", "town"))
    (['north', 'total', ''], ['north', 'town'])
    """
    return [
        key_text(one) if one is not None else TOTAL if None not in key[:place] else "" for place, one in enumerate(key)
    ]


@app.command()
@with_options(QuestionOptions, before="over_limit")
def table(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="The declared table.")],
    rows: Annotated[list[str], typer.Option(help="The key of the rows: tariff. Repeat for subtotals.")],
    value: Annotated[list[str], typer.Option(help="What is shown: 'sum(kwh)', 'avg(kwh)', 'count(*)'.")],
    columns: Annotated[list[str] | None, typer.Option(help="The key of the columns, if any.")] = None,
    where: Annotated[str | None, typer.Option(help="Which rows count: \"day < '2014-01-01'\".")] = None,
    over_limit: OverLimit = False,
    price: Annotated[bool, typer.Option("--price", help="Only say what it would cost; nothing is charged.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the numbers as CSV.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print a table for a page.")] = False,
    **options: Any,
) -> None:
    """Answer a cross table: sums, averages or counts by rows and columns, with margins that add up.

    It is one question, GROUP BY CUBE of both keys, and one charge: the margins are made of the released cells, so that
    sums add up to the last digit. The same table again is free. Exit code 3 means that the answer would break a
    declared floor or exceed a quota: nothing was charged.

    Example: errorfloor table meters --rows tariff --columns region --value 'sum(kwh)' --max-error 500
    """
    wanted = QuestionOptions(**options)
    if as_csv + as_html + wanted.as_json > 1:
        raise InputError("give at most one of --csv, --html and --json")
    _check_keys("--rows", rows)
    _check_keys("--columns", columns or ())
    sql, wish = question(name, rows, columns or [], value, where), wanted.wish()
    with wanted.opened() as database:
        if price:
            wanted.show_price(database.price(sql, **wish))
            return
        with within_limit(database, over_limit):
            answer = database.ask(sql, **wish)
    keys, cells = answer.table.column_names[: len(rows) + len(columns or [])], answer.table.to_pylist()
    tables = [CrossTable(one, keys[: len(rows)], keys[len(rows) :], cells) for one in answer.outputs()]
    if wanted.as_json:
        print_json(stated(answer) | {"tables": [one.to_dict() for one in tables]})
    elif as_csv or as_html:
        print("\n".join(one.csv() if as_csv else one.html() for one in tables), end="")
    else:
        print("\n\n".join(one.text() for one in tables))
    if not wanted.as_json:
        say_of(answer, wanted.explain)


def question(table: str, rows: list[str], columns: list[str], values: list[str], where: str | None) -> str:
    """Write a cross table as a question.

    Several keys of one side have subtotals from the left to the right.

    >>> question("meters", ["tariff"], ["region"], ["sum(kwh)"], None)
    'SELECT tariff, region, sum(kwh) FROM meters GROUP BY CUBE (1, 2)'
    >>> question("meters", ["region", "town"], ["tariff"], ["avg(kwh)"], "rooms > 2")
    'SELECT region, town, tariff, avg(kwh) FROM meters WHERE rooms > 2 GROUP BY ROLLUP (1, 2), ROLLUP (3)'
    """
    places = [str(place + 1) for place in range(len(rows) + len(columns))]
    sides = [", ".join(side) for side in (places[: len(rows)], places[len(rows) :]) if side]
    groups = (
        f"CUBE ({', '.join(places)})" if len(places) == 2 == len(sides) else ", ".join(f"ROLLUP ({s})" for s in sides)
    )
    chosen = f" WHERE {where}" if where else ""
    return f"SELECT {', '.join([*rows, *columns, *values])} FROM {table}{chosen} GROUP BY {groups}"


def _check_keys(option: str, keys: Sequence[str]) -> None:
    for key in keys:
        outside, before = key, ""
        while outside != before:
            outside, before = re.sub(r"\([^()]*\)|'[^']*'", "", outside), outside
        if "," in outside or not outside.strip():
            raise InputError(f"{option} takes one key, got {key!r}: repeat the option for each, {option} a {option} b")
