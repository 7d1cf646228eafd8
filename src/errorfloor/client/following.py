"""Standing questions behind a server, with the face of those that are not."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from errorfloor.client.connection import Connection
from errorfloor.client.standing import STANDINGS, RemoteFollowPrice, Sent

ADDED = ("columns", "outputs", "wider", "fresh", "accounts", "explain")  # besides what the list has of each


@dataclass(eq=False, repr=False)
class RemoteFollowing:
    """A standing question that is paid for: ``release`` gives what is known up to a period."""

    connection: Connection = field(repr=False)
    facts: dict[str, Any]
    table: pa.Table = field(repr=False)

    name = Sent(lambda said: str(said["id"]), "The name by which it is found again.")
    max_error = Sent(
        lambda said: float(max(block["max_error"] for block in said["blocks"])),
        "The bound of every period's figure and of every running total; the widest, where it was extended.",
    )
    mine = Sent(lambda said: bool(said["mine"]), "Whether the token may release, extend and cancel it.")
    fresh = Sent(lambda said: bool(said["fresh"]), "Whether something was charged now.")
    standings = STANDINGS
    released = Sent[tuple[str, ...]](
        lambda said: tuple(said["released"]), "The periods that were released so far, as the server said last."
    )
    cancelled = Sent(lambda said: bool(said["cancelled"]), "Whether it was cancelled, as the server said last.")
    outlived = Sent(
        lambda said: bool(said["outlived"]),
        "Whether the ledger was accepted since: then nothing new is released.",
    )

    @classmethod
    def sent(cls, connection: Connection, path: str, body: dict[str, Any] | None, **query: Any) -> "RemoteFollowing":
        """Send something, and read the question that the server gives."""
        table, facts = connection.table(path, body, **query)
        return cls(connection, facts, table)

    def outputs(self) -> list[dict[str, Any]]:
        """Say of each column of numbers how far it may be off at most, as plain JSON types."""
        found: list[dict[str, Any]] = self.facts["outputs"]
        return found

    def explain(self) -> str:
        """Say what was charged, and what is certain."""
        return str(self.facts["explain"])

    def wider(self) -> list[str]:
        """Say which periods so far have averages over fewer rows than the bound is for."""
        return list(self.facts["wider"])

    def release(self, through: str, *, moving: int | None = None) -> pa.Table:
        """Give the figures and the running totals up to a period, whose rows are all there; nothing is charged."""
        body = {"through": through} | ({} if moving is None else {"moving": moving})
        return self._now(RemoteFollowing.sent(self.connection, f"{self._path}/release", body))

    def figures(self, *, moving: int | None = None) -> pa.Table:
        """Give what was released so far, up to the first period that was not; nothing is read."""
        query = {} if moving is None else {"moving": moving}
        return self._now(RemoteFollowing.sent(self.connection, self._path, None, **query))

    def price_extension(self, until: str, *, max_error: float | None = None) -> RemoteFollowPrice:
        """Say what it would cost to go on up to a later period, and by how much bounds add up; nothing is charged."""
        body = _extension(until, max_error)
        return RemoteFollowPrice(self.connection.post(f"{self._path}/extend/price", body))

    def extend(self, until: str, *, max_error: float | None = None) -> "RemoteFollowing":
        """Go on up to a later period: a new block with a charge, a noise and a bound of its own."""
        return RemoteFollowing.sent(self.connection, f"{self._path}/extend", _extension(until, max_error))

    def cancel(self) -> None:
        """Release nothing more; what was charged stays charged, and what was released stays free."""
        self._now(RemoteFollowing.sent(self.connection, f"{self._path}/cancel", {}))

    def to_dict(self) -> dict[str, Any]:
        """Give what may be seen of it, as plain JSON types."""
        return {name: value for name, value in self.facts.items() if name not in ADDED}

    def __repr__(self) -> str:
        return f"RemoteFollowing({self.name!r}, {self.facts['since']} … {self.facts['until']})"

    @property
    def _path(self) -> str:
        return f"/v1/following/{quote(self.name, safe='')}"

    def _now(self, said: "RemoteFollowing") -> pa.Table:
        """Hold on to what the server says of it now."""
        self.facts = {**said.facts, "accounts": self.facts["accounts"], "fresh": self.facts["fresh"]}
        self.table = said.table
        return said.table


def _extension(until: str, max_error: float | None) -> dict[str, Any]:
    return {"until": until} | ({} if max_error is None else {"max_error": max_error})
