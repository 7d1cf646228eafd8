"""The query around a question, read piece by piece: columns, totals, conditions, groups, an order and a limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from errorfloor.sql_text import conditions
from errorfloor.sql_text.conditions import SIGNS, Condition, Name, refusal
from errorfloor.sql_text.released_rows import CASTS, Item, Order, RowsWanted
from errorfloor.sql_text.statements import Piece, is_name, plain

INSIDE: Piece = ("inside", "")  # stands for the question
TOTALS = ("SUM", "AVG", "MIN", "MAX", "COUNT")
READ_AS_TEXT = ("TO_TIMESTAMP", "TO_DATE")
TYPES = {"character": "varchar", "float8": "double", "int8": "bigint", "bool": "boolean"}
AFTER_FROM = (
    *("WHERE", "GROUP", "ORDER", "LIMIT", "OFFSET", "FETCH", "HAVING", "JOIN", "LEFT", "RIGHT", "FULL", "INNER"),
    *("CROSS", "NATURAL", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "TABLESAMPLE"),
)
MOST_CONDITIONS = 100
ADVICE = "ask the question by itself, or select its columns"


class AroundReader:
    """Reads the query around a question from its beginning to its end."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces, self._place, self._conditions = pieces, 0, 0
        self._tables: list[str] = []  # whose columns are named

    def query(self) -> RowsWanted:
        """Read all of it."""
        if self._next("WITH"):
            self._take()
            self._expect("AS", "inside")
        self._expect("SELECT")
        is_distinct = self._next("DISTINCT")
        items = self._items()
        self._expect("FROM")
        alias = "" if self._next("inside") else plain(self._take())
        self._next("AS")
        if self._is_name() and not self._at(*AFTER_FROM):
            alias = plain(self._take())
        wanted = self._rows(RowsWanted(items))
        others = [name for name in self._tables if name != alias]
        if others:
            raise refusal(f"{others[0][:60]!r} is no table: the question is {alias!r}", "table")
        if is_distinct:
            if wanted.groups is not None or items is None or any(one.total for one in items):
                raise refusal(f"DISTINCT is read of plain columns only: {ADVICE}")
            wanted = replace(wanted, groups=tuple(one.column for one in items if one.column is not None))
        return wanted

    def _rows(self, wanted: RowsWanted) -> RowsWanted:
        if self._next("WHERE"):
            test, is_never = self._any_of()
            wanted = replace(wanted, test=test, is_never=is_never)
        if self._next("GROUP"):
            self._expect("BY")
            if wanted.items is None:
                raise refusal(f"GROUP BY needs the columns by name: {ADVICE}", "group")
            wanted = replace(wanted, groups=tuple(self._list(self._group)))
        if self._next("ORDER"):
            self._expect("BY")
            wanted = replace(wanted, order=tuple(self._list(self._order)))
        while not self._is_over():
            if self._next("LIMIT"):
                wanted = wanted if self._next("ALL") else replace(wanted, limit=self._whole())
            elif self._next("OFFSET"):
                wanted = replace(wanted, offset=self._whole())
                self._next("ROWS")
            elif self._next("FETCH"):
                if not self._next("FIRST"):
                    self._expect("NEXT")
                wanted = replace(wanted, limit=self._whole())
                if not self._next("ROWS"):
                    self._expect("ROW")
                self._expect("ONLY")
            else:
                self._refuse()
        return wanted

    # -- columns

    def _items(self) -> tuple[Item, ...] | None:
        if self._next("*"):
            return None
        if self._is_name() and self._text(1) == "." and self._text(2) == "*":
            self._tables.append(plain(self._take()))
            self._place += 2
            return None
        return tuple(self._list(self._item))

    def _item(self) -> Item:
        item = self._value()
        if self._next("AS") or (self._is_name() and not self._at("FROM")):
            if not self._is_name():
                self._refuse()
            return replace(item, name=plain(self._take()))
        return item

    def _value(self) -> Item:
        if self._text(1) == "(" and self._at(*TOTALS):
            return self._total()
        return Item(constant=self._constant()) if self._is_constant() else self._column_item()

    def _column_item(self) -> Item:
        if self._text(1) == "(" and self._at("CAST"):
            self._place += 2
            item = Item(self._column())
            self._expect("AS")
            item = replace(item, cast=self._type())
            self._expect(")")
            return item
        item = Item(self._column())
        if self._text() == ":" and self._text(1) == ":":
            self._place += 2
            item = replace(item, cast=self._type())
        return item

    def _total(self) -> Item:
        total = self._take()[1].lower()
        self._expect("(")
        if total == "count" and self._next("*"):
            item = Item(constant=1, total=total)
        elif self._is_constant():
            item = Item(constant=self._constant(), total=total)
        else:
            item = replace(self._column_item(), total=total)
        self._expect(")")
        sign = self._sign() if total == "count" else None
        return item if sign is None else replace(item, than=(sign, self._whole()))

    def _type(self) -> str:
        name = self._take()[1].lower()
        if name in ("double", "character"):
            self._next("PRECISION")
            self._next("VARYING")
        if self._next("("):
            self._whole()
            self._expect(")")
        name = TYPES.get(name, name)
        if name not in CASTS:
            raise refusal(f"a cast to {name[:40]!r} is not read: leave it out", "function")
        return name

    def _column(self) -> Name:
        if not self._is_name():
            self._refuse()
        name = self._take()
        while self._next("."):
            self._tables.append(plain(name))
            name = self._take()
        if self._text() == "(":
            self._refuse(self._place - 1)
        return Name(plain(name) if name[0] == "quoted" else name[1], name[0] == "quoted")

    def _group(self) -> Name | int:
        return self._whole() if self._kind() == "number" else self._column()

    def _order(self) -> Order:
        by: Name | Item | int = self._whole() if self._kind() == "number" else self._value()
        if isinstance(by, Item):
            if by.column is None and not by.total:
                self._refuse()
            by = by.column if by.column is not None and not by.total else by
        is_descending = self._next("DESC")
        if not is_descending:
            self._next("ASC")
        nulls_first = is_descending
        if self._next("NULLS"):
            nulls_first = self._next("FIRST")
            if not nulls_first:
                self._expect("LAST")
        return Order(by, is_descending, nulls_first)

    # -- conditions: each with whether it fails for every row

    def _any_of(self) -> tuple[Condition, bool]:
        parts = [self._all_of()]
        while self._next("OR"):
            parts.append(self._all_of())
        return conditions.either([one for one, _ in parts]), all(fails for _, fails in parts)

    def _all_of(self) -> tuple[Condition, bool]:
        parts = [self._one()]
        while self._next("AND"):
            parts.append(self._one())
        return conditions.both([one for one, _ in parts]), any(fails for _, fails in parts)

    def _one(self) -> tuple[Condition, bool]:
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            raise refusal(f"there are more than {MOST_CONDITIONS} conditions: {ADVICE}", "too-long")
        if self._next("NOT"):
            return conditions.negated(self._one()[0]), False
        if self._next("("):
            found = self._any_of()
            self._expect(")")
            return found
        if self._is_constant():
            left, sign = self._constant(), self._sign()
            right = True if sign is None else self._constant()
            if (left is None) or (right is None) or type(left) is not type(right):
                self._refuse()
            truth = SIGNS[sign or "="](left, right)
            return conditions.always(truth), not truth
        return self._about(self._value()), False

    def _about(self, item: Item) -> Condition:
        name = item.column
        if name is None or item.total:
            self._refuse()
        is_negated = self._next("NOT")
        if self._next("IN"):
            self._expect("(")
            found = conditions.one_of(name, self._list(self._constant))
            self._expect(")")
        elif self._next("BETWEEN"):
            low = self._constant()
            self._expect("AND")
            ends = conditions.compared(name, ">=", low), conditions.compared(name, "<=", self._constant())
            found = conditions.both(ends)
        elif not is_negated and self._next("IS"):
            is_negated = self._next("NOT")
            self._expect("NULL")
            found = conditions.is_null(name)
        else:
            sign = None if is_negated else self._sign()
            if sign is None:
                self._refuse()
            found = conditions.compared(name, sign, self._constant())
        return conditions.negated(found) if is_negated else found

    # -- pieces

    def _kind(self, ahead: int = 0) -> str:
        place = self._place + ahead
        return self._pieces[place][0] if place < len(self._pieces) else ""

    def _text(self, ahead: int = 0) -> str:
        place = self._place + ahead
        if place >= len(self._pieces):
            return ""
        kind, text = self._pieces[place]
        return kind if kind == "inside" else text.upper() if kind == "word" else text

    def _at(self, *words: str) -> bool:
        return self._kind() == "word" and self._text() in words

    def _is_over(self) -> bool:
        return self._place >= len(self._pieces)

    def _is_name(self) -> bool:
        return not self._is_over() and is_name(self._pieces[self._place])

    def _is_constant(self) -> bool:
        is_text = self._kind() == "quoted" and self._text()[:1] == "'"
        is_marked = self._at("DATE", "TIMESTAMP", *READ_AS_TEXT) and (self._text(1)[:1] == "'" or self._text(1) == "(")
        is_word = self._at("NULL", "TRUE", "FALSE") or self._text() == "-" or self._kind() == "number"
        return is_text or is_marked or is_word

    def _next(self, text: str) -> bool:
        if self._text() != text or self._is_over():
            return False
        self._place += 1
        return True

    def _expect(self, *texts: str) -> None:
        for text in texts:
            if not self._next(text):
                self._refuse()

    def _take(self) -> Piece:
        if self._is_over():
            self._refuse()
        self._place += 1
        return self._pieces[self._place - 1]

    def _list(self, read: Callable[[], Any]) -> list[Any]:
        found = [read()]
        while self._next(","):
            found.append(read())
        return found

    def _whole(self) -> int:
        kind, text = self._take()
        if kind != "number" or not text.isdigit() or len(text) > 18:
            self._refuse(self._place - 1)
        return int(text)

    def _sign(self) -> str | None:
        for sign in sorted(SIGNS, key=len, reverse=True):
            if all(self._text(place) == one for place, one in enumerate(sign)):
                self._place += len(sign)
                return sign
        return None

    def _constant(self) -> Any:
        if self._at("TRUE", "FALSE", "NULL"):
            return {"TRUE": True, "FALSE": False, "NULL": None}[self._take()[1].upper()]
        if self._at(*READ_AS_TEXT):
            self._take()
            self._expect("(")
            value = self._number_or_text()
            self._expect(",")
            self._number_or_text()
            self._expect(")")
            return value
        if self._at("DATE", "TIMESTAMP"):
            self._take()
        if self._next("("):  # so a parameter's negative number is written
            value = self._number_or_text()
            self._expect(")")
            return value
        return self._number_or_text()

    def _number_or_text(self) -> Any:
        is_negative = self._next("-")
        kind, text = self._take()
        if kind == "number":
            number = int(text) if text.isdigit() and len(text) < 19 else float(text)
            return -number if is_negative else number
        if kind != "quoted" or text[:1] != "'" or is_negative:
            self._refuse(self._place - 1)
        return text[1:-1].replace("''", "'")

    def _refuse(self, place: int | None = None) -> NoReturn:
        here = self._place if place is None else place
        text = self._pieces[here][1] if here < len(self._pieces) else "the end"
        raise refusal(f"{text[:60]!r} is not read in this place: {ADVICE}")
