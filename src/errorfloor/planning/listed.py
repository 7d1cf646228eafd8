"""What a plan is about: questions, each with its bound or share, and floors and owners that might be declared instead.

Of a floor, what it promises, and the largest that allows charges.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from errorfloor.accounts import Account, Charge, share
from errorfloor.catalogue import Catalogue, Table, allowed, promise
from errorfloor.catalogue.columns import LEAST_FLOOR, NEAR_IGNORANCE
from errorfloor.catalogue.mistakes import explain
from errorfloor.catalogue.near import near
from errorfloor.catalogue.promise import histories
from errorfloor.catalogue.registers import members, register_of
from errorfloor.errors import InputError
from errorfloor.preparing.noises import QuestionWish

WORDS = ("sql", "max_error", "spend", "name")
MOST_QUESTIONS = 500
OWNER = "owner"
MOST_CANDIDATES = 50  # of one account


@dataclass(frozen=True)
class ListedQuestion:
    """A question of a plan; ``others`` are bounds that it might have instead, which are priced and not counted.

    >>> ListedQuestion.of(2, {"sql": "SELECT avg(kwh) FROM meters", "max_error": [0.5, 1]}).others[0].max_error
    1.0
    """

    number: int
    name: str
    sql: str
    wish: QuestionWish
    others: tuple[QuestionWish, ...] = ()

    @classmethod
    def of(cls, number: int, given: Any) -> "ListedQuestion":
        """Read one question; raises InputError, which says what is wrong with it."""
        if not isinstance(given, Mapping):
            raise InputError(f'needs its SQL and a bound, such as sql = "SELECT …" and max_error = 0.5; got {given!r}')
        for word in given:
            if word not in WORDS:
                raise InputError(
                    f"has {str(word)[:64]!r}, but a question has {', '.join(WORDS)}{near(str(word), WORDS)}"
                )
        sql, name, bound = given.get("sql"), given.get("name", ""), given.get("max_error")
        if not isinstance(sql, str) or not sql.strip():
            raise InputError('needs its SQL, such as sql = "SELECT avg(kwh) FROM meters"')
        if not isinstance(name, str) or len(name) > 80 or not name.isprintable():
            raise InputError("has a name that is no text of at most 80 printable characters")
        bounds = list(bound) if isinstance(bound, list | tuple) else [bound]
        if not bounds:
            raise InputError("has an empty list of bounds: give one, such as max_error = 0.5")
        first, *others = (QuestionWish(max_error=one, spend=given.get("spend")) for one in bounds)
        return cls(number, name, sql.strip(), first, tuple(others))


def listed(questions: Any) -> list[ListedQuestion]:
    """Read the questions of a plan; an error says which one it is about.

    >>> listed([{"sql": "SELECT avg(kwh) FROM meters", "max_eror": 1}])
    Traceback (most recent call last):
    errorfloor.errors.InputError: question 1 has 'max_eror', but a question has sql, max_error, spend, name: ...
    """
    if isinstance(questions, str | Mapping) or not isinstance(questions, Sequence) or not questions:
        raise InputError('a plan is about a list of questions, such as [{"sql": "SELECT …", "max_error": 0.5}]')
    if len(questions) > MOST_QUESTIONS:
        raise InputError(f"a plan has at most {MOST_QUESTIONS} questions, got {len(questions)}: plan in parts")
    found = []
    for number, given in enumerate(questions, start=1):
        try:
            found.append(ListedQuestion.of(number, given))
        except InputError as problem:
            raise InputError(
                f"question {number} {_joined(problem)}", **(problem.fields | {"question": number})
            ) from None
    return found


def _joined(problem: InputError) -> str:
    return str(problem) if str(problem).startswith(("has ", "needs ")) else f"cannot be planned: {problem}"


@dataclass(frozen=True)
class FloorCandidate:
    """A table as it might be declared: one floor of it, or its owner, is another.

    ``column`` is empty for owners.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     FloorCandidate("meters", "kwh", db.catalogue.tables["meters"], declared=True).what
    '2 kWh'
    """

    table_name: str
    column: str
    table: Table
    declared: bool = False
    by: str = ""  # the owners' column, where it is not the one that goes without saying

    @property
    def floor(self) -> float:
        """The floor of the column, or of the owners."""
        if self.column:
            return self.table.private[self.column].floor
        assert self.table.owner is not None
        return self.table.owner.floor

    @property
    def name(self) -> str:
        """The account in words."""
        owner = None if self.column else self.table.owner
        return account_name(Account(owner.accounts_of(self.table_name) if owner else self.table_name, self.column, ""))

    def declared_in(self, catalogue: Catalogue) -> Catalogue:
        """Give a catalogue that declares it: of a register, for all of its tables."""
        tables = {**catalogue.tables, self.table_name: self.table}
        for name in [] if self.column else members(tables).get(register_of(self.table) or "", []):
            other = FloorCandidate(name, "", tables[name])
            tables[name] = _with_floor(other, self.floor)
        return catalogue.model_copy(update={"tables": tables})

    @property
    def what(self) -> str:
        """Which floor it is, in words; of owners, with what sets their histories apart."""
        unit = self.table.private[self.column].unit if self.column else ""
        return f"{self.floor:g}{f' {unit}' if unit else ''}{self._near}"

    @property
    def whose(self) -> str:
        """The account in words, with what sets the histories of owners apart."""
        return f"{self.name}{self._near}"

    @property
    def _near(self) -> str:
        owner = None if self.column else self.table.owner
        if owner is None:
            return ""
        apart = [f", {column} {float(distance):g} apart" for column, distance in owner.apart.items()]
        by = f" by {self.by}" if self.by else ""
        per = "" if owner.per is None else f", per {owner.per.name}"
        joined = "" if owner.joined is None else f", by {owner.joined.name} of {owner.joined.column}"
        return by + "".join(apart) + per + joined.removesuffix(f" of {owner.joined.name}" if owner.joined else "")

    @property
    def meaning(self) -> str:
        """Say in one sentence what a floor promises, whatever is asked."""
        found = promise(self.table, self.column)
        if not self.column:
            said = histories(self.table)
            return f"{said[0].upper()}{said[1:]} are told apart at most {found.times} times in 100."
        column = self.table.private[self.column]
        unit = f" {column.unit}" if column.unit else ""
        return (
            f"Two values {column.example:g}{unit} apart are told apart at most {found.times} times in 100, and any "
            f"estimate of one is off by at least {found.least}{unit} (root mean square, worst case)."
        )


def account_name(account: Account) -> str:
    """Name an account in words, whatever its part.

    >>> account_name(Account("meters", "", '["north"]'))
    'owners of meters'
    """
    return f"{account.table}.{account.column}" if account.column else f"owners of {account.table}"


def considered(given: Any, catalogue: Catalogue) -> list[FloorCandidate]:
    """Read what might be declared instead, by table: floors of private columns, and owners.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     [one.floor for one in considered({"meters": {"kwh": [1, 5]}}, db.catalogue)]
    [1.0, 5.0]
    """
    if not isinstance(given, Mapping):
        raise InputError(f'candidates are given by table, such as {{"meters": {{"kwh": [1, 2, 5]}}}}; got {given!r}')
    return [one for name, by_account in given.items() for one in _of_table(str(name), by_account, catalogue)]


def _of_table(name: str, given: Any, catalogue: Catalogue) -> Iterator[FloorCandidate]:
    if name not in catalogue.tables:
        raise _wrong(name, f"names no declared table{near(name, catalogue.tables)}")
    if not isinstance(given, Mapping):
        raise _wrong(name, "needs a list for each private column, or for owner, such as kwh = [1, 2, 5]")
    table = catalogue.tables[name]
    for word, choices in given.items():
        if word not in table.private and word != OWNER:
            known = (*table.private, OWNER)
            raise _wrong(f"{name}.{word}", f"is no private column of {name}, nor owner{near(str(word), known)}")
        if not isinstance(choices, list | tuple) or not 0 < len(choices) <= MOST_CANDIDATES:
            raise _wrong(f"{name}.{word}", f"needs a list of 1 to {MOST_CANDIDATES} floors, such as [1, 2, 5]")
        column = word if word in table.private else ""
        tables = [_declared(name, word, column, choice, catalogue) for choice in choices]
        owners = {one.owner.column for one in (table, *tables) if one.owner is not None}
        usual = next(iter(owners)) if len(owners) == 1 else None if table.owner is None else table.owner.column
        for one in tables:
            other = not column and one.owner is not None and one.owner.column != usual
            yield FloorCandidate(name, column, one, by=one.owner.column if other and one.owner else "")


def _declared(name: str, word: str, column: str, choice: Any, catalogue: Catalogue) -> Table:
    """Give a table with another floor or owner, checked as a catalogue is."""
    table = catalogue.tables[name]
    if column:
        changed = {"private": {**table.private, column: {**dict(table.private[column]), "floor": choice}}}
    else:
        own = {} if table.owner is None else dict(table.owner)
        changed = {"owner": {**own, **(choice if isinstance(choice, Mapping) else {"floor": choice})}}
    try:
        checked = Catalogue.model_validate({"tables": {name: {**dict(table), **changed}}})
    except ValidationError as problem:
        told = explain(problem.errors(include_url=False), {})
        said = "; ".join(f"{place.removeprefix(f'tables.{name}.')} {text}".strip() for place, text in told)
        raise _wrong(f"{name}.{word}", f"cannot be declared: {said}") from None
    return checked.tables[name]


def _wrong(place: str, text: str) -> InputError:
    return InputError(f"candidates.{place} {text}", candidates=place)


def largest_floor(one: FloorCandidate, charges: Iterable[Charge], shares: float) -> float | None:
    """Give the largest floor of two digits at which an account covers charges besides ``shares`` of it.

    None if not even the smallest floor that can be declared allows it.
    """
    totals = list(charges)

    def fits(floor: float) -> bool:
        limit = allowed(_with_floor(one, floor), one.column)
        return max((share(total, limit) for total in totals), default=0.0) + shares <= 1

    if one.column:
        column = one.table.private[one.column]
        low, high = float(LEAST_FLOOR * column.resolution), NEAR_IGNORANCE * column.ignorance
    else:
        low, high = 1e-3, 0.5
    grid = _two_digits(low, high)
    if not grid or not fits(grid[0]):
        return None
    first, last = 0, len(grid)
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if fits(grid[middle]) else (first, middle)
    return grid[first]


def _two_digits(low: float, high: float) -> list[float]:
    """Give the numbers of two digits from ``low`` to below ``high``.

    >>> _two_digits(0.975, 1.25)
    [0.98, 0.99, 1.0, 1.1, 1.2]
    """
    tens = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    return [one for ten in tens for digits in range(10, 100) if low <= (one := float(f"{digits}e{ten - 1}")) < high]


def _with_floor(one: FloorCandidate, floor: float) -> Table:
    if not one.column:
        assert one.table.owner is not None
        return one.table.model_copy(update={"owner": one.table.owner.model_copy(update={"floor": floor})})
    column = one.table.private[one.column].model_copy(update={"floor": floor})
    return one.table.model_copy(update={"private": {**one.table.private, one.column: column}})
