r"""``COPY (SELECT …) TO STDOUT``: the rows of a question as one stream, in binary, as text or as CSV.

It is how ADBC's driver reads and how psql's ``\copy`` writes a file.
"""

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from errorfloor.errors import RefusedError
from errorfloor.postgres import wire
from errorfloor.postgres.values import ResultColumn, data_rows
from errorfloor.sql_text import Statement

COPY = re.compile(r"\s*COPY\s*\((.*)\)\s*TO\s+STDOUT\b(?:\s*WITH\b)?\s*(.*)", re.IGNORECASE | re.DOTALL)
SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0)
ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\b": r"\b", "\f": r"\f", "\v": r"\v"})
PLAIN = re.compile(r'(?!\\\.$)[^,"\r\n]+')  # a cell of CSV that needs no quotes
OPTIONS = {"BINARY", "TEXT", "CSV", "HEADER", "FORMAT", "TRUE", "ON"}  # those that are understood


@dataclass
class Copy:
    """What is to be copied, and how it is written.

    Raises RefusedError for a COPY that is not one of these.

    >>> found = Copy.of(Statement.of("COPY (SELECT count(*) FROM pay) TO STDOUT (FORMAT csv, HEADER)"))
    >>> found.question.text, found.form, found.has_header
    ('SELECT count(*) FROM pay', 'csv', True)
    """

    question: Statement
    form: str
    has_header: bool
    is_signed: bool = False

    forms: ClassVar[tuple[str, ...]] = ("binary", "csv", "text")

    @classmethod
    def of(cls, statement: Statement) -> "Copy":
        """Read a statement that begins with COPY."""
        found = COPY.fullmatch(statement.text)
        words = set() if found is None else set(re.findall(r"\w+", found[2].upper()))
        plain = "" if found is None else re.sub(r"[\w\s(),\"']", "", found[2])
        if found is None or plain or words - OPTIONS:
            raise RefusedError(
                "write COPY (SELECT …) TO STDOUT, followed by (FORMAT binary), (FORMAT csv, HEADER) or nothing",
                reason="syntax",
            )
        form = next((one for one in cls.forms if one.upper() in words), "text")
        return cls(Statement(Statement.of(found[1]).pieces, statement.hints), form, "HEADER" in words)

    def start(self, columns: Sequence[ResultColumn]) -> bytes:
        """Write what comes before the rows."""
        code = int(self.form == "binary")
        head = wire.message(b"H", struct.pack(f"!bh{len(columns)}h", code, len(columns), *[code] * len(columns)))
        return head + (wire.message(b"d", self._line([one.name for one in columns])) if self.has_header else b"")

    def rows(self, columns: Sequence[ResultColumn], values: Sequence[Sequence[Any]], _: Sequence[int]) -> bytes:
        """Write rows, given as columns of values."""
        if self.form == "binary":
            return self._signed(data_rows(columns, values, [1] * len(columns), kind=b"d"))  # as other rows, but for D
        texts = [
            [None if value is None else one.kind.text(value).decode() for value in column]
            for one, column in zip(columns, values, strict=True)
        ]
        return b"".join(wire.message(b"d", self._line(row)) for row in zip(*texts, strict=True))

    def end(self) -> bytes:
        """Write what comes after the rows."""
        last = self._signed(wire.message(b"d", struct.pack("!h", -1))) if self.form == "binary" else b""
        return last + wire.message(b"c")

    def _signed(self, messages: bytes) -> bytes:
        """Put the signature before what is first, in the same message, as PostgreSQL does."""
        if self.is_signed:
            return messages
        self.is_signed = True
        size = struct.unpack_from("!I", messages, 1)[0]
        return b"d" + struct.pack("!I", size + len(SIGNATURE)) + SIGNATURE + messages[5:]

    def _line(self, cells: Sequence[str | None]) -> bytes:
        write: Callable[[Sequence[str | None]], str] = _csv if self.form == "csv" else _text
        return write(cells).encode("utf-8", "replace")


def _text(cells: Sequence[str | None]) -> str:
    r"""Write a line as PostgreSQL's own text.

    >>> _text(["a\tb", None, ""])
    'a\\tb\t\\N\t\n'
    """
    return "\t".join(r"\N" if one is None else one.translate(ESCAPES) for one in cells) + "\n"


def _csv(cells: Sequence[str | None]) -> str:
    r"""Write a line of CSV; nothing is written for NULL, and quotes for an empty text.

    >>> _csv(["a,b", None, "", "c"])
    '"a,b",,"",c\n'
    """
    return ",".join("" if one is None else one if PLAIN.fullmatch(one) else _quoted(one) for one in cells) + "\n"


def _quoted(cell: str) -> str:
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'
