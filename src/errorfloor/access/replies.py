"""What is sent back: JSON that any reader can read, or a table as Arrow, Parquet or CSV."""

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from fastapi import Response
from fastapi.responses import StreamingResponse
from pyarrow import csv, parquet

from errorfloor.answering.releasing import for_spreadsheets
from errorfloor.json_forms import json_form

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
CSV = "text/csv"
TABLES = (ARROW, PARQUET, CSV)
ROWS = 2**16  # of a table that are written at a time
METADATA = b"errorfloor"  # the key of the schema's metadata that holds everything but the table


def body_of(content: Any) -> bytes:
    r"""Write JSON in ASCII; an infinite number becomes null, a date its ISO text.

    >>> from datetime import date
    >>> body_of({"bound": math.inf, "day": date(2024, 1, 31), "text": "\ud800"})
    b'{"bound": null, "day": "2024-01-31", "text": "\\ud800"}'
    """
    try:
        return json.dumps(content, allow_nan=False, default=json_form).encode()
    except ValueError:
        return json.dumps(_finite(content), allow_nan=False, default=json_form).encode()


def as_json(content: Any, status: int = 200) -> Response:
    """Give a JSON response."""
    return Response(body_of(content), status, media_type=JSON)


def in_parts(parts: Iterator[bytes], *, large: bool) -> Response:
    """Give JSON that is written part by part: a large one while it is sent, so that it is never whole in memory."""
    return StreamingResponse(parts, media_type=JSON) if large else Response(b"".join(parts), media_type=JSON)


def as_table(table: pa.Table, form: str, facts: bytes) -> Response:
    """Give a table as an Arrow stream or a Parquet file, with the facts in its schema's metadata; or bare, as CSV.

    A large one is written while it is sent.
    """
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), METADATA: facts})
    parts = _table_parts(for_spreadsheets(table) if form == CSV else table, form)
    if table.num_rows > ROWS:
        return StreamingResponse(parts, media_type=form)
    return Response(b"".join(parts), media_type=form)


def _table_parts(table: pa.Table, form: str) -> Iterator[bytes]:
    sink = _Sink()
    opened: dict[str, Callable[[Any, pa.Schema], Any]] = {
        ARROW: pa.ipc.new_stream,
        PARQUET: parquet.ParquetWriter,
        CSV: csv.CSVWriter,
    }
    with opened[form](sink, table.schema) as writer:
        for first in range(0, max(table.num_rows, 1), ROWS):
            writer.write_table(table.slice(first, ROWS))
            yield sink.taken()
    if end := sink.taken():
        yield end


class _Sink(io.RawIOBase):
    """A file that is only written to; what was written is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def taken(self) -> bytes:
        found, self._pieces = b"".join(self._pieces), []
        return found


def preferred(accept: str | None) -> str:
    """Give the form that a request prefers; JSON if it does not mind.

    >>> [preferred(accept) for accept in ("text/csv, application/json;q=0.5", "*/*", "application/*;q=0.1")]
    ['text/csv', 'application/json', 'application/json']
    """
    weights = dict.fromkeys((JSON, *TABLES), 0.0)
    for part in (accept or "*/*").split(","):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        weight = _weight(parameters)
        if kind in weights:
            weights[kind] = max(weights[kind], weight)
        elif kind in ("application/*", "*/*"):
            weights[JSON] = max(weights[JSON], 0.99 * weight)
    best = max(TABLES, key=weights.__getitem__)
    return best if weights[best] > 0 and weights[best] >= weights[JSON] else JSON


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
