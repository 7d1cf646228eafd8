"""Released tables as people read them, the same beside the data and behind a server: text, HTML, frames."""

import datetime
import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from errorfloor.accounts import percent
from errorfloor.errors import MissingExtraError
from errorfloor.floors.words import rounded_down, rounded_up

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHOWN = 60
ACCOUNT_HEADS = ("account", "used", "told apart", "floor")


class Stated(ABC):
    """A price or an answer, which says in words what it states."""

    @abstractmethod
    def explain(self) -> str:
        """Say in sentences what is certain, what nobody can learn, and what it costs."""

    @abstractmethod
    def summary(self) -> str:
        """Say the same in two short sentences, and in a line what was used."""

    @abstractmethod
    def outputs(self) -> list[dict[str, Any]]:
        """Give what is stated of each output, as plain JSON types."""

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return said_in_html(self.summary(), self.explain())


class ReleasedTable(Stated):
    """A released table that shows itself, with what is stated of it."""

    table: "pa.Table"

    def to_arrow(self) -> "pa.Table":
        """Give the released table."""
        return self.table

    def to_pandas(self) -> Any:
        """Give the released table as a pandas frame (extra ``pandas``)."""
        try:
            import pandas  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtraError("pandas", "pandas") from None
        return self.table.to_pandas()

    def text(self, most: int | None = MOST_SHOWN) -> str:
        """Write the table as text, each released number with its bound; no more than ``most`` rows, None for all."""
        return text_table(self.table, self.outputs(), most)

    def plot(self, output: str | None = None) -> Any:
        """Draw an output, by default the first with noise, with its certain intervals (extra ``plots``).

        The keys choose the picture: bars, a course over dates or numbers, small multiples.
        """
        from errorfloor import plots

        return plots.released(self.table.to_pylist(), self.outputs(), output)

    def __repr__(self) -> str:
        return f"{self.text()}\n\n{self.summary()}"

    def _repr_html_(self) -> str:
        names, rows = shown_cells(self.table, self.outputs())
        further = [[_further(self.table), *[""] * (len(names) - 1)]] if self.table.num_rows > MOST_SHOWN else []
        return html_table(names, rows + further) + said_in_html(self.summary(), self.explain())


Balanced = TypeVar("Balanced")


class Accounts(list[Balanced]):
    """Accounts with what is used of them and what is promised, which show themselves as a table."""

    def _rows(self) -> list[list[str]]:
        found = []
        for one in cast(list[Any], self):
            plain = one.to_dict()
            unit = f" {plain['unit']}" if plain["unit"] else ""
            floor = "" if plain["promised_floor"] is None else f"{plain['promised_floor']:g}{unit}"
            loss = (
                f", ε {plain['epsilon']:g} of {plain['promised_epsilon']:g}" if plain.get("epsilon") is not None else ""
            )
            found.append([one.name, percent(one.used), f"{plain['promised_in_100']:g} in 100{loss}", floor])
        return found

    def __repr__(self) -> str:
        return in_columns(ACCOUNT_HEADS, self._rows())

    def _repr_html_(self) -> str:
        return html_table(ACCOUNT_HEADS, self._rows())


