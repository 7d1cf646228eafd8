"""FROM, JOIN and WITH: which rows, under which names.

A join goes to a public table on its whole row key, so that each row meets at most one row of it and no row is counted
twice. A table in WITH, or in parentheses after FROM, may filter and rename; it is read as if it had been written out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.sql.conditions import RowConditions
from errorfloor.sql.names import Relation, Visible, columns_of, name_of, same
from errorfloor.sql.plan import ALWAYS, TableColumn, all_of
from errorfloor.sql.question import Join
from errorfloor.sql.refusals import PRIVATE_JOIN, Wording, near

ADVICE = "join a public table on its whole row key: JOIN t ON t.key = x.key, or USING (key)"
MOST_JOINS = 20
KINDS = (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER"))
UNDERSTOOD = ("with_", "expressions", "from_", "joins", "where")


@dataclass(frozen=True)
class TablesInView:
    """The declared tables, and those that WITH has named so far."""

    words: Wording
    catalogue: Catalogue
    named: Mapping[str, Relation]

    def with_named(self, node: exp.Expression | None) -> "TablesInView":
        """Give what can be seen after WITH."""
        if node is None:
            return self
        self.words.only(node, "expressions")
        tables = self
        for part in node.expressions:
            if type(part) is not exp.CTE:
                raise self.words.unanswered(part)
            self.words.only(part, "this", "alias")
            name = self._alias(part)
            if name is None or name.lower() in tables.named:
                raise self.words.refusal(part, "table", "needs a separate name in WITH")
            tables = replace(tables, named={**tables.named, name.lower(): tables.nested(part.this, name)})
        return tables

    def relation(self, select: exp.Select) -> Relation:
        """Read FROM, JOIN and WHERE."""
        from_ = select.args.get("from_")
        if from_ is None:
            raise self.words.refusal(select, "table", "names no table: add FROM")
        self.words.only(from_, "this")
        relation = self._first(from_.this)
        for join in select.args.get("joins") or []:
            relation = self._joined(relation, join)
        where = select.args.get("where")
        if where is None:
            return relation
        self.words.only(where, "this")
        condition = all_of([relation.where, RowConditions(relation).filter(where.this)])
        return replace(relation, where=condition)

    def nested(self, node: exp.Expression, name: str) -> Relation:
        """Read a table that filters and renames."""
        if type(node) is not exp.Select:
            raise self.words.unanswered(node)
        if any(value and slot not in UNDERSTOOD for slot, value in node.args.items()):
            raise self.words.refusal(node, "subquery", "does more than filter and rename: compute outside of it")
        relation = self.with_named(node.args.get("with_")).relation(node)
        columns: list[Visible] = []
        for part in node.expressions:
            columns.extend(self._kept(relation, part))
        seen: set[str] = set()
        for visible in columns:
            if visible.name.lower() in seen:
                raise self.words.refusal(node, "column", f"has two columns named {visible.name}: rename one with AS")
            seen.add(visible.name.lower())
        return replace(relation, columns=tuple(columns)).renamed(name)

    def _kept(self, relation: Relation, node: exp.Expression) -> Iterator[Visible]:
        """Give the columns that one part of an inner SELECT keeps."""
        if type(node) is exp.Star:
            self.words.only(node)
            yield from (replace(visible, merged=False) for visible in relation.columns if not visible.merged)
            return
        name, inner = None, node
        if type(node) is exp.Alias:
            self.words.only(node, "this", "alias")
            name, inner = name_of(node.args["alias"], self.words), node.this
        while type(inner) is exp.Paren:
            self.words.only(inner, "this")
            inner = inner.this
        if type(inner) is exp.Column and type(inner.this) is exp.Identifier:
            visible = relation.find(inner)
            yield replace(visible, name=visible.name if name is None else name, merged=False)
            return
        raise self.words.refusal(
            node, "subquery", "computes inside a nested table, which may only filter and rename: compute outside of it"
        )

    def _first(self, node: exp.Expression) -> Relation:
        if type(node) is exp.Subquery:
            self.words.only(node, "this", "alias")
            return self.nested(node.this, self._alias(node) or "")
        name, alias = self._table_name(node)
        if name.lower() in self.named:
            return self.named[name.lower()].renamed(alias)
        declared, table = self._declared(node, name)
        words = replace(self.words, about_records=table.hides_records)
        columns = columns_of(table, alias, 0)
        return Relation(words, declared, table.version, (), ALWAYS, columns, table.hides_records)

    def _table_name(self, node: exp.Expression) -> tuple[str, str]:
        if isinstance(node, (exp.Select, exp.Subquery)):
            raise self.words.unanswered(node)
        if type(node) is not exp.Table:
            raise self.words.refusal(node, "table", "is not a table: name a declared one")
        if node.args.get("db") or node.args.get("catalog"):
            raise self.words.refusal(node, "table", "has a schema prefix: tables have plain names here")
        self.words.only(node, "this", "alias")
        if type(node.this) is not exp.Identifier:
            raise self.words.refusal(node, "table", "is not a table: name a declared one")
        name = name_of(node.this, self.words)
        return name, self._alias(node) or name

    def _alias(self, node: exp.Expression) -> str | None:
        alias = node.args.get("alias")
        if alias is None:
            return None
        if alias.args.get("columns"):
            raise self.words.refusal(alias, "table", "renames columns in a list: rename them with AS in its SELECT")
        self.words.only(alias, "this")
        return name_of(alias.this, self.words) if alias.this else None

    def _declared(self, node: exp.Expression, name: str) -> tuple[str, Table]:
        for declared, table in self.catalogue.tables.items():
            if same(declared, name):
                return declared, table
        known = [*self.catalogue.tables, *self.named]
        advice = near(name, known) or "tables: " + (", ".join(sorted(known)) or "none")
        raise self.words.refusal(node, "table", f"is not a declared table; {advice}")

    def _joined(self, left: Relation, node: exp.Expression) -> Relation:
        side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
        if node.args.get("method") or (side, kind) not in KINDS:
            raise self.words.refusal(node, "join", f"is a join that is not supported: {ADVICE}")
        if not (node.args.get("on") or node.args.get("using")):
            raise self.words.refusal(node, "join", f"joins every row with every row: {ADVICE}")
        self.words.only(node, "this", "side", "kind", "on", "using")
        if type(node.this) is not exp.Table:
            raise self.words.refusal(node.this, "join", f"is joined but is not a declared table: {ADVICE}")
        name, alias = self._table_name(node.this)
        if name.lower() in self.named:
            raise self.words.refusal(node.this, "join", f"is joined but is not a declared table: {ADVICE}")
        declared, table = self._declared(node.this, name)
        if not table.is_public:
            raise self.words.refusal(
                node.this, "join", f"has private columns, and rows could be counted more than once: {ADVICE}"
            )
        if any(same(visible.qualifier, alias) for visible in left.columns):
            raise self.words.refusal(node.this, "join", "has a name that is taken: give it another with AS")
        if len(left.joins) >= MOST_JOINS:
            raise self.words.refusal(node.this, "too-long", f"is joined beyond the limit of {MOST_JOINS} tables")
        added = columns_of(table, alias, len(left.joins) + 1, left_joined=side == "LEFT")
        pairs, merged = self._pairs(left, added, node)
        keys = {two.name for _, two in pairs}
        if keys != set(table.row_key) or len(pairs) != len(keys):
            raise self.words.refusal(
                node, "join", f"must compare each column of the row key of {declared} once: {', '.join(table.row_key)}"
            )
        ordered = tuple(sorted(pairs, key=lambda pair: pair[1].encoded))
        return replace(
            left,
            joins=(*left.joins, Join(declared, table.version, ordered, side == "LEFT")),
            columns=(
                *left.columns,
                *(replace(visible, merged=visible.name.lower() in merged) for visible in added),
            ),
        )

    def _pairs(
        self, left: Relation, added: tuple[Visible, ...], node: exp.Expression
    ) -> tuple[list[tuple[TableColumn, TableColumn]], set[str]]:
        """Give the pairs of columns that a join compares, and the names that USING merges."""
        right = replace(left, columns=added)
        pairs: list[tuple[TableColumn, TableColumn]] = []
        merged: set[str] = set()
        for part in node.args.get("using") or []:
            identifier = part.this if type(part) is exp.Column and not part.args.get("table") else part
            one, two = left.named(identifier, None, part), right.named(identifier, None, part)
            pairs.append(self._pair(part, one.column, two.column))
            merged.add(two.name.lower())
        if node.args.get("on"):
            either = replace(left, columns=(*left.columns, *added))
            for equation in self._equations(node.args["on"]):
                self.words.only(equation, "this", "expression")
                sides = [side for side in (equation.this, equation.expression) if type(side) is exp.Column]
                if type(equation) is not exp.EQ or len(sides) != 2:
                    raise self.words.refusal(equation, "join", f"is not a comparison of two columns: {ADVICE}")
                one, two = (either.find(side) for side in sides)
                if one in added:
                    one, two = two, one
                if one in added or two not in added:
                    raise self.words.refusal(
                        equation, "join", f"does not compare the joined table with another: {ADVICE}"
                    )
                pairs.append(self._pair(equation, one.column, two.column))
        return pairs, merged

    def _equations(self, node: exp.Expression) -> Iterator[exp.Expression]:
        if type(node) is exp.Paren:
            self.words.only(node, "this")
            yield from self._equations(node.this)
        elif type(node) is exp.And:
            self.words.only(node, "this", "expression")
            yield from self._equations(node.this)
            yield from self._equations(node.expression)
        else:
            yield node

    def _pair(self, node: exp.Expression, one: TableColumn, two: TableColumn) -> tuple[TableColumn, TableColumn]:
        if one.private:
            raise self.words.refusal(node, "private-key", PRIVATE_JOIN)
        if one.type != two.type or one.step != two.step:
            raise self.words.refusal(node, "join", "compares columns of different types or resolutions")
        return one, two
