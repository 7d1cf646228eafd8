"""Names that the user may have meant."""

from collections.abc import Iterable

from errorfloor.catalogue.near import close_to


def nearest(wrong: str, names: Iterable[str]) -> str:
    """Name what is most like ``wrong``, or everything there is.

    >>> nearest("kWh", ["kwh", "meter"]), nearest("tariff", ["a", "b"]), nearest("x", [])
    ("'kwh': did you mean that?", 'a, b', 'none')
    """
    known = list(names)
    close = close_to(wrong, known)
    if close:
        return " or ".join(map(repr, close)) + ": did you mean that?"
    return ", ".join(known[:20]) + (" …" if len(known) > 20 else "") if known else "none"
