"""Failures of a server as the errors that the same question would raise here."""

from collections.abc import Iterator
from typing import Any

from errorfloor.errors import AnswerFailedError, ErrorFloorError, MissingExtraError


class RemoteError(ErrorFloorError):
    """The server cannot be reached, or turns the request away at the door: a token, a role, a rate.

    ``code`` is the server's word for it; "remote" if there was no answer at all.

    >>> problem = RemoteError("this needs a token", code="token", status=401)
    >>> problem.code, problem.fields
    ('token', {'status': 401})
    """

    code = "remote"

    def __init__(self, message: str, *, code: str = "remote", **fields: object) -> None:
        super().__init__(message, **fields)
        self.code = code  # type: ignore[misc]  # the door's words are many, and none of them is a class here


def error_of(status: int, plain: Any) -> ErrorFloorError:
    """Give the error that a failure of the server stands for.

    >>> error_of(422, {"error": {"code": "refused", "message": "no median here", "fields": {"reason": "aggregate"}}})
    RefusedError('no median here')
    >>> error_of(502, None).code
    'remote'
    """
    problem = plain.get("error") if isinstance(plain, dict) else None
    if not isinstance(problem, dict):
        return RemoteError(f"the server, or a proxy in front of it, answered with status {status}", status=status)
    code, message = str(problem.get("code")), str(problem.get("message"))
    fields = problem.get("fields")
    fields = {str(name): value for name, value in fields.items()} if isinstance(fields, dict) else {}
    if code == AnswerFailedError.code:
        return AnswerFailedError()
    kinds = {kind.code: kind for kind in _kinds(ErrorFloorError) if kind not in (MissingExtraError, AnswerFailedError)}
    known = kinds.get(code)
    if known is None:
        return RemoteError(message, code=code, **{"status": status, **fields})
    return known(message, **fields)


def _kinds(root: type[ErrorFloorError]) -> Iterator[type[ErrorFloorError]]:
    """Give the errors of the tree that a message and fields make, the root first."""
    if root.__module__ == ErrorFloorError.__module__:
        yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)
