"""Questions at random: an aggregate of a function of the private column, over rows that public columns choose."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.attacks.secret import Secret
from errorfloor.sql_text import literal

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.9)  # of the allowance, for one question
MOST_CONDITIONS = 2
NEAR = 0.5  # how often a threshold lies between the two values, and a condition is about the victim
COMPARED = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Probe:
    """One question of an adversary's: an output, what rows must meet, and the share of the allowance that it spends.

    >>> Probe("sum(kwh)", ("id <> 3", "id < 9"), 0.1).asked_of("meters")
    'SELECT sum(kwh) AS answer FROM meters WHERE id <> 3 AND id < 9'
    """

    output: str
    conditions: tuple[str, ...]
    share: float

    def asked_of(self, table: str) -> str:
        """Give the question about a table."""
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"SELECT {self.output} AS answer FROM {table}{where}"


def random_probe(secret: Secret, chance: np.random.Generator) -> Probe:
    """Draw a question from the language: sums and means of functions of a row, functions of them, and filters."""
    conditions = [_condition(secret, chance) for _ in range(chance.integers(0, MOST_CONDITIONS + 1))]
    return Probe(_output(secret, chance), tuple(conditions), float(chance.choice(SHARES)))


def changed_probe(probe: Probe, secret: Secret, chance: np.random.Generator) -> Probe:
    """Change one part of a question: its output, its conditions, or what it spends."""
    other = random_probe(secret, chance)
    match chance.choice(["output", "conditions", "more", "fewer", "share"]):
        case "output":
            return replace(probe, output=other.output)
        case "conditions":
            return replace(probe, conditions=other.conditions)
        case "more":
            return replace(probe, conditions=(*probe.conditions, _condition(secret, chance)))
        case "fewer":
            return replace(probe, conditions=probe.conditions[:-1])
    return replace(probe, share=other.share)


def _output(secret: Secret, chance: np.random.Generator) -> str:
    column = secret.column
    low, high = map(float, secret.private.range)
    place, width = _threshold(secret, chance), _width(secret, chance)
    rows: list[Callable[[], str]] = [
        lambda: column,
        lambda: f"{chance.integers(2, 9)} * {column}",
        lambda: f"least({column}, {place!r})",
        lambda: f"greatest({column}, {place!r})",
        lambda: f"above({column}, {place!r}, {width!r})",
        lambda: f"between({column}, {place!r}, {place + width!r}, {width / 4!r})",
        lambda: f"tanh(({column} - {place!r}) / {width!r})",
        lambda: f"exp(-({column} - {low!r}) / {width!r})",
        lambda: f"ln(1 + ({column} - {low!r}) / {width!r})",
        lambda: f"sqrt(1 + ({column} - {low!r}) / {width!r})",
        lambda: f"power(({column} - {place!r}) / {high - low!r}, 2)",
        lambda: f"sin(({column} - {place!r}) / {width!r})",
    ]
    row = rows[chance.integers(len(rows))]()
    total = ("sum", "avg")[chance.integers(2)] + f"({row})"
    whole: list[str] = [
        *[total] * 5,
        f"{total} / count(*)",
        f"2 * {total} - count(*)",
        f"tanh(({total} - {place!r}) / {width!r})",
        f"least({total}, {place!r})",
        f"exp(-{total} / {10 * high!r})",
    ]
    return whole[chance.integers(len(whole))]


def _threshold(secret: Secret, chance: np.random.Generator) -> float:
    low, high = secret.values if chance.random() < NEAR else map(float, secret.private.range)
    return float(f"{chance.uniform(low, high):.6g}")


def _width(secret: Secret, chance: np.random.Generator) -> float:
    low, high = map(float, secret.private.range)
    return float(f"{secret.distance / 20 * (20 * (high - low) / secret.distance) ** chance.random():.4g}")


def _condition(secret: Secret, chance: np.random.Generator) -> str:
    names = list(secret.declared.public)
    name = names[chance.integers(len(names))]
    row = secret.victim if chance.random() < NEAR else int(chance.integers(secret.rows.num_rows))
    value: Any = secret.rows[name][row].as_py()
    if value is None:
        return f"{name} IS NOT NULL"
    sign = COMPARED[chance.integers(2 if isinstance(value, str | bool) else len(COMPARED))]
    return f"{name} {sign} {literal(value)}"
