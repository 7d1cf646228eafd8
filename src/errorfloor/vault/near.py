"""Names that the user may have meant."""

import difflib
from collections.abc import Iterable


def nearest(wrong: str, names: Iterable[str]) -> str:
    """Name what is most like ``wrong``, or everything there is.

    >>> nearest("kWh", ["kwh", "meter"]), nearest("tariff", ["a", "b"]), nearest("x", [])
    ("'kwh': did you mean that?", 'a, b', 'none')
    """
    known = list(names)
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wrong.lower(), lowered, n=3)
    if close:
        return " or ".join(repr(lowered[name]) for name in close) + ": did you mean that?"
    return ", ".join(known[:20]) + (" …" if len(known) > 20 else "") if known else "none"
