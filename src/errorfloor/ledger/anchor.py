"""Anchors: the head of a ledger, kept outside the ledger, so that an older or another one is recognised.

An anchor never moves backwards. It is a file (``file_anchor.py``), or a command of the custodian's that keeps the head
where the server itself cannot change it.
"""

import fcntl
import os
import shlex
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errorfloor.errors import LedgerError
from errorfloor.ledger.record import Head

PATIENCE = 60.0  # seconds for a custodian's command


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
            f"the ledger has {head.sequence} records, its anchor {self.name} says {kept.sequence}: an older copy would "
            f"forget what has been spent; put the newest copy back, or restore the newest export with errorfloor "
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
            raise LedgerError(f"the anchor {self.name} {word} did not end within {PATIENCE:.0f} s") from None
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or "it printed what is not text"
            raise LedgerError(f"cannot run the anchor {self.name} {word}: {reason}") from None
        if done.returncode != 0:
            raise LedgerError(f"the anchor {self.name} {word} failed with exit code {done.returncode}")
        return done.stdout
