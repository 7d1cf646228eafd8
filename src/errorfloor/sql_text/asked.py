"""The question in a statement, how exact its answer should be, and what the queries around it want.

Tools put queries around a question: ``SELECT * FROM (SELECT …) AS t LIMIT 1000``, and the like. The question inside is
asked as it is, with the label, the price and the charge that it has by itself; what is around it is done with the
released answer. A nested table that only filters and renames is no question: the language reads it.

Tools fill filters with lists of values, ``SELECT DISTINCT team FROM pay``, or the same by groups. The language answers
aggregates of groups. So a list is the question for how many rows each value has, of which only the values are wanted:
public where the number of rows is, and a question with a price where it is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

from errorfloor.errors import RefusedError
from errorfloor.sql_text.around import AFTER_FROM, INSIDE, AroundReader
from errorfloor.sql_text.conditions import Name
from errorfloor.sql_text.released_rows import Item, RowsWanted
from errorfloor.sql_text.statements import SILENT, Piece, Statement, is_name, plain, shallow

CONDITIONS = ("WHERE", "AND")
MOST_AROUND = 10  # queries around each other; the language refuses more
COUNTED = "listed_rows"
AGGREGATES = {
    *("AVG", "SUM", "COUNT", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "COVAR_POP"),
    *("COVAR_SAMP", "CORR", "REGR_SLOPE", "MEDIAN", "QUANTILE", "PERCENTILE_CONT", "PERCENTILE_DISC"),
    *("CUMULATIVE", "HISTOGRAM"),
}
AFTER_GROUPS = ("ORDER", "LIMIT", "OFFSET", "FETCH")
OTHERS = ("HAVING", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "OVER", "ON", "ROLLUP", "CUBE", "GROUPING")


@dataclass(frozen=True)
class AskedQuestion:
    """The text of a question, how exact, and what is wanted of its answer, from the inside out.

    >>> found = asked(Statement.of('SELECT "t"."n" FROM (SELECT team, count(*) AS n FROM pay GROUP BY team) "t"'))
    >>> found.sql
    'SELECT team, count(*) AS n FROM pay GROUP BY team'
    >>> found.shown(pa.table({"team": ["a", "b"], "n": [3, 4]}), [], bounds=True).to_pydict()
    {'n': [3, 4]}
    """

    sql: str
    wish: dict[str, Any] = field(default_factory=dict)
    around: tuple[RowsWanted, ...] = ()
    table: str = ""  # whose columns are looked up, where nothing else is wanted

    @property
    def is_constant(self) -> bool:
        """Whether it names no table: SELECT 1, with which tools try a connection."""
        return not (self.sql or self.table)

    @property
    def is_probe(self) -> bool:
        """Whether only the columns are wanted, so that nothing need be asked."""
        return any(one.is_probe for one in self.around)

    def shown(
        self, table: pa.Table, private: Sequence[str], derived: Mapping[str, bool] | None = None, *, bounds: bool
    ) -> pa.Table:
        """Give what is wanted of an answer, whose table ends with certain intervals of the ``private`` columns.

        ``derived`` are those that may be null though they have a true value, each with whether it has one only if
        there are rows.
        """
        if not self.around:
            ends = {f"{name}{end}" for name in private for end in ("_low", "_high")}
            return table if bounds else table.select([name for name in table.column_names if name not in ends])
        doubtful = {} if derived is None else derived
        for place, one in enumerate(self.around, start=1):
            is_inner = place < len(self.around)
            table, private, doubtful = one.applied(table, private, doubtful, bounds=bounds or is_inner)
        return table


def asked(statement: Statement) -> AskedQuestion:
    """Read a statement that asks something; what the question inside says of exactness goes before what is around.

    Raises RefusedError for a query around a question that does something else with its answer.
    """
    text, wish = statement.wish()
    outer = Statement.of(text)
    pieces = [one for one in outer.pieces if one[0] not in SILENT]
    if sum(kind == "word" and text.upper() == "SELECT" for kind, text in pieces) < 2:
        return _of_one_table(text, pieces, wish)
    found = _unwrapped(outer.pieces, MOST_AROUND)
    if found is None:
        return AskedQuestion(text, wish)
    inner, own = Statement(tuple(found[0])).wish()
    return AskedQuestion(inner, own or wish, tuple(found[1]))


def _of_one_table(text: str, pieces: Sequence[Piece], wish: dict[str, Any]) -> AskedQuestion:
    """Read a statement without others in it: a question, a list of values, or one that wants no row of either."""
    constants = _constants(pieces)
    if constants is not None:
        return AskedQuestion("", wish, (constants,))
    listed = listing(pieces)
    question, around = (text, ()) if listed is None else (listed[0], (listed[1],))
    looked_up = _columns_of_a_table(pieces)
    if looked_up is not None and looked_up[1].is_plain:
        return AskedQuestion("", wish, (looked_up[1],), table=looked_up[0])
    last = [one[1].upper() for one in pieces[-2:]]
    none = (RowsWanted(None, limit=0),) if looked_up is not None or last == ["LIMIT", "0"] else ()
    return AskedQuestion(question, wish, (*around, *none))


def _constants(pieces: Sequence[Piece]) -> RowsWanted | None:
    """Read a query that selects constants from nowhere."""
    words = shallow(pieces)
    if words.get(0) != "SELECT" or "FROM" in words.values():
        return None
    end = next((place for place, word in words.items() if word in AFTER_FROM), len(pieces))
    try:
        wanted = AroundReader([*pieces[:end], ("word", "FROM"), INSIDE, *pieces[end:]]).query()
    except RefusedError:
        return None
    is_read = wanted.is_plain and all(one.column is None for one in wanted.items or (Item(Name("*")),))
    return wanted if is_read else None


def _may_want_no_row(pieces: Sequence[Piece]) -> bool:
    """Say whether there is a limit of 0, or a condition that begins with a constant: only then is more read."""
    return any(
        kind == "word"
        and ((text.upper() == "LIMIT" and after[1] == "0") or (text.upper() in CONDITIONS and _begins_constant(after)))
        for (kind, text), after in pairwise(pieces)
    )


def _begins_constant(piece: Piece) -> bool:
    return piece[0] == "number" or piece[1][:1] in ("'", "(") or piece[1].upper() in ("FALSE", "NOT")


def _columns_of_a_table(pieces: Sequence[Piece]) -> tuple[str, RowsWanted] | None:
    """Read a query that wants columns of a table and no row: SELECT * FROM pay WHERE 1 = 0, or LIMIT 0."""
    froms = [place for place, word in shallow(pieces).items() if word == "FROM" and place + 1 < len(pieces)]
    if len(froms) != 1 or not _may_want_no_row(pieces):
        return None
    table, rest = pieces[froms[0] + 1], pieces[froms[0] + 2 :]
    has_alias = bool(rest) and (rest[0][1][:1] == '"' or shallow(rest).get(0, AFTER_FROM[0]) not in AFTER_FROM)
    named = rest if has_alias else [("word", "AS"), table, *rest]
    try:
        wanted = AroundReader([*pieces[: froms[0] + 1], INSIDE, *named]).query()
    except RefusedError:
        return None
    return (plain(table), wanted) if wanted.is_probe else None


def _unwrapped(whole: Sequence[Piece], most: int) -> tuple[Sequence[Piece], list[RowsWanted]] | None:
    """Give the pieces of the question inside, and what is wanted of its answer; None if there is none inside."""
    places = [place for place, one in enumerate(whole) if one[0] not in SILENT]
    pieces = [whole[place] for place in places]
    inside = _inside(pieces) if most else None
    if inside is None:
        return None
    start, end = inside
    within = whole[places[start] : places[end - 1] + 1]
    deeper = _unwrapped(within, most - 1)
    around = AroundReader([*pieces[: start - 1], INSIDE, *pieces[end + 1 :]])
    if deeper is None and not _is_aggregated(pieces[start:end]):
        return _counted(within, around) if pieces[0][1].upper() == "SELECT" else None
    wanted = around.query()
    return (within, [wanted]) if deeper is None else (deeper[0], [*deeper[1], wanted])


def _counted(within: Sequence[Piece], around: AroundReader) -> tuple[Sequence[Piece], list[RowsWanted]] | None:
    """Read how many rows there are, compared with numbers, as dbt's tests ask; the language only counts."""
    try:
        wanted = around.query()
    except RefusedError:
        return None
    items = wanted.items or ()
    is_count = all(one.total == "count" and one.column is None for one in items)
    if not is_count or all(one.than is None for one in items) or wanted != RowsWanted(wanted.items):
        return None
    counted: list[Piece] = [("sign", "SELECT count(*) AS counted FROM ("), *within, ("sign", ") AS counted_rows")]
    shown = (replace(one, column=Name("counted"), total="", name=one.name or "count") for one in items)
    return counted, [RowsWanted(tuple(shown))]


