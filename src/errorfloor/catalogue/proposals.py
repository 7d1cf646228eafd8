"""What names of columns and tables tell: units, keys and codes, and the names by which they can be declared."""

import re
import unicodedata

from errorfloor.catalogue.columns import NAME

UNITS = {  # and words in names of columns that tell them
    "kWh": {"kwh", "energy", "consumption"},
    "kW": {"kw", "power", "load"},
    "EUR": {
        "eur",
        "euro",
        "lohn",
        "gehalt",
        "pay",
        "wage",
        "wages",
        "salary",
        "income",
        "cost",
        "costs",
        "price",
        "rent",
        "amount",
    },
    "USD": {"usd", "dollars"},
    "GBP": {"gbp", "pounds"},
    "CHF": {"chf"},
    "kg": {"kg", "weight"},
    "km": {"km"},
    "days": {"days"},
    "h": {"hours"},
    "min": {"minutes"},
    "°C": {"celsius", "temperature"},
}
IDENTIFIERS = {
    *("id", "ids", "key", "nr", "no", "number", "nummer", "code", "uuid", "guid", "zip", "plz", "postcode", "year"),
    *("jahr", "month", "monat", "week", "woche", "quarter", "index", "row", "rowid"),
}
RANGES = {  # that words in names of columns define: known to everybody, and never taken from data
    (0, 100): {"percent", "percentage", "pct", "prozent"},
    (0, 120): {"age", "alter", "lebensalter"},
    (-90, 90): {"latitude", "breitengrad"},
    (-180, 180): {"longitude", "laengengrad"},
}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
SIGNS = str.maketrans({"€": " eur ", "$": " usd ", "£": " gbp ", "%": " percent "})


def is_identifier(name: str) -> bool:
    """Say whether a name is that of a key, a code or a part of a date, which are public in most tables.

    >>> is_identifier("customer_id"), is_identifier("year"), is_identifier("idle_hours")
    (True, True, False)
    """
    return bool(IDENTIFIERS & set(re.split(r"[^a-z]+", name.lower())))


def plain(text: str, otherwise: str) -> str:
    """Write a name in letters, digits and _.

    >>> plain("Größe in cm", "column"), plain("2024", "table"), plain("Lohn (€)", "column")
    ('groesse_in_cm', 'table_2024', 'lohn_eur')
    """
    spelt = (
        unicodedata.normalize("NFKD", text.lower().translate(UMLAUTS).translate(SIGNS))
        .encode("ascii", "ignore")
        .decode()
    )
    name = re.sub(r"\W+", "_", spelt, flags=re.ASCII).strip("_")[:50]
    return name if NAME.fullmatch(name) else f"{otherwise}_{name}".rstrip("_")


def unit_of(column: str) -> str:
    """Give the unit that the name of a column tells, if any.

    >>> unit_of("hours_worked"), unit_of("score")
    ('h', '')
    """
    words = set(re.split(r"[^a-z]+", column.lower()))
    return next((unit for unit, names in UNITS.items() if words & names), "")


def range_of(column: str) -> tuple[int, int] | None:
    """Give the range that the name of a column defines, if any.

    >>> range_of("age_at_entry"), range_of("pay")
    ((0, 120), None)
    """
    words = set(re.split(r"[^a-z]+", column.lower()))
    return next((ends for ends, names in RANGES.items() if words & names), None)
