"""Values as PostgreSQL writes them, in text and in binary: cells on the way out, parameters on the way in."""

import datetime
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from errorfloor.access.failures import DoorError
from errorfloor.errors import InputError
from errorfloor.sql_text import literal

DAY_ZERO, MOMENT_ZERO = datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
NULL = b"\xff\xff\xff\xff"
NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\s*", re.ASCII)
FLAGS = {"t": True, "true": True, "on": True, "1": True, "f": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Kind:
    """A type of PostgreSQL: its number, its size, and its two forms."""

    name: str
    oid: int
    size: int
    text: Callable[[Any], bytes]
    binary: Callable[[Any], bytes]
    read: Callable[[bytes], Any]  # of a parameter in binary


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result."""

    name: str
    kind: Kind


def _float_text(value: float) -> bytes:
    """Write a double so that it is read again to the last digit.

    >>> [_float_text(one) for one in (12.0, 0.1, 1e20, float("-inf"))]
    [b'12', b'0.1', b'1e+20', b'-Infinity']
    """
    if value - value != 0:
        return b"NaN" if value != value else b"Infinity" if value > 0 else b"-Infinity"
    return repr(float(value)).removesuffix(".0").encode()


def _array_text(values: Iterable[Any]) -> bytes:
    inner = ("NULL" if one is None else _quoted(str(one)) for one in values)
    return ("{" + ",".join(inner) + "}").encode()


def _quoted(item: str) -> str:
    plain = item and item.lower() != "null" and not re.search(r'[{},"\\\s]', item)
    return item if plain else '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _array_binary(values: Iterable[Any]) -> bytes:
    items = [None if one is None else str(one).encode() for one in values]
    head = struct.pack("!iiI", 1 if items else 0, int(None in items), 25)
    sizes = struct.pack("!ii", len(items), 1) if items else b""
    return head + sizes + b"".join(NULL if one is None else struct.pack("!i", len(one)) + one for one in items)


def _packed(form: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    def read(content: bytes) -> Any:
        return struct.unpack(form, content)[0]

    return (lambda value: struct.pack(form, value)), read


def _numeric(content: bytes) -> Decimal:
    """Read a decimal: digits of base 10,000, the first of which counts 10,000 to the power of its weight."""
    count, weight, sign, _ = struct.unpack("!hhHh", content[:8])
    if sign not in (0, 0x4000):
        raise ValueError("no number")
    digits = struct.unpack(f"!{count}h", content[8:])
    whole = sum((Decimal(digit).scaleb(4 * (weight - place)) for place, digit in enumerate(digits)), Decimal(0))
    return -whole if sign else whole


def _moment(content: bytes) -> datetime.datetime:
    return MOMENT_ZERO + int(struct.unpack("!q", content)[0]) * MICROSECOND


def _date(content: bytes) -> datetime.date:
    return DAY_ZERO + datetime.timedelta(days=struct.unpack("!i", content)[0])


def _days(value: datetime.date) -> bytes:
    return struct.pack("!i", (value - DAY_ZERO).days)


def _microseconds(value: datetime.datetime) -> bytes:
    return struct.pack("!q", (value - MOMENT_ZERO) // MICROSECOND)


def _plain(value: Any) -> bytes:
    return str(value).replace("\0", "").encode("utf-8", "replace")


BOOL = Kind("bool", 16, 1, lambda v: b"t" if v else b"f", *_packed("!?"))
INT8 = Kind("int8", 20, 8, _plain, *_packed("!q"))
INT4 = Kind("int4", 23, 4, _plain, *_packed("!i"))
INT2 = Kind("int2", 21, 2, _plain, *_packed("!h"))
OID = Kind("oid", 26, 4, _plain, *_packed("!I"))
FLOAT8 = Kind("float8", 701, 8, _float_text, *_packed("!d"))
FLOAT4 = Kind("float4", 700, 4, _float_text, *_packed("!f"))
TEXT = Kind("text", 25, -1, _plain, _plain, bytes.decode)
NAME = Kind("name", 19, 64, _plain, _plain, bytes.decode)
VARCHAR = Kind("varchar", 1043, -1, _plain, _plain, bytes.decode)
DATE = Kind("date", 1082, 4, _plain, _days, _date)
TIMESTAMP = Kind("timestamp", 1114, 8, _plain, _microseconds, _moment)
NUMERIC = Kind("numeric", 1700, -1, _plain, _plain, _numeric)
TEXTS = Kind("_text", 1009, -1, _array_text, _array_binary, bytes.decode)
VECTOR = Kind("int2vector", 22, -1, lambda values: " ".join(map(str, values)).encode(), _array_binary, bytes.decode)
KINDS = {
    one.oid: one
    for one in (BOOL, INT8, INT4, INT2, OID, FLOAT8, FLOAT4, TEXT, NAME, VARCHAR, DATE, TIMESTAMP, NUMERIC, TEXTS)
}
DECLARED = {"whole": INT8, "number": FLOAT8, "text": TEXT, "date": DATE, "moment": TIMESTAMP, "flag": BOOL}
SAMPLES = {  # of parameters, where only the types of columns are wanted
    **dict.fromkeys((INT2, INT4, INT8, OID), "1"),
    **dict.fromkeys((FLOAT4, FLOAT8, NUMERIC), "1.0"),
    **dict.fromkeys((TEXT, NAME, VARCHAR), "'a'"),
    **{BOOL: "TRUE", DATE: "DATE '2000-01-01'", TIMESTAMP: "TIMESTAMP '2000-01-01 00:00:00'"},
}
UNKNOWN = (0, 705)
ZONED = 1184  # a moment with a zone: read as universal time


def data_rows(
    columns: Sequence[ResultColumn], values: Sequence[Sequence[Any]], formats: Sequence[int], *, kind: bytes = b"D"
) -> bytes:
    r"""Write rows, given as columns of values.

    >>> data_rows([ResultColumn("n", INT8)], [[7, None]], [0])
    b'D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x017D\x00\x00\x00\n\x00\x01\xff\xff\xff\xff'
    """
    pack, head = struct.Struct("!i").pack, struct.pack("!H", len(columns))
    cells = []
    for one, column, form in zip(columns, values, formats, strict=True):
        write = one.kind.binary if form else one.kind.text
        written = [None if value is None else write(value) for value in column]
        cells.append([NULL if cell is None else pack(len(cell)) + cell for cell in written])
    rows = (b"".join(row) for row in zip(*cells, strict=True))
    return b"".join(kind + pack(len(row) + 6) + head + row for row in rows)


def parameter(number: int, content: bytes | None, oid: int, inferred: Kind, form: int) -> str:
    """Give a parameter as SQL; what a client leaves open is read as what it is compared with.

    Raises DoorError (422) for a value that is none of its type.

    >>> parameter(1, b"30", 0, INT8, 0), parameter(1, b"30", 0, TEXT, 0), parameter(2, None, 25, TEXT, 0)
    ('30', "'30'", 'NULL')
    """
    kind = inferred if oid in UNKNOWN else TIMESTAMP if oid == ZONED else KINDS.get(oid)
    if kind is None:
        raise InputError(f"parameter ${number} has a type (number {oid}) that no column has: cast it to text or number")
    if content is None:
        return "NULL"
    try:
        return literal(kind.read(content) if form else _read(content.decode(), kind))
    except (ValueError, KeyError, struct.error, OverflowError, InvalidOperation):
        raise DoorError(422, "parameter", f"parameter ${number} is not a value of type {kind.name}") from None


def _read(given: str, kind: Kind) -> Any:
    if "\0" in given:
        raise ValueError("no text")
    if kind in (INT2, INT4, INT8, OID):
        if not NUMBER.fullmatch(given) or len(given) > 40:
            raise ValueError("no number")
        return int(given)
    if kind in (FLOAT4, FLOAT8, NUMERIC):
        if not NUMBER.fullmatch(given) or len(given) > 400:
            raise ValueError("no number")
        return Decimal(given) if kind is NUMERIC else float(given)
    if kind is BOOL:
        return FLAGS[given.strip().lower()]
    if kind is DATE:
        return datetime.date.fromisoformat(given.strip()[:10])
    if kind is TIMESTAMP:
        moment = datetime.datetime.fromisoformat(given.strip())
        return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return given
