"""The book of a ledger: what is read and written inside one transaction, with the shelf beside it.

A book says that an answer was charged; its shelf keeps the answer, as bytes that only the service can read and nobody
can change unseen. Nothing on the shelf is needed to know what was spent, and whatever is missing from it is drawn
again, alike and free.
"""

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from errorfloor.accounts import Account
from errorfloor.errors import LedgerError
from errorfloor.ledger.entry import Head, Record, Tail
from errorfloor.ledger.total import Total

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


class Book(ABC):
    """Everything that is written down, as one transaction sees it. Terms are canonical JSON texts by name."""

    @property
    @abstractmethod
    def shelf(self) -> Shelf:
        """What was released for what is charged."""

    @abstractmethod
    def tail(self) -> Tail:
        """Where the ledger stands, and the time of its last record."""

    @abstractmethod
    def start(self) -> Head:
        """Where the ledger stood before its first record: nowhere, or at the end of an older one."""

    @abstractmethod
    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""

    @abstractmethod
    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""

    @abstractmethod
    def labels(self) -> Iterator[tuple[str, int]]:
        """Every label that is charged, with the number of the record that pays for it."""

    @abstractmethod
    def found(self, labels: Collection[str]) -> dict[str, Record]:
        """The records with those labels; a label that was never charged is left out."""

    @abstractmethod
    def totals(
        self, accounts: Collection[Account] | None = None, *, of: str | None = None, holder: str | None = None
    ) -> dict[Account, Total]:
        """The totals of accounts, or of all those of a table and a holder; one that was never charged is left out."""

    @abstractmethod
    def terms(self, names: Collection[str] | None = None) -> dict[str, str]:
        """The terms of those names, or all; those that were never fixed are left out."""

    @abstractmethod
    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after one number, in order, at most ``limit`` of them."""

    @abstractmethod
    def append(self, records: Sequence[Record], totals: Mapping[Account, Total], terms: Mapping[str, str]) -> None:
        """Write records, the new totals of the accounts that they charge, and the terms that they fix."""
