"""Registers of owners: a table joins one when it is registered, with all that was spent of its owners before."""

from collections.abc import Mapping

from errorfloor.accounts import REGISTER
from errorfloor.catalogue import Catalogue, Table
from errorfloor.catalogue.registers import register_of
from errorfloor.charging.settling import Terms, owner_terms
from errorfloor.engines import Engine
from errorfloor.ledger import Ledger
from errorfloor.ledger.joining import JOINED, accounts_of, not_joined
from errorfloor.vault.snapshot import notes


def join(ledger: Ledger, name: str, table: Table) -> None:
    """Write down which register a table's owners are in, and add what was spent of them; once is enough."""
    register = register_of(table)
    if register is None:
        return
    of_owners = owner_terms(name, table)
    paths = ((name, REGISTER), (accounts_of(register),))
    terms: Terms = {path: of_owners[path] for path in paths}
    ledger.enter({"event": JOINED, "table": name, "register": register}, terms)


def join_charged(ledger: Ledger, catalogue: Catalogue) -> None:
    """Let all tables that were charged before they declared a register join it, whichever is to be registered now."""
    for name, table in catalogue.tables.items():
        if register_of(table) is not None and ledger.terms((name,)) is not None:
            ledger.check(owner_terms(name, table))
            join(ledger, name, table)


def check_none_left(ledger: Ledger, tables: Mapping[str, Table]) -> None:
    """Refuse tables that are in a register and are declared without an owner now, charged or not."""
    ledger.check({(name, REGISTER): {REGISTER: None} for name, table in tables.items() if table.owner is None})


def check_all_joined(ledger: Ledger, catalogue: Catalogue) -> None:
    """Refuse to ask while a declared register does not count yet what was spent of one of its tables, or one left."""
    check_none_left(ledger, catalogue.tables)
    for name, table in catalogue.tables.items():
        register = register_of(table)
        if register is not None and name not in ledger.joined(register) and ledger.terms((name,)) is not None:
            ledger.check(owner_terms(name, table))
            raise not_joined(name, register)


def unrelated(name: str, catalogue: Catalogue, ledger: Ledger, engine: Engine) -> dict[str, str]:
    """Give the other tables that may have the same owners without anybody having said so, with their owner columns.

    Of two tables that each name a register it was said: they have one, or are about other people. What was charged
    and is not declared any more counts as it was charged.
    """
    mine, found = register_of(catalogue.tables[name]), {}
    for other in sorted({str(note["table"]) for note in notes(engine).values()} - {name}):
        if (declared := catalogue.tables.get(other)) is not None:
            column = None if declared.owner is None else declared.owner.column
            register = register_of(declared)
        else:
            charged = ledger.terms((other,)) or {}
            column = charged["owner"][0] if charged.get("owner") and "protects" not in charged else None
            register = (ledger.terms((other, REGISTER)) or {}).get(REGISTER)
        if column and (mine is None or register is None):
            found[other] = column
    return found
