"""Key files: made with care, kept to their owner, never shown."""

import fcntl
import json
import os
from pathlib import Path

from errorfloor.errors import InputError, KeyFileError
from errorfloor.identity import private_file
from errorfloor.identity.labels import Key

FORMAT = 1
BESIDE = ("ledger.sqlite", "ledger.anchor", "{}.releases")  # what usually lies beside a key file that was used


class KeyRing:
    """The keys of one custodian, in a file that only its owner can read; the last one is in use.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ring = KeyRing.create(Path(folder) / "keys.json")
    ...     older = ring.current
    ...     newer = KeyRing(ring.path).rotate()
    ...     [key.id for key in KeyRing(ring.path).keys] == [older.id, newer.id]
    True
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.keys = _read(self.path)

    @classmethod
    def create(cls, path: str | Path) -> "KeyRing":
        """Make a file with one fresh key; an existing file is never overwritten."""
        target = Path(path)
        content = _content([Key.fresh()])
        try:
            private_file.write_new(target, content)
        except FileExistsError:
            raise KeyFileError(f"{target} exists already: use it, rotate it, or choose another name") from None
        except OSError as problem:
            raise KeyFileError(f"cannot make the key file {target}: {problem.strerror}") from None
        return cls(target)

    @property
    def current(self) -> Key:
        """The key in use."""
        return self.keys[-1]

    def find(self, identity: str) -> Key:
        """Give the key with that id, in use or not."""
        for key in self.keys:
            if key.id == identity:
                return key
        raise InputError(f"{self.path} has no key {identity}; it has {', '.join(key.id for key in self.keys)}")

    def rotate(self, *, discard: bool = False) -> Key:
        """Add a fresh key and use it from now on; older ones stay, so that what they drew can be drawn again.

        With ``discard`` they go: somebody who has seen them could take their noise off whatever they drew.
        """
        path = self.path.resolve()  # a link stays a link
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # two rotations at once must not lose a key
            keys = [*([] if discard else _read(path)), Key.fresh()]
            private_file.replace(path, _content(keys))
            self.keys = keys
        finally:
            os.close(folder)
        return keys[-1]


def used_with(path: Path) -> Path | None:
    """Give a file that a key of this file may have been used with: what is known of answers or releases beside it.

    >>> used_with(Path("nowhere/keys.json")) is None
    True
    """
    beside = (path.with_name(name.format(path.name)) for name in BESIDE)
    return next((file for file in beside if file.exists()), None)


def missing(path: Path) -> str:
    """Say what to do about a key file that is not there: a lost one is restored, and only a first one is made.

    >>> missing(Path("nowhere/keys.json"))
    'there is no key file nowhere/keys.json: make one with errorfloor keys create --file nowhere/keys.json; ...'
    """
    make = f"errorfloor keys create --file {path}"
    found = used_with(path)
    if found is None:
        return f"there is no key file {path}: make one with {make}; if there was one, restore its backup instead"
    return (
        f"there is no key file {path}. If nothing was answered or released yet, make one with {make}. If something was "
        f"({found} lies there), restore the backup of the key file: a new key means new noise, so what was answered "
        f"before would be drawn, and charged, again"
    )


def _content(keys: list[Key]) -> bytes:
    entries = [{"id": key.id, "created": key.created, "secret": key.secret.hex()} for key in keys]
    return (json.dumps({"format": FORMAT, "keys": entries}, indent=2) + "\n").encode()


def _read(path: Path) -> list[Key]:
    try:
        text = private_file.read(path, "key file", "(chmod 600), then rotate it")
    except FileNotFoundError:
        raise KeyFileError(missing(path)) from None
    try:
        plain = json.loads(text)
        keys = [Key(str(e["id"]), str(e["created"]), bytes.fromhex(e["secret"])) for e in plain["keys"]]
    except (ValueError, KeyError, TypeError):
        keys = []  # the reason is not passed on: it could quote the file
    if not keys or any(len(key.secret) != 32 for key in keys) or plain.get("format") != FORMAT:
        raise KeyFileError(f"{path} is not a key file of this version, or is damaged: restore it from a backup")
    return keys
