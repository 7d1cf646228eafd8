"""What to say when a charge would break a floor or a quota: which one, by how much, and what would avoid that.

Answers, releases and trips are refused in these words; each adds what the one who asks can do: ``answering.advice``,
``bulk.declared``, ``streams.stream``.

Refused is, too, what would read parts of a table that grows which the vault has lost: answers would be about fewer
rows, unnoticed. A folder that is mounted or restored in part, and a version that an erasure took away, look like a
table that has not grown so far yet. The ledger knows which parts answers were made from.
"""

from collections.abc import Callable, Sequence

from errorfloor.accounts import Balance, percent
from errorfloor.catalogue.promise import histories, promise
from errorfloor.charging.standing import QuotaStanding, Standing, entry_floor
from errorfloor.errors import AllowanceError, CatalogueError
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.ledger import Ledger
from errorfloor.vault import Snapshot
from errorfloor.vault.parts import MOST_NAMED

MOST_READ = 1000  # records that are counted for a refusal
USED_UP = 1e-9  # of an allowance: what is left below this pays for nothing


def refusal(
    what: str,
    standings: Sequence[Standing],
    quotas: Sequence[QuotaStanding] = (),
    *,
    again: str,
    instead: Callable[[float], str],
) -> str:
    """Say which floor or quota ``what`` (an answer, a release, a trip) would break; all follows from public facts.

    ``instead`` says what to do where a part of the charge is affordable, and is told which part; ``again`` says what
    stays free.
    """
    scarcest = max(standings, key=lambda standing: standing.used)
    if scarcest.used > 1 or not quotas:
        text, of_what = consequence(scarcest, what), "allowance"
    else:
        text, of_what = exceeded(max(quotas, key=lambda quota: quota.used), what), "quota"
    charged: list[Balance] = [one for one in (*standings, *quotas) if one.used_by_this > 0]
    if min((one.left for one in charged), default=0.0) <= USED_UP:
        return f"{text}: the {of_what} is used up; {again} free of charge"
    return f"{text}: {instead(min(one.fitting for one in charged))}"


def consequence(broken: Standing, what: str) -> str:
    """Say which floor ``what`` would break, and by how much."""
    column = broken.column
    if column is None:
        assert broken.table.owner is not None
        if broken.stated is not None:
            most = rounded_up(promise(broken.table, "").epsilon or 0.0)
            return f"with this {what}, ε would exceed {most} at δ = {broken.stated.delta:g}, or the floor would break"
        return (
            f"this {what} would let {histories(broken.table, broken.account.cell)} be told apart more often than the "
            f"declared {100 * (1 - broken.table.owner.floor):g} times in 100"
        )
    unit = f" {column.unit}" if column.unit else ""
    estimate = entry_floor(column, broken.spent)
    if estimate >= column.floor:  # only questions that follow from answers could break it
        return (
            f"with this {what}, {rounded_up(100 * broken.used)} % of the allowance of {broken.name} would be used, and "
            f"its declared floor is {column.floor:g}{unit}"
        )
    return (
        f"this {what} would let an entry of {broken.name} be estimated to {rounded_down(estimate)}{unit}, and its "
        f"declared floor is {column.floor:g}{unit}"
    )


def exceeded(broken: QuotaStanding, what: str) -> str:
    """Say which quota ``what`` would exceed, what it asks for and what is left."""
    remaining = max(0.0, broken.left)
    return (
        f"this {what} would exceed {broken.name}: requested {rounded_up(100 * broken.used_by_this)} % of it, "
        f"remaining {rounded_down(100 * remaining)} %; the floor is not in danger"
    )


def unspent(standings: Sequence[Standing]) -> str:
    """Say what an answer would take that is not free, where nothing may be charged."""
    prices = [
        f"{percent(one.used_by_this)} of the allowance of {one.name}" for one in standings if one.used_by_this > 0
    ]
    return (
        f"this answer was never released, and nothing may be charged for it here: it would take {_listed(prices)}; ask "
        f"for one that was released, or have this one charged by an analyst"
    )


def _listed(prices: Sequence[str]) -> str:
    most = 5  # a divided account has a part for each group
    return ", ".join(prices[:most]) + (f" and {len(prices) - most} more" if len(prices) > most else "")


def charged_before(ledger: Ledger, standings: Sequence[Standing]) -> str:
    """Say how much of the scarcest account was used before, and by how many charges.

    At most the last ``MOST_READ`` records are looked at, so that a refusal costs the same however long the history is.
    """
    scarcest = max(standings, key=lambda standing: standing.used)
    used = scarcest.used_before
    if scarcest.spent == scarcest.charge:
        return f"nothing of the allowance of {scarcest.name} was used before"
    last = ledger.head().sequence
    found = sum(scarcest.account in one.charges for one in ledger.entries(max(0, last - MOST_READ)))
    many = f"{found:,} charge{'s' if found != 1 else ''}"
    return (
        f"{percent(used)} of the allowance of {scarcest.name} was used before, by "
        f"{many if last <= MOST_READ else f'at least {many}'}"
    )


def check_share(standings: Sequence[Standing], limit: float, instead: Callable[[], str]) -> None:
    """Refuse a question that takes more than this share of an allowance, though the allowance would cover it."""
    worst = max(standings, key=lambda one: one.used_by_this, default=None)
    if worst is not None and worst.used_by_this > limit:
        raise AllowanceError(
            f"this question takes {percent(worst.used_by_this)} of the allowance of {worst.name}, but one question "
            f"may take {percent(limit)} ([limit] question); nothing was charged: {instead()}; or, as an "
            f"owner, allow it to exceed the limit (--over-limit)",
            reason="question",
            limit=limit,
            share=worst.used_by_this,
        )


def lost_parts(ledger: Ledger, found: Snapshot) -> tuple[str, ...]:
    """Give the parts that a table lacks, and that were charged, or read for a period, in the declared version."""
    growth = found.table.grows_by
    if growth is None:
        return ()
    there, lost = {part.name for part in found.parts}, []
    for path in ledger.pinned(found.table_name):
        match path:
            case (_, "snapshot", found.table_name, version, part) if part not in there:
                lost += [part] if version == growth.version(part, found.table.version) else []
    return tuple(sorted(lost))


def check_none_is_lost(table: str, parts: Sequence[str]) -> None:
    """Refuse to read parts that are lost; raises CatalogueError."""
    if parts:
        named = f"{', '.join(parts[:MOST_NAMED])}{', …' if len(parts) > MOST_NAMED else ''}"
        raise CatalogueError(
            f"this would read {named} of {table}, which was charged before and which this vault has lost in the "
            f"version that is declared: mount or put back the vault that was in use; or, where somebody was erased, "
            f"declare the version that is there now (grows_by.corrected)",
            table=table,
            parts=list(parts),
        )
