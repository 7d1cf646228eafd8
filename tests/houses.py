"""Houses that are registered once in each process and copied from then on: a copy costs a fifth of the work.

What a registration makes follows from the declaration and the rows, but for identities and times. So a second house of
one test is registered anew: two in which everything was the same could not be told apart where they must be. So are
those of a test that puts something else in the place of what registers: ``monkeypatch`` is among its fixtures.
"""

import atexit
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from chance import chance
from errorfloor.catalogue import Catalogue, Place
from errorfloor.service.registering import registering
from errorfloor.vault import Registration

Result = TypeVar("Result")
VAULT, NOTES = Place().snapshots, ".notes"
KEYS = Place().keys
PARENT = os.getpid()
made: dict[str, tuple[Path, Any]] = {}  # by the digest of what was registered: the copy, and what was returned
met: set[str] = set()  # by the same digest, what this test has a house of
patched = False


def begin(item: pytest.Item) -> None:
    """Note which test begins."""
    global patched
    met.clear()
    patched = "monkeypatch" in getattr(item, "fixturenames", ())


def register_house(catalogue: Catalogue, **how: Any) -> list[Registration]:
    """Register all tables of a house, as ``registering`` does, or copy one that is like it."""
    return registered(catalogue, lambda: list(registering(catalogue, **how)), how)


def registered(catalogue: Catalogue, register: Callable[[], Result], how: object, *, alike: bool = False) -> Result:
    """Register what a catalogue declares, or copy what that made before, and give what it returned.

    ``how`` tells ways to register apart; ``alike`` are those that give all houses the same identities. Where something
    was registered before, or other places are declared, it is done anew.
    """
    folder = catalogue.folder
    if patched or os.getpid() != PARENT or catalogue.place != Place() or (folder / VAULT).exists():
        return register()
    before = _files(folder)
    content = [(name, hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in before]
    declared = repr(catalogue.tables)
    known = hashlib.sha256(repr((how, alike, declared, content)).encode()).hexdigest()
    if known in met and not alike:
        return register()
    met.add(known)
    if known not in made:
        with chance.aside(known):
            result = register()
        made[known] = _place() / known, result
        _copy(folder, made[known][0], [name for name in _files(folder) if name not in before])
    else:
        _copy(made[known][0], folder, _files(made[known][0]))
    return made[known][1]


def _files(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != KEYS)
    return sorted(path.relative_to(folder).as_posix() for path in found)


@cache
def _place() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="errorfloor-houses-"))
    atexit.register(lambda: os.getpid() == PARENT and shutil.rmtree(folder, ignore_errors=True))
    return folder


def _copy(source: Path, target: Path, names: list[str]) -> None:
    """Copy files; the copies of notes go by when a file was made, so they are written for those that are made here."""
    (target / VAULT).mkdir(mode=0o700, parents=True)
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)
    if (target / VAULT / NOTES).exists():
        told = json.loads((target / VAULT / NOTES).read_text(encoding="utf-8"))
        for name, note in told.items():
            found = (target / VAULT / f"{name}.duckdb").stat()
            told[name] = [found.st_ino, found.st_size, found.st_ctime_ns, note[-1]]
        (target / VAULT / NOTES).write_text(json.dumps(told), encoding="utf-8")
