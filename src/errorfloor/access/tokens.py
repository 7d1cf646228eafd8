"""Tokens: who may ask. Only their hashes are kept, in a file that only its owner can read."""

import fcntl
import hmac
import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from errorfloor.access.token import NO_TERMS, Terms, Verifier, digest
from errorfloor.access.token import Role as Role
from errorfloor.access.token import Token as Token
from errorfloor.errors import InputError, KeyFileError
from errorfloor.identity import private_file

FORMAT = 2  # 1 had neither terms nor a verifier, and is still read
NOBODY = "0" * 64  # compared with where there is no such token, so that this takes as long


class TokenFile:
    """The tokens of a server, in a file; a change of the file by another process counts from the next request on.

    Guarantee: a token is looked up by its public part and its hash compared in constant time; no text of a token is
    ever written, and no file that others can read is used.

    ``path`` None keeps tokens in memory only.

    >>> tokens = TokenFile(None)
    >>> token, text = tokens.create("anna", Role.ANALYST)
    >>> tokens.find(text) == token, tokens.find("ef_nobody_x") is None
    (True, True)
    >>> tokens.revoke(token.id).name, tokens.find(text) is None
    ('anna', True)
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._alone = threading.Lock()
        self._temporary: dict[str, Token] = {}
        self._kept: dict[str, Token] = {}
        self._seen: tuple[int, ...] | None = None

    def all(self) -> list[Token]:
        """Give every token, in the order in which they were made."""
        return [*self._current().values(), *self._temporary.values()]

    def find(self, text: str) -> Token | None:
        """Give the token that has this text, if there is one."""
        parts = text.split("_", 2)
        token = self.get(parts[1]) if len(parts) == 3 else None
        if token is None:
            hmac.compare_digest(NOBODY, digest(text))
            return None
        return token if token.matches(text) else None

    def get(self, identity: str) -> Token | None:
        """Give the token with this id, if there is one."""
        return self._current().get(identity) or self._temporary.get(identity)

    def claimed(self, user: str) -> Token | None:
        """Give the newest token with this name, or the one with this id, that can be proved without being shown."""
        found = [one for one in self.all() if user in (one.id, one.name) and one.scram is not None]
        return found[-1] if found else None

    def create(self, name: str, role: Role, terms: Terms = NO_TERMS, *, temporary: bool = False) -> tuple[Token, str]:
        """Make a token and give its text, which is kept nowhere; a temporary one is forgotten with this object."""
        token, text = Token.fresh(name, role, terms)
        if temporary or self.path is None:
            self._temporary[token.id] = token
        else:
            self._change(lambda known: known | {token.id: token})
        return token, text

    def accept(self, token: Token) -> None:
        """Accept a temporary token that another process made."""
        self._temporary[token.id] = token

    def revoke(self, identity: str) -> Token:
        """Forget the token with this id; requests with it are refused from now on."""
        if identity in self._temporary:
            return self._temporary.pop(identity)
        token = self._current().get(identity)
        if token is None:
            found = ", ".join(f"{one.id} ({one.name})" for one in self.all()) or "none"
            raise InputError(f"there is no token {identity!r}; there are: {found}")
        self._change(lambda known: {key: one for key, one in known.items() if key != identity})
        return token

    def _current(self) -> dict[str, Token]:
        """Read the file again if it has changed."""
        if self.path is None:
            return {}
        with self._alone:
            seen = state_of(self.path)
            if seen != self._seen:
                self._kept = _read(self.path)
                self._seen = seen
            return self._kept

    def _change(self, change: Callable[[dict[str, Token]], dict[str, Token]]) -> None:
        assert self.path is not None
        path = self.path.resolve()
        try:
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)  # two changes at once must not lose one
                _write(path, change(_read(path)))
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as problem:
            raise KeyFileError(f"cannot write the token file {self.path}: {problem.strerror}") from None


def state_of(path: Path) -> tuple[int, ...]:
    """Give what changes when somebody writes a file, or changes who may."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size, status.st_mode)


def _write(path: Path, known: dict[str, Token]) -> None:
    entries = [
        one.to_dict() | {"sha256": one.digest, "scram": None if one.scram is None else str(one.scram)}
        for one in known.values()
    ]
    content = json.dumps({"format": FORMAT, "tokens": entries}, indent=2) + "\n"
    private_file.replace(path, content.encode())


def _read(path: Path) -> dict[str, Token]:
    try:
        text = private_file.read(path, "token file", f"(chmod 600 {path})")
    except FileNotFoundError:
        return {}
    try:
        plain = json.loads(text)
        found = [_token(entry) for entry in plain["tokens"]] if plain["format"] in (1, FORMAT) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        found = None  # the reason is not passed on: it could quote the file
    if found is None:
        raise KeyFileError(f"{path} is not a token file of this version, or is damaged: make new tokens")
    return {token.id: token for token in found}


def _token(entry: dict[str, Any]) -> Token:
    kept = str(entry["sha256"])
    if not re.fullmatch("[0-9a-f]{64}", kept):
        raise ValueError
    scram = None if entry.get("scram") is None else Verifier.read(str(entry["scram"]))
    identity, name, role = str(entry["id"]), str(entry["name"]), Role(entry["role"])
    return Token(identity, name, role, str(entry["created"]), kept, Terms.read(entry), scram)
