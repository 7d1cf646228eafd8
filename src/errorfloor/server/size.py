"""How large a reply is at most, from public facts alone, so that one that is too large is refused before the charge."""

from errorfloor.server.replies import body_of
from errorfloor.service.preparation import Prepared
from errorfloor.service.releasing import plain_key

ANYHOW = 20_000  # bytes: what is stated of any answer, in numbers and in words
AN_OUTPUT = 1000  # what is stated of an output
AN_ACCOUNT = 3000  # and of an account
NUMBER = 27  # the longest number, with its comma
A_CELL = (
    150 + 9 * NUMBER
)  # the words around the numbers of a cell, and those: thrice in the row, six times in its facts
AN_ENTRY = 60 + 3 * NUMBER  # what is stated of each private column in a cell


def reply_bytes(prepared: Prepared) -> int:
    """Give an upper bound of the bytes of an answer in JSON.

    >>> from errorfloor.server.statements import json_parts
    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     answer = db.ask("SELECT avg(kwh) AS mean, count(*) AS n FROM meters", max_error=0.5)
    >>> len(b"".join(json_parts(answer))) < reply_bytes(answer.prepared) < 30_000
    True
    """
    question, groups = prepared.question, prepared.bounds.groups
    accounts = {account for one in prepared.outputs for account in one.charges}
    row = sum(2 * len(body_of(key.name)) for key in question.keys) + 40
    for one, bound in zip(prepared.outputs, prepared.bounds.outputs, strict=True):
        words = 2 * len(body_of(one.output.name)) + len(body_of(one.output.unit))
        row += A_CELL + words + sum(AN_ENTRY + len(body_of(column)) for column in bound.slopes)
    shown = len(groups) if question.limit is None else min(question.limit, len(groups))
    size = ANYHOW + AN_OUTPUT * len(prepared.outputs) + AN_ACCOUNT * len(accounts) + row * shown
    if not question.keys:
        return size
    lengths = sorted((2 * sum(len(body_of(plain_key(part))) + 4 for part in group) for group in groups), reverse=True)
    return size + sum(lengths[:shown])
