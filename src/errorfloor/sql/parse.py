"""From the text of a question to its typed plan.

The language::

    [WITH name AS (SELECT columns FROM … WHERE …), …]
    SELECT public keys, formulas of aggregates
    FROM table [JOIN | LEFT JOIN public table ON | USING its row key] …
    [WHERE conditions on public columns]
    [GROUP BY public expressions, names or positions] [HAVING count(*) >= n]
    [ORDER BY selected names or positions [DESC]] [LIMIT n]

Whatever is not in it is refused, with the piece of the question, the reason and what to ask instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.errors import RefusedError
from errorfloor.sql import clauses
from errorfloor.sql.aggregates import Formulas, is_distribution, is_formula, is_quantile
from errorfloor.sql.conditions import RowConditions
from errorfloor.sql.distributions import distribution_outputs, quantile_outputs
from errorfloor.sql.names import (
    Relation,
    check_different,
    columns_shown,
    display_unit,
    generated,
    name_of,
    same,
    unique,
)
from errorfloor.sql.numbers import Number
from errorfloor.sql.plan import Always, Count, Scalar, TableColumn, is_constant
from errorfloor.sql.question import GroupKey, Ordering, Question, QuestionOutput, is_private, walk
from errorfloor.sql.reading import check_all_read, read
from errorfloor.sql.records import about_records
from errorfloor.sql.refusals import LISTS, PRIVATE_KEY, Wording
from errorfloor.sql.tables import TablesInView


def parse(text: str, catalogue: Catalogue) -> Question:
    """Read a question.

    Guarantee: two texts with the same plan are the same function of the same snapshots.

    Raises RefusedError if the question is not answered; ``fields["reason"]`` says why in a stable word.

    >>> meters = {"source": "m.csv", "version": "1", "row_key": ["id"], "public": {"id": "whole", "tariff": "text"},
    ...           "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 2, "unit": "kWh"}}}
    >>> question = parse("SELECT tariff, avg(kwh) FROM meters GROUP BY tariff",
    ...                  Catalogue.model_validate({"tables": {"meters": meters}}))
    >>> question.selected, question.outputs[0].unit
    (('tariff', 'avg_kwh'), 'kWh')
    """
    try:
        return _question(text, catalogue)
    except RecursionError:  # within the limits of nesting, but called from far down a stack
        pass
    raise RefusedError("the question is nested too deeply: ask for its parts", reason="too-long")


def _question(text: str, catalogue: Catalogue) -> Question:
    tree = read(text)
    words = Wording(text)
    while type(tree) is exp.Subquery and isinstance(tree.this, exp.Select):
        words.only(tree, "this")
        tree = tree.this
    if type(tree) is not exp.Select:
        refusal = words.unanswered(tree)
        if refusal.fields["reason"] != "syntax":
            raise refusal
        raise words.refusal(tree, "not-select", "is not supported: a question begins with SELECT or WITH")
    _check_clauses(tree, words)
    relation = TablesInView(words, catalogue, {}).with_named(tree.args.get("with_")).relation(tree)
    question = _Asked(tree, relation).question(catalogue.tables[relation.table])
    check_all_read(text, tree)
    return question


def _check_clauses(select: exp.Select, words: Wording) -> None:
    if select.args.get("distinct"):
        raise RefusedError("`SELECT DISTINCT` is not supported: group by the columns instead", reason="distinct")
    if select.args.get("qualify") or select.args.get("windows"):
        raise words.refusal(select, "window", "uses window functions: ask with GROUP BY, then compute from the answer")
    if select.args.get("offset"):
        raise words.refusal(select.args["offset"], "order", "skips rows: leave OFFSET out and skip them afterwards")
    words.only(select, "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit")


@dataclass(frozen=True)
class _Item:
    """One part of the SELECT list: a formula, or a scalar that must be a group key."""

    node: exp.Expression
    name: str
    named: bool  # by the question itself


class _Asked:
    """The outer SELECT over a relation."""

    def __init__(self, select: exp.Select, relation: Relation) -> None:
        self.select = select
        self.relation = relation
        self.words = relation.words
        self.rows = RowConditions(relation)
        self.formulas = Formulas(self.rows)
        self.items = self._items()

    def question(self, table: Table) -> Question:
        """Put the parts together; keys are sorted, because the order in which GROUP BY names them has no meaning.

        Groups of fewer than ``min_group`` rows are left out where something private is asked about them.
        """
        names, sets = self._groups()
        windows = {one.name: one.node for one in self.items if clauses.is_total(one.node)}
        outputs: list[QuestionOutput] = []
        shown_keys: dict[Scalar, str] = {}
        for item in self.items:
            if is_distribution(item.node):
                outputs += distribution_outputs(item.name, item.node, self.formulas, table)
                continue
            if is_quantile(item.node):
                outputs += quantile_outputs(item.name, item.node, self.rows, table)
                continue
            if is_formula(item.node):
                node = clauses.window_of(item.node, self.words).summed if item.name in windows else item.node
                formula = self.formulas.formula(node)
                outputs.append(QuestionOutput(item.name, formula, display_unit(formula, self._unit)))
                continue
            value = self._scalar(item.node)
            if not names and not any(is_formula(other.node) for other in self.items):
                raise self.words.refusal(item.node, "aggregate", LISTS)
            if value not in names:
                raise self.words.refusal(
                    item.node, "group", f"is neither an aggregate nor in GROUP BY: add GROUP BY {item.name}"
                )
            if value in shown_keys:
                raise self.words.refusal(item.node, "group", "is selected twice: leave one of them out")
            shown_keys[value] = item.name
        if sets:
            outputs += clauses.counted_for_totals(outputs, self.words, self.select)
        if not outputs:
            raise self.words.refusal(
                self.select, "aggregate", "asks for no aggregate: ask for avg(x), sum(x) or count(*) of groups"
            )
        taken = [item.name for item in self.items]
        keys: list[GroupKey] = []
        for value in sorted(names, key=lambda value: value.encoded):
            if value not in shown_keys:
                taken.append(unique(names[value], taken))
            keys.append(GroupKey(shown_keys.get(value, taken[-1]), value))
        named = {key.value: key.name for key in keys}
        if windows and sets:
            raise self.words.refusal(
                self.select, "window", "has running totals beside other sets: ask in two questions"
            )
        having, limit = self.select.args.get("having"), self.select.args.get("limit")
        least = table.min_group if any(is_private(one.formula) for one in outputs) else 1
        question = Question(
            self.relation.table,
            self.relation.version,
            self.relation.joins,
            self.relation.where,
            tuple(keys),
            tuple(outputs),
            columns_shown([item.name for item in self.items], outputs),
            self._order(keys, outputs),
            None if limit is None else clauses.most_shown(limit, self.words),
            least if having is None else max(least, clauses.least_rows(having, self.words, self._counts_rows)),
            tuple(tuple(key.name for key in keys if key.value in kept) for kept in sets),
            clauses.along(windows, outputs, named, self._key, self.words) if windows else (),
        )
        return about_records(question) if table.hides_records else question

    def _items(self) -> list[_Item]:
        given: list[tuple[exp.Expression, str | None]] = []
        for node in self.select.expressions:
            if type(node) is exp.Alias:
                self.words.only(node, "this", "alias")
                given.append((node.this, self._checked_name(node, name_of(node.args["alias"], self.words))))
            else:
                given.append((node, None))
        taken = [name for _, name in given if name is not None]
        check_different(taken)
        items: list[_Item] = []
        for place, (node, own) in enumerate(given, start=1):
            if own is None:
                taken.append(unique(generated(node, place), taken))
            items.append(_Item(node, taken[-1] if own is None else own, own is not None))
        return items

    def _checked_name(self, node: exp.Expression, name: str) -> str:
        if not name.strip() or len(name) > 63 or not name.isprintable():
            raise self.words.refusal(node, "column", "needs a name of 1 to 63 printable characters after AS")
        return name

    def _scalar(self, node: exp.Expression) -> Scalar:
        """Read a group key."""
        value = self.rows.value(node)
        for atom in walk(value.polynomial) if isinstance(value, Number) else ():
            if isinstance(atom, TableColumn) and atom.private:
                raise self.words.refusal(node, "private-key", PRIVATE_KEY.format(atom.name))
        scalar = self.rows.comparable(node, value)
        if is_constant(scalar):
            raise self.words.refusal(node, "group", "is the same for every row: leave it out")
        return scalar

    def _groups(self) -> tuple[dict[Scalar, str], tuple[frozenset[Scalar], ...]]:
        """Give what is grouped by with its names, and the coarser groupings."""
        group = self.select.args.get("group")
        if group is None:
            return {}, ()
        if group.args.get("all") or not group.expressions:
            raise self.words.refusal(group, "group", "does not say what to group by: name the columns")
        self.words.only(group, "expressions")
        groups: dict[Scalar, str] = {}

        def key(node: exp.Expression) -> Scalar:
            target, name = self._meant(node)
            if is_formula(target):
                raise self.words.refusal(node, "group", "groups by an aggregate: group by public columns")
            scalar = self._scalar(target)
            groups.setdefault(scalar, name)
            return scalar

        if not any(isinstance(node, clauses.SEVERAL) for node in group.expressions):
            for node in group.expressions:
                key(node)
            return groups, ()
        found = clauses.grouping_sets(group, self.words, key)
        if frozenset(groups) not in found:
            raise self.words.refusal(
                group, "group", "has no set with all the keys, whose cells totals are made of: add one, or use CUBE"
            )
        return groups, tuple(one for one in found if len(one) < len(groups))

    def _key(self, node: exp.Expression) -> Scalar:
        """Read what a position, a name or an expression in OVER stands for."""
        return self._scalar(self._meant(node)[0])

    def _meant(self, node: exp.Expression) -> tuple[exp.Expression, str]:
        """Give what a position or a name in GROUP BY stands for."""
        if type(node) is exp.Literal and not node.args.get("is_string"):
            item = self.items[self._position(node, "group")]
            return item.node, item.name
        if type(node) is exp.Column and not node.args.get("table"):
            name = name_of(node.this, self.words)
            named = [item for item in self.items if item.named and same(item.name, name)]
            is_column = any(same(visible.name, name) for visible in self.relation.columns)
            if named and not is_column:
                return named[0].node, named[0].name
            if named and not is_formula(named[0].node) and self._scalar(named[0].node) != self._scalar(node):
                raise self.words.refusal(
                    node, "group", "is both a column and a name given with AS, and systems disagree: rename one"
                )
        return node, generated(node, 1 + len(self.items))

    def _position(self, node: exp.Expression, reason: str) -> int:
        text = str(node.this)
        if not (text.isascii() and text.isdigit()) or len(text) > 4 or not 1 <= int(text) <= len(self.items):
            raise self.words.refusal(
                node, reason, f"is not the position of a selected column: use 1 to {len(self.items)}"
            )
        return int(text) - 1

    def _order(self, keys: Sequence[GroupKey], outputs: Sequence[QuestionOutput]) -> tuple[Ordering, ...]:
        order = self.select.args.get("order")
        if order is None:
            return ()
        self.words.only(order, "expressions")
        orderings: list[Ordering] = []
        for node in order.expressions:
            self.words.only(node, "this", "desc", "nulls_first")
            descending = bool(node.args.get("desc"))
            if bool(node.args.get("nulls_first")) == descending:
                raise self.words.refusal(
                    node, "order", "says where nulls go: they are the smallest here; leave NULLS FIRST or LAST out"
                )
            orderings.append(Ordering(self._ordered_name(node.this, keys, outputs), descending))
        return tuple(orderings)

    def _ordered_name(self, node: exp.Expression, keys: Sequence[GroupKey], outputs: Sequence[QuestionOutput]) -> str:
        names = {item.name: item.name for item in self.items if not is_distribution(item.node)}
        names |= {one.asked_as: one.asked_as for one in outputs if one.family}
        if type(node) is exp.Literal and not node.args.get("is_string"):
            return names.get(found := self.items[self._position(node, "order")].name) or self._whole(node, found)
        if type(node) is exp.Column and not node.args.get("table"):
            name = name_of(node.this, self.words)
            for one in [*names, *(item.name for item in self.items)]:
                if same(one, name):
                    return names.get(one) or self._whole(node, one)
        if is_quantile(node):
            for item in self.items:
                if item.node == node:
                    return item.name
        elif is_formula(node):
            formula = self.formulas.formula(node)
            for output in outputs:
                if output.formula == formula:
                    return output.name
        else:
            scalar = self._scalar(node)
            for key in keys:
                if key.value == scalar:
                    return key.name
        raise self.words.refusal(node, "order", "is not selected: sort by a selected name or its position")

    def _whole(self, node: exp.Expression, name: str) -> str:
        raise self.words.refusal(node, "order", f"is several columns: sort by one of them, such as {name}_to_10")

    def _counts_rows(self, node: exp.Expression) -> bool:
        """Tell whether something in HAVING is the number of rows, or a name that was given to it."""
        if type(node) is exp.Column and not node.args.get("table"):
            name = name_of(node.this, self.words)
            named = [item.node for item in self.items if item.named and same(item.name, name)]
            node = named[0] if named else node
        return type(node) is exp.Count and self.formulas.formula(node) == Count(Always())

    def _unit(self, column: TableColumn) -> str:
        return next(visible.unit for visible in self.relation.columns if visible.column == column)
