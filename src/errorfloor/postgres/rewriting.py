"""Queries of tools on the system catalogue, rewritten from PostgreSQL's SQL to DuckDB's.

*Guarantee*: what is run reads the tables of the system catalogue, which hold declarations alone, and calls functions
that are named here; anything else is refused.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from errorfloor.errors import RefusedError
from errorfloor.sql.reading import read_foreign
from errorfloor.sql_text import Statement

SCHEMAS = {"pg_catalog": "pg", "information_schema": "info"}
KNOWN = (  # functions that sqlglot or DuckDB has names of its own for
    *("array_to_string", "array_position", "array_length", "current_database", "string_agg", "unnest"),
    *("All", "And", "Any", "Array", "ArrayAgg", "ArrayAny", "ArrayConcat", "ArrayContains", "ArrayContainsAll"),
    *("ArrayLength", "ArrayOverlaps", "ArraySize", "ArrayToString", "Avg", "Case", "Cast", "Coalesce", "Concat"),
    *("Count", "CurrentCatalog", "CurrentDatabase", "CurrentDate", "CurrentRole", "CurrentSchema"),
    *("CurrentSchemas", "CurrentTimestamp", "CurrentUser", "CurrentVersion", "DenseRank", "Exists", "Explode"),
    *("ExplodingGenerateSeries", "Extract", "GenerateSeries", "GroupConcat", "If", "Initcap", "Left", "Length"),
    *("LogicalAnd", "LogicalOr", "Lower", "Max", "Min", "Not", "Nullif", "Or", "Posexplode", "Rank", "RegexpILike"),
    *("RegexpLike", "RegexpReplace", "RegexpSplit", "Replace", "Right", "Round", "RowNumber", "SessionUser"),
    *("Split", "SplitPart", "StrPosition", "StringToArray", "Substring", "Sum", "ToChar", "Trim", "TryCast"),
    *("Unnest", "Upper", "Xor"),
)
MOST_GROWTH = 1.0  # of a text, by one replacement; what comes of it is cut
LONGEST = 10_000  # characters of a text that is put together; DuckDB's limit of memory does not hold for them
JOINING = (exp.DPipe, exp.Concat, exp.ConcatWs, exp.GroupConcat, exp.ArrayToString)
LABELS = ("SELECT", "TABLE", "UPDATE", "INSERT", "DELETE", "CREATE", "GRANT", "REFERENCES", "TRIGGER")
REPLACING = (exp.Replace, exp.RegexpReplace)
SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)
MOST_IN_SERIES = 10_000  # numbers of a series that is no table, and so in memory as a whole
TYPES = {  # of casts, by PostgreSQL's name
    **dict.fromkeys(("oid", "xid", "cid", "regproc", "regtype", "regnamespace", "regrole", "regclass"), "BIGINT"),
    **dict.fromkeys(("name", "char", "aclitem", "sql_identifier", "character_data", "yes_or_no", "bpchar"), "VARCHAR"),
    **{"int2vector": "SMALLINT[]", "oidvector": "BIGINT[]", "cardinal_number": "INTEGER", "inet": "VARCHAR"},
}
LOOKED_UP = {"regclass": "to_regclass", "regtype": "to_regtype", "regproc": "to_regproc", "regnamespace": "to_regspace"}
NAMED = {"as_regclass": "name_of_class", "as_regtype": "name_of_type"}
PROCEDURES = ("typinput", "typreceive")  # numbers of functions, which are shown by their names
FROM_ZERO = ("indkey", "indoption", "indclass", "indcollation")  # arrays that PostgreSQL counts from 0
FUNCTIONS: dict[Any, str] = {
    **{exp.CurrentSchema: "current_schema", exp.CurrentUser: "current_user", exp.SessionUser: "session_user"},
    **{exp.CurrentDatabase: "current_database", exp.CurrentCatalog: "current_database", exp.CurrentVersion: "version"},
    **{exp.Count: "count", exp.Max: "max", exp.Min: "min", exp.Sum: "sum", exp.Coalesce: "coalesce", exp.Case: "case"},
}
PATTERNS: dict[str, Callable[[exp.Expression, exp.Expression], exp.Expression]] = {
    "~": lambda left, right: exp.RegexpLike(this=left, expression=right),
    "!~": lambda left, right: exp.Not(this=exp.RegexpLike(this=left, expression=right)),
    "~*": lambda left, right: exp.RegexpILike(this=left, expression=right),
    "!~*": lambda left, right: exp.Not(this=exp.RegexpILike(this=left, expression=right)),
    "~~": lambda left, right: exp.Like(this=left, expression=right),
    "=": lambda left, right: exp.EQ(this=left, expression=right),
}


def rewritten(text: str, tables: frozenset[str], functions: frozenset[str]) -> str:
    """Give the query for DuckDB; ``tables`` and ``functions`` are those of the system catalogue.

    Raises RefusedError for what is not a query on them.

    >>> tables, functions = frozenset({"pg.pg_class"}), frozenset({"name_of_class"})
    >>> rewritten("SELECT c.oid::regclass::text AS Name FROM pg_catalog.pg_class c", tables, functions)
    'SELECT NAME_OF_CLASS(c.oid) AS name FROM pg.pg_class AS c'
    """
    try:
        tree = read_foreign(_with_quoted_labels(text), "postgres")
        if not isinstance(tree, exp.Query):
            raise _refusal(type(tree).__name__.upper())
        _name_columns(tree)
        for node in reversed(list(tree.walk(bfs=True))):  # parts before what they are part of
            changed = _node(node)
            if changed is not node:
                node.replace(changed)
        _check(tree, tables, functions)
        _shorten(tree)
        return tree.sql(dialect="duckdb")
    except RefusedError:
        raise
    except Exception:  # whatever a foreign parser trips over, the text is not such a query
        pass
    raise RefusedError("this query on the system catalogue cannot be read", reason="syntax")


def _with_quoted_labels(text: str) -> str:
    """Quote words of the language that name a column, which PostgreSQL allows after AS: Metabase has AS select.

    >>> _with_quoted_labels("SELECT 1 AS select, x AS table FROM t")
    'SELECT 1 AS "select", x AS "table" FROM t'
    """
    written, last = [], ""
    for kind, piece in Statement.of(text).pieces:
        is_label = last == "AS" and piece.upper() in LABELS
        written.append(f'"{piece.lower()}"' if is_label else piece)
        last = last if kind == "space" else piece.upper()
    return "".join(written)


def _name_columns(tree: exp.Query) -> None:
    """Name columns as PostgreSQL does: those without a name after their function, the others in small letters."""
    for select in tree.selects:
        name = select.args.get("alias")
        if isinstance(name, exp.Identifier) and not name.args.get("quoted"):
            name.set("this", name.name.lower())
        if isinstance(select, exp.Column) and select.name in PROCEDURES:
            select.replace(exp.alias_(_procedure(select), select.name))
            continue
        inner = select
        while isinstance(inner, (exp.Cast, exp.Paren, exp.Dot)) and inner is select:
            inner = inner.expression if isinstance(inner, exp.Dot) else inner.this
        if not isinstance(select, (exp.Alias, exp.Column, exp.Star)):
            named = inner.name if isinstance(inner, (exp.Anonymous, exp.Column)) else FUNCTIONS.get(type(inner), "")
            select.replace(exp.alias_(select.copy(), named.lower() or "?column?", quoted=True))


def _refusal(what: str) -> RefusedError:
    return RefusedError(f"`{what[:64]}` is not in the system catalogue of this server", reason="table")


def _check(tree: Any, tables: frozenset[str], functions: frozenset[str]) -> None:
    own = {one.alias_or_name for one in tree.find_all(exp.CTE)}
    for one in tree.find_all(exp.With):
        if one.args.get("recursive"):
            raise _refusal("WITH RECURSIVE")
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            continue  # looked at below
        name = f"{table.db}.{table.name}"
        if not (name in tables or (not table.db and table.name in own)) or table.catalog:
            raise _refusal(name.removeprefix("."))
    for function in tree.find_all(exp.Func):
        named = function.name.lower() if isinstance(function, exp.Anonymous) else type(function).__name__
        if named not in functions and named not in KNOWN:
            raise _refusal(f"{named}()")
        if isinstance(function, SERIES) and not isinstance(function.parent, exp.Table):
            ends = [function.args.get(name) for name in ("start", "end", "step")]
            if any(one is not None and not _is_small(one) for one in ends):
                raise _refusal(f"{named}() of more than {MOST_IN_SERIES} numbers, or of some that are not written out,")
        if isinstance(function, REPLACING) and _growth(function) > MOST_GROWTH:
            raise _refusal(f"{named}() with a longer text")


def _is_small(node: exp.Expression) -> bool:
    """Whether the end of a series is a small number, or where an array begins or ends."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in ("array_lower", "array_upper")
    return isinstance(node, exp.Literal) and node.name.isdigit() and 0 < int(node.name[:9]) <= MOST_IN_SERIES


