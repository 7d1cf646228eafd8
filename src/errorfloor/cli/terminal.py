r"""Whatever the terminal's encoding, what is said is printed.

An answer is charged before it is shown. A terminal that cannot show ± must not end it: characters that its encoding
lacks are spelt in ASCII, and those without a spelling by their number, as ``\u4eac``.
"""

import codecs
import io
import sys

HANDLER = "errorfloor.spelt"
SPELT = {
    **dict(zip("±…×·−–—─│✓→", ("+/-", "...", "x", "*", "-", "-", "-", "-", "|", "-", "->"), strict=True)),
    **dict(zip("≤≥≠≈∞√Σ½∂∈", ("<=", ">=", "!=", "~", "infinity", "sqrt", "sum", "1/2", "d", "in"), strict=True)),
    **dict(zip("²³⁻ᵀ₀₁₂ℝ", ("^2", "^3", "^-", "^T", "_0", "_1", "_2", "R"), strict=True)),
    **dict(zip("αδεηθμπσ", ("alpha", "delta", "epsilon", "eta", "theta", "mu", "pi", "sigma"), strict=True)),
    **dict(zip("“”„‘’\u00a0\u202f", ('"', '"', '"', "'", "'", " ", " "), strict=True)),
}


def spelt(problem: UnicodeError) -> tuple[str | bytes, int]:
    r"""Give what stands for the first character that cannot be encoded, and where to go on: a handler of ``codecs``.

    A byte of the command line that was no text when it was read leaves as it came.

    >>> prepare(sys.stdout, sys.stderr)
    >>> "10.5 ± 0.5 kWh² of 東京".encode("ascii", HANDLER)
    b'10.5 +/- 0.5 kWh^2 of \\u6771\\u4eac'
    """
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    character = problem.object[problem.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), problem.start + 1
    return SPELT.get(character) or character.encode("ascii", "backslashreplace").decode(), problem.start + 1


def prepare(*streams: object) -> None:
    """Let streams spell what they cannot encode; those that a program put in their place are left as they are."""
    codecs.register_error(HANDLER, spelt)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


def shows_unicode() -> bool:
    """Say whether stdout takes every character; where it does not, JSON is escaped and loses nothing."""
    return codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name.startswith("utf-")
