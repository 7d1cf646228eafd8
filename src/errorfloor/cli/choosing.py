"""What each column of a table is: asked on the terminal, on a page or given as flags; never taken from the data."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import typer
from pydantic import ValidationError

from errorfloor.catalogue import PrivateColumn, Schema, entry_promise
from errorfloor.catalogue.draft import NUMBERED, Chosen
from errorfloor.catalogue.mistakes import explain
from errorfloor.catalogue.near import near
from errorfloor.catalogue.proposals import range_of, unit_of
from errorfloor.cli.app import messages
from errorfloor.engines.sources import format_of
from errorfloor.errors import InputError
from errorfloor.floors.words import rounded_down

WORDS = ("resolution", "floor", "unit", "nulls", "impute", "distance")
PROPOSED_FLOOR = Fraction(1, 20)  # of the range
NUMBER = "#"  # what is said to number the rows
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")  # digits that a point may separate in threes
ROLES = {"p": "private", "u": "public", "l": "left out"}


def chosen_by_flags(
    schema: Schema, private: Sequence[str], public: Sequence[str], row_key: Sequence[str], *, number: bool = False
) -> Chosen:
    """Read ``pay=0..10000,resolution=0.01,floor=500,unit=EUR`` for each private column, and names for the others.

    The row key is public, whether or not it is named among the public columns; with ``number`` it numbers the rows.
    Columns that nothing was said of are named, since they are left out.
    """
    found = chosen(schema, dict(_rule(one) for one in private), public, row_key, number=number)
    named = {*found.public, *found.private}
    left_out = [name for name, column in schema.names.items() if name not in named and schema.columns[column]]
    if left_out:
        messages.say(f"left out, and never read: {', '.join(left_out)}; --public or --private declares a column")
    return found


def chosen(
    schema: Schema,
    rules: Mapping[str, Mapping[str, Any]],
    public: Sequence[str],
    row_key: Sequence[str],
    *,
    number: bool = False,
) -> Chosen:
    """Check what was chosen: the words of each private column, and the names of the others."""
    public = tuple(dict.fromkeys((*row_key, *public)))
    for name in (*rules, *public):
        if name not in schema.names:
            raise InputError(
                f"{schema.source} has no column {name!r}; it has {', '.join(schema.names)}{near(name, schema.names)}"
            )
    if bool(row_key) == number:
        raise InputError(
            "name the public columns that together identify a row, --row-key person; or, if there are none, number the "
            "rows of a text file or sheet with --number-rows"
        )
    for name, words in rules.items():
        _checked(name, words)
    named = schema.number if number else ""
    return Chosen((named,) if number else tuple(row_key), public, rules, named)


def chosen_by_questions(schema: Schema) -> Chosen:
    """Ask what each column is, and for the range, resolution and floor of every private one."""
    messages.say(
        f"{schema.name}: say of each column whether it is private (p), public (u) or left out (l). Numbers in private "
        "columns are only ever seen through noise; public columns are known to everybody, row by row."
    )
    public: list[str] = []
    private: dict[str, Mapping[str, Any]] = {}
    for name, column in schema.names.items():
        kind = schema.columns[column]
        if kind is None:
            continue
        shown = name if name == column else f"{name} ({column!r} in the file)"
        numeric = kind in ("whole", "number")
        proposed = "p" if schema.is_private(name) else "u"
        role = _asked(f"{shown}, {kind}", proposed, partial(_role, numeric=numeric))
        if role == "public":
            public.append(name)
        elif role == "private":
            private[name] = _private(name, whole=kind == "whole")
    can_number = format_of(schema.source) in ("text", "sheet")
    if not public and not can_number:
        raise InputError("a table needs a public column that identifies its rows: say u for at least one")
    proposed_key = [name for name in schema.proposed_key if name in public] or public[:1]
    proposal = NUMBER if can_number and not schema.unique else ",".join(proposed_key)
    other = f"; {NUMBER} numbers the rows, if none do: {NUMBERED}" if can_number else ""
    key = _asked(f"row key, the public columns that together identify a row{other}", proposal, _key(public, can_number))
    if key == [NUMBER]:
        return Chosen((schema.number,), tuple(public), private, schema.number)
    return Chosen(tuple(key), tuple(public), private)


def _private(name: str, *, whole: bool) -> dict[str, Any]:
    known = "from what is known about such data (a scale, a law, a fuse), not from the data"
    proposed = "..".join(map(str, range_of(name) or ()))  # where the name defines one, such as that of a percentage
    low, high = _asked(f"  range of {name} as low..high, {known}", proposed, read_range)
    words: dict[str, Any] = {"range": plain_range(low, high)}
    step = proposed_step(whole=whole)
    words["resolution"] = _asked(f"  resolution of {name}: values are kept as multiples of it", step, read_number)
    floor = proposed_floor(low, high)

    def read_floor(text: str) -> int | float:
        given = read_number(text)
        word, text = _mistake({**words, "floor": given}) or ("", "")
        if word == "floor":
            raise InputError(f"the floor {text}")
        return given

    words["floor"] = _asked(f"  floor of {name}: any estimate of one value is off by at least this", floor, read_floor)
    unit = _asked(f"  unit of {name}, for words", unit_of(name) or "none", lambda text: "" if text == "none" else text)
    if unit:
        words["unit"] = unit
    nulls = _asked(f"  may {name} be missing? no, or yes: then everybody may know where", "no", _yes)
    if nulls:
        words["nulls"] = "public"
    messages.say(f"  this promises: {promised(name, words)}")
    return words


def promised(name: str, words: Mapping[str, Any]) -> str:
    """Say what the declaration of a private column promises; raises InputError if it cannot be declared so.

    >>> promised("pay", {"range": [0, 5000], "resolution": 1, "floor": 250, "unit": "EUR"})[:66]
    'whatever is asked, any estimate of one pay is off by at least 250 '
    """
    column = _checked(name, words)
    promise = entry_promise(column, exact=True)  # as drafted catalogues count
    unit = f" {column.unit}" if column.unit else ""
    return (
        f"whatever is asked, any estimate of one {name} is off by at least {promise.least}{unit} (a blind guess: "
        f"{rounded_down(column.ignorance)}{unit}), and of two values {column.example:g}{unit} apart the true one is "
        f"told at most {promise.times} times in 100"
    )


def proposed_step(*, whole: bool) -> str:
    """Propose a resolution."""
    return "1" if whole else "0.01"


def proposed_floor(low: Fraction, high: Fraction) -> str:
    """Propose a floor for a range."""
    return str(_plain((high - low) * PROPOSED_FLOOR))


def _asked(text: str, default: str | None, read: Callable[[str], Any]) -> Any:
    """Ask until the answer can be read."""
    while True:
        try:
            return read(str(typer.prompt(text, default=default or "", show_default=bool(default), err=True)).strip())
        except InputError as problem:
            messages.say(f"  {problem}")


def _role(text: str, *, numeric: bool) -> str:
    role = ROLES.get(text[:1].lower())
    if role is None:
        raise InputError(f"say p, u or l, got {text!r}")
    if role == "private" and not numeric:
        raise InputError("only numbers can be private: say u, or l to leave the column out")
    return role


def _key(public: Sequence[str], can_number: bool) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        if names == [NUMBER] and can_number:
            return names
        wrong = next((name for name in names if name not in public), None)
        if wrong is not None or not names:
            raise InputError(f"{wrong!r} is not among the public columns{near(wrong or '', public)}")
        return names

    return read


def _rule(text: str) -> tuple[str, dict[str, Any]]:
    name, mark, rest = text.partition("=")
    first, *others = rest.split(",")
    if not mark:
        raise InputError(f"--private needs a range, such as {name}=0..50,resolution=0.01,floor=2; got {text!r}")
    words: dict[str, Any] = {"range": plain_range(*read_range(first))}
    for one in others:
        word, _, value = one.partition("=")
        if word.strip() not in WORDS:
            raise InputError(f"--private {name}: {word.strip()!r} is not a word for it{near(word, WORDS)}")
        words[word.strip()] = value if word.strip() in ("unit", "nulls") else read_number(value)
    missing = next((word for word in ("resolution", "floor") if word not in words), None)
    if missing is not None:
        raise InputError(f"--private {name} needs {missing}=…, such as {name}=0..50,resolution=0.01,floor=2")
    return name, words


def _checked(name: str, words: Mapping[str, Any]) -> PrivateColumn:
    if mistake := _mistake(words):
        raise InputError(f"{name}: {' '.join(mistake)}")
    return PrivateColumn.model_validate(words)


def _mistake(words: Mapping[str, Any]) -> tuple[str, str] | None:
    """Give the first word that is wrong, and why."""
    try:
        PrivateColumn.model_validate(words)
    except ValidationError as problem:
        return explain(problem.errors(include_url=False), {})[0]
    return None


def plain_range(low: Fraction, high: Fraction) -> list[int | float]:
    """Write a range as a catalogue has it."""
    return [_plain(low), _plain(high)]


def read_range(text: str) -> tuple[Fraction, Fraction]:
    """Read low..high."""
    low, mark, high = text.partition("..")
    if not mark:
        raise InputError(f"a range is written low..high, such as 0..50{f'; got {text!r}' if text else ''}")
    return Fraction(str(read_number(low))), Fraction(str(read_number(high)))


def read_number(text: str) -> int | float:
    """Read a number as it is written; one that can mean a thousand times as much is refused.

    >>> read_number("0.125"), read_number("12.5")
    (0.125, 12.5)
    >>> read_number("12.000")
    Traceback (most recent call last):
    errorfloor.errors.InputError: '12.000' can mean 12 or 12000: write one of them
    """
    if GROUPED.fullmatch(text.strip()):
        whole, _, digits = text.strip().partition(".")
        less = f"{whole}.{digits}0" if digits.strip("0") else whole
        raise InputError(f"{text.strip()!r} can mean {less} or {whole}{digits}: write one of them")
    try:
        return _plain(Fraction(text.strip()))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"a number is needed, such as 0.01; got {text!r}") from None


def _yes(text: str) -> bool:
    if text[:1].lower() not in ("y", "n"):
        raise InputError(f"say yes or no, got {text!r}")
    return text[:1].lower() == "y"


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