def _shorten(tree: exp.Expression) -> None:
    """Cut every text that is put together: joined with itself again and again it would take all memory."""
    for node in reversed(list(tree.find_all(*JOINING, *REPLACING))):  # parts before what they are part of
        is_part = isinstance(node, JOINING) and isinstance(node.parent, JOINING)
        is_part = is_part and not isinstance(node.parent, exp.GroupConcat)
        is_array = isinstance(node, exp.DPipe) and isinstance(node.this, exp.Array) | isinstance(
            node.expression, exp.Array
        )
        whole: exp.Expression = node
        while isinstance(whole.parent, (exp.Window, exp.Filter, exp.WithinGroup)):
            whole = whole.parent
        if not is_part and not is_array:
            whole.replace(exp.Left(this=whole.copy(), expression=exp.Literal.number(LONGEST)))


def _growth(function: exp.Expression) -> float:
    """Give the part by which a replacement may lengthen a text: DuckDB bounds neither its memory nor its time."""
    old, new = function.args.get("expression"), function.args.get("replacement")
    if not (isinstance(old, exp.Literal) and isinstance(new, exp.Literal)):
        return math.inf
    most = 0 if isinstance(function, exp.RegexpReplace) else len(old.name)
    if len(new.name) <= most:
        return 0.0
    return (len(new.name) - most) / most if most else math.inf