def tables_in_text(called: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """Say in a few lines what is declared of tables."""
    said = [f"{one['name']}, version {one['version']}: {_columns_of(one)}" for one in tables]
    return "\n  ".join([f"{called} with {len(said)} table{'' if len(said) == 1 else 's'}", *said])


def tables_in_html(tables: Sequence[Mapping[str, Any]]) -> str:
    """Write the same as a table for a notebook, with the numbers of rows."""
    rows = [[one["name"], str(one["version"]), _rows_of(one), _columns_of(one)] for one in tables]
    return html_table(("table", "version", "rows", "columns"), rows)


def _rows_of(table: Mapping[str, Any]) -> str:
    if table["rows"] is None:
        return "not registered"
    return f"at most {table['rows']:,}" if table.get("protects") == "records" else f"{table['rows']:,}"


def _columns_of(table: Mapping[str, Any]) -> str:
    if table.get("protects") == "records":
        return f"hides who is there; {', '.join(one['name'] for one in table['columns'])}"
    private = [
        f"{one['name']} ({one['range'][0]:g} … {one['range'][1]:g}{' ' + one['unit'] if one['unit'] else ''})"
        for one in table["private"]
    ]
    public = [one["name"] for one in table["public"]]
    parts = [f"private {', '.join(private)}" if private else "", f"public {', '.join(public)}" if public else ""]
    return "; ".join(filter(None, parts))


def html_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write rows of texts as a table for a notebook.

    >>> html_table(["a < b"], [["1 & 2"]])
    '<table><thead><tr><th>a &lt; b</th></tr></thead><tbody><tr><td>1 &amp; 2</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def said_in_html(short: str, full: str) -> str:
    r"""Write what is said in short, and all of it to be unfolded.

    >>> said_in_html("a", "a\nb")
    '<p>a</p><details><summary>Everything that is stated</summary><p>a</p><p>b</p></details>'
    """
    brief, whole = ("".join(f"<p>{html.escape(line)}</p>" for line in text.split("\n")) for text in (short, full))
    return f"{brief}<details><summary>Everything that is stated</summary>{whole}</details>"


def shown_cells(
    table: "pa.Table", outputs: Sequence[Mapping[str, Any]], most: int | None = MOST_SHOWN
) -> tuple[list[str], list[list[str]]]:
    """Give the columns of a table and the texts of its first rows, each released number with its bound."""
    noisy = {one["name"]: one for one in outputs if not one["exact"]}
    ends = {f"{name}{end}" for name in noisy for end in ("_low", "_high")}
    names = [name for name in table.column_names if name not in ends]
    rows = [[cell_text(row, name, noisy.get(name)) for name in names] for row in table.slice(0, most).to_pylist()]
    return names, rows


def printable(text: str) -> str:
    r"""Write what somebody else wrote so that no terminal obeys it: one line, without control characters.

    >>> print(printable("SELECT 'é'\n\x1b]0;x\x07"))
    SELECT 'é'\n\x1b]0;x\x07
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def text_table(table: "pa.Table", outputs: Sequence[Mapping[str, Any]], most: int | None = MOST_SHOWN) -> str:
    """Write a table as text, each released number with its bound; the columns of certain intervals are left out.

    >>> import pyarrow as pa
    >>> outputs = [{"name": "mean", "exact": False, "low": -0.5, "high": 0.5, "step": "0.001", "unit": "kWh"}]
    >>> print(text_table(pa.table({"mean": [12.75], "mean_low": [12.25], "mean_high": [13.25]}), outputs))
    mean
    ────────────────
    12.750 ± 0.5 kWh
    """
    names, rows = shown_cells(table, outputs, most)
    further = [_further(table)] if table.num_rows > len(rows) else []
    return "\n".join([in_columns(names, rows), *further])


def in_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows of texts in columns, under their names.

    >>> print(in_columns(["account", "used"], [["meters.kwh", "3 %"]]))
    account     used
    ──────────  ────
    meters.kwh  3 %
    """
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(names)]
    lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip()]
    lines += ["  ".join("─" * width for width in widths)]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _further(table: "pa.Table") -> str:
    return f"… and {table.num_rows - MOST_SHOWN:,} more rows"


def cell_text(row: Mapping[str, Any], name: str, output: Mapping[str, Any] | None) -> str:
    """Write a number of a row with its bound, if it has one; ``output`` is what is stated of it."""
    value = row[name]
    if value is None:
        return "–"
    if output is None:
        return key_text(value)
    unit = f" {output['unit']}" if output["unit"] else ""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if "step" not in output:  # it follows from several released sums, and lies on no lattice of its own
        return f"{value:.6g} ({rounded_down(low, 6)} … {rounded_up(high, 6)}){unit}"
    places, size = decimals(output["step"]), float(output["step"])
    if "quantile" in output:
        return f"{low:.{places}f} … {high:.{places}f}{unit}"
    below, above = value - low, high - value
    bound = max(below, above)
    if output.get("least") and 0 < bound < math.inf:  # each has a bound of its own, and the lattice that goes with it
        bound = float(f"{bound:.5g}")
        power = math.floor(math.log10(bound / 100) + 1e-9)
        places, size = max(0, -power), 10.0**power
    number = f"{value:.{places}f}"
    if math.isinf(bound):
        return f"{number}{unit}"
    if abs(below - above) > 0.03 * size:  # cut to what is possible, or not symmetric; ends have a hundredth of a step
        return f"{number} ({low:.12g} … {high:.12g}){unit}"
    if output.get("least"):
        return f"{number} ± {rounded_up(bound)}{unit}"
    if "parts" in output:
        return f"{number} ± {rounded_up(bound * (1 - 1e-9), 6)}{unit}"
    return f"{number} ± {rounded_up(output['high'], 6)}{unit}"


def key_text(value: Any) -> str:
    """Write a value of a public column."""
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)


def plain_number(value: Any, output: Mapping[str, Any]) -> str:
    """Write a released number with the digits of its lattice, and nothing else.

    >>> plain_number(12.5, {"step": "0.01"}), plain_number(3, {"exact": True})
    ('12.50', '3')
    """
    return f"{value:.{decimals(output['step'])}f}" if "step" in output else str(value)


def decimals(step: str) -> int:
    """Give how many digits after the point a multiple of a decimal step needs.

    >>> decimals("0.005"), decimals("10")
    (3, 0)
    """
    return len(step.partition(".")[2])
