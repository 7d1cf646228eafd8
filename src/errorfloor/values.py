"""Values: frozen objects that compare, hash and serialise by their fields.

Supports, noises and certificates are values. ``to_dict`` gives plain JSON types; floats keep every bit, since
JSON in Python writes the shortest text that reads back as the same number.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from errorfloor.errors import InputError


class Value:
    """Mix-in for frozen dataclasses declared with ``eq=False``."""

    def to_dict(self) -> dict[str, Any]:
        """Give the value as plain JSON types; ``from_dict`` of its room gives it back exactly."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.init}  # type: ignore[arg-type]
        return {"type": type(self).__name__} | {k: v for k, v in plain.items() if v is not None}

    def _set(self, **fields: Any) -> None:
        """Fill fields with their checked values, once, when the value is made."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _arrays(self, kind: Any, *names: str) -> None:
        """Make arrays of fields."""
        self._set(**{name: np.asarray(getattr(self, name), dtype=kind) for name in names})

    def _identity(self) -> str:
        compared = [f.name for f in fields(self) if f.init and f.compare]  # type: ignore[arg-type]
        return repr([type(self).__name__, *(_plain(getattr(self, name)) for name in compared)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def build(plain: Any, kinds: Mapping[str, type], what: str) -> Any:
    """Rebuild a value from its ``to_dict`` form; ``kinds`` maps type names to classes.

    >>> build({"type": "Blob"}, {"Ball": object}, "support")
    Traceback (most recent call last):
    errorfloor.errors.InputError: unknown support type 'Blob'; known: Ball
    """
    if not isinstance(plain, Mapping) or "type" not in plain:
        raise InputError(f"a {what} must be a mapping with a 'type', got {type(plain).__name__}")
    kind = kinds.get(plain["type"]) if isinstance(plain["type"], str) else None
    if kind is None:
        raise InputError(f"unknown {what} type {plain['type']!r}; known: {', '.join(sorted(kinds))}")
    arguments = {name: _rebuilt(value, kinds, what) for name, value in plain.items() if name != "type"}
    try:
        return kind(**arguments)
    except TypeError as problem:
        raise InputError(f"{plain['type']} cannot be built from its fields: {problem}") from None


def _rebuilt(value: Any, kinds: Mapping[str, type], what: str) -> Any:
    if isinstance(value, Mapping):
        return build(value, kinds, what)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return tuple(build(item, kinds, what) for item in value)
    return value
