"""The shelf of a ledger: what was released for what is charged, beside its book.

A book says that an answer was charged; its shelf keeps the answer, as bytes that only the service can read and nobody
can change unseen. Nothing on the shelf is needed to know what was spent, and whatever is missing from it is drawn
again, alike and free.
"""

import base64
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

from errorfloor.errors import LedgerError
from errorfloor.ledger.connections import LedgerConnection, marks

PAGE = 100  # answers read at a time, without their content
ABOVE_ALL = 2**63 - 1  # no answer has so large a number
FACTS = "number, text, seal, size"  # of an answer on the shelf
FOLLOWED, RELEASED = (hashlib.sha256(f"errorfloor followed {what}".encode()).hexdigest() for what in ("", "period"))
LASTING = (FOLLOWED, RELEASED)  # what standing questions are, and what they released: it never makes room


class KeptOutput(NamedTuple):
    """How an output is found: by what was ``asked`` for; by what it is ``over``, in any groups; by its ``label``."""

    asked: str
    over: str
    label: str | None = None


@dataclass(frozen=True)
class Kept:
    """A released answer: ``text`` is what is said of it as JSON, ``content`` its cells, ``seal`` binds the two.

    ``size`` is how many bytes both have, ``number`` its place on the shelf, from 1. Where only what is said is wanted,
    ``content`` is left out.

    >>> Kept('{"outputs": [{"asked": "ab", "over": "cd", "label": null}], "snapshots": []}', "seal", 0).outputs
    (KeptOutput(asked='ab', over='cd', label=None),)
    """

    text: str
    seal: str
    size: int
    content: bytes | None = None
    number: int = 0

    @classmethod
    def of(cls, text: str, seal: str, content: bytes) -> "Kept":
        """Give one that is not on a shelf yet."""
        return cls(text, seal, len(text.encode()) + len(content), content)

    def to_json(self) -> dict[str, Any]:
        """Give it as plain data, one line of an export."""
        return {"text": self.text, "seal": self.seal, "content": base64.b64encode(self.content or b"").decode()}

    @classmethod
    def from_json(cls, plain: Any) -> "Kept":
        """Read what ``to_json`` gave; raises LedgerError if it is not that."""
        match plain:
            case {"text": str(text), "seal": str(seal), "content": str(content)}:
                try:
                    whole = base64.b64decode(content, validate=True)
                    found = cls.of(text, seal, whole)
                    _ = found.facts
                    return found
                except (ValueError, LedgerError):
                    pass
        raise LedgerError("this is not a kept answer: give the lines that errorfloor ledger export --kept wrote")

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What is said of it."""
        try:
            found: Mapping[str, Any] = json.loads(self.text)
            _ = [(one["asked"], one["over"], one["label"]) for one in found["outputs"]]
            _ = [(table, version, identity) for table, version, identity in found["snapshots"]]
        except (ValueError, KeyError, TypeError):
            raise damaged(self.number) from None
        return found

    @property
    def time(self) -> str:
        """When it was released."""
        return str(self.facts["time"])

    @property
    def outputs(self) -> tuple[KeptOutput, ...]:
        """How its outputs are found."""
        return tuple(KeptOutput(one["asked"], one["over"], one["label"]) for one in self.facts["outputs"])

    @property
    def lasts(self) -> bool:
        """Whether it stays when others have to make room: it could not be drawn again from what is registered."""
        return any(one.over in LASTING for one in self.outputs)

    @property
    def outlives(self) -> bool:
        """Whether it stays when somebody is erased from a snapshot that it was computed from: it names nobody."""
        return self.facts.get("outlives") is True

    @property
    def labels(self) -> set[str]:
        """The labels that its outputs were charged under."""
        return {one["label"] for one in self.facts["outputs"] if one["label"] is not None}


def damaged(number: int) -> LedgerError:
    """Say that a kept answer is not what was written."""
    return LedgerError(
        f"kept answer {number} was changed by something else: restore the ledger from its newest backup; or run "
        f"errorfloor ledger forget --answer {number}, after which it is drawn again as it was, free of charge",
        number=number,
    )


@final
class Shelf:
    """What is kept, as one transaction sees it."""

    def __init__(self, connection: LedgerConnection) -> None:
        self._run = connection.run

    def put(self, kept: Kept) -> int:
        """Add an answer at the end, and give its number; outputs that are there already stay with the older answer."""
        (last,) = self._run("SELECT coalesce(max(number), 0) AS number FROM @kept")
        number = last["number"] + 1
        values = number, kept.text, kept.seal, kept.size, kept.content
        self._run(f"INSERT INTO @kept ({FACTS}, content) VALUES (?, ?, ?, ?, ?)", *values)
        for one in kept.outputs:
            insert = "INSERT INTO @kept_outputs (asked, over_what, label, number) VALUES (?, ?, ?, ?)"
            self._run(f"{insert} ON CONFLICT DO NOTHING", *one, number)
        return int(number)

    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""
        found, places = {}, {}
        for one in asked:
            for row in self._run("SELECT number FROM @kept_outputs WHERE asked = ?", one):
                places[one] = row["number"]
        for number in set(places.values()):
            for row in self._run(f"SELECT {FACTS}, content FROM @kept WHERE number = ?", number):
                found[number] = _kept(row)
        return {one: found[number] for one, number in places.items() if number in found}

    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels, without their content."""
        found: dict[str, Kept] = {}
        wanted = list(labels)
        for start in range(0, len(wanted), PAGE):
            some = wanted[start : start + PAGE]
            outputs = f"SELECT label, number AS place FROM @kept_outputs WHERE label IN ({marks(len(some))})"
            joined = f"SELECT label, {FACTS} FROM ({outputs}) AS outputs JOIN @kept ON number = place"
            found |= {row["label"]: _kept(row) for row in self._run(joined, *some)}
        return found

    def over(self, over: str, limit: int, before: int | None = None) -> list[Kept]:
        """The last answers, ``before`` a number, with an output over the same, newest first, without their content."""
        outputs = (
            "SELECT DISTINCT number FROM @kept_outputs WHERE over_what = ? AND number < ? ORDER BY number DESC LIMIT ?"
        )
        wanted = f"SELECT {FACTS} FROM @kept WHERE number IN ({outputs}) ORDER BY number DESC"
        return [_kept(row) for row in self._run(wanted, over, ABOVE_ALL if before is None else before, limit)]

    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order; with their content if they are wanted ``whole``."""
        columns, most = (f"{FACTS}, content", 1) if whole else (FACTS, PAGE)
        while limit is None or limit > 0:
            count = most if limit is None else min(limit, most)
            page = f"SELECT {columns} FROM @kept WHERE number > ? ORDER BY number LIMIT ?"
            rows = self._run(page, after, count)
            yield from map(_kept, rows)
            if len(rows) < count:
                return
            after, limit = rows[-1]["number"], None if limit is None else limit - count

    def beyond(self, room: int) -> list[int]:
        """The oldest of what does not last, by number, without which the rest of it takes at most so many bytes."""
        lasting = f"SELECT number FROM @kept_outputs WHERE over_what IN ({marks(len(LASTING))})"
        others = f"SELECT number, size FROM @kept WHERE number NOT IN ({lasting})"
        taken = f"SELECT number, sum(size) OVER (ORDER BY number DESC) AS taken FROM ({others}) AS others"
        found = f"SELECT number FROM ({taken}) AS newest WHERE taken > ?"
        return [row["number"] for row in self._run(found, *LASTING, room)]

    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers for good."""
        for number in numbers:
            self._run("DELETE FROM @kept_outputs WHERE number = ?", number)
            self._run("DELETE FROM @kept WHERE number = ?", number)


def _kept(row: dict[str, Any]) -> Kept:
    content = row.get("content")
    return Kept(row["text"], row["seal"], row["size"], None if content is None else bytes(content), row["number"])
