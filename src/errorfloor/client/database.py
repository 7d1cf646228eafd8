"""A database behind a server: the same calls, the same answers."""

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote

from errorfloor.accounts import StepAnswer
from errorfloor.client.answer import RemoteAnswer, RemotePrice
from errorfloor.client.connection import Connection
from errorfloor.client.failures import RemoteError
from errorfloor.client.following import RemoteFollowing
from errorfloor.client.standing import RemoteFollowPrice, RemotePlan, RemoteQuota, RemoteSimulation, RemoteStanding
from errorfloor.closing import Closing
from errorfloor.display import Accounts, tables_in_html
from errorfloor.errors import InputError, RefusedError
from errorfloor.support import HalfLine, Interval
from errorfloor.wishes import FollowWords, QuestionWords, check_words, taking


class RemoteDatabase(Closing):
    """Private tables on a server that answer questions; made by ``errorfloor.connect``.

    Its token decides whose quotas count and what may be spent. Use it as a context manager, or close it.

    >>> RemoteDatabase(Connection("http://localhost:1", "ef_1_x", verify=True, timeout=1.0, insecure=False))
    RemoteDatabase('http://localhost:1')
    """

    def __init__(self, connection: Connection, *, is_dry: bool = False) -> None:
        self._connection = connection
        self.is_dry = is_dry

    @taking(QuestionWords)
    def price(self, sql: str, **wish: Unpack[QuestionWords]) -> RemotePrice:
        """Say what an answer would state and cost; nothing is charged and no private column is read."""
        check_words(RemoteDatabase.price, wish)
        return RemotePrice(self._connection.post("/v1/price", self._body(sql, **wish)))

    @taking(QuestionWords)
    def ask(
        self,
        sql: str,
        *,
        charge: bool | float = True,
        charge_per_day: float | None = None,
        over_limit: bool = False,
        **wish: Unpack[QuestionWords],
    ) -> RemoteAnswer:
        """Answer a question; the parameters and errors are those of ``Database.ask``.

        ``charge`` may be the share of any allowance that the question may take at most, and ``charge_per_day`` what all
        questions of the token with such a limit may take in one day. ``over_limit`` is for an owner: the question may
        take more of the allowance than a catalogue lets one take through a network door.
        """
        check_words(RemoteDatabase.ask, wish)
        asked = self._body(sql, **wish)
        body = asked | {"charge": charge} | ({"over_limit": True} if over_limit else {})
        if charge_per_day is not None:
            body["charge_per_day"] = charge_per_day
        table, facts = self._connection.table("/v1/ask", body, {"Idempotency-Key": secrets.token_hex(16)})
        return RemoteAnswer(facts, table, lambda: self._connection.table("/v1/reconcile", asked)[0])

    def _columns(self, sql: str) -> list[dict[str, Any]]:
        """Say which columns the answer to a question has; nothing is asked."""
        return list(self._connection.post("/v1/columns", {"sql": sql})["columns"])

    @taking(QuestionWords)
    def simulate(self, sql: str, **wish: Unpack[QuestionWords]) -> RemoteSimulation:
        """Say how many more answers of this price could be given, and how exact the next one could be."""
        check_words(RemoteDatabase.simulate, wish)
        return RemoteSimulation(self._connection.post("/v1/simulate", self._body(sql, **wish)))

    def plan(self, questions: Sequence[Mapping[str, Any]], candidates: Mapping[str, Any] | None = None) -> RemotePlan:
        """Say what questions would take together, what fits, and which floors would allow it; nothing is charged."""
        body = {"questions": questions, "candidates": candidates or {}, "dry": self.is_dry}
        return RemotePlan(self._connection.post("/v1/plan", body))

    def left(self) -> Accounts[RemoteStanding]:
        """Say how each undivided account, and each divided one that was charged, stands."""
        return Accounts(RemoteStanding.of(one) for page in self._ledger() for one in page["accounts"])

    def quotas(self) -> list[RemoteQuota]:
        """Say how the quotas stand that apply to the token now."""
        return [RemoteQuota.of(one) for page in self._ledger() for one in page["quotas"]]

    def _ledger(self) -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            page: dict[str, Any] = self._connection.get("/v1/ledger", after=after, dry=self.is_dry)
            yield page
            after = page["next"]

    def tables(self) -> list[dict[str, Any]]:
        """Give what is declared of each table and how many rows it has, as plain JSON types."""
        return self._connection.listed("/v1/tables", "tables", dry=self.is_dry)

    def history(self, after: int = 0, limit: int = 100, by: str | None = None) -> list[dict[str, Any]]:
        """Give what was charged, in order; labels, charges and names of analysts with an owner's token only.

        ``by`` leaves those of one analyst, which only an owner may ask of others.
        """
        whose = {} if by is None else {"analyst": by}
        page = {"after": after, "limit": limit, "dry": self.is_dry}
        return self._connection.listed("/v1/ledger/entries", "entries", **page, **whose)

    def known(self, after: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """Give what was released and is kept, in order, with its bounds: asked again, it is free.

        The questions are your own, and those that are shared; with an owner's token all.
        """
        return self._connection.listed("/v1/ledger/known", "answers", after=after, limit=limit, dry=self.is_dry)

    def saved_questions(self) -> list[dict[str, Any]]:
        """Give the questions saved by name: your own, and those that are shared; with an owner's token all."""
        return self._connection.listed("/v1/questions", "questions")

    def save_question(self, name: str, sql: str, *, max_error: Any = None, spend: Any = None) -> None:
        """Save a question under a name, in the place of one of yours that has it; one that cannot be asked is refused.

        It is priced for that, and nothing is charged.
        """
        wish = {"max_error": _plain(max_error), "spend": _plain(spend)}
        given = {word: value for word, value in wish.items() if value is not None}
        self._connection.post("/v1/questions", {"name": str(name), "sql": str(sql), **given})

    def remove_question(self, name: str) -> None:
        """Remove a question that you saved."""
        self._connection.post("/v1/questions/remove", {"name": str(name)})

    @taking(FollowWords)
    def follow(self, sql: str, **wish: Unpack[FollowWords]) -> RemoteFollowing:
        """Pay once for a sum or an average in every month from ``since`` to ``until``, and for its running totals.

        The parameters and errors are those of ``Database.follow``.
        """
        check_words(RemoteDatabase.follow, wish)
        body = _standing(sql, **wish)
        self._check_dry()
        return RemoteFollowing.sent(self._connection, "/v1/following", body)

    @taking(FollowWords)
    def follow_price(self, sql: str, **wish: Unpack[FollowWords]) -> RemoteFollowPrice:
        """Say what ``follow`` would charge, and what would be certain; nothing is charged."""
        check_words(RemoteDatabase.follow_price, wish)
        body = _standing(sql, **wish)
        self._check_dry()
        return RemoteFollowPrice(self._connection.post("/v1/following/price", body))

    def following(self) -> list[dict[str, Any]]:
        """Give the standing questions, oldest first: what was released, and what it cost.

        The words are your own, and those that are shared; with an owner's token all.
        """
        return [] if self.is_dry else self._connection.listed("/v1/following", "following")

    def followed(self, name: str) -> RemoteFollowing:
        """Give one of the standing questions by its ``id``; raises InputError if there is none."""
        self._check_dry()
        return RemoteFollowing.sent(self._connection, f"/v1/following/{quote(str(name), safe='')}", None)

    def streams(self) -> list[dict[str, Any]]:
        """Give what is declared and promised of each stream, as plain JSON types."""
        return [] if self.is_dry else self._connection.listed("/v1/streams", "streams")

    def answer(self, stream: str, *, entity: str, trip: str, step: int, measurement: Sequence[float]) -> StepAnswer:
        """Push the measurement of one step of a trip, with an owner's token; give what is released for it.

        Sent again, it is free and the same. Raises RefusedError if the step was answered from another measurement.
        """
        self._check_streams(stream)
        body = {"entity": entity, "trip": trip, "step": step, "measurement": _measured(measurement)}
        try:
            return StepAnswer.of(self._connection.post(f"/v1/streams/{quote(stream, safe='')}/answers", body))
        except RemoteError as problem:
            if problem.code != "answered":
                raise
            raise RefusedError(str(problem), reason="corrected") from None

    def answers(self, stream: str, *, entity: str, trip: str, after: int = -1, limit: int = 1000) -> list[StepAnswer]:
        """Pull what was released for the steps ``after`` + 1 … ``after`` + ``limit`` of a trip; nothing is charged."""
        self._check_streams(stream)
        place = f"/v1/streams/{quote(stream, safe='')}/answers"
        page = {"entity": entity, "trip": trip, "after": after, "limit": limit}
        return [StepAnswer.of(one) for one in self._connection.listed(place, "answers", **page)]

    def dry(self) -> "RemoteDatabase":
        """Give the same tables with dummy rows, made from the catalogue alone; what they answer is free."""
        return RemoteDatabase(self._connection, is_dry=True)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def _check_streams(self, stream: str) -> None:
        if self.is_dry:  # the noise of dummy rows hides nothing
            raise InputError(f"there is no stream {str(stream)[:64]!r}; declared are none")

    def _check_dry(self) -> None:
        if self.is_dry:
            raise InputError("a dry run has no months to come: open the catalogue without dry")

    def _body(
        self, sql: Any, max_error: Any = None, spend: Any = None, support: Any = None, max_loss: Any = None
    ) -> dict[str, Any]:
        given = {"max_error": _plain(max_error), "spend": _plain(spend), "max_loss": _plain(max_loss)}
        if support is not None:
            if not isinstance(support, (Interval, HalfLine)):
                raise InputError(f"support must be an Interval or HalfLine(0.0), got {type(support).__name__}")
            plain = support.to_dict()
            given["support"] = {"kind": plain.pop("type"), **plain}
        body = {"sql": _text(sql), "dry": self.is_dry}
        return body | {name: value for name, value in given.items() if value is not None}

    def __repr__(self) -> str:
        return f"RemoteDatabase({self._connection.url!r})"

    def _repr_html_(self) -> str:
        return tables_in_html(self.tables())


def connect(
    url: str, *, token: str, verify: bool | str | Path = True, timeout: float = 60.0, insecure: bool = False
) -> RemoteDatabase:
    """Connect to a server that ``errorfloor serve`` runs.

    Parameters
    ----------
    url
        Where it is, such as https://host:8470.
    token
        What ``errorfloor tokens create`` printed.
    verify
        Whether the server's certificate is checked; a file (PEM) names the authorities to trust.
    timeout
        Seconds to wait for an answer.
    insecure
        Allow a token over http to another machine.

    Raises RemoteError if the server cannot be reached or does not know the token.

    >>> connect("meters", token="ef_1_x")
    Traceback (most recent call last):
    errorfloor.errors.InputError: ...
    """
    connection = Connection(url, token, verify=verify, timeout=timeout, insecure=insecure)
    try:
        connection.get("/v1/tables")
    except BaseException:
        connection.close()
        raise
    return RemoteDatabase(connection)


def _text(sql: Any) -> str:
    if not isinstance(sql, str):
        raise InputError(f"a question is a text, SELECT … FROM …, got {type(sql).__name__}")
    return sql


def _plain(value: Any) -> Any:
    """Give a number, or a mapping of names to numbers, as JSON; anything else is refused before it is sent."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a number is needed, got {value!r}") from None
    if number != number or number in (float("inf"), -float("inf")):
        raise InputError(f"a finite number is needed, got {value!r}")
    return number


def _standing(
    sql: Any,
    *,
    since: Any,
    until: Any,
    max_error: Any,
    part: str | None = None,
    column: str | None = None,
    owner_rows: int | None = None,
    least_rows: int | None = None,
) -> dict[str, Any]:
    """Give the words of a standing question as JSON."""
    given = {"part": part, "column": column, "owner_rows": owner_rows, "least_rows": least_rows}
    said = {"sql": _text(sql), "since": str(since), "until": str(until), "max_error": _plain(max_error)}
    return said | {name: one for name, one in given.items() if one is not None}


def _measured(measurement: Sequence[float]) -> list[float]:
    """Give a measurement as JSON; the error for what is none does not repeat it, for it is private.

    >>> _measured([1, 2.5])
    [1.0, 2.5]
    """
    try:
        numbers = [float(value) for value in measurement]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError("measurement must be a list of finite numbers")
    return numbers
