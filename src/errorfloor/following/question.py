"""What a standing question asks, as it is read: a sum, or an average that is followed as a sum and its rows."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from errorfloor.errors import InputError, RefusedError
from errorfloor.following.horizon import check_question, date_of, rows_of_owner, summed_column
from errorfloor.identity import Label, Part
from errorfloor.preparing.preparation import VERSIONS, ReadQuestion
from errorfloor.sql.plan import Count, Quotient, TableColumn
from errorfloor.sql.question import QuestionOutput, walk

if TYPE_CHECKING:
    from errorfloor.service.database import Database

ENDS = ("", "_low", "_high")
MOST_LEAST = 10**12


@dataclass(frozen=True)
class FollowWish:
    """A standing question in the words of whoever follows it; what is None follows from the table."""

    sql: str
    since: str
    until: str
    max_error: float
    part: str | None = None
    column: str | None = None
    owner_rows: int | None = None
    least_rows: int | None = None


@dataclass(frozen=True, eq=False)
class FollowedQuestion:
    """A standing question as it is read: its first output is the sum that noise is added to.

    Of an average, whose bound is asked for groups of at least ``least_rows`` rows, a second output is the number of
    rows, which is public. ``names_somebody`` says whether its rows or groups go by the owner or by the row key.
    """

    text: str
    read: ReadQuestion
    column: str
    part: str
    owner_rows: int
    least_rows: int | None

    @classmethod
    def of(cls, database: "Database", wish: FollowWish) -> "FollowedQuestion":
        """Read a standing question; raises RefusedError for one whose price would depend on rows to come."""
        read = database._known.read(wish.sql, database.catalogue, database._engine, later=True)
        column = date_of(read) if wish.column is None else wish.column
        sums = _of_sums(read, wish.least_rows)
        check_question(sums, column, averaged=wish.least_rows is not None)
        growth = read.table.grows_by
        part = wish.part or (None if growth is None or growth.column != column else growth.part) or "month"
        found = cls(wish.sql, sums, column, part, rows_of_owner(read, wish.owner_rows), wish.least_rows)
        taken = {part, *found.columns}
        for key in read.question.keys:
            if key.name in taken:
                raise RefusedError(f"a column {key.name} comes along with the answer: rename the key", reason="column")
        return found

    @property
    def output(self) -> QuestionOutput:
        """The sum."""
        return self.read.question.outputs[0]

    @property
    def columns(self) -> list[str]:
        """The columns of numbers that come along."""
        name = self.output.name
        rows = [f"{name}_rows"] if self.least_rows is not None else []
        return [*(f"{name}{which}{end}" for which in ("", "_total", "_moving") for end in ENDS), *rows]

    @property
    def about(self) -> tuple[Part, ...]:
        """What decides the figures besides the horizon and the noise, in the versions that are read."""
        question = self.read.question
        function = question.function_of(self.output)
        return VERSIONS, (function[0], *function[2:])

    def words(self, since: str, until: str, bound: float, key: str) -> str:
        """Give the name by which it is found again, whatever the noise is; it is charged under a key."""
        averaged = (self.least_rows,) if self.least_rows is not None else ()
        parts = (*self.about, self.column, self.part, since, until, self.owner_rows, bound, key, *averaged)
        return hashlib.sha256(Label("followed", parts).encoded).hexdigest()

    @property
    def names_somebody(self) -> bool:
        """Whether its rows or its groups go by the owner or the row key: what it released may name somebody."""
        table, question = self.read.table, self.read.question
        whose = {*table.row_key, *([] if table.owner is None else [table.owner.column])}
        nodes = (question.where, *(key.value for key in question.keys), self.output.formula)
        return any(isinstance(one, TableColumn) and one.name in whose for node in nodes for one in walk(node))

    @property
    def possible(self) -> tuple[float, float] | None:
        """Between what an average certainly lies; None for sums."""
        if self.least_rows is None:
            return None
        column, _ = summed_column(self.output.formula)
        declared, factor = self.read.table.private[column], self.output.formula.of.terms[0][1]  # type: ignore[union-attr]
        low, high = sorted(end * factor for end in (declared.low, declared.high))
        least, most = float(low), float(high)
        least = least if least <= low else math.nextafter(least, -math.inf)
        return least, most if most >= high else math.nextafter(most, math.inf)


def wish_of(facts: Mapping[str, Any]) -> FollowWish:
    """Read the words of a standing question from what is kept of it."""
    return FollowWish(facts["sql"], **facts["wish"])


def _of_sums(read: ReadQuestion, least_rows: int | None) -> ReadQuestion:
    """Give a question of a sum, and of the rows that it is over if an average is followed."""
    question = read.question
    formula = question.outputs[0].formula if len(question.outputs) == 1 else None
    if not isinstance(formula, Quotient):
        if least_rows is not None:
            raise InputError("least_rows is for an average, avg(x): leave it out")
        return read
    sums, rows = formula.numerator, formula.denominator
    if not isinstance(rows, Count) or getattr(sums, "where", None) != rows.where:
        return read  # which is refused
    if read.table.hides_records:
        raise RefusedError(
            f"how many rows an average of {question.table} is over is not public: follow sum(x) of a table that "
            f"protects values, or ask for the average of each month; ask the rest with ask",
            reason="follow",
        )
    if not isinstance(least_rows, int) or isinstance(least_rows, bool) or not 1 <= least_rows <= MOST_LEAST:
        raise InputError(
            f"least_rows is how many rows a group has at least in every month, such as 100: the bound of an average "
            f"is for so many, and wider where there are fewer. Later months are not there yet, so that it has to be "
            f"said. Got {least_rows!r}"
        )
    (output,) = question.outputs
    counted = QuestionOutput(f"{output.name}_rows", rows, "")
    outputs = replace(output, formula=sums), counted
    selected = (*question.selected, counted.name)
    return replace(read, question=replace(question, outputs=outputs, selected=selected))
