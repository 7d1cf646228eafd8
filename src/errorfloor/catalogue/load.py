"""Read a catalogue from its TOML file; every mistake in it is reported at once, with its place."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from errorfloor.catalogue.mistakes import explain
from errorfloor.catalogue.model import Catalogue
from errorfloor.catalogue.near import nearest
from errorfloor.errors import CatalogueError

MOST_BYTES = 1 << 20


def load(path: str | Path) -> Catalogue:
    r"""Read what is declared in a TOML file; paths in it are relative to the folder that it lies in.

    Raises CatalogueError if there is no such file, it is not TOML, or something in it is missing, misspelt or
    contradictory. One error lists all that was found, with the place of each in the file; ``fields["problems"]`` is the
    list.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "errorfloor.toml"
    ...     _ = file.write_text('[tables.areas]\nsource = "areas.csv"\nversion = "1"\npublic.area = "text"\n')
    ...     load(file)
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: ...errorfloor.toml has 1 mistake:
      tables.areas.row_key: is missing; give it, such as row_key = ["household", "day"]: ...
    """
    file = Path(path)
    document = _parsed(file, _text(file))
    try:
        catalogue = Catalogue.model_validate({**document, "folder": file.resolve().parent})
        found = explain([], document)
    except ValidationError as problem:
        catalogue = None
        found = explain(problem.errors(include_url=False), document)
    if catalogue is None or found:
        count = f"{len(found)} mistake{'s' if len(found) != 1 else ''}"
        listed = "".join(f"\n  {place}: {text}" if place else f"\n  {text}" for place, text in found)
        raise CatalogueError(f"{file} has {count}:{listed}", path=str(file), problems=found)
    return catalogue


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES and file.is_file():
            raise CatalogueError(f"{file} is larger than {MOST_BYTES >> 20} MB: is it a catalogue?")
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        meant = nearest(file.name, [one.name for one in file.parent.glob("*.toml")])
        make = f"make one with errorfloor init --source TABLE --output {file}"
        do = make if meant is None else f"did you mean {file.with_name(meant)}?"
        raise CatalogueError(f"there is no catalogue {file}: {do}") from None
    except UnicodeDecodeError:
        raise CatalogueError(f"{file} is not text in UTF-8: is it a catalogue?") from None
    except OSError as problem:
        raise CatalogueError(f"cannot read the catalogue {file}: {problem.strerror}") from None


def _parsed(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise CatalogueError(f"{file} is nested too deeply: is it a catalogue?") from None
    except ValueError as problem:  # TOMLDecodeError, and what its numbers can raise; they quote no line of the file
        hint = "" if file.suffix == ".toml" else ": name the catalogue, such as errorfloor.toml"
        raise CatalogueError(f"{file} is not TOML: {problem}{hint}") from None
