"""The shelf beside a ledger: what was released, as bytes that only the service can read and nobody can change unseen.

A ledger says that an answer was charged; its shelf keeps the answer. Nothing on it is needed to know what was spent,
and whatever is missing from it is drawn again, alike and free.
"""

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import Any, NamedTuple, final

from errorfloor.errors import LedgerError

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


class Shelf(ABC):
    """What is kept, as one transaction sees it."""

    @abstractmethod
    def put(self, kept: Kept) -> int:
        """Add an answer at the end, and give its number; outputs that are there already stay with the older answer."""

    @abstractmethod
    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""

    @abstractmethod
    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels, without their content."""

    @abstractmethod
    def over(self, over: str, limit: int, before: int | None = None) -> list[Kept]:
        """The last answers, ``before`` a number, with an output over the same, newest first, without their content."""

    @abstractmethod
    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order; with their content if they are wanted ``whole``."""

    @abstractmethod
    def beyond(self, room: int) -> list[int]:
        """The oldest of what does not last, by number, without which the rest of it takes at most so many bytes."""

    @abstractmethod
    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers for good."""


@final
class MemoryShelf(Shelf):
    """A shelf that is forgotten with its process."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._asked: dict[str, int] = {}
        self._last = 0

    def put(self, kept: Kept) -> int:
        """Add an answer at the end."""
        self._last += 1
        self._kept[self._last] = replace(kept, number=self._last)
        self._asked = {one.asked: self._last for one in kept.outputs} | self._asked
        return self._last

    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""
        return {one: self._kept[self._asked[one]] for one in asked if one in self._asked}

    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels."""
        return {label: one for one in self._kept.values() for label in one.labels & set(labels)}

    def over(self, over: str, limit: int, before: int | None = None) -> list[Kept]:
        """The last answers, ``before`` a number, with an output over the same, newest first."""
        older = (one for number, one in reversed(self._kept.items()) if before is None or number < before)
        return list(islice((one for one in older if any(output.over == over for output in one.outputs)), limit))

    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order."""
        found: Sequence[Kept] = [one for number, one in self._kept.items() if number > after]
        return iter(found[:limit])

    def beyond(self, room: int) -> list[int]:
        """The numbers of the oldest answers that do not last, without which the others take at most so many bytes."""
        newest = [one for one in reversed(self._kept.values()) if not one.lasts]
        taken = accumulate(one.size for one in newest)
        return [one.number for one, so_far in zip(newest, taken, strict=True) if so_far > room]

    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers."""
        gone = set(numbers)
        self._kept = {number: one for number, one in self._kept.items() if number not in gone}
        self._asked = {one: number for one, number in self._asked.items() if number not in gone}
