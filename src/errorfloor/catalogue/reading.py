"""How the files of a table are written: what separates fields, decimals and thousands, and what stands for nothing."""

import codecs
from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field

from errorfloor.catalogue.columns import NAME, Declaration

DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", "'", " ", "_")


def _sources(given: object) -> object:
    """Take one name for a list of one."""
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) and one for one in given):
        return tuple(given)
    raise ValueError("must be the name of a file or table in quotes, or a list of files")


Sources = Annotated[tuple[str, ...], BeforeValidator(_sources)]


class Reading(Declaration):
    """How the text files or sheets of one table are read; all of them alike.

    ``nulls`` are spellings of a missing number, date or flag, beside nothing at all; a text is what it is. ``dates``
    and ``moments`` are formats such as ``%d.%m.%Y``; without one, dates and moments are written as ISO 8601 has them.
    ``skip`` counts the lines before the one with the names; ``header`` has the names of a file that has no such line.
    ``names`` leads from a declared name to the one in the file, and applies to every kind of source. ``number`` names a
    column that is not in the files: it numbers their rows from 1, for a table that has no row key of its own.

    >>> Reading(delimiter=";", decimal=",", names={"pay": "Gehalt in €"}).called("pay")
    'Gehalt in €'
    """

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    quote: str = Field(default='"', min_length=1, max_length=1)
    escape: str = Field(default='"', min_length=1, max_length=1)
    decimal: str = "."
    thousands: str = ""
    nulls: tuple[str, ...] = ()
    dates: str = ""
    moments: str = ""
    encoding: str = "utf-8"
    skip: int = Field(default=0, ge=0)
    header: tuple[str, ...] = ()
    sheet: str = ""
    number: str = ""
    names: dict[str, str] = Field(default_factory=dict)

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        if self.decimal not in DECIMALS:
            yield "decimal", f"must be '.' or ',', got {self.decimal!r}"
        if self.thousands not in THOUSANDS:
            yield "thousands", f"must be one of {', '.join(map(repr, THOUSANDS))}, got {self.thousands!r}"
        elif self.thousands == self.decimal:
            yield "thousands", f"and decimal are both {self.decimal!r}: no number could be read"
        for word, given in (("dates", self.dates), ("moments", self.moments)):
            if given and "%" not in given:
                yield word, f"must be a format such as %d.%m.%Y, got {given!r}"
        if self.number and (not NAME.fullmatch(self.number) or self.number in self.names):
            yield "number", f"must be a new name such as row_no, got {self.number!r}"
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            yield "encoding", f"must be one that Python knows, such as utf-8, got {self.encoding!r}"

    def called(self, name: str) -> str:
        """Give the name that a declared column has in the file."""
        return self.names.get(name, name)
