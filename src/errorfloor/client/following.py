"""Standing questions behind a server, with the face of those that are not."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from errorfloor.client.connection import Connection
from errorfloor.client.standing import RemoteQuota, RemoteStanding

ARROW = "application/vnd.apache.arrow.stream"
METADATA = b"errorfloor"
ADDED = ("columns", "outputs", "wider", "fresh", "accounts", "explain")  # besides what the list has of each


@dataclass(frozen=True, repr=False)
class RemoteFollowPrice:
    """What a standing question, or one more block of it, would cost; nothing is charged.

    >>> RemoteFollowPrice({"affordable": True, "explain": "Every month …"})
    Every month …
    """

    facts: Mapping[str, Any]

    @property
    def standings(self) -> tuple[RemoteStanding, ...]:
        """How each account would stand."""
        return tuple(RemoteStanding.of(one) for one in self.facts["accounts"])

    @property
    def quotas(self) -> tuple[RemoteQuota, ...]:
        """How each quota would stand."""
        return tuple(RemoteQuota.of(one) for one in self.facts["quotas"])

    @property
    def affordable(self) -> bool:
        """Whether every allowance and every quota suffices."""
        return bool(self.facts["affordable"])

    def explain(self) -> str:
        """Say what would be certain, and what it would cost."""
        return str(self.facts["explain"])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        lists = {"accounts": self.standings, "quotas": self.quotas}
        plain = {name: value for name, value in self.facts.items() if name != "explain"}
        return plain | {name: [one.to_dict() for one in every] for name, every in lists.items()}

    def __repr__(self) -> str:
        return self.explain()


@dataclass(eq=False, repr=False)
class RemoteFollowing:
    """A standing question that is paid for: ``release`` gives what is known up to a period."""

    connection: Connection = field(repr=False)
    facts: dict[str, Any]
    table: pa.Table = field(repr=False)

    @classmethod
    def sent(cls, connection: Connection, path: str, body: Mapping[str, Any] | None, **query: Any) -> "RemoteFollowing":
        """Send something, and read the question that the server gives."""
        headers = {"Accept": ARROW}
        response = (
            connection.read(path, headers, **query) if body is None else connection.post(path, dict(body), headers)
        )
        with pa.ipc.open_stream(io.BytesIO(response.content)) as reader:
            table = reader.read_all()
        metadata = dict(table.schema.metadata or {})
        facts = json.loads(metadata.pop(METADATA))
        return cls(connection, facts, table.replace_schema_metadata(metadata or None))

    @property
    def name(self) -> str:
        """By what name it is found again."""
        return str(self.facts["id"])

    @property
    def max_error(self) -> float:
        """The bound of every period's figure and of every running total; the widest, where it was extended."""
        return float(max(block["max_error"] for block in self.facts["blocks"]))

    @property
    def mine(self) -> bool:
        """Whether the token may release, extend and cancel it."""
        return bool(self.facts["mine"])

    @property
    def fresh(self) -> bool:
        """Whether something was charged now."""
        return bool(self.facts["fresh"])

    @property
    def standings(self) -> tuple[RemoteStanding, ...]:
        """How accounts stood after the charge."""
        return tuple(RemoteStanding.of(one) for one in self.facts["accounts"])

    @property
    def released(self) -> tuple[str, ...]:
        """The periods that were released so far, as the server said last."""
        return tuple(self.facts["released"])

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled, as the server said last."""
        return bool(self.facts["cancelled"])

    @property
    def outlived(self) -> bool:
        """Whether the ledger was accepted since: then nothing new is released."""
        return bool(self.facts["outlived"])

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
        reply = self.connection.post(f"{self._path}/extend/price", _extension(until, max_error))
        return RemoteFollowPrice(reply.json())

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
