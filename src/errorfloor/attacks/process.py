"""A server of one's own: ``errorfloor serve`` on a folder, started as a user starts it and stopped afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.attacks.generated import GENERATED
from errorfloor.catalogue import Catalogue
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.identity import KeyRing
from errorfloor.server.tokens import Role, TokenFile
from errorfloor.service.registering import create_ledger

if TYPE_CHECKING:
    from errorfloor.client import RemoteDatabase

FILE = "errorfloor.toml"
PEOPLE = 8  # who have a token in each of two roles
LEFT_BEHIND = ("ledger*", "keys.json", "tokens.json", "sessions.sqlite*")  # what a server's life adds to its folder


@contextmanager
def server_process(catalogue: Catalogue) -> Iterator["AnalystDoor"]:
    """Serve what lies registered in a generated folder, on a free port, with new tokens, and a new key and ledger.

    Settings are the default ones, but for the port and for the log of requests, which nobody would read.
    """
    folder = catalogue.folder
    if not (folder / GENERATED).exists():
        raise InputError(f"{folder} is a folder that no audit made: its keys and ledger are not replaced")
    for pattern in LEFT_BEHIND:
        for file in folder.glob(pattern):
            file.unlink()
    KeyRing.create(folder / "keys.json")
    create_ledger(catalogue, accept=True)
    (folder / FILE).write_text(written(catalogue), encoding="utf-8")
    known = TokenFile(folder / "tokens.json")
    people = [(role, number) for role in (Role.ANALYST, Role.OWNER) for number in range(PEOPLE)]
    tokens = {f"{role.value} {number}": known.create(f"{role.value}-{number}", role)[1] for role, number in people}
    command = [sys.executable, "-m", "errorfloor", "serve", str(folder / FILE), "--port", "0", "--json"]
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*command, "--audit-log", os.devnull],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    try:
        with AnalystDoor(_address(process.stdout, folder / "server.log"), tokens) as door:
            yield door
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stdout.close()


def _address(said: Iterator[str], log: Path) -> str:
    text = ""
    for line in said:
        text += line
        if line.startswith("}"):
            return str(json.loads(text)["url"])
    raise ErrorFloorError(
        f"errorfloor serve did not start: {(log.read_text(encoding='utf-8').splitlines() or ['it said nothing'])[-1]}"
    )


class AnalystDoor:
    """The doors of several analysts and owners to one server; each is opened when it is first used.

    A server answers only so many requests a second for one token. Whoever is told to wait lets the next one ask.
    """

    def __init__(self, url: str, tokens: Mapping[str, str]) -> None:
        self._url, self._tokens, self._people = url, tokens, list(tokens)
        self._open: dict[str, RemoteDatabase] = {}

    def price(self, sql: str, **wish: Any) -> Any:
        """Say what an answer would state and cost."""
        return self._by("analyst", lambda door: door.price(sql, **wish))

    def ask(self, sql: str, *, analyst: str = "analyst", **wish: Any) -> Any:
        """Answer a question of one analyst's, or of any."""
        return self._by(analyst, lambda door: door.ask(sql, **wish))

    def answer(self, stream: str, **push: Any) -> Any:
        """Release the measurement of one step of a trip, which an owner pushes."""
        return self._by("owner", lambda door: door.answer(stream, **push))

    def _by(self, who: str, act: Callable[["RemoteDatabase"], Any]) -> Any:
        """Do something as one of those whose name begins so; the one who was let in last goes first."""
        from errorfloor.client.failures import RemoteError

        while True:
            for name in [name for name in self._people if name.startswith(who)]:
                try:
                    return act(self.of(name))
                except RemoteError as problem:
                    if problem.code != "rate":
                        raise
                    wait = float(str(problem.fields["wait"]))
                    self._people.remove(name)
                    self._people.append(name)
            time.sleep(wait)

    def of(self, name: str) -> "RemoteDatabase":
        """Give one person's door."""
        from errorfloor.client import connect  # an extra of its own

        if name not in self._open:
            self._open[name] = connect(self._url, token=self._tokens[name])
        return self._open[name]

    def __enter__(self) -> "AnalystDoor":
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._open.values():
            one.close()


def written(catalogue: Catalogue) -> str:
    r"""Write a catalogue as TOML, one line for each of its parts.

    >>> written(Catalogue.model_validate({"tables": {}, "quota": {"analyst": 0.5}}))
    'tables = {}\nquota = { "analyst" = 0.5 }\n'
    """
    plain = catalogue.model_dump(exclude_unset=True, exclude_none=True)
    return "".join(f"{name} = {_toml(plain[name])}\n" for name in sorted(plain, reverse=True))


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            inside = ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            return f"[{', '.join(_toml(one) for one in value)}]"
        case Fraction() | str():
            return json.dumps(str(value), ensure_ascii=False)
        case _:
            return _toml(value.tolist())
