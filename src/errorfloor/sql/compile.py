"""From a plan to one SQL statement of an engine: exact integer sums by group.

Three statements: ``scan`` reads private columns and gives sums of monomials, nothing else; ``facts`` and ``owners``
read public columns only. Every number comes back as an integer in units of 1/``denominator``, in one word or two as its
bound says (``Dialect.exact``). Rows come in the order of their keys (``ordered``), the same on every engine.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from errorfloor.arithmetic.polynomial import ONE, Monomial, Polynomial
from errorfloor.engines.dialects import Dialect
from errorfloor.sql.plan import Always, Compare, Condition, Different, Literal, Scalar, TableColumn, Truncated, all_of
from errorfloor.sql.question import Question, walk
from errorfloor.sql.record_ranges import HERE
from errorfloor.sql.records import with_domain, without_where
from errorfloor.sql.row_sql import Row
from errorfloor.sql.sums import Layout, denominator, largest
from errorfloor.vault.tallies import ROWS

if TYPE_CHECKING:
    from errorfloor.vault import Snapshot

__all__ = ["denominator", "facts", "ordered", "owners", "scan"]


def scan(
    question: Question,
    snapshots: "Sequence[Snapshot]",
    sums: Sequence[tuple[Monomial, Condition]],
    layout: Layout,
    dialect: Dialect,
) -> str:
    """Write the statement that looks: k0, k1, … (the group), s0, s1, … (sums of monomials where a condition holds).

    Each sum is an exact integer (``arrow``), in units of the monomial's scale; NULL if no row counts, but 0 for
    the monomial ONE, which counts rows. Keys that are numbers are integers in units of 1/denominator, other keys are
    themselves. Without keys there is one row. Groups that are too small for the question are left out.

    Guarantee: the sums do not depend on the engine, the order of rows or the number of threads (compile.proof.md).

    Raises RefusedError: ``too-large`` if a sum might exceed 10³⁷, ``too-long`` if the statement becomes too long.

    >>> from errorfloor.catalogue.model import Table
    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> from errorfloor.vault import Snapshot
    >>> homes = Table(source="homes.parquet", version="1", row_key=("id",), public={"id": "whole"})
    >>> snapshot = Snapshot("homes", "1", homes, "homes", 3, {"id": "p0"}, {"id": (1, 3)})
    >>> asked = Question("homes", "1", (), Always(), (), (), (), (), None)
    >>> print(scan(asked, [snapshot], [(ONE, Always())], Layout({}, {}, rows=3), DuckDBDialect()))
    SELECT CAST(count(*) AS BIGINT) AS s0
    FROM homes AS t0
    """
    row = Row.of(snapshots, layout, dialect)
    having = f"count(*) >= {question.least}" if question.least > 1 else ""
    if snapshots[0].table.hides_records:
        snapshots = [with_domain(question, snapshots[0], dialect), *snapshots[1:]]
        question, sums, shown = without_where(question, sums)
        having = f"count({_where(row, shown, '1')}) > 0" if question.keys else ""
    columns = [f"{_sum(row, monomial, where)} AS s{j}" for j, (monomial, where) in enumerate(sums)]
    statement = _statement(question, snapshots, row, [], columns)
    if having:
        statement += f"\nHAVING {having}"
    return ordered(statement, [key.value for key in question.keys], dialect)


def facts(
    question: Question,
    snapshots: "Sequence[Snapshot]",
    by: Sequence[TableColumn],
    requests: Sequence[tuple[Polynomial, Condition]],
    layout: Layout,
    dialect: Dialect,
) -> str:
    """Write the statement that gives public facts for each group and each cell of the columns ``by``.

    Columns: k0, k1, …; a0, a1, … (the cell); n (rows); and for request j, over the rows where its condition holds, n_j
    (rows; n has them where it always holds), low_j and high_j (least and greatest value), above_j and below_j (sum of
    the positive values ≥ 0, sum of the negative values ≤ 0); of a constant n_j alone. Values are integers in units of
    1/denominator. Where a tally has every column that is read, it is read instead of the rows, and each of its
    rows counts for as many as it stands for.

    >>> from errorfloor.catalogue.model import Table
    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> from errorfloor.vault import Snapshot
    >>> homes = Table(source="homes.parquet", version="1", row_key=("id",), public={"id": "whole"})
    >>> snapshot = Snapshot("homes", "1", homes, "homes", 3, {"id": "p0"}, {"id": (1, 3)})
    >>> asked = Question("homes", "1", (), Always(), (), (), (), (), None)
    >>> print(facts(asked, [snapshot], [], [], Layout({}, {}, rows=3), DuckDBDialect()))
    SELECT count(*) AS n
    FROM homes AS t0
    """
    row = Row.of(snapshots, layout, dialect)
    snapshots, weight = _tallied(question, snapshots, by, requests)
    cells = [(f"a{j}", _scalar(column)) for j, column in enumerate(by)]
    columns = [f"{_rows(row, Always(), weight)} AS n"]
    for j, (polynomial, where) in enumerate(requests):
        if not isinstance(where, Always):
            columns.append(f"{_rows(row, where, weight)} AS n_{j}")
        if polynomial.value is not None:
            continue
        sql, bound, _ = row.polynomial(polynomial)
        value = row.dialect.whole(sql, bound)
        above, below = (f"{extreme}({value}, {dialect.whole('0', bound)})" for extreme in ("greatest", "least"))
        columns += [
            f"{dialect.exact(f'min({_where(row, where, value)})', bound)} AS low_{j}",
            f"{dialect.exact(f'max({_where(row, where, value)})', bound)} AS high_{j}",
            f"{_weighted(row, where, above, bound, weight)} AS above_{j}",
            f"{_weighted(row, where, below, bound, weight)} AS below_{j}",
        ]
    return ordered(_statement(question, snapshots, row, cells, columns), [key.value for key in question.keys], dialect)


def owners(
    question: Question,
    snapshots: "Sequence[Snapshot]",
    owner: TableColumn,
    dialect: Dialect,
    layout: Layout,
    per: TableColumn | Truncated | None = None,
) -> str:
    """Write the statement that counts rows of each owner in each group: k0, k1, …, o (the owner), n (rows), unordered.

    With ``per``, in each period of it: a0.

    >>> from errorfloor.catalogue.model import Table
    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> from errorfloor.vault import Snapshot
    >>> homes = Table(source="homes.parquet", version="1", row_key=("id",), public={"id": "whole"})
    >>> snapshot = Snapshot("homes", "1", homes, "homes", 3, {"id": "p0"}, {"id": (1, 3)})
    >>> from fractions import Fraction
    >>> owner = TableColumn(0, "id", "number", step=Fraction(1))
    >>> asked = Question("homes", "1", (), Always(), (), (), (), (), None)
    >>> print(owners(asked, [snapshot], owner, DuckDBDialect(), Layout({owner: 3}, {}, rows=3)))
    SELECT CAST(t0.p0 AS BIGINT) AS o, count(*) AS n
    FROM homes AS t0
    GROUP BY t0.p0
    """
    row = Row.of(snapshots, layout, dialect)
    cells: list[tuple[str, Scalar]] = [("o", _scalar(owner))]
    if per is not None:
        cells.append(("a0", _scalar(per)))
    return _statement(question, snapshots, row, cells, ["count(*) AS n"])


def ordered(statement: str, keys: Sequence[Scalar], dialect: Dialect) -> str:
    """Sort the rows of a statement by its keys k0, k1 and so on: NULL first, texts by their bytes.

    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> print(ordered("SELECT 1 AS k0", [Literal("a", "text")], DuckDBDialect()))
    SELECT *
    FROM (SELECT 1 AS k0) AS grouped
    ORDER BY k0 NULLS FIRST
    """
    if not keys:
        return statement
    texts = [not isinstance(value, Polynomial) and value.type == "text" for value in keys]
    names = [dialect.by_bytes(f"k{j}") if text else f"k{j}" for j, text in enumerate(texts)]
    order = ", ".join(f"{name} NULLS FIRST" for name in names)
    return f"SELECT *\nFROM ({statement}) AS grouped\nORDER BY {order}"


def _statement(
    question: Question,
    snapshots: "Sequence[Snapshot]",
    row: Row,
    cells: Sequence[tuple[str, Scalar]],
    columns: Sequence[str],
) -> str:
    groups = [(f"k{j}", key.value) for j, key in enumerate(question.keys)] + list(cells)
    shown, grouped = [], []
    for name, value in groups:
        sql = _key(row, value)
        exact = row.dialect.exact(sql, row.polynomial(value)[1]) if isinstance(value, Polynomial) else sql
        shown.append(f"{exact} AS {name}")
        grouped.append(sql)
    lines = [f"SELECT {', '.join([*shown, *columns])}", f"FROM {snapshots[0].relation} AS t0"]
    for place, join in enumerate(question.joins, start=1):
        on = " AND ".join(row.condition(Compare("=", _scalar(one), _scalar(two))) for one, two in join.on)
        kind = "LEFT" if join.keep_unmatched else "INNER"
        lines.append(f"{kind} JOIN {snapshots[place].relation} AS t{place} ON {on}")
    if not isinstance(question.where, Always):
        lines.append(f"WHERE {row.condition(question.where)}")
    if grouped:
        lines.append(f"GROUP BY {', '.join(grouped)}")
    return "\n".join(lines)


def _key(row: Row, value: Scalar) -> str:
    """Write a group key; a constant is cast, since a bare one in GROUP BY means a place in the list, or an error."""
    sql = row.scalar(value)
    match value:
        case Polynomial() if not value.atoms:
            return row.dialect.whole(sql, row.polynomial(value)[1])
        case Literal(type="text"):
            return row.dialect.text(sql)
        case Literal(type="flag"):
            return f"CAST({sql} AS {row.dialect.flag_type})"
    return sql


def _scalar(column: TableColumn | Truncated) -> Scalar:
    return Polynomial.atom(column) if column.type == "number" else column


def _where(row: Row, where: Condition, sql: str) -> str:
    """Restrict to rows that count, so that nothing is computed on the others."""
    return sql if isinstance(where, Always) else f"CASE WHEN {row.condition(where)} THEN {sql} END"


def _tallied(
    question: Question,
    snapshots: "Sequence[Snapshot]",
    by: Sequence[TableColumn],
    requests: Sequence[tuple[Polynomial, Condition]],
) -> "tuple[Sequence[Snapshot], str | None]":
    """Put a tally in the place of the table, if there is one with all columns that facts are read from.

    Also give how many rows each of its rows stands for; None if there is none, and each stands for itself.
    """
    nodes = [*question.keys, *question.joins, question.where, *by, *(node for request in requests for node in request)]
    read = {part.name for node in nodes for part in walk(node) if isinstance(part, TableColumn) and part.place == 0}
    found = next((tally for tally in snapshots[0].tallies if read <= tally.columns), None)
    if found is None:
        return snapshots, None
    return [replace(snapshots[0], relation=found.relation), *snapshots[1:]], f"t0.{ROWS}"


def _rows(row: Row, where: Condition, weight: str | None) -> str:
    """Count the rows where a condition holds."""
    if weight is not None:
        return row.dialect.exact(f"coalesce(sum({_where(row, where, weight)}), 0)", row.layout.rows)
    return f"count({'*' if isinstance(where, Always) else _where(row, where, '1')})"


def _weighted(row: Row, where: Condition, sql: str, bound: int, weight: str | None) -> str:
    """Sum whole numbers, each as often as there are rows that it stands for."""
    if weight is None:
        return _total(row, _where(row, where, sql), bound, row.layout.rows)
    most = bound * row.layout.rows
    return _total(row, _where(row, where, f"{row.dialect.whole(sql, most)} * {weight}"), most, 1)


def _sum(row: Row, monomial: Monomial, where: Condition) -> str:
    if monomial == ONE:
        return row.dialect.exact(_rows(row, where, None), row.layout.rows)
    different = next((atom.of for atom, _ in monomial if isinstance(atom, Different)), None)
    if different is not None:
        present = [Compare("=", Polynomial.atom(atom), Polynomial.constant(1)) for atom, _ in monomial if atom == HERE]
        counted = _where(row, all_of([where, *present]), row.scalar(different))
        return row.dialect.exact(f"count(DISTINCT {counted})", row.layout.rows)
    return _total(row, _where(row, where, row.product(monomial)), largest(monomial, row.layout), row.layout.rows)


def _total(row: Row, sql: str, bound: int, rows: int) -> str:
    return row.dialect.exact(row.dialect.total(sql, bound, rows), bound * rows)
