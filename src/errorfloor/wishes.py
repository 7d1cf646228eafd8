"""What is wished of an answer: the keywords of ``price``, ``ask``, ``simulate`` and ``follow``, here and over HTTP.

A method takes them as ``**wish: Unpack[QuestionWords]``, which type checkers read, and passes them on as they are;
``taking`` shows them one by one to whoever asks for its signature.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypedDict, TypeVar, get_type_hints

Method = TypeVar("Method", bound=Callable[..., Any])


class QuestionWords(TypedDict, total=False):
    """How exact an answer should be, or how much may be spent on it."""

    max_error: Any
    spend: Any
    support: Any
    max_loss: Any


class FollowWords(TypedDict):
    """What a standing question asks besides its text."""

    since: str
    until: str
    max_error: float
    part: NotRequired[str | None]
    column: NotRequired[str | None]
    owner_rows: NotRequired[int | None]
    least_rows: NotRequired[int | None]


def taking(words: type) -> Callable[[Method], Method]:
    """Show words as keywords of a method, ahead of its own; those that may be left out are None then.

    >>> @taking(QuestionWords)
    ... def ask(sql, *, analyst=None, **wish): ...
    >>> print(inspect.signature(ask))  # doctest: +NORMALIZE_WHITESPACE
    (sql, *, max_error: Any = None, spend: Any = None, support: Any = None, max_loss: Any = None, analyst=None)
    """
    needed: frozenset[str] = getattr(words, "__required_keys__")  # noqa: B009 (which typing gives to these classes)
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in needed else None,
            annotation=kind,
        )
        for name, kind in get_type_hints(words).items()
    ]

    def shown(method: Method) -> Method:
        given = inspect.signature(method)
        own = [one for one in given.parameters.values() if one.kind is not one.VAR_KEYWORD]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        method.__signature__ = given.replace(parameters=[*first, *keywords, *own[len(first) :]])  # type: ignore[attr-defined]
        return method

    return shown


def check_words(method: Callable[..., Any], given: Mapping[str, object]) -> None:
    """Raise TypeError for keywords that a method does not take, or lacks; with all that it takes.

    >>> @taking(QuestionWords)
    ... def ask(self, sql, **wish): ...
    >>> check_words(ask, {"max_eror": 1})
    Traceback (most recent call last):
    TypeError: ask() got an unexpected keyword argument 'max_eror': it takes max_error, spend, support, max_loss
    """
    shown = inspect.signature(method)
    try:
        shown.bind(None, "", **given)
    except TypeError as problem:
        taken = ", ".join(one.name for one in shown.parameters.values() if one.kind is one.KEYWORD_ONLY)
        raise TypeError(f"{method.__name__}() {problem}: it takes {taken}") from None
