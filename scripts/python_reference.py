"""The page reference/api.md of the site: the docstrings of everything that the rooms of the package make public."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import errorfloor

ROOMS = (  # from the library to the server
    "support",
    "noise",
    "designer",
    "floors",
    "joint",
    "policies",
    "dp",
    "dynamics",
    "plots",
    "random",
    "catalogue",
    "identity",
    "engines",
    "vault",
    "sql",
    "pricing",
    "ledger",
    "charging",
    "service",
    "client",
    "bulk",
    "streams",
    "attacks",
    "server",
    "errors",
)
SHORT = {  # what the package itself offers under a short name
    getattr(errorfloor, name): f"ef.{name}"
    for name in errorfloor.__all__
    if inspect.isroutine(getattr(errorfloor, name))
}


def reference() -> str:
    """Give the whole page."""
    parts = [
        "# Every public object",
        "By room of the package, from the library to the server; [the short map](python.md). Examples that run are in "
        "the docstrings: `help(ef.design)`.",
    ]
    for room in ROOMS:
        module = importlib.import_module(f"errorfloor.{room}")
        parts += [f"## errorfloor.{room}", _first_paragraph(module)]
        for name, value in public(room):
            parts += [f"### {room}.{name}", *_described(name, value)]
    return "\n\n".join(parts) + "\n"


def public(room: str) -> Iterator[tuple[str, Any]]:
    """Give the classes and functions that a room makes public, in the order of their names."""
    module = importlib.import_module(f"errorfloor.{room}")
    names = getattr(module, "__all__", [n for n, v in vars(module).items() if inspect.isclass(v) and n[0] != "_"])
    for name in sorted(names):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            yield name, value


def _described(name: str, value: Any) -> Iterator[str]:
    """Give the signature, the docstring without its examples, and what an instance offers."""
    short = f"  # {SHORT[value]}" if inspect.isroutine(value) and value in SHORT else ""
    yield f"```text\n{name}{_signature(value)}{short}\n```"
    yield f"```text\n{_without_examples(value)}\n```"
    if inspect.isclass(value):
        offered = sorted(
            member
            for member, kind in inspect.getmembers(value)
            if member[0] != "_" and (inspect.isroutine(kind) or isinstance(kind, property)) and _is_ours(value, member)
        )
        if offered:
            yield f"Has {', '.join(f'`{member}`' for member in offered)}."


def _is_ours(value: type, member: str) -> bool:
    owner = next(one for one in value.__mro__ if member in vars(one))
    return owner.__module__.startswith("errorfloor")


def _signature(value: Any) -> str:
    """Give the names of the parameters and their plain defaults; what they mean is in the words below."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return "(message, **fields)"
    parts, bare = [], False
    for one in inspect.signature(value).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not bare:
            parts.append("*")
        bare = bare or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        plain = one.default is None or isinstance(one.default, (bool, int, float, str, tuple))
        default = "" if one.default is one.empty else f"={one.default!r}" if plain else "=…"
        parts.append(f"{star}{one.name}{default}")
    return f"({', '.join(parts)})"


def _first_paragraph(module: Any) -> str:
    return " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split()).replace("``", "`")


def _without_examples(value: Any) -> str:
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    return "\n\n".join(one for one in paragraphs if ">>> " not in one).strip()
