"""Designs on disk, found again by what was asked: a second identical design costs a file read.

A file's name is a hash of the whole problem and of the solver's version. Files are written beside their place and moved
there, so a reader sees a whole file or none, whoever else is writing. A file that is damaged, or whose noise does not
have the value that its certificate states, is ignored and written anew.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from errorfloor.errors import ErrorFloorError
from errorfloor.noise import Noise, from_dict

VERSION = 4  # of the solvers: raise it when they give other noises for the same problem
SWITCH = "ERRORFLOOR_CACHE"


def cache_folder() -> Path | None:
    """Where designs are kept: $ERRORFLOOR_CACHE, or the platform's folder for caches; None if switched off.

    The variable is a folder, or "off".

    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", ERRORFLOOR_CACHE="off"):
    ...     print(cache_folder())
    None
    """
    chosen = os.environ.get(SWITCH)
    if chosen is not None:
        return None if chosen.strip().lower() in ("", "off", "0", "no", "false") else Path(chosen).expanduser()
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "errorfloor"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "errorfloor" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "errorfloor"


def key_of(question: dict[str, Any]) -> str:
    """The name of a question's file: a hash of it, to the last bit of every number.

    >>> len(key_of({"support": {"type": "Interval", "low": 0.0, "high": 1.0}}))
    64
    """
    text = json.dumps({"version": VERSION, **question}, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def recall(question: dict[str, Any], value_of: Callable[[Noise], float]) -> Noise | None:
    """Give the noise of an identical question asked before, or None; ``value_of`` computes what its certificate states.

    The noise is what will be sampled, so a file whose certificate does not fit it is not believed.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        stored = json.loads(_file(folder, question).read_text(encoding="utf-8"))
        payload = stored["noise"]
        if stored["check"] != _digest(payload):
            return None
        noise = from_dict(payload)
        certificate = noise.certificate
        if certificate is None or abs(value_of(noise) - certificate.value) > 1e-8 * abs(certificate.value):
            return None
    except (OSError, ValueError, KeyError, TypeError, ErrorFloorError):
        return None
    return noise


def remember(question: dict[str, Any], noise: Noise) -> None:
    """Keep a noise for the next identical question; a folder that cannot be written to is no error."""
    folder = cache_folder()
    if folder is None:
        return
    target = _file(folder, question)
    payload = json.loads(json.dumps(noise.to_dict(), default=_plain))
    text = json.dumps({"check": _digest(payload), "noise": payload})
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


def _file(folder: Path, question: dict[str, Any]) -> Path:
    key = key_of(question)
    return folder / "designs" / key[:2] / f"{key}.json"


def _digest(payload: Any) -> str:
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist()
