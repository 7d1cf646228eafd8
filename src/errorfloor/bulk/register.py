"""The register of releases: what has been released of which data, so that noise is neither shared nor drawn twice.

It lies beside the key file and holds no data: a keyed digest of each source, names, and what decides the draws.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.identity import Key, KeyRing, Label


def source_digest(path: Path, table: str | None, ring: KeyRing) -> str:
    """Give a digest of a source's bytes that says nothing to whoever lacks the key."""
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").digest()
    return ring.keys[0].derive(Label("release source", (content, table))).hex()


@contextmanager
def entered(
    ring: KeyRing,
    *,
    batch: str,
    source: str,
    key: tuple[str, ...],
    columns: Mapping[str, str],
    again: bool,
    by_column: bool = False,
) -> Iterator[Key]:
    """Check a release against the register, write it down durably, and give the key to draw with.

    A source is known by its bytes or, ``by_column``, by the rows of the one column that is entered: then another column
    of the batch has a source of its own, which is no contradiction since no two columns share noise.

    A release that is refused later, so that nothing was published, is taken back; one that is killed stays written.
    Raises InputError if the batch names other data, if a column was released under it with other noise, or if the same
    column of the same data was released under another batch and ``again`` does not allow that.
    """
    entry: dict[str, Any] = {"batch": batch, "source": source, "key": list(key), "columns": dict(columns)}
    if by_column:
        entry["by_column"] = True
    with _opened(ring) as (file, entries):
        chosen = ring.find(_key_of(entries, entry, again) or ring.current.id)
        entry["key_id"] = chosen.id
        new = entry not in entries
        if new:
            _append(file, entry)
    try:
        yield chosen
    except ErrorFloorError:
        if new:
            with _opened(ring) as (file, _):
                _append(file, {"withdrawn": entry})
        raise


@contextmanager
def _opened(ring: KeyRing) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Open the register for one process at a time, and read the entries that stand."""
    path = ring.path.with_name(f"{ring.path.name}.releases")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        entries: list[dict[str, Any]] = []
        for line in file:
            entry = json.loads(line)
            if "withdrawn" in entry:
                entries.remove(entry["withdrawn"])
            else:
                entries.append(entry)
        yield file, entries


def _append(file: Any, entry: dict[str, Any]) -> None:
    file.write(json.dumps(entry) + "\n")
    file.flush()
    os.fsync(file.fileno())


def _key_of(entries: list[dict[str, Any]], entry: dict[str, Any], again: bool) -> str | None:
    """Refuse what may not be; give the id of the key that the batch was drawn with, if it was."""
    batch = entry["batch"]
    same = [old for old in entries if old["batch"] == batch]
    for old in same:
        shared = set(old["columns"]) & set(entry["columns"])
        apart = "by_column" in old and "by_column" in entry and not shared
        if old["source"] != entry["source"] and not apart:
            raise InputError(
                f"batch {batch} names other data: its noise would be shared, and differences would be exact; choose a "
                f"batch name of its own for this table"
            )
        if old["key"] != entry["key"]:
            raise InputError(f"batch {batch} was released with the row key {', '.join(old['key'])}: keep it")
        for name, identity in entry["columns"].items():
            if old["columns"].get(name, identity) != identity:
                raise InputError(
                    f"column {name} of batch {batch} was released with another noise, step or range: a second draw "
                    f"tells more; release it as it was"
                )
    if not same and not again:
        for old in entries:
            shared = set(old["columns"]) & set(entry["columns"])
            if old["source"] == entry["source"] and shared:
                raise InputError(
                    f"{', '.join(sorted(shared))} of this table was released as batch {old['batch']}: a second draw "
                    f"tells more; allow it with again, and count it as another answer"
                )
    return same[0]["key_id"] if same else None
