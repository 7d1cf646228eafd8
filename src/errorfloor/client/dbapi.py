"""Python's database interface (PEP 249) over HTTP: ``connect``, cursors and rows, for tools that want nothing else.

Tools ask silently, so that a connection answers what is free and refuses the rest with its price, unless it is made
with ``charge=True``. How exact an answer should be is said for the connection, or by a question itself: ``WITHIN 0.5``.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import pyarrow as pa

from errorfloor.client.answer import RemoteAnswer
from errorfloor.client.database import RemoteDatabase
from errorfloor.client.database import connect as connect_database
from errorfloor.closing import Closing
from errorfloor.errors import AllowanceError, ErrorFloorError, InputError
from errorfloor.sql_text import Statement, statements
from errorfloor.sql_text.asked import AskedQuestion, asked

if TYPE_CHECKING:
    from pathlib import Path

ENDS = ("_low", "_high")
ARROW = {
    **{"whole": pa.int64(), "number": pa.float64(), "text": pa.string(), "date": pa.date32()},
    **{"moment": pa.timestamp("us"), "flag": pa.bool_()},
}
apilevel, threadsafety, paramstyle = "2.0", 2, "qmark"
Result = TypeVar("Result")


class Warning(Exception):  # noqa: N818  (the standard names it so)
    """Never raised here."""


class Error(Exception):
    """Whatever goes wrong."""


class InterfaceError(Error):
    """A cursor or connection that is closed, or has no rows."""


class RemoteDatabaseError(Error):
    """What the server refuses or fails at; ``__cause__`` is the package's own error, with its fields."""


DatabaseError = RemoteDatabaseError  # the standard's name


class DataError(DatabaseError):
    """Never raised here."""


class OperationalError(DatabaseError):
    """The server is out of reach, or an allowance, quota or limit does not cover a question."""


class IntegrityError(DatabaseError):
    """Never raised here."""


class InternalError(DatabaseError):
    """Never raised here."""


class ProgrammingError(DatabaseError):
    """A question that is not answered; the message says what to ask."""


class NotSupportedError(DatabaseError):
    """Something that is not done here, such as writing."""


class _Types(frozenset[str]):
    """A type that a column is compared with."""

    def __eq__(self, other: object) -> bool:
        return other in self or (isinstance(other, _Types) and frozenset(self) == frozenset(other))

    __hash__ = frozenset.__hash__


STRING, NUMBER, DATETIME = _Types({"string"}), _Types({"int64", "double"}), _Types({"date32[day]", "timestamp[us]"})
BINARY, ROWID = _Types({"binary"}), _Types()
Date, Timestamp, Time = datetime.date, datetime.datetime, datetime.time
DateFromTicks, TimestampFromTicks = datetime.date.fromtimestamp, datetime.datetime.fromtimestamp
Binary = bytes


def connect(
    url: str,
    *,
    token: str,
    max_error: Any = None,
    spend: float | None = None,
    charge: bool | float = False,
    charge_per_day: float | None = None,
    bounds: bool = True,
    verify: "bool | str | Path" = True,
    timeout: float = 60.0,
    insecure: bool = False,
) -> "QuestionConnection":
    """Connect to a server.

    ``max_error`` or ``spend`` holds for questions that do not say how exact their answers should be; ``charge`` lets
    them be charged, each up to this share of any allowance if it is a number, and in one day up to ``charge_per_day``;
    ``bounds`` shows the ends of certain intervals, after all selected columns.
    """
    wish = {name: value for name, value in (("max_error", max_error), ("spend", spend)) if value is not None}
    opened = _told(lambda: connect_database(url, token=token, verify=verify, timeout=timeout, insecure=insecure))
    return QuestionConnection(opened, wish, {"charge": charge, "charge_per_day": charge_per_day}, bounds=bounds)