def _inside(pieces: Sequence[Piece]) -> tuple[int, int] | None:
    """Give where the question in FROM (…) begins and ends, or that of WITH name AS (…) SELECT … FROM name."""
    words = shallow(pieces)
    froms = [place for place, word in words.items() if word == "FROM" and place + 2 < len(pieces)]
    if len(froms) != 1:
        return None
    if words.get(0) == "WITH":
        if words.get(2) != "AS" or plain(pieces[froms[0] + 1]) != plain(pieces[1]):
            return None
        opening = 3
    elif words.get(0) == "SELECT":
        opening = froms[0] + 1
    else:
        return None
    if pieces[opening][1] != "(" or pieces[opening + 1][1].upper() not in ("SELECT", "WITH"):
        return None
    depth = 0
    for place in range(opening, len(pieces)):
        depth += (pieces[place][1] == "(") - (pieces[place][1] == ")")
        if depth == 0:
            return opening + 1, place
    return None


def _is_aggregated(pieces: Sequence[Piece]) -> bool:
    """Say whether a question groups or aggregates by itself."""
    words = shallow(pieces)
    selects = [place for place, word in words.items() if word == "SELECT"]
    if len(selects) != 1:
        return False
    after = {place: word for place, word in words.items() if place > selects[0]}
    end = next((place for place, word in after.items() if word == "FROM"), len(pieces))
    return "GROUP" in after.values() or any(
        kind == "word" and text.upper() in AGGREGATES and pieces[place + 1][1] == "("
        for place, (kind, text) in enumerate(pieces[: end - 1])
        if place > selects[0]
    )


