"""A first question about what has just been registered: one that will be answered, with its price."""

import math
from pathlib import Path

from errorfloor.catalogue import Catalogue
from errorfloor.cli.app import command
from errorfloor.errors import ErrorFloorError
from errorfloor.service import Database, open_database

SHARE = 0.02  # of the allowance, that the question takes at most


def first_question(declared: Catalogue, names: list[str], file: Path) -> str:
    """Say what could be asked first, as a command; nothing where something was charged before.

    Nor is one suggested where none of this price would be answered. It is priced, which is free and reads no private
    column. On Spark a session would have to be started for that.
    """
    if declared.place.engine == "spark":
        return ""
    try:
        with open_database(file) as database:
            return next(filter(None, (_about(declared, name, database, file) for name in names)), "")
    except ErrorFloorError:  # without a key, for instance: then there is more to do before a question
        return ""


def _about(declared: Catalogue, name: str, database: Database, file: Path) -> str:
    table = declared.tables[name]
    if table.is_public:
        return ""
    column = next(iter(table.private), None)
    counting = table.hides_records or column is None
    sql = f"SELECT {'count(*) AS n' if counting else f'avg({column}) AS mean'} FROM {name}"
    bound = rounded_up(max(database.price(sql, spend=SHARE).max_error.values()))
    if column is not None and not counting:
        width = float(table.private[column].high - table.private[column].low)
        bound = max(bound, rounded_up(width / 100))
        if bound > width / 2:
            return ""  # it would say nothing that the range does not
    price = database.price(sql, max_error=bound)
    if not price.affordable or any(one.used_before for one in price.standings):
        return ""
    where = "" if file == Path("errorfloor.toml") else f" --catalogue {file}"
    taken = 100 * max((one.used_by_this for one in price.standings), default=0.0)
    share = f"{math.ceil(taken * 10 - 1e-9) / 10:g} % of the allowance"
    return f'a first question, which would take {share}: {command()} ask "{sql}" --max-error {bound:g}{where}'


def rounded_up(bound: float) -> float:
    """Write a bound with two digits, never below what it was.

    >>> rounded_up(12.34), rounded_up(0.0501), rounded_up(1800.0)
    (13.0, 0.051, 1800.0)
    """
    step = 10.0 ** (math.floor(math.log10(bound)) - 1)
    return float(f"{math.ceil(bound / step - 1e-9) * step:.12g}")