class QuestionConnection(Closing):
    """A server, and how questions are asked; it holds no transaction, since nothing can be written."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError

    def __init__(self, database: RemoteDatabase, wish: dict[str, Any], limits: dict[str, Any], *, bounds: bool) -> None:
        self.database, self._wish, self._limits, self._bounds = database, wish, limits, bounds
        self._is_open = True

    def cursor(self) -> "Cursor":
        """Give a cursor."""
        self._check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: what was charged is durable."""
        self._check_open()

    def rollback(self) -> None:
        """Do nothing: a charge is never taken back."""
        self._check_open()

    def close(self) -> None:
        """Let go of the server."""
        self._is_open = False
        self.database.close()

    def ask(self, sql: str, parameters: Sequence[Any]) -> tuple[RemoteAnswer | None, pa.Table]:
        """Ask one question, with parameters in the places of question marks; give its answer, and what is shown of it.

        Constants and the columns of a table are no question, and have no answer.

        Shown is what the queries around a question want of it, and is selected; then the ends of certain intervals, if
        they are wanted.
        """
        self._check_open()
        found = statements(sql)
        if len(found) != 1:
            raise ProgrammingError(f"one question is asked at a time, got {len(found)}")

        def answered() -> tuple[RemoteAnswer | None, pa.Table]:
            question = asked(Statement(Statement.of(found[0].marked(parameters)).pieces, found[0].hints))
            wish = question.wish or self._wish
            if question.is_constant:
                return None, question.shown(pa.table({"": [0]}), [], bounds=False)
            if question.table:
                return None, question.shown(self._columns_of(question.table), [], bounds=False)
            if question.is_probe:
                return None, self._without_rows(question)
            if question.around and self._limits["charge"]:
                self._without_rows(question)  # what cannot be done with an answer is refused before its charge
            answer = self.database.ask(question.sql, **wish, **self._limits)
            return answer, self._shown(answer.to_arrow(), answer.outputs(), question)

        return _told(answered)

    def _columns_of(self, table: str) -> pa.Table:
        """Give the columns of a declared table, without rows."""
        declared = {one["name"].lower(): one for one in self.database.tables()}
        if table.lower() not in declared:
            raise InputError(f"{table[:64]!r} is not a declared table: there are {', '.join(sorted(declared))}")
        found = declared[table.lower()]
        kinds = {one["name"]: ARROW[one["type"]] for one in (*found["public"], *found.get("columns", ()))}
        kinds |= {one["name"]: pa.float64() for one in found["private"]}
        return pa.schema(kinds).empty_table()

    def _without_rows(self, question: AskedQuestion) -> pa.Table:
        """Give which columns are shown; nothing is asked."""
        found = self.database._columns(question.sql)
        table = pa.schema([(one["name"], ARROW[one["type"]]) for one in found]).empty_table()
        return question.shown(table, [one["name"] for one in found if one["private"]], bounds=self._bounds)

    def _shown(self, table: pa.Table, outputs: Sequence[dict[str, Any]], question: AskedQuestion) -> pa.Table:
        private = [one["name"] for one in outputs if not one["exact"] and one["name"] in table.column_names]
        ends = [f"{name}{end}" for name in private for end in ENDS]
        ordered = table.select([*(name for name in table.column_names if name not in ends), *ends])
        derived = {one["name"]: "rows" in one for one in outputs if one.get("by_parts") or "rows" in one}
        return question.shown(ordered, private, derived, bounds=self._bounds)

    def _check_open(self) -> None:
        if not self._is_open:
            raise InterfaceError("the connection is closed")


class Cursor:
    """Asks, and gives the rows of the last answer; ``answer`` has all that is stated of it."""

    arraysize = 1

    def __init__(self, connection: QuestionConnection) -> None:
        self.connection = connection
        self.answer: RemoteAnswer | None = None
        self._table: pa.Table | None = None
        self._place = 0

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """The columns: each a name, a type, and five times nothing."""
        if self._table is None:
            return None
        return [(field.name, str(field.type), None, None, None, None, None) for field in self._table.schema]

    @property
    def rowcount(self) -> int:
        """How many rows the last answer has; -1 before there is one."""
        return -1 if self._table is None else int(self._table.num_rows)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Self:
        """Ask a question."""
        self._table = None
        self.answer, self._table = self.connection.ask(sql, parameters)
        self._place = 0
        return self

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]]) -> NoReturn:
        """Refuse: questions are asked one by one."""
        raise NotSupportedError("questions are asked one by one: use execute")

    def fetchone(self) -> tuple[Any, ...] | None:
        """Give the next row, or None."""
        found = self.fetchmany(1)
        return found[0] if found else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Give the next rows."""
        table = self.fetch_arrow_table()
        count = self.arraysize if size is None else size
        rows = [tuple(row.values()) for row in table.slice(self._place, count).to_pylist()]
        self._place += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Give all rows that are left."""
        return self.fetchmany(max(0, self.rowcount - self._place))

    def fetch_arrow_table(self) -> pa.Table:
        """Give the whole answer as an Arrow table."""
        if self._table is None:
            raise InterfaceError("there are no rows: ask a question first")
        return self._table

    def close(self) -> None:
        """Forget the rows."""
        self._table = None

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)


def _told(work: Callable[[], Result]) -> Result:
    """Do something, and raise what goes wrong as this interface names it."""
    try:
        return work()
    except AllowanceError as problem:
        raise OperationalError(str(problem)) from problem
    except InputError as problem:
        raise ProgrammingError(str(problem)) from problem
    except ErrorFloorError as problem:
        raise OperationalError(str(problem)) from problem
