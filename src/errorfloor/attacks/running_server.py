"""What can be tried on a server that already runs: nothing is known of its rows, and next to nothing is spent."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from errorfloor.attacks.attack import outcome
from errorfloor.attacks.audit import attacks, estimators, owner_attacks
from errorfloor.attacks.judgement import FALSE_ALARM
from errorfloor.attacks.smoothing import Smoothing
from errorfloor.errors import AllowanceError

SHARE = 0.0008  # of a column's allowance, for the steepest of the questions that are asked together
TRIPLES = 6  # of questions that could share noise
MOST_SPENT = 0.01  # of a column's allowance: SHARE for each of three questions, (1 + 4/9 + 1/9)·SHARE for a triple
Column = tuple[str, str]
KNOWN_ROWS = "needs to know every other row, and spends the whole allowance: audit the catalogue instead"


@dataclass(frozen=True)
class Check:
    """One promise that was tried on one column: whether it was kept, and what was seen.

    >>> Check("meters.kwh", "repeated questions", True, "the same number, charged once").to_dict()["kept"]
    True
    """

    column: str
    name: str
    kept: bool
    seen: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {"column": self.column, "check": self.name, "kept": self.kept, "seen": self.seen}


@dataclass(frozen=True)
class ServerAudit:
    """All checks of a running server, and what was not tried there, with the reason.

    >>> ServerAudit((), ()).broken
    []
    """

    checks: tuple[Check, ...]
    skipped: tuple[tuple[str, str], ...]

    @property
    def broken(self) -> list[Check]:
        """The promises that were not kept."""
        return [one for one in self.checks if not one.kept]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "checks": [one.to_dict() for one in self.checks],
            "skipped": [{"attack": name, "why": why} for name, why in self.skipped],
            "broken": len(self.broken),
            "most_spent": MOST_SPENT,
            "false_alarm": FALSE_ALARM,
        }

    def explain(self) -> str:
        """Say it in sentences."""
        spent = f"At most {100 * MOST_SPENT:g} % of any column's allowance was spent."
        if self.broken:
            names = ", ".join(f"{one.name} of {one.column}" for one in self.broken)
            return f"{len(self.broken)} of {len(self.checks)} promises were broken: {names}. {spent}"
        return f"All {len(self.checks)} promises that could be tried were kept. {spent}"


def audit_server(door: Any, *, progress: Callable[[str, float], None] | None = None) -> ServerAudit:
    """Try on a server what needs no knowledge of its rows, for every private column.

    Guarantee: at most ``MOST_SPENT`` of the allowance of a column is spent. If every promise holds, the probability
    that one is said to be broken is at most 10⁻⁶.

    Parameters
    ----------
    door
        What ``errorfloor.connect`` gives, or an open database.
    progress
        Called with words and the share of the work that is done.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     found = audit_server(db)
    >>> found.broken, len(found.checks)
    ([], 6)
    """
    columns = [
        (table["name"], column["name"]) for table in door.tables() if table["rows"] for column in table["private"]
    ]
    checks: list[Check] = []
    skipped: list[tuple[str, str]] = []
    for number, column in enumerate(columns):
        for name, check in (*FREE, *SPENDING):
            if progress is not None:
                progress(f"{'.'.join(column)}: {name}", number / len(columns))
            try:
                checks += [Check(".".join(column), name, kept, seen) for kept, seen in check(door, column)]
            except AllowanceError as problem:
                skipped.append((f"{name} of {'.'.join(column)}", f"could not spend: {problem}"))
    return ServerAudit(tuple(checks), (*skipped, *_not_here()))


Seen = Iterator[tuple[bool, str]]


def _refusals(door: Any, column: Column) -> Seen:
    """Refuse by the words of a question alone: the same text for real rows as for dummy ones."""
    table, name = column
    asked = [
        f"SELECT count(*) AS answer FROM {table} WHERE {name} > 1",
        f"SELECT {name}, count(*) AS answer FROM {table} GROUP BY {name}",
        f"SELECT sum({name}) AS answer FROM {table} HAVING sum({name}) > 1",
        f"SELECT max({name}) AS answer FROM {table}",
        f"SELECT min({name}) AS answer FROM {table}",
        f"SELECT sum(round({name})) AS answer FROM {table}",
        f"SELECT sum(CAST({name} AS INTEGER)) AS answer FROM {table}",
        f"SELECT sum(nullif({name}, 1)) AS answer FROM {table}",
        f"SELECT sum({name}) AS answer FROM {table} ORDER BY {name}",
    ]
    dry = door.dry()
    texts = [(sql, *(outcome(partial(one.price, sql, spend=SHARE)) for one in (door, dry))) for sql in asked]
    told = [sql for sql, here, there in texts if not isinstance(here, str) or here != there]
    yield not told, f"{len(asked)} refusals, the same as for dummy rows" if not told else f"told apart: {told[0]}"


def _prices(door: Any, column: Column) -> Seen:
    """State the same bounds of a total whatever the rows are."""
    sql = f"SELECT sum({column[1]}) AS answer FROM {column[0]}"
    outputs = [one.price(sql, spend=SHARE).to_dict()["outputs"] for one in (door, door, door.dry())]
    stated = {tuple((each["step"], each["low"], each["high"]) for each in output) for output in outputs}
    same = len(stated) == 1
    yield same, "the same for real rows as for dummy ones" if same else "the price depends on the rows"


def _repetition(door: Any, column: Column) -> Seen:
    """Answer the same question with the same number, free; another wording gives that number or is refused."""
    sql = _unused(column)
    first = door.ask(sql, spend=SHARE)
    again = door.ask(sql, spend=SHARE, charge=False)
    same = _number(first) == _number(again) and not any(again.fresh)
    yield same, "the same number, charged once" if same else "asking again gave another number"


def _rephrasing(door: Any, column: Column) -> Seen:
    """Give for another wording the same number, or refuse it as something that was not asked before."""
    sql = _unused(column)
    first = door.ask(sql, spend=SHARE)
    ways = [sql.lower().replace("sum(", "SUM( ").replace(" from", "\n FROM"), f"{sql} WHERE 1 = 1", f"{sql} LIMIT 1"]
    said = [outcome(partial(door.ask, way, spend=SHARE, charge=False)) for way in ways]
    other = [one for one in said if not isinstance(one, str) and _number(one) != _number(first)]
    yield not other, "no free answer differs" if not other else "a wording gave another number for nothing"


def _collisions(door: Any, column: Column) -> Seen:
    """Never give the answer to one question as that to another that looks like it."""
    sql = _unused(column)
    bound = door.ask(sql, spend=SHARE).max_error["answer"]
    alike = [sql.replace("1.", sign, 1) for sign in ("10.", "-1.", "1.0", "0.1", "1.9")] + [
        sql.replace("sum", "avg", 1)
    ]
    said = [outcome(partial(door.ask, other, max_error=bound, charge=False)) for other in alike]
    merged = [other for other, one in zip(alike, said, strict=True) if not isinstance(one, str)]
    yield not merged, f"{len(alike)} look-alikes are other questions" if not merged else f"merged: {merged[0]}"


def _shared_noise(door: Any, column: Column) -> Seen:
    """Draw other noise for another multiple: y₃ − 2y₂ + y₁ is 0 to within rounding if one draw serves all three."""
    chance, fits = 1.0, 0
    for _ in range(TRIPLES):
        sql = _unused(column)
        three, two, one = (sql.replace("sum(", f"sum({times} * ", 1) for times in (3, 2, 1))
        answer = door.ask(three, spend=SHARE)
        bound, step = answer.max_error["answer"], float(answer.to_dict()["outputs"][0]["step"])
        released = [_number(answer), *(_number(door.ask(other, max_error=bound)) for other in (two, one))]
        chance *= min(1.0, 5 * step / bound)  # five points of the lattice, each of a probability of at most step/bound
        fits += abs(released[0] - 2 * released[1] + released[2]) <= 2 * step
    shared = fits == TRIPLES and chance <= FALSE_ALARM / 100
    yield not shared, f"{TRIPLES} triples of questions, {fits} of them alike" if not shared else "one draw for several"


def _unused(column: Column) -> str:
    """Give a question that nobody has asked before."""
    return f"SELECT sum(1.{100_000 + secrets.randbelow(900_000)} * {column[1]}) AS answer FROM {column[0]}"


def _number(answer: Any) -> float:
    return float(np.asarray(answer.to_arrow()["answer"])[0])


FREE = (("refusals", _refusals), ("prices", _prices))
SPENDING = (
    ("repeated questions", _repetition),
    ("rephrased questions", _rephrasing),
    ("label collisions", _collisions),
    ("shared noise", _shared_noise),
)


def _not_here() -> Iterator[tuple[str, str]]:
    """Say what was not tried, and why."""
    done = {name for name, _ in (*FREE, *SPENDING)}
    for one in (*attacks(), *owner_attacks()):
        if one.name not in done and one.name != "prices and refusals":
            yield one.name, KNOWN_ROWS
    for estimator in estimators():
        yield estimator.name, "needs the true numbers to compare with: audit the catalogue instead"
    yield Smoothing.name, "needs trips whose start is known: audit the catalogue instead"
