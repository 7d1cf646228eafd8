"""The faces of a database beside questions: standing questions, and trajectories."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import Grant
from errorfloor.identity import Key
from errorfloor.ledger import Ledger
from errorfloor.wishes import FollowWords, check_words, taking

if TYPE_CHECKING:  # what questions do not need is loaded when it is used
    from errorfloor.following.following import Following
    from errorfloor.following.price import FollowPrice
    from errorfloor.service.database import Database
    from errorfloor.streams import Journal, StepAnswer, Streams


class FollowFace:
    """What a database is asked once, and answers for every period to come."""

    @taking(FollowWords)
    def follow(self, sql: str, *, analyst: str | None = None, **wish: Unpack[FollowWords]) -> "Following":
        """Pay once for a sum or an average in every month from ``since`` to ``until``, and for its running totals.

        Parameters
        ----------
        sql
            ``SELECT [public keys], sum(x) AS name FROM table [WHERE …] [GROUP BY …]``; or ``avg(x)``.
        since, until
            The first and the last period, such as "2030-12".
        max_error
            A bound on |released − true| of every period's figure and of every running total.
        part
            What a period is: day, week, month, quarter or year; a part of a table that grows, or else a month.
        column
            The public date of the row key that says which period a row is in; needed if there are several.
        owner_rows
            How many rows an owner has in one period, at most, where owners are declared.
        least_rows
            Of an average: how many rows it is over at least. Over fewer, the bound is wider in proportion.
        analyst
            Whose quotas count.

        Raises
        ------
        RefusedError
            Its price would depend on rows that are not there yet; the message says what to ask.
        AllowanceError
            It would break a declared floor or exceed a quota; nothing was charged.
        """
        from errorfloor.following.standing import follow

        check_words(FollowFace.follow, wish)
        return follow(cast("Database", self), sql, wish, analyst=analyst)

    @taking(FollowWords)
    def follow_price(self, sql: str, *, analyst: str | None = None, **wish: Unpack[FollowWords]) -> "FollowPrice":
        """Say what ``follow`` would charge, and what would be certain; nothing is charged."""
        from errorfloor.following.standing import follow_price

        check_words(FollowFace.follow_price, wish)
        return follow_price(cast("Database", self), sql, wish, analyst=analyst)

    def following(self, analyst: str | None = None) -> list[dict[str, Any]]:
        """Give the standing questions, oldest first, as plain JSON types: what was released, and what it cost.

        An analyst sees the words of their own, and of those that are shared; the custodian, None, sees all.
        """
        from errorfloor.following.standing import following

        return following(cast("Database", self), analyst=analyst)

    def followed(self, name: str, *, analyst: str | None = None) -> "Following":
        """Give one of the standing questions by its ``id``; raises InputError if there is none.

        Who may ask its table may read what was released; who follows it, or the custodian, releases more.
        """
        from errorfloor.following.standing import followed

        return followed(cast("Database", self), name, analyst=analyst)


class StreamFace:
    """What a database says of its streams, and releases of them."""

    ledger: Ledger
    keys: tuple[Key, ...]
    is_dry: bool
    _whole: Catalogue
    _grant: Grant
    _planned: "list[Streams]"
    _lock: threading.Lock

    def streams(self) -> list[dict[str, Any]]:
        """Give what is declared and promised of each stream, as plain JSON types; a dry run has none."""
        return [one for one in self.declared_streams.facts() if self._grant.covers(one["name"])]

    def answer(self, stream: str, *, entity: str, trip: str, step: int, measurement: Sequence[float]) -> "StepAnswer":
        """Release the measurement of one step of a trip; the first charges the trip, and again it is free.

        Raises RefusedError if the step was answered from another measurement, AllowanceError if the entity has no
        allowance left.
        """
        return self._journal(stream).answer(entity, trip, step, measurement, self._grant)

    def answers(self, stream: str, *, entity: str, trip: str, after: int = -1, limit: int = 1000) -> "list[StepAnswer]":
        """Give what was released for the steps ``after`` + 1 … ``after`` + ``limit`` of a trip; nothing is charged."""
        return self._journal(stream).answers(entity, trip, after=after, limit=limit)

    @property
    def declared_streams(self) -> "Streams":
        """The streams of the catalogue, planned once; a dry run has none, for the noise of dummy rows hides nothing.

        Raises CatalogueError if one cannot be planned, or one trip would take more than an entity's allowance.
        """
        from errorfloor.streams import Streams

        with self._lock:
            if not self._planned:
                declared = self._whole.model_copy(update={"streams": {}}) if self.is_dry else self._whole
                self._planned.append(Streams(declared, ledger=self.ledger, keys=self.keys))
            return self._planned[0]

    def _journal(self, stream: str) -> "Journal":
        streams = self.declared_streams
        return streams.journal(stream, [name for name in streams.names if self._grant.covers(name)])
