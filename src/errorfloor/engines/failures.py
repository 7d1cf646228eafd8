"""Engines fail in words that quote statements and values; none of those words may get out."""

from collections.abc import Callable
from typing import TypeVar

from errorfloor.errors import EngineError, ErrorFloorError

Result = TypeVar("Result")


def attempt(engine: str, doing: str, work: Callable[[], Result]) -> Result:
    """Do some work on an engine; a failure becomes an EngineError that names only its kind.

    *Guarantee*: the error holds no text of the engine, and no exception that has one is chained to it. Errors of this
    package pass unchanged.

    Parameters
    ----------
    engine, doing
        For the message: who failed, at what.
    work
        The work.

    Raises
    ------
    EngineError
        With ``fields["kind"]``: the SQLSTATE, Spark's error condition, or the class of the exception.

    >>> attempt("duckdb", "read the source", lambda: int("private text"))
    Traceback (most recent call last):
    errorfloor.errors.EngineError: duckdb could not read the source (ValueError)
    """
    try:
        return work()
    except ErrorFloorError:
        raise
    except Exception as problem:
        kind = _kind(problem)
    raise EngineError(f"{engine} could not {doing} ({kind})", engine=engine, kind=kind)


def _kind(problem: Exception) -> str:
    condition = getattr(problem, "getCondition", None)  # Spark's stable names, such as DIVIDE_BY_ZERO
    if condition is not None:
        return str(condition() or type(problem).__name__)
    return str(getattr(problem, "sqlstate", None) or type(problem).__name__)
