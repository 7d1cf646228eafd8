"""Near matches for a misspelt word."""

import difflib
from collections.abc import Iterable

from errorfloor.catalogue.proposals import UMLAUTS


def close_to(word: str, choices: Iterable[str]) -> list[str]:
    """Give the choices that look like a word, whatever their capitals, the nearest first.

    >>> close_to("Houshold", ["household", "households", "day"])
    ['household', 'households']
    >>> close_to("sued", ["Süd", "Nord"])
    ['Süd']
    """
    spelt = {_plain(choice): choice for choice in choices}
    return [spelt[found] for found in difflib.get_close_matches(_plain(word[:100]), spelt, n=3, cutoff=0.6)]


def _plain(word: str) -> str:
    return word.lower().translate(UMLAUTS)


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Give the choice that was probably meant, if any is near.

    >>> nearest("Houshold", ["household", "day"])
    'household'
    """
    return next(iter(close_to(word, choices)), None)


def near(word: str, choices: Iterable[str]) -> str:
    """Give a question that names the nearest choice, or nothing.

    >>> near("houshold", ["household", "day"]), near("x", ["household"])
    (': did you mean household?', '')
    """
    found = nearest(word, choices)
    return f": did you mean {found}?" if found else ""


def meant(wrong: str, names: Iterable[str]) -> str:
    """Name what is most like ``wrong``, or everything there is.

    >>> meant("kWh", ["kwh", "meter"]), meant("tariff", ["a", "b"]), meant("x", [])
    ("'kwh': did you mean that?", 'a, b', 'none')
    """
    known = list(names)
    close = close_to(wrong, known)
    if close:
        return " or ".join(map(repr, close)) + ": did you mean that?"
    return ", ".join(known[:20]) + (" …" if len(known) > 20 else "") if known else "none"
