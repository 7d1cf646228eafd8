"""Near matches for a misspelt word."""

import difflib
from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Give the choice that was probably meant, if any is near.

    >>> nearest("Houshold", ["household", "day"])
    'household'
    """
    spelt = {choice.lower(): choice for choice in choices}
    found = difflib.get_close_matches(word.lower(), spelt, n=1, cutoff=0.6)
    return spelt[found[0]] if found else None


def near(word: str, choices: Iterable[str]) -> str:
    """Give a question that names the nearest choice, or nothing.

    >>> near("houshold", ["household", "day"]), near("x", ["household"])
    (': did you mean household?', '')
    """
    found = nearest(word, choices)
    return f": did you mean {found}?" if found else ""
