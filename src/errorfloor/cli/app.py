"""The commands, and what they share: messages, JSON, exit codes."""

import gc
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from errorfloor.cli.terminal import shows_unicode
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.json_forms import json_form
from errorfloor.version import __version__

COMMANDS = {  # in the order of the help, each with its module and what help says of it: nothing is loaded to list them
    "demo": ("demo", "Generate a year of meter readings, register it, and answer five questions with bounded noise."),
    "init": ("init", "Write a commented catalogue from the names and types of a table's columns, and make a key file."),
    "register": (
        "register",
        "Make a snapshot of each declared table in the vault: private values clamped, in fixed point; row "
        "keys checked.",
    ),
    "plan": (
        "plan",
        "Say what a list of questions would take together, and which floors would allow it; nothing is charged.",
    ),
    "price": (
        "questions",
        "Say what an answer would state and cost; nothing is charged, and no private column is read.",
    ),
    "ask": (
        "questions",
        "Answer a question: the table on standard output, what is certain and what it costs on standard error.",
    ),
    "table": (
        "table",
        "Answer a cross table: sums, averages or counts by rows and columns, with margins that add up.",
    ),
    "follow": (
        "follow",
        "Pay once for a sum or an average in every month to come, and for its running totals; releases are free.",
    ),
    "ledger": ("kept", "Show, check, export and restore the ledger of what has been spent."),
    "release": (
        "release",
        "Write a copy of a table whose chosen columns carry bounded noise, and say what nobody can learn from it.",
    ),
    "design": (
        "design",
        "Find the noise that reveals least, and say what nobody can learn from an answer that carries it.",
    ),
    "counts": (
        "counts",
        "Design a noise table for counts: whole numbers, never below 0, never off by more than a bound.",
    ),
    "serve": ("serve", "Serve questions and pages over HTTP until Ctrl+C; it finishes requests in progress first."),
    "tokens": ("tokens", "Make, list and revoke the tokens of a server; only hashes are kept."),
    "keys": ("keys", "Make, rotate and list keys; secrets are never shown."),
    "erase": (
        "erase",
        "Erase a person: make the declared version without their rows, then destroy every snapshot that has them.",
    ),
    "upgrade": (
        "upgrade",
        "Bring the ledger and the vault to this version: exported first, balances kept. Stop every server first.",
    ),
    "audit": (
        "audit",
        "Let adversaries try to beat every declared floor, on generated rows; nothing of yours is touched or spent.",
    ),
    "paper": (
        "paper",
        "Recompute every theorem, example and figure of the source paper, with a verdict on each; needs a clone.",
    ),
}


KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Commands(TyperGroup):
    """The commands; each is loaded, with all that it needs, when it is run."""

    def __init__(self, *, commands: Any = None, **options: Any) -> None:
        listed = {name: TyperCommand(name, help=words) for name, (_, words) in COMMANDS.items()}
        super().__init__(commands={**listed, **(commands or {})}, **options)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Give the command itself, where only its words were there."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, loaded(name) if name in COMMANDS else found, rest


def loaded(name: str) -> Any:
    """Give a command; its module adds it to ``app``. Its help is wrapped by the terminal, not as in its docstring."""
    module = COMMANDS[name][0]
    if module in ("questions", "table"):  # they multiply no matrices: NumPy need not start threads for that
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import_module(f"errorfloor.cli.{module}")
    if not gc.isenabled():  # what is imported stays: from here on garbage is looked for among the rest
        gc.freeze()
        gc.enable()
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = group.commands[name]
    for one in (found, *getattr(found, "commands", {}).values()):
        one.help = re.sub(r"(?<=\S)\n(?=\S)", " ", one.help or "")
    return found


app = typer.Typer(
    name="errorfloor",
    cls=Commands,
    help="Answer questions about private numbers with bounded noise, and state what nobody can learn from the answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class MessageConsole(Console):
    """Where messages go: stderr, after all the data that was printed so far."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print a message; in a file that takes both, it comes after what stdout had before it."""
        sys.stdout.flush()
        super().print(*objects, **options)

    def say(self, text: str) -> None:
        """Print a sentence as it is, however long."""
        self.print(text, highlight=False, markup=False, soft_wrap=True)


messages = MessageConsole(stderr=True)

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
        sys.stdout.flush()
        print(f"errorfloor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except OSError as problem:
        print(f"errorfloor: {problem.strerror or problem}: {problem.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)


def with_options(kind: type, *, before: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for every field of a dataclass, ``before`` one of its own; they come as keywords.

    The type of a field is annotated with its option, or the help of the option is in the field's metadata.
    """

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        place = list(own).index(before)
        every = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
        every[place:place] = [inspect.Parameter(one.name, KEYWORD, default=one.default) for one in fields(kind)]
        annotations = {name: one.annotation for name, one in own.items()}
        for one in fields(kind):
            name, help = f"--{one.name.replace('_', '-')}", one.metadata.get("help")
            annotations[one.name] = one.type if help is None else Annotated[one.type, typer.Option(name, help=help)]
        whole = [one.replace(kind=KEYWORD, annotation=annotations[one.name]) for one in every]
        command.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
        command.__annotations__ = annotations
        return command

    return extended


def show(plain: Any, text: str, as_json: bool) -> None:
    """Print what was found: as one JSON object, or as text."""
    if as_json:
        print_json(plain)
    else:
        print(text)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a JSON object on stdout."""
    print(json.dumps(value, indent=indent, ensure_ascii=not shows_unicode(), default=json_form))


def counted(number: int, thing: str) -> str:
    """Write how many there are.

    >>> counted(1, "record"), counted(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def command() -> str:
    """Give what this command is called as it can be typed here, where its folder may not be searched for commands."""
    given = Path(sys.argv[0])
    if given.parts[-2:] == ("errorfloor", "__main__.py"):
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
