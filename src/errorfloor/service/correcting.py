"""Registering the parts of a table that grows: what has changed needs a new version, and is told what that costs.

A new version of a part is other noise: what was answered from the old one is charged again when it is asked again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.accounts import NOTHING, Account, Charge, percent, share
from errorfloor.catalogue import Catalogue
from errorfloor.charging.standing import allowances_of
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.ledger import Ledger
from errorfloor.ledger.entry import account_name
from errorfloor.vault import Registration
from errorfloor.vault.growing import Growing, growing
from errorfloor.vault.parts import MOST_NAMED, corrected_word


@dataclass(frozen=True)
class CorrectionCost:
    """What asking again takes that read parts which are to be corrected: how many charges, and from whose accounts.

    ``again`` has for each account the share of its allowance that they took, ``used`` the share that is used in all.
    """

    charges: int
    again: Mapping[Account, float]
    used: Mapping[Account, float]

    def explain(self) -> str:
        """Say it in a sentence.

        >>> kwh = Account("meters", "kwh", "")
        >>> CorrectionCost(2, {kwh: 0.03}, {kwh: 0.5}).explain()
        '2 earlier charges depend on it; asking all of that again takes at most 3 % of meters.kwh (50 % used so far)'
        """
        if not self.charges:
            return "no earlier charge depends on it, so that it costs nothing"
        taken = ", ".join(
            f"{percent(part)} of {account_name(account)} ({percent(self.used[account])} used so far)"
            for account, part in sorted(self.again.items())
        )
        depend = "charge depends" if self.charges == 1 else "charges depend"
        return f"{self.charges:,} earlier {depend} on it; asking all of that again takes at most {taken}"


def register_parts(
    ledger: Ledger,
    catalogue: Catalogue,
    name: str,
    *,
    engine: Engine,
    corrections: bool,
    entering: Callable[[Sequence[Mapping[str, Any]]], None],
    checking: Callable[[str], None],
) -> Registration:
    """Register the new parts of a table that grows, and with ``corrections`` those that are declared corrected.

    Raises CatalogueError if parts have changed without a new version, or ``corrections`` is off and some are declared
    corrected: the message says what that costs, and nothing is registered.
    """
    with growing(catalogue, name, engine=engine) as found:
        if found.found.changed:
            parts = found.found.changed
            cost = correction_cost(ledger, found, parts)
            raise CatalogueError(
                f"{_listed(parts)} of {name} changed since registration, and a part never changes. Put the rows back "
                f"as they were; or declare a new version for each of them ({corrected_word(parts)}), which is charged "
                f"to the same accounts: {cost.explain()}. Nothing was registered",
                table=name,
                parts=list(parts),
                again=_plain(cost),
            )
        if found.found.corrected and not corrections:
            parts = found.found.corrected
            cost = correction_cost(ledger, found, parts)
            raise CatalogueError(
                f"{_listed(parts)} of {name} would be registered in a new version: {cost.explain()}. To do it, run "
                f"errorfloor register --corrections. Nothing was registered",
                table=name,
                parts=list(parts),
                again=_plain(cost),
            )
        return found.make(entering, checking)


def correction_cost(ledger: Ledger, found: Growing, parts: Sequence[str]) -> CorrectionCost:
    """Say what was charged for answers that read some parts in the version that they have now; public facts alone.

    Charges of one account are added, so that it bounds what asking again takes.
    """
    table, name = found.table, found.table_name
    records, current = [], dict[str, str]()
    for record in ledger.entries():
        named = record.note.get("parts")
        if record.note.get("table") == name and isinstance(named, dict):
            if "event" not in record.note:
                records.append(record)
                continue
            there = {part: str(version) for part, version in named.items() if version in found.versions.get(part, ())}
            current |= there  # what was entered and never made is left out
    charges, total = 0, dict[Account, Charge]()
    for record in records:
        read = record.note["parts"]
        assert isinstance(read, dict)
        if any(part in current and read.get(part) == current[part] for part in parts):
            charges += 1
            for account, charge in record.charges.items():
                if not account.holder and (account.column in table.private if account.column else table.owner):
                    total[account] = total.get(account, NOTHING) + charge.rounded_up()
    allowances = allowances_of(table, list(total))
    spent = ledger.accounts()
    return CorrectionCost(
        charges,
        {account: share(charge, allowances[account]) for account, charge in total.items()},
        {account: share(spent.get(account, NOTHING), allowances[account]) for account in total},
    )


def _listed(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - MOST_NAMED:,} more" if len(parts) > MOST_NAMED else ""
    return f"part{'s' if len(parts) > 1 else ''} {', '.join(parts[:MOST_NAMED])}{more}"


def _plain(cost: CorrectionCost) -> dict[str, float]:
    return {account_name(account): part for account, part in sorted(cost.again.items())}
