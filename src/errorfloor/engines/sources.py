"""What a table is registered from: files, and the kinds of columns they can have."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from errorfloor.engines.csv_lines import names_in
from errorfloor.errors import CatalogueError

Kind = Literal["text", "whole", "number", "decimal", "date", "moment", "flag", "other"]
PATTERN_LETTERS = frozenset("*?[]{}\\")  # engines would take such a name for a pattern of many files


@dataclass(frozen=True)
class Source:
    """Something that an engine can read while it is open.

    ``relation`` goes after FROM; ``kinds`` names every column and what it holds; in a ``textual`` source every column
    is text, still to be read as what it is declared to be.

    >>> Source('"public"."meters"', {"kwh": "number"}).kinds["kwh"]
    'number'
    """

    relation: str
    kinds: Mapping[str, Kind]
    textual: bool = False


@dataclass(frozen=True)
class File:
    """A Parquet or CSV file, or a folder of Parquet files."""

    path: Path
    textual: bool

    @property
    def parquet(self) -> str:
        """The path for a reader of Parquet that takes patterns."""
        return str(self.path / "*.parquet") if self.path.is_dir() else str(self.path)

    @property
    def lines(self) -> Path | None:
        """The path of a CSV file, whose lines can be looked through; None for any other."""
        return self.path if self.textual else None


def find_file(source: str, folder: Path) -> File | None:
    """Find a declared file; None if the declaration does not look like one.

    >>> find_file("public.meters", Path(".")) is None
    True

    Raises
    ------
    CatalogueError
        If it is not there, or has a name that engines would take for a pattern, or is a CSV file without names.
    """
    path = file_path(source, folder)
    if path is None:
        return None
    if not path.exists():
        raise CatalogueError(f"source {source!r}: there is no such file in {folder.resolve()}", source=source)
    check_path(path)
    textual = path.suffix == ".csv"
    if textual:
        names_in(path)
    return File(path, textual)


def file_path(source: str, folder: Path) -> Path | None:
    """Give the path of what is declared like a file or is a folder, there or not; None for anything else."""
    path = (folder / source).resolve()
    return path if path.suffix in (".parquet", ".csv") or path.is_dir() else None


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


def arrow_files(file: File) -> Any:
    """Open a file for reading with Arrow, as a dataset; a CSV file has texts only, and an empty one is NULL."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import dataset

    if not file.textual:
        return dataset.dataset(file.path, format="parquet")
    texts = {name: pa.string() for name in names_in(file.path)}
    options = arrow_csv.ConvertOptions(column_types=texts, null_values=[""], strings_can_be_null=True)
    return dataset.dataset(file.path, format=dataset.CsvFileFormat(convert_options=options))
