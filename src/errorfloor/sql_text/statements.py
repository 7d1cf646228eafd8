"""SQL as tools send it: several statements in one text, with comments, parameters, and how exact an answer should be.

``WITHIN 0.5`` at the end of a question, or a comment ``/*+ max_error=0.5 */`` anywhere in it, says how exact; so does
``/*+ spend=0.01 */``. Every other comment means nothing.
"""

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from errorfloor.errors import InputError

PIECE = re.compile(
    r"""(?P<space>\s+) | (?P<comment>--[^\n]*+) | (?P<block>/\*)
    | (?P<quoted>[eE]'(?:[^'\\]|\\.|'')*+' | '(?:[^']|'')*+' | "(?:[^"]|"")*+")
    | (?P<parameter>\$[0-9]{1,5}) | (?P<word>[^\W\d]\w*+)
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?) | (?P<end>;) | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
HINT = re.compile(r"\s*(\w+)\s*=\s*('[^']*'|[^\s,']+)\s*,?")
HINTED = re.compile(r"/\*\s*\+")  # Superset writes a space before the plus
WISHES = ("max_error", "spend")
READ = {  # functions that read a constant, and the forms in which the language reads the same
    "TO_DATE": ("DATE", ("YYYY-MM-DD",)),
    "TO_TIMESTAMP": ("TIMESTAMP", ("YYYY-MM-DD HH24:MI:SS", "YYYY-MM-DD HH24:MI:SS.US", "YYYY-MM-DD HH24:MI:SS.MS")),
}
SILENT = ("space", "comment")
Piece = tuple[str, str]  # its kind and its text


@dataclass(frozen=True)
class Statement:
    r"""One statement, in pieces; comments are taken out, and those with a wish are in ``hints``.

    >>> one = statements("SELECT avg(kwh) -- the mean\nFROM meters WHERE day > $1 WITHIN 0.5; SHOW bounds")[0]
    >>> one.words[:2], one.parameters
    (('SELECT', 'AVG'), 1)
    >>> text, wish = one.wish()
    >>> Statement.of(text).filled(["DATE '2024-01-31'"]).strip(), wish
    ("SELECT avg(kwh)  \nFROM meters WHERE day > DATE '2024-01-31'", {'max_error': 0.5})
    """

    pieces: tuple[Piece, ...]
    hints: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> "Statement":
        """Read the first of the statements in a text, or an empty one."""
        return next(iter(statements(text)), cls(()))

    @property
    def text(self) -> str:
        """All of it, without comments."""
        return "".join(text for _, text in self.pieces)

    @property
    def words(self) -> tuple[str, ...]:
        """Its words in capital letters, quoted ones left out."""
        return tuple(text.upper() for kind, text in self.pieces if kind == "word")

    @property
    def parameters(self) -> int:
        """The greatest number of a parameter; 0 if there are none."""
        return max((int(text[1:]) for kind, text in self.pieces if kind == "parameter"), default=0)

    def after(self, words: int) -> str:
        """Give what follows the first words."""
        places = [place for place, (kind, _) in enumerate(self.pieces) if kind == "word"]
        return "".join(text for _, text in self.pieces[places[words - 1] + 1 :]).strip()

    def filled(self, literals: Sequence[str]) -> str:
        """Give the text with literals in the places of parameters."""
        return "".join(literals[int(text[1:]) - 1] if kind == "parameter" else text for kind, text in self.pieces)

    def marked(self, values: Sequence[Any]) -> str:
        """Give the text with values in the places of question marks.

        >>> Statement.of("SELECT count(*) FROM pay WHERE team = ? AND age > ?").marked(["a?b", 40])
        "SELECT count(*) FROM pay WHERE team = 'a?b' AND age > 40"
        """
        marks = sum(text == "?" for _, text in self.pieces)
        if marks != len(values):
            raise InputError(f"the question has {marks} question marks for values, and {len(values)} values were given")
        given = iter(values)
        return "".join(literal(next(given)) if text == "?" else text for _, text in self.pieces)

    def wish(self) -> tuple[str, dict[str, Any]]:
        """Give the question, with plain names of tables, and how exact its answer should be as far as it says so."""
        found: dict[str, Any] = {}
        for hint in self.hints:
            found |= _hinted(hint)
        said = [place for place, (kind, _) in enumerate(self.pieces) if kind not in SILENT]
        if len(said) > 2 and self.pieces[said[-1]][0] == "number" and self.pieces[said[-2]][1].upper() == "WITHIN":
            found["max_error"] = wished("max_error", self.pieces[said[-1]][1])
            return _with_plain_names(self.pieces[: said[-2]]), found
        return _with_plain_names(self.pieces), found


def statements(text: str) -> list[Statement]:
    """Give the statements in a text, empty ones left out.

    >>> [one.text for one in statements("SELECT 'a;b' ; ; /* ; /* ; */ */ SELECT 1")]
    ["SELECT 'a;b' ", '   SELECT 1']
    """
    found: list[Statement] = []
    pieces: list[Piece] = []
    hints: list[str] = []
    for kind, piece in (*_pieces(text), ("end", ";")):
        if kind == "end":
            if any(one not in SILENT for one, _ in pieces):
                found.append(Statement(tuple(pieces), tuple(hints)))
            pieces, hints = [], []
        else:
            hint = HINTED.match(piece) if kind == "comment" else None
            if hint is not None:
                hints.append(piece[hint.end() : -2])
            pieces.append((kind, " " if kind == "comment" else piece))
    return found


def shallow(pieces: Sequence[Piece]) -> dict[int, str]:
    """Give the words that are in no parentheses, by place."""
    found, depth = {}, 0
    for place, (kind, text) in enumerate(pieces):
        depth += (text == "(") - (text == ")")
        if kind == "word" and depth == 0:
            found[place] = text.upper()
    return found


def _with_plain_names(pieces: Sequence[Piece]) -> str:
    """Write pieces without the names of the schema and the database, which tools put before those of tables.

    >>> _with_plain_names(Statement.of('SELECT "public"."pay"."age" FROM errorfloor.public.pay').pieces)
    'SELECT "pay"."age" FROM pay'
    >>> _with_plain_names(Statement.of("hired < to_date('2001-01-31', 'YYYY-MM-DD')").pieces)
    "hired < DATE '2001-01-31'"
    """
    left: list[Piece] = []
    for piece in pieces:
        left.append(piece)
        if piece[1] == ")":
            _read_constant(left)
        if len(left) > 1 and piece[1] == "." and plain(left[-2]) == "public":
            del left[-2:]
            if len(left) > 1 and left[-1][1] == "." and plain(left[-2]) == "errorfloor":
                del left[-2:]
    return "".join(text for _, text in left)


def _read_constant(left: list[Piece]) -> None:
    """Put a constant in the place of a function at the end that reads it."""
    places = [place for place in range(max(0, len(left) - 12), len(left)) if left[place][0] not in SILENT][-6:]
    texts = [left[place][1] for place in places]
    word, forms = READ.get(texts[0].upper(), ("", ()))
    is_call = bool(word) and [*texts[1:2], *texts[3:4], *texts[5:]] == ["(", ",", ")"]
    if is_call and texts[2][0] == "'" and texts[4].strip("'") in forms:
        left[places[0] :] = [("word", word), ("space", " "), ("quoted", texts[2])]


def plain(piece: Piece) -> str:
    """Give a name without its quotes; others in small letters."""
    return piece[1][1:-1].replace('""', '"') if piece[1][:1] == '"' else piece[1].lower()


def is_name(piece: Piece) -> bool:
    """Tell whether a piece is a name, quoted or not, or a word of the language."""
    return piece[0] == "word" or (piece[0] == "quoted" and piece[1][:1] == '"')


def _pieces(text: str) -> Iterator[Piece]:
    place = 0
    while place < len(text):
        match = PIECE.match(text, place)
        assert match is not None and match.lastgroup is not None, "every sign is a piece"
        kind, end = match.lastgroup, match.end()
        if kind == "block":
            kind, end = "comment", _end_of_comment(text, place)
        yield kind, text[place:end]
        place = end


def _end_of_comment(text: str, place: int) -> int:
    """Give where a comment ends; one may hold others, and one that is not closed goes on to the end."""
    depth = 0
    for found in re.finditer(r"/\*|\*/", text[place:]):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return place + found.end()
    return len(text)


def _hinted(hint: str) -> dict[str, Any]:
    found, place = {}, 0
    while place < len(hint.rstrip()):
        match = HINT.match(hint, place)
        if match is None or match[1].lower() not in WISHES:
            raise InputError(
                f"the comment /*+{hint[:60]}*/ says how exact an answer should be, and cannot be read: write "
                f"/*+ max_error=0.5 */ or /*+ spend=0.01 */, or a comment without the plus"
            )
        found[match[1].lower()] = wished(match[1].lower(), match[2].strip("'"))
        place = match.end()
    return found


def wished(name: str, text: str) -> Any:
    """Read a wish: a number above 0 or, for ``max_error``, one for each output by name.

    >>> wished("spend", "0.01"), wished("max_error", "mean=0.5, total=100")
    (0.01, {'mean': 0.5, 'total': 100.0})
    """
    parts = [part.partition("=") for part in text.split(",")]
    if name == "max_error" and all(equals for _, equals, _ in parts):
        return {output.strip(): _positive(name, number) for output, _, number in parts}
    share = _positive(name, text)
    if name == "spend" and share > 1:
        raise InputError(f"spend is a share of the whole allowance, above 0 and at most 1, such as 0.05; got {share:g}")
    return share


def _positive(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        names = ', or one for each output by name, such as "mean=0.5, total=100"' if name == "max_error" else ""
        raise InputError(f"{name} must be a number above 0, such as 0.5{names}; got {text.strip()[:60]!r}")
    return number


def literal(value: Any) -> str:
    """Write a value as SQL.

    >>> [literal(one) for one in (None, True, -3, 0.5, "it's", datetime.date(2024, 1, 31))]
    ['NULL', 'TRUE', '(-3)', '0.5', "'it''s'", "DATE '2024-01-31'"]
    """
    value = value.item() if hasattr(value, "item") else value  # NumPy's scalars are no numbers of Python's
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, Decimal)):
        if not math.isfinite(value):
            raise InputError(f"a question has no place for the number {value}")
        text = format(value, "f") if isinstance(value, Decimal) else repr(value)
        return f"({text})" if text.startswith("-") else text
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise InputError(f"a parameter is a number, text, date, moment, flag or None, got {type(value).__name__}")
