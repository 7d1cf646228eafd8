"""``errorfloor init``: a commented catalogue to begin with, and the key file."""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from errorfloor.catalogue import Place, Schema, draft
from errorfloor.catalogue.mistakes import explain
from errorfloor.catalogue.near import near
from errorfloor.catalogue.reading import Reading
from errorfloor.cli.app import AsJson, app, command, messages, print_json
from errorfloor.cli.choosing import chosen_by_flags, chosen_by_questions
from errorfloor.cli.misread import show_value
from errorfloor.engines import open_engine
from errorfloor.engines.detection import Detected, detect
from errorfloor.engines.sources import find_files, format_of
from errorfloor.errors import InputError
from errorfloor.extras import require
from errorfloor.identity import KeyRing
from errorfloor.identity.keys import missing, used_with

ENGINES = {"duckdb": "vault.duckdb", "postgresql": "", "spark": "vault"}  # and where their snapshots go


@app.command()
def init(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="The same as --source.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="Table to declare: a .parquet, .csv or .xlsx file, a pattern of such files in quotes, "
            "file.duckdb::table, or schema.table of the URL."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="Where snapshots are kept: duckdb, postgresql or spark.")] = "duckdb",
    snapshots: Annotated[
        str | None, typer.Option(help="The DuckDB file, the folder for Spark, or postgresql://user@host/database.")
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(help="How text files are written, where that is not found out: decimal=, or dates=%d/%m/%Y."),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask on the terminal what each column is, and leave nothing to choose.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Ask on a page instead; this command serves it to this machine alone.")
    ] = False,
    private: Annotated[
        list[str] | None,
        typer.Option(help="The same as a flag: pay=0..10000,resolution=0.01,floor=500,unit=EUR; repeat for others."),
    ] = None,
    public: Annotated[list[str] | None, typer.Option(help="A public column; repeat for others.")] = None,
    row_key: Annotated[
        list[str] | None, typer.Option(help="A public column of the row key; repeat for others.")
    ] = None,
    number_rows: Annotated[
        bool, typer.Option("--number-rows", help="Instead: number the rows of a text file or sheet that has no key.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="The catalogue to write.")] = Path("errorfloor.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing catalogue.")] = False,
    keys: Annotated[bool, typer.Option(help="Make a key file next to the catalogue if there is none.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write a commented catalogue from the names and types of a table's columns, and make a key file.

    Text files and sheets have no types: they are scanned to find out how they are written, which the catalogue then
    says, and no value is kept. You declare the ranges, from what is known about such data: a range taken from the data
    would be a private fact. Every numeric column is proposed as private, and the file is not accepted until you have
    chosen its range, resolution and floor.

    Example: errorfloor init --source meters.parquet --source households.parquet
    """
    place = _place(engine, snapshots)
    source = [*(files or []), *(source or [])]
    replace = force or (bool(source) and _is_bare(output))
    if output.exists() and not replace:
        raise InputError(
            f"{output} exists already: name another file with --output, or replace it with --force, which loses what "
            f"is declared there"
        )
    folder = output.resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    options = _options(read or [])
    schemas = [_schema(given, folder, place, options) for given in source]
    given = bool(private or public or row_key or number_rows)
    if given and (ask or page or len(schemas) != 1):
        raise InputError(
            "--private, --public, --row-key and --number-rows are for one --source, and not with --ask or --page"
        )
    if ask and not schemas:
        raise InputError(f"--ask needs a table to ask about: {command()} init --source FILE --ask; nothing was written")
    if page and (ask or not schemas or as_json):
        raise InputError("--page needs a --source to ask about, and is not for --ask or --json")
    if number_rows and format_of(schemas[0].source) not in ("text", "sheet"):
        raise InputError(
            f"--number-rows is for text files and sheets, and {schemas[0].source} is none: add a column that numbers "
            f"the rows to the table itself"
        )
    if given:
        chosen = [
            chosen_by_flags(one, private or [], public or [], row_key or [], number=number_rows) for one in schemas
        ]
        schemas = [one.filled(by) for one, by in zip(schemas, chosen, strict=True)]
    elif ask:
        schemas = [one.filled(chosen_by_questions(one)) for one in schemas]
    mode = 0o600 if place.is_server else 0o666
    if page:
        text = _on_page(schemas, place, output, lambda text: _write(output, text, mode, replace))
    else:
        text = draft(schemas, place)
        _write(output, text, mode, replace)
    key = _make_key(folder / place.keys) if keys else None
    to_choose = sum(' = "choose"' in line for line in text.splitlines() if not line.startswith("#"))
    if as_json:
        tables = {schema.name: schema.source for schema in schemas}
        print_json({"catalogue": str(output), "tables": tables, "to_choose": to_choose, "key": key})
        return
    print(f"wrote {output}: {', '.join(schema.name for schema in schemas) or 'no table yet'}")
    if schemas and not to_choose:
        print(f"check it; then {command()} register --catalogue {output}{_then_plan()}")
    elif schemas:
        again = shlex.join(_again(source, read or [], engine, snapshots, output))
        print(
            f'choose what is left open ("choose", {to_choose} times), or let this ask you: {command()} init {again}; '
            f"then {command()} register --catalogue {output}{_then_plan()}"
        )
    else:
        print(f"name a table next: {command()} init --source FILE --output {output}")


def _on_page(schemas: list[Schema], place: Place, output: Path, write: Callable[[str], None]) -> str:
    """Ask on a page, and give the catalogue that was checked there and written."""
    require("server", "fastapi", "uvicorn", "jinja2")
    from errorfloor.cli.page import DeclaringPage, serve_once

    if not sys.stderr.isatty():
        raise InputError("--page prints an address that only you may see, so it needs a terminal: a log would keep it")
    kept: list[str] = []

    def written(text: str) -> list[tuple[str, str]]:
        write(text)
        kept.append(text)
        return _steps(output)

    shown = DeclaringPage(schemas, output.name, lambda filled: draft(filled, place), written)
    messages.say("open this address in a browser on this machine; it works once, and Ctrl+C ends it:")
    serve_once(shown, lambda address: messages.say(f"  {address}"))
    if not kept:
        raise InputError("nothing was written: the page was left before the catalogue was")
    return kept[0]


def _again(source: list[str], read: list[str], engine: str, snapshots: str | None, output: Path) -> list[str]:
    """Give the arguments that draft the same catalogue again, by questions."""
    words = [word for one in source for word in ("--source", one)]
    words += [word for one in read for word in ("--read", one)]
    words += [] if engine == "duckdb" else ["--engine", engine]
    words += [] if snapshots is None else ["--snapshots", snapshots]
    words += [] if output == Path("errorfloor.toml") else ["--output", str(output)]
    return [*words, "--ask", "--force"]


def _steps(output: Path) -> list[tuple[str, str]]:
    """Say what to do once a catalogue is written, each step with its command."""
    return [
        (
            "Register the table: a snapshot is made, and row keys are checked.",
            f"{command()} register --catalogue {output}",
        ),
        (
            "See what your questions would take, and which floors allow them, before one is answered.",
            f"{command()} plan FILE --catalogue {output}",
        ),
        ("Ask.", f'{command()} ask "SELECT …" --max-error … --catalogue {output}'),
    ]


def _then_plan() -> str:
    return f". After the first answer no floor can be lowered: {command()} plan FILE says which your questions allow"


def _is_bare(output: Path) -> bool:
    """Tell whether a catalogue is one that was written without a table, and left as it was."""
    try:
        text = output.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return any(text == draft([], _place(engine, where or None)) for engine, where in ENGINES.items() if where)


def _place(engine: str, snapshots: str | None) -> Place:
    if engine not in ENGINES:
        raise InputError(f"--engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    where = snapshots or ENGINES[engine]
    is_url = where.startswith(("postgresql://", "postgres://"))
    if is_url != (engine == "postgresql"):
        wanted = "a file or folder" if is_url else "the database: --snapshots postgresql://user@host/database"
        raise InputError(f"--engine {engine} needs {wanted}")
    return Place.model_validate({"engine": engine, "snapshots": where})


def _options(given: list[str]) -> dict[str, Any]:
    """Take options of reading as they are given: word=value."""
    found: dict[str, Any] = {}
    for one in given:
        word, mark, value = one.partition("=")
        if not mark or word not in Reading.model_fields or word == "names":
            words = [word for word in Reading.model_fields if word != "names"]
            listed = near(word, words) or f": there are {', '.join(words)}"
            raise InputError(f"--read {one!r} is not an option{listed}")
        found[word] = value.split(",") if word in ("nulls", "header") else value
    try:
        Reading.model_validate(found)
    except ValidationError as problem:
        word, text = explain(problem.errors(include_url=False), {})[0]
        raise InputError(f"--read: {word} {text}") from None
    return found


def _schema(given: str, folder: Path, place: Place, options: Mapping[str, Any]) -> Schema:
    """Read the names and types of a source's columns, by the engine that will read it where that costs nothing."""
    remote = place.is_server and not _is_file(given)
    source = given if remote else _from(folder, given)
    files = None if remote or "::" in source else find_files([source], folder)
    if files is not None and files.format != "parquet":
        found = detect(files, options, folder)
        _tell(source, found, folder)
        return Schema(source, found.columns, found.how, found.unique)
    if remote:
        with open_engine(place, folder) as engine, engine.reading([given]) as opened:
            return Schema(given, dict(_types(opened.kinds)))
    with tempfile.TemporaryDirectory(prefix="errorfloor-") as scratch:
        elsewhere = Place(snapshots=str(Path(scratch) / "schema.duckdb"))
        with open_engine(elsewhere, folder, read_only=False) as engine, engine.reading([source]) as opened:
            return Schema(source, dict(_types(opened.kinds)))


def _is_file(given: str) -> bool:
    return "::" in given or format_of(given) is not None or Path(given).is_dir()


def _tell(source: str, found: Detected, folder: Path) -> None:
    """Say how a file is read, and which columns are nearly numbers."""
    how = found.how.model_dump(exclude_defaults=True)
    said = ", ".join(f"{word} {json.dumps(value, ensure_ascii=False)}" for word, value in how.items())
    if said:
        messages.say(f"reading {source} with {said}")
    if not found.unique:
        messages.say(
            f"no column of {source} differs in every row: choose several that together do, or number the rows with "
            f"--number-rows. Everybody may know a row's place in the file then: shuffle a file that is sorted by "
            f"something private"
        )
    for column, why in found.nearly.items():
        messages.say(f"{column!r} is taken for text, though most of it is numbers: {why}")
        show_value(why, [source], found.how, folder)


def _from(folder: Path, given: str) -> str:
    """Write a path that was given relative to here as the catalogue needs it: relative to its own folder."""
    path, mark, table = given.partition("::")
    there = Path(path).resolve()
    written = there.relative_to(folder).as_posix() if there.is_relative_to(folder) else str(there)
    return f"{written}{mark}{table}"


def _types(kinds: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, kind in kinds.items():
        yield name, {"decimal": "number", "other": None}.get(kind, kind)


def _write(output: Path, text: str, mode: int, force: bool) -> None:
    """Let the file appear whole; one with the address of a database, and perhaps a password, is for its owner only."""
    with tempfile.TemporaryDirectory(prefix=".errorfloor-", dir=output.resolve().parent) as scratch:
        partial = Path(scratch) / "catalogue"
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        if force:
            partial.replace(output)
        else:
            os.link(partial, output)  # refused if somebody has made it meanwhile


def _make_key(path: Path) -> str | None:
    """Make the key file if there is none, and give the id of a key that was made."""
    if path.exists():
        messages.say(f"using the key file {path}, which already exists")
        return None
    if used_with(path) is not None:
        messages.say(f"no key was made: {missing(path)}")
        return None
    ring = KeyRing.create(path)
    messages.say(
        f"made the key file {path} with key {ring.current.id}: back it up, and keep it secret. Whoever has it can "
        "remove the noise."
    )
    return ring.current.id