def listing(whole: Sequence[Piece]) -> tuple[str, RowsWanted] | None:
    """Give the question whose groups a list names, and what is wanted of its answer; None for what is no list.

    >>> from errorfloor.sql_text.statements import Statement
    >>> text, wanted = listing(Statement.of("SELECT DISTINCT team AS t FROM pay WHERE age > 40 LIMIT 9").pieces)
    >>> text
    'SELECT team AS t , count(*) AS listed_rows FROM pay WHERE age > 40 GROUP BY team LIMIT 9'
    >>> [item.column.text for item in wanted.items]
    ['t']
    """
    pieces = [one for one in whole if one[0] not in SILENT]
    words = shallow(pieces)
    said = list(words.values())
    is_distinct, is_grouped = words.get(1) == "DISTINCT", "GROUP" in said
    if words.get(0) != "SELECT" or said.count("FROM") != 1 or is_distinct == is_grouped:
        return None
    named = {text.upper() for kind, text in pieces if kind == "word"}
    if named & {*OTHERS, *AGGREGATES, *(("DISTINCT",) if is_grouped else ())}:
        return None
    start, end = 1 + is_distinct, next(place for place, word in words.items() if word == "FROM")
    items = [_item(one) for one in _split(pieces[start:end])]
    found = [one for one in items if one is not None]
    if len(found) < len(items):
        return None
    rest = next((place for place, word in words.items() if place > end and word in AFTER_GROUPS), len(pieces))
    groups: list[Piece] = []
    if is_distinct:
        groups = [("word", "GROUP BY")]
        for value, _ in found:
            groups += [*([("sign", ",")] if len(groups) > 1 else []), *value]
    counted: Piece = ("sign", f", count(*) AS {COUNTED}")
    written = [pieces[0], *pieces[start:end], counted, *pieces[end:rest], *groups, *pieces[rest:]]
    wanted = tuple(Item(Name(plain(one) if one[0] == "quoted" else one[1], one[0] == "quoted")) for _, one in found)
    return " ".join(text for _, text in written), RowsWanted(wanted)


def _split(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Give what stands between commas."""
    found: list[list[Piece]] = [[]]
    depth = 0
    for piece in pieces:
        depth += (piece[1] == "(") - (piece[1] == ")")
        if piece[1] == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(piece)
    return found


def _item(pieces: list[Piece]) -> tuple[list[Piece], Piece] | None:
    """Give what is selected, and the name that it has; None if that cannot be told."""
    if not pieces or not is_name(pieces[-1]):
        return None
    if len(pieces) > 2 and pieces[-2][1].upper() == "AS":
        return pieces[:-2], pieces[-1]
    if len(pieces) > 1 and (is_name(pieces[-2]) or pieces[-2][1] == ")"):
        return pieces[:-1], pieces[-1]
    is_column = all(is_name(one) for one in pieces[::2]) and all(one[1] == "." for one in pieces[1::2])
    return (pieces, pieces[-1]) if is_column else None
