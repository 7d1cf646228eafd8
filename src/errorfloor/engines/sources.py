"""What a table is registered from: files, and the kinds of columns they can have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from errorfloor.catalogue.near import near
from errorfloor.errors import CatalogueError

Kind = Literal["text", "whole", "number", "decimal", "date", "moment", "flag", "other"]
Format = Literal["parquet", "text", "sheet"]
FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"), "text"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "sheet"),
}
WILD = "*?["
PATTERN_LETTERS = frozenset("*?[]{}\\\n")  # engines would take such a name for a pattern of many files
MOST_FILES = 1000  # of one table: a ledger remembers each
NAMED = "name a .parquet, .csv or .xlsx file, several of them, a pattern such as parts/*.csv, a folder of Parquet files"


@dataclass(frozen=True)
class Source:
    """Something that an engine can read while it is open.

    ``relation`` goes after FROM; ``kinds`` names every column and what it holds.

    >>> Source('"public"."meters"', {"kwh": "number"}).kinds["kwh"]
    'number'
    """

    relation: str
    kinds: Mapping[str, Kind]


@dataclass(frozen=True)
class Files:
    """Files of one format, or a folder of Parquet files, that make one table."""

    paths: tuple[Path, ...]
    format: Format

    @property
    def parquet(self) -> list[str]:
        """The paths for a reader of Parquet that takes patterns."""
        return [str(path / "*.parquet") if path.is_dir() else str(path) for path in self.paths]


def find_files(sources: Sequence[str], folder: Path) -> Files | None:
    """Find declared files; None if the declaration does not look like files.

    Raises CatalogueError if one is not there, a pattern matches none, they are of several formats, or one has a name
    that engines would take for a pattern.

    >>> find_files(["public.meters"], Path(".")) is None
    True
    """
    paths = file_paths(sources, folder)
    if paths is None:
        return None
    for path in paths:
        if not path.exists():
            given = next(one for one in sources if path in (file_paths([one], folder) or ()))
            what = "no file matches it" if any(letter in given for letter in WILD) else "there is no such file"
            beside = (one.name for one in path.parent.glob("*") if format_of(one) is not None)
            meant = near(path.name, beside)
            raise CatalogueError(f"source {given!r}: {what} in {folder.resolve()}{meant}", source=given)
        check_path(path)
    if len(paths) > MOST_FILES:
        raise CatalogueError(f"the source is {len(paths)} files, and a table has at most {MOST_FILES}: merge some")
    formats = {format_of(path) or "parquet" for path in paths}
    if len(formats) > 1:
        raise CatalogueError(
            f"the files of one table are of one format, and these are {' and '.join(sorted(formats))} files: declare "
            f"a table for each"
        )
    return Files(tuple(paths), formats.pop())


def file_paths(sources: Sequence[str], folder: Path) -> list[Path] | None:
    """Give the paths of what is declared like files or is a folder, there or not; None for anything else."""
    found: dict[Path, None] = {}
    for source in sources:
        pattern = any(letter in source for letter in WILD)
        matches = sorted(folder.resolve().glob(source)) if pattern and not Path(source).is_absolute() else []
        if pattern and Path(source).is_absolute():
            matches = sorted(Path("/").glob(source.lstrip("/")))
        paths = [match.resolve() for match in matches] or [(folder / source).resolve()]
        if not all(format_of(path) is not None or path.is_dir() for path in paths):
            return None
        found.update(dict.fromkeys(paths))
    return list(found)


def identified(sources: Sequence[str], folder: Path) -> str | None:
    """Give the paths of all files that are declared, a line for each, in order; None for anything else."""
    paths = file_paths(sources, folder)
    return None if paths is None else "\n".join(sorted(map(str, paths)))


def format_of(path: str | Path) -> Format | None:
    """Tell the format of a file from the end of its name; None if it tells nothing.

    >>> format_of("Meters.CSV"), format_of("pay.tsv.gz"), format_of("public.meters")
    ('text', 'text', None)
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return FORMATS.get("".join(suffixes[-2:])) or FORMATS.get("".join(suffixes[-1:]))


def check_path(path: Path) -> None:
    """Refuse a path that engines would take for a pattern of many files."""
    strange = sorted(PATTERN_LETTERS.intersection(str(path)))
    if strange:
        raise CatalogueError(f"{path} holds {' '.join(strange)}, which engines take for a pattern: rename it")


def kind_of(type: Any) -> Kind:
    """Say what an Arrow type holds.

    >>> import pyarrow as pa
    >>> kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.float32()), kind_of(pa.list_(pa.int8()))
    ('text', 'number', 'other')
    """
    from pyarrow import types

    if types.is_dictionary(type):
        return kind_of(type.value_type)
    for kind, tests in (
        ("text", (types.is_string, types.is_large_string, types.is_string_view)),
        ("whole", (types.is_signed_integer, types.is_uint8, types.is_uint16, types.is_uint32)),
        ("number", (types.is_floating,)),
        ("decimal", (types.is_decimal, types.is_uint64)),
        ("date", (types.is_date,)),
        ("moment", (types.is_timestamp,)),
        ("flag", (types.is_boolean,)),
    ):
        if any(test(type) for test in tests):
            return kind  # type: ignore[return-value]  # the names in the table are kinds
    return "other"


def finer_than_microseconds(schema: Any) -> list[str]:
    """Name the columns of an Arrow schema that count nanoseconds."""
    return [field.name for field in schema if str(field.type).startswith("timestamp[ns")]


def arrow_files(paths: Sequence[Path]) -> Any:
    """Open Parquet files for reading with Arrow, as a dataset."""
    from pyarrow import dataset

    single = paths[0] if len(paths) == 1 else [str(path) for path in paths]
    return dataset.dataset(single, format="parquet")
