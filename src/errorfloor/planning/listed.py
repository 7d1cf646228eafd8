"""The questions of a plan, each with its bound or with the share that it may take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.catalogue.near import near
from errorfloor.errors import InputError
from errorfloor.preparing.noises import QuestionWish

WORDS = ("sql", "max_error", "spend", "name")
MOST_QUESTIONS = 500


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
