"""Anchors: the head of a ledger, kept outside the ledger, so that an older or another one is recognised.

An anchor never moves backwards. It is a file, or a command of the custodian's that keeps the head where the server
itself cannot change it.
"""

import fcntl
import hashlib
import json
import os
import shlex
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from errorfloor.catalogue.model import Place
from errorfloor.errors import LedgerError
from errorfloor.identity import private_file
from errorfloor.ledger.entry import Head

PATIENCE = 60.0  # seconds for a custodian's command
PLACE = 4096  # bytes: each place is a block of its own, which a failing write of the other does not reach


class Anchor(ABC):
    """Where the head is kept; ``name`` is what messages call it, ``folder`` what processes lock to take turns."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    @abstractmethod
    def read(self) -> Head | None:
        """Give the head that is kept; None if there is none yet."""

    @abstractmethod
    def _write(self, head: Head) -> None:
        """Keep a head, durably, in place of the one before it."""

    def advance(self, head: Head) -> None:
        """Keep a head, unless that one or a later one is kept already.

        Raises LedgerError if another head of the same number is kept, or if it cannot be kept.
        """
        with self._turn():
            kept = self.read()
            if kept is None or kept.sequence < head.sequence:
                self._write(head)
            elif kept.sequence == head.sequence and kept.hash != head.hash:
                raise self.disagrees(kept)

    def disagrees(self, kept: Head) -> LedgerError:
        """Say that the ledger's history is not the one that is anchored."""
        return LedgerError(
            f"the ledger has another record {kept.sequence} than its anchor {self.name}: it is not the ledger that was "
            f"in use, or two copies of it have been; use the one that the anchor belongs to",
            anchored=kept.sequence,
        )

    def missing(self, head: Head, *, restoring: bool = False) -> LedgerError:
        """Say that a ledger has no anchor, or that there is none to compare an export with."""
        accept = "restore it with --accept" if restoring else "accept it with errorfloor ledger checkpoint --accept"
        return LedgerError(
            f"the {'export' if restoring else 'ledger'} has {head.sequence} records but its anchor {self.name} is "
            f"missing, so nobody can tell whether this is its newest copy: put the anchor back; or, if you are sure "
            f"that no record is lost, {accept}",
            sequence=head.sequence,
        )

    def absent(self, kept: Head | None, ledger: str) -> LedgerError:
        """Say that there is no ledger, and what to put back."""
        if kept is None:
            return LedgerError(
                f"there is no ledger {ledger}, nor its anchor {self.name}: if answers were ever given, mount or put "
                f"back both, or the anchor and then restore the newest export with errorfloor ledger restore; a first "
                f"ledger is made by errorfloor register, or by errorfloor ledger create"
            )
        return LedgerError(
            f"there is no ledger {ledger}, and its anchor {self.name} says that it has {kept.sequence} records: mount "
            f"it or put its newest copy back, or restore the newest export with errorfloor ledger restore"
            + ("; an empty one is made again by errorfloor ledger create" if kept.sequence == 0 else ""),
            anchored=kept.sequence,
        )

    def older(self, kept: Head, head: Head) -> LedgerError:
        """Say that the ledger has fewer records than were anchored."""
        return LedgerError(
            f"the ledger has {head.sequence} records, its anchor {self.name} says {kept.sequence}: an older copy does "
            f"not know all that was spent; put the newest copy back, or restore the newest export with errorfloor "
            f"ledger restore",
            sequence=head.sequence,
            anchored=kept.sequence,
        )

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"the anchor {self.name} does not hold the head of a ledger: put back what it held, one line of JSON with "
            f"format, sequence and hash"
        )

    def _parse(self, text: str) -> Head:
        try:
            return Head.from_text(text)
        except ValueError:
            raise self._damaged() from None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            descriptor = os.open(self.folder, os.O_RDONLY)
        except OSError as problem:
            raise LedgerError(f"cannot use the folder {self.folder} of the anchor: {problem.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class CommandAnchor(Anchor):
    """An anchor that a command of the custodian's keeps.

    The command is started without a shell and with one word more: ``read`` (it prints the head it keeps, or nothing),
    or ``write`` (it reads a head, one line of JSON, and exits with 0 once that is kept). It should refuse to go back to
    a smaller sequence number, since servers on several machines may use it.

    >>> CommandAnchor("true", Path(".")).read()
    """

    def __init__(self, command: str, folder: Path) -> None:
        self.command = shlex.split(command)
        super().__init__(f"!{command}", folder.resolve())
        if not self.command:
            raise LedgerError("an anchor that starts with ! must name a command, got nothing after it")

    def read(self) -> Head | None:
        """Give the head that the command prints; None if it prints nothing."""
        text = self._run("read", "")
        return self._parse(text) if text.strip() else None

    def _write(self, head: Head) -> None:
        self._run("write", head.to_text())

    def _run(self, word: str, given: str) -> str:
        try:
            done = subprocess.run(
                [*self.command, word], input=given, capture_output=True, text=True, timeout=PATIENCE, cwd=self.folder
            )
        except subprocess.TimeoutExpired:
            raise LedgerError(f"the anchor {self.name} {word} did not finish within {PATIENCE:.0f} s") from None
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or "it printed something that is not text"
            raise LedgerError(f"cannot run the anchor {self.name} {word}: {reason}") from None
        if done.returncode != 0:
            raise LedgerError(f"the anchor {self.name} {word} failed with exit code {done.returncode}")
        return done.stdout


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
                private_file.put(self.path, head.to_text().encode())
            elif seen is None or len(seen.content) != 2 * PLACE:
                private_file.put(self.path, block + b" " * (PLACE - 1) + b"\n")
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
                    raise OSError(0, "only a part of it was written")
                os.fdatasync(descriptor)
            except OSError:
                with suppress(OSError):  # it may read as written although it is not on disk: take it away
                    os.pwrite(descriptor, b" " * PLACE, offset)
                raise
        finally:
            os.close(descriptor)


def open_anchor(place: Place, folder: Path) -> Anchor:
    """Give the anchor of a place.

    >>> open_anchor(Place(anchor="!notary meters"), Path(".")).name
    '!notary meters'
    """
    if place.anchor.startswith("!"):
        return CommandAnchor(place.anchor[1:], Path(folder))
    return FileAnchor(Path(folder) / place.anchor)


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
