"""An anchor in a file: two places, written in turn, so that one holds whatever happens to the other."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from errorfloor.errors import LedgerError
from errorfloor.ledger.anchor import Anchor
from errorfloor.ledger.record import Head

PLACE = 4096  # bytes: each place is a block of its own, which a failing write of the other does not reach


@dataclass(frozen=True)
class _Seen:
    """What a file holds, the head that counts, and in which place that is."""

    content: bytes
    head: Head
    newer: int


@final
class FileAnchor(Anchor):
    """An anchor in a file that is on disk before the ledger goes on.

    A new head is written over the older of the two in the file, with a check of its own, and synchronised once. A file
    that holds one head and nothing else, such as a checkpoint or one put back by hand, is read too; with ``alone`` such
    a file is written, one line.

    Guarantee: once ``advance`` returns the head is on disk; if the machine dies before, the file holds that head or the
    one before it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anchor = FileAnchor(Path(folder) / "ledger.anchor")
    ...     before = anchor.read()
    ...     anchor.advance(Head(2, "ab" * 32))
    ...     anchor.advance(Head(1, "cd" * 32))  # an earlier head comes late: the anchor stays
    ...     before, anchor.read().sequence
    (None, 2)
    """

    def __init__(self, path: str | Path, *, alone: bool = False) -> None:
        self.alone = alone
        self.path = Path(path).resolve()  # a link stays a link
        super().__init__(str(path), self.path.parent)
        self._seen: _Seen | None = None  # what was read last, so that it is not parsed again

    def read(self) -> Head | None:
        """Give the head that is kept; None if the file is missing."""
        found = self._look()
        return None if found is None else found.head

    def _look(self) -> "_Seen | None":
        try:
            content = _content(self.path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise LedgerError(f"cannot read the anchor {self.name}: {problem.strerror}") from None
        seen = self._seen
        if seen is None or seen.content != content:
            seen = self._seen = self._read_places(content)
        return seen

    def _read_places(self, content: bytes) -> "_Seen":
        if len(content) <= PLACE:
            try:
                return _Seen(content, self._parse(content.decode()), 0)
            except UnicodeDecodeError:
                raise self._damaged() from None
        places = enumerate((_checked(content[:PLACE]), _checked(content[PLACE:])))
        found = [_Seen(content, head, place) for place, head in places if head is not None]
        if not found:
            raise self._damaged()
        return max(found, key=lambda seen: seen.head.sequence)

    def _write(self, head: Head) -> None:
        seen = self._look()
        block = _block(head)
        try:
            if self.alone:
                self._replace(head.to_text().encode())
            elif seen is None or len(seen.content) != 2 * PLACE:
                self._replace(block + b" " * (PLACE - 1) + b"\n")
            else:
                older = 1 - seen.newer
                self._overwrite(older * PLACE, block)
                parts = [seen.content[:PLACE], seen.content[PLACE:]]
                parts[older] = block
                self._seen = _Seen(b"".join(parts), head, older)
        except OSError as problem:
            raise LedgerError(
                f"cannot write the anchor {self.name}: {problem.strerror}; what was charged stays charged, and "
                f"nothing is answered until it can be anchored"
            ) from None

    def _overwrite(self, offset: int, block: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW)
        try:
            try:
                if os.pwrite(descriptor, block, offset) != len(block):
                    raise OSError(0, "it took only a part of it")
                os.fdatasync(descriptor)
            except OSError:
                with suppress(OSError):  # it may read as written although it is not on disk: take it away
                    os.pwrite(descriptor, b" " * PLACE, offset)
                raise
        finally:
            os.close(descriptor)

    def _replace(self, content: bytes) -> None:
        """Make the file, or put one with two places where there is one with a single head."""
        temporary = self.path.with_name(f".{self.path.name}.new")  # one for all: processes take turns
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # makes the new name durable
        finally:
            os.close(folder)


def _content(path: Path) -> bytes:
    """Read a file that is not longer than two places, or a little more of one that is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 2 * PLACE + 1)
    finally:
        os.close(descriptor)


def _block(head: Head) -> bytes:
    """Give a head with its check, as long as a place."""
    plain = {"format": 1, "sequence": head.sequence, "hash": head.hash, "check": _check(head)}
    return json.dumps(plain).encode().ljust(PLACE - 1) + b"\n"


def _checked(block: bytes) -> Head | None:
    """Give the head of a place; None where there is none, or one that was not written to its end."""
    try:
        text = block.decode()
        head = Head.from_text(text)
        return head if json.loads(text).get("check") == _check(head) else None
    except ValueError:
        return None


def _check(head: Head) -> str:
    return hashlib.sha256(f"errorfloor anchor {head.sequence} {head.hash}".encode()).hexdigest()[:16]
