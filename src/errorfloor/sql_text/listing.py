"""Lists of values, as tools ask for them to fill a filter: ``SELECT DISTINCT team FROM pay``, or the same by groups.

The language answers aggregates of groups. So a list is the question for how many rows each value has, of which only the
values are wanted: public where the number of rows is, and a question with a price where it is not.
"""

from collections.abc import Sequence

from errorfloor.sql_text.around import plain
from errorfloor.sql_text.conditions import Name
from errorfloor.sql_text.released_rows import Item, RowsWanted
from errorfloor.sql_text.statements import SILENT, Piece, shallow

COUNTED = "listed_rows"
AGGREGATES = {
    *("AVG", "SUM", "COUNT", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "COVAR_POP"),
    *("COVAR_SAMP", "CORR", "REGR_SLOPE", "MEDIAN", "QUANTILE", "PERCENTILE_CONT", "PERCENTILE_DISC"),
    *("CUMULATIVE", "HISTOGRAM"),
}
AFTER_GROUPS = ("ORDER", "LIMIT", "OFFSET", "FETCH")
OTHERS = ("HAVING", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "OVER", "ON", "ROLLUP", "CUBE", "GROUPING")


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
    if not pieces or not _is_name(pieces[-1]):
        return None
    if len(pieces) > 2 and pieces[-2][1].upper() == "AS":
        return pieces[:-2], pieces[-1]
    if len(pieces) > 1 and (_is_name(pieces[-2]) or pieces[-2][1] == ")"):
        return pieces[:-1], pieces[-1]
    is_column = all(_is_name(one) for one in pieces[::2]) and all(one[1] == "." for one in pieces[1::2])
    return (pieces, pieces[-1]) if is_column else None


def _is_name(piece: Piece) -> bool:
    return piece[0] == "word" or piece[1][:1] == '"'