def _node(node: Any) -> Any:
    """Rewrite one node; those below it come next."""
    match node:
        case exp.Table():
            return _table(node)
        case exp.Dot(this=exp.Identifier() | exp.Column()) if node.this.name in SCHEMAS:
            return _node(node.expression)
        case exp.Column() if node.args.get("db") is not None and node.args["db"].name in SCHEMAS:
            return exp.column(node.this.copy(), node.args["table"].copy())
        case exp.Like() | exp.ILike() if "\\" in node.expression.name and not isinstance(node.parent, exp.Escape):
            return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))
        case exp.Collate():
            return _node(node.this)
        case exp.Operator():
            sign = str(node.args["operator"]).rpartition(".")[2]
            return PATTERNS[sign](node.this.copy(), node.expression.copy())
        case exp.Cast():
            return _cast(node)
        case exp.Any():
            return exp.Any(this=_listed(node.this))
        case exp.Anonymous() if node.name.lower() == "all":
            return exp.All(this=exp.Paren(this=_listed(node.expressions[0])))
        case exp.Anonymous() if node.name.lower() == "json_build_object":
            return exp.Null()
        case exp.Format() | exp.Anonymous() if type(node) is exp.Format or node.name.lower() == "format":
            return _formatted(node)
        case exp.Bracket() if node.this.name in FROM_ZERO and len(node.expressions) == 1:
            place = exp.Add(this=exp.Paren(this=node.expressions[0].copy()), expression=exp.Literal.number(1))
            return exp.Bracket(this=node.this.copy(), expressions=[place])
        case exp.CurrentSchema() | exp.CurrentUser() | exp.SessionUser() | exp.CurrentRole():
            return exp.Literal.string("public" if isinstance(node, exp.CurrentSchema) else "analyst")
        case exp.CurrentCatalog() | exp.CurrentDatabase():
            return exp.Literal.string("errorfloor")
        case exp.CurrentVersion():
            return exp.Anonymous(this="version")
    return node


def _table(node: exp.Table) -> exp.Expression:
    for part in (node.this, node.args.get("db"), node.args.get("catalog")):
        if isinstance(part, exp.Identifier) and not part.args.get("quoted"):
            part.set("this", part.name.lower())
    if node.catalog == "errorfloor":
        node.set("catalog", None)
    inner, schema = node.this, node.db
    if isinstance(inner, exp.Func):
        if schema in SCHEMAS:
            node.set("db", None)
        if inner.name.lower() == "unnest":
            return exp.Unnest(expressions=inner.expressions, alias=node.args.get("alias"))
        return node
    node.set("db", exp.to_identifier(SCHEMAS.get(schema, schema) if schema else "pg"))
    if not schema and not inner.name.startswith("pg_"):
        node.set("db", None)
    return node


def _listed(node: exp.Expression) -> exp.Expression:
    inner = node.this if isinstance(node, exp.Paren) else node
    return exp.Paren(this=_items(inner)) if inner.is_string else node.copy()


def _items(text: exp.Expression) -> exp.Array:
    """Read an array that is written as text: '{a,b}'."""
    parts = text.name.strip().removeprefix("{").removesuffix("}").split(",")
    return exp.Array(expressions=[exp.Literal.string(part.strip('"')) for part in parts if part])


def _formatted(node: exp.Expression) -> exp.Expression:
    """Put texts into the places %s and %I of a pattern."""
    pattern, *values = [node.this, *node.expressions] if type(node) is exp.Format else node.expressions
    pieces = re.split("%[sI]", pattern.name)
    parts: list[exp.Expression] = [exp.Literal.string(pieces[0])]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [value.copy(), exp.Literal.string(piece)]
    return exp.Concat(expressions=parts, safe=True, coalesce=True)


def _procedure(node: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="name_of_proc", expressions=[node.copy()])


def _cast(node: exp.Cast) -> exp.Expression:
    to = node.to.sql(dialect="postgres").lower().replace('"', "").replace("pg_catalog.", "")
    to = to.removeprefix("information_schema.")
    inner = node.this
    if to in ("text", "varchar") and isinstance(inner, exp.Column) and inner.name in PROCEDURES:
        return _procedure(inner)
    if to in ("text", "varchar") and isinstance(inner, exp.Anonymous) and inner.name in NAMED:
        return exp.Anonymous(this=NAMED[inner.name], expressions=inner.expressions)
    if to in LOOKED_UP and not isinstance(inner, exp.Column):
        return exp.Anonymous(this=LOOKED_UP[to], expressions=[inner.copy()])
    if f"as_{to}" in NAMED:
        return exp.Anonymous(this=f"as_{to}", expressions=[inner.copy()])
    if to.endswith("[]"):
        items = _items(inner) if inner.is_string else inner.copy()
        return exp.Cast(this=items, to=exp.DataType.build(f"{TYPES.get(to[:-2], to[:-2])}[]", dialect="duckdb"))
    return exp.Cast(this=inner.copy(), to=exp.DataType.build(TYPES.get(to, to), dialect="duckdb"))
