"""A server of one's own: ``errorfloor serve`` on a folder, started as a user starts it and stopped afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.catalogue import Catalogue
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.identity import KeyRing
from errorfloor.server.tokens import Role, TokenFile

if TYPE_CHECKING:
    from errorfloor.client import RemoteDatabase

FILE = "errorfloor.toml"
ANALYSTS = 8
LEFT_BEHIND = ("ledger*", "keys.json", "tokens.json")  # what a server's life adds to its folder


@contextmanager
def server_process(catalogue: Catalogue) -> Iterator["AnalystDoor"]:
    """Serve what lies registered in a catalogue's folder, with a new key, ledger and tokens, on a free port.

    Settings are the default ones, but for the rate of requests, which only slows adversaries down.
    """
    folder, text = catalogue.folder, written(catalogue)
    if (folder / FILE).exists() and (folder / FILE).read_text() != text:
        raise InputError(f"{folder} holds a catalogue that no audit wrote: its keys and ledger are not replaced")
    for pattern in LEFT_BEHIND:
        for file in folder.glob(pattern):
            file.unlink()
    KeyRing.create(folder / "keys.json")
    (folder / FILE).write_text(text)
    known = TokenFile(folder / "tokens.json")
    tokens = {f"analyst {k}": known.create(f"analyst-{k}", Role.ANALYST)[1] for k in range(ANALYSTS)}
    tokens["owner"] = known.create("owner", Role.OWNER)[1]
    command = [sys.executable, "-m", "errorfloor", "serve", str(folder / FILE), "--port", "0", "--json", "--rate", "0"]
    with (folder / "server.log").open("w") as log:
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
        f"errorfloor serve did not start: {(log.read_text().splitlines() or ['it said nothing'])[-1]}"
    )


class AnalystDoor:
    """The doors of several analysts and of the owner to one server; each is opened when it is first used."""

    def __init__(self, url: str, tokens: Mapping[str, str]) -> None:
        self._url, self._tokens = url, tokens
        self._open: dict[str, RemoteDatabase] = {}

    def price(self, sql: str, **wish: Any) -> Any:
        """Say what an answer would state and cost."""
        return self.of("analyst 0").price(sql, **wish)

    def ask(self, sql: str, *, analyst: str = "analyst 0", **wish: Any) -> Any:
        """Answer a question of an analyst's."""
        return self.of(analyst).ask(sql, **wish)

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
