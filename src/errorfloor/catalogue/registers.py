"""Registers: tables about the same people, whose owners have one account together.

*Guarantee*: a register's account is charged with the most that one owner can do to each answer from any of its tables.
Two histories of a person may differ in all of the tables at once, so that the sum bounds what all answers together tell
of them, as the account of one table does for its own answers; who has rows in which table does not matter.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from errorfloor.catalogue.columns import NAME, misnamed

if TYPE_CHECKING:
    from errorfloor.catalogue.model import Table


def register_of(table: "Table") -> str | None:
    """Name the register that a table's owners are in; None if it has none."""
    return None if table.owner is None else table.owner.register


def members(tables: Mapping[str, "Table"]) -> dict[str, list[str]]:
    """Give the names of the tables of each register."""
    found: dict[str, list[str]] = {}
    for name, table in tables.items():
        if (register := register_of(table)) is not None:
            found.setdefault(register, []).append(name)
    return found


def account_names(tables: Mapping[str, "Table"]) -> set[str]:
    """Give the names that accounts of tables go by: those of the tables, and of registers of their owners."""
    return {*tables, *(one.owner.accounts_of("") for one in tables.values() if register_of(one) and one.owner)}


def charged_in(name: str, tables: Mapping[str, "Table"]) -> "Table | None":
    """Give a table whose accounts go by a name: the table of that name, or the first of a register; None if none does.

    >>> from errorfloor.catalogue.model import Table
    >>> area = Table(source="areas.csv", version="1", row_key=("area",), public={"area": "text"})
    >>> charged_in("areas", {"areas": area}) is area, charged_in("register persons", {"areas": area})
    (True, None)
    """
    if name in tables:
        return tables[name]
    return next((one for one in tables.values() if one.owner and one.owner.accounts_of("") == name), None)


def mistakes_in_registers(tables: Mapping[str, "Table"]) -> Iterator[tuple[str, str]]:
    """Give what is wrong with registers: their names, and tables that promise the same people different things."""
    for register, names in members(tables).items():
        first = names[0]
        if not NAME.fullmatch(register):
            yield f"tables.{first}.owner.register", misnamed("register", register)
        said = promised(tables[first])
        for name in names[1:]:
            other = promised(tables[name])
            for word in said:
                if said[word] != other[word]:
                    yield (
                        f"tables.{name}.owner.register",
                        f"is {register!r}, as that of {first}, and the owners of one register have one account: "
                        f"declare the same {word} for {name} and {first}, or name another register",
                    )


def promised(table: "Table") -> dict[str, Any]:
    """Say what an account of a table's owners promises, and what its periods are, by the words that declare it."""
    assert table.owner is not None
    per = table.per
    public = None if per is None else table.public.get(per.column)
    return {
        "floor": table.owner.floor,
        "life": table.owner.life,
        "noises": table.noises,
        "per": None if per is None or public is None else [public.type, str(public.resolution), per.period],
    }
