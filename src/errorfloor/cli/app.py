"""The commands, and what they share: messages, JSON, exit codes."""

import json
import shlex
import shutil
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from errorfloor.cli.terminal import shows_unicode
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.version import __version__

app = typer.Typer(
    name="errorfloor",
    help="Answer questions about private numbers with bounded noise, and state what nobody can learn from the answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
messages = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; created if it does not exist.")]


def run() -> None:
    """Run a command; a mistake or a failure becomes one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is unfinished is cleared away
    try:
        app(prog_name="errorfloor")
    except ErrorFloorError as problem:
        if "--json" in sys.argv:
            print_json({"error": {"code": problem.code, "message": str(problem)}}, indent=None)
        print(f"errorfloor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except OSError as problem:
        print(f"errorfloor: {problem.strerror or problem}: {problem.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a JSON object on stdout."""
    print(json.dumps(value, indent=indent, ensure_ascii=not shows_unicode()))


def counted(number: int, thing: str) -> str:
    """Write how many there are.

    >>> counted(1, "record"), counted(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def command() -> str:
    """Give what this command is called as it can be typed here, where its folder may not be searched for commands."""
    given = Path(sys.argv[0])
    if given.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m errorfloor"
    found = shutil.which("errorfloor")
    if given.name != "errorfloor" or (found is not None and Path(found).resolve() == given.resolve()):
        return "errorfloor"
    return shlex.quote(str(given))


def parse_json(name: str, text: str | None) -> Any:
    """Read an option that is written as JSON, such as a matrix."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(f"{name} must be JSON such as [[1, 0], [0, 1]], got {text!r} ({problem.msg})") from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"errorfloor {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Answer questions about private numbers with bounded noise, and state what nobody can learn from the answers."""


def _register() -> None:
    """Load every command; each module adds its own to ``app``."""
    for name in (
        "audit",
        "counts",
        "demo",
        "design",
        "erase",
        "init",
        "keys",
        "ledger",
        "paper",
        "questions",
        "register",
        "release",
        "serve",
        "tokens",
        "upgrade",
    ):
        import_module(f"errorfloor.cli.{name}")


_register()
