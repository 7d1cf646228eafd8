"""Questions that look alike and are not, and questions that are alike and do not look so: where labels may go wrong.

Two questions that shared a label wrongly would share noise, which cancels. Two wordings of one question share it
rightly, and the second is free, or each of them is charged.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import log_odds
from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError

SHARE = 0.12  # of the allowance for the steeper of two questions; the other costs no more
CERTAIN = 1e3  # log-odds of a difference that fits one value to within rounding, and not the other
Truths = tuple[tuple[float, float], tuple[float, float]]  # to two questions, under the first and the second value


@final
class Collisions(Attack):
    """Asks pairs of different questions that a careless label takes for one, at one bound, and subtracts."""

    name = "label collisions"
    tries: ClassVar[str] = "asks different questions that look alike, outputs and cells, at one bound, and subtracts"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Believe a difference that fits one value exactly; where none does, weigh the answers by likelihood."""
        odds = self._cells(door, secret)
        for steep, flat, truths in lookalikes(secret):
            try:
                first = door.ask(steep, spend=SHARE)
                second = door.ask(flat, max_error=first.max_error["answer"])
            except ErrorFloorError:
                continue
            odds += _fits(_released(first) - _released(second), truths, _step(first))
            odds += log_odds(first, "answer", *truths[0]) + log_odds(second, "answer", *truths[1])
        return odds

    def _cells(self, door: Door, secret: Secret) -> float:
        """Ask for the victim's cell and a neighbour's at once: each needs noise of its own."""
        other, keys = secret.neighbour, ", ".join(secret.declared.row_key)
        sql = secret.question([secret.victim, other]).replace("SELECT", f"SELECT {keys},", 1)
        try:
            answer = door.ask(f"{sql} GROUP BY {keys}", spend=SHARE)
        except ErrorFloorError:
            return 0.0
        cells = {
            tuple(row[key] for key in secret.declared.row_key): row["answer"] for row in answer.to_arrow().to_pylist()
        }
        mine, theirs = (cells.get(secret.key(row)) for row in (secret.victim, other))
        if mine is None or theirs is None:
            return 0.0
        known = float(secret.known[other])
        return _fits(mine - theirs, (secret.values, (known, known)), _step(answer))


def lookalikes(secret: Secret) -> Iterator[tuple[str, str, Truths]]:
    """Give pairs of questions that differ in a digit, a point, a sign, a bracket or an aggregate, the steeper first."""
    column, (one, two), other = secret.column, secret.values, float(secret.known[secret.neighbour])
    own, pair = secret.condition(), secret.condition([secret.victim, secret.neighbour])
    for steep, flat, slopes in (
        (f"10 * {column}", f"1 * {column}", (10.0, 1.0)),
        (f"1e2 * {column}", f"1e-2 * {column}", (100.0, 0.01)),
        (f"5 * {column}", f".5 * {column}", (5.0, 0.5)),
        (f"2 * ({column} + {column})", f"2 * {column} + {column}", (4.0, 3.0)),
        (f"-{column}", column, (-1.0, 1.0)),
    ):
        asked = [f"SELECT sum({each}) AS answer FROM {secret.table} WHERE {own}" for each in (steep, flat)]
        yield asked[0], asked[1], ((slopes[0] * one, slopes[0] * two), (slopes[1] * one, slopes[1] * two))
    total, mean = (f"SELECT {each}({column}) AS answer FROM {secret.table} WHERE {pair}" for each in ("sum", "avg"))
    yield total, mean, ((one + other, two + other), ((one + other) / 2, (two + other) / 2))


def rewordings(secret: Secret) -> Iterator[tuple[str, str, str]]:
    """Give pairs of wordings of one question for the victim's own number: what differs, and both.

    Guarantee wanted of a server: the second is free and has the first one's answer, or it is charged as any other.
    """
    column, table, own = secret.column, secret.table, secret.condition()
    key = secret.declared.row_key[0]
    plain = f"SELECT sum({column}) AS answer FROM {table} WHERE {own}"
    yield "the output's name", plain, plain.replace("AS answer", "AS x")
    yield "the table's name", plain, f"SELECT sum(m.{column}) AS answer FROM {table} AS m WHERE {own}"
    yield "capitals and spaces", plain, f"select  SUM( {column} )  As answer\nfrom {table} where ({own})"
    there = f"{key} IS NOT NULL"
    both = [f"SELECT sum({column}) AS answer FROM {table} WHERE " + each for each in _orders(f"({own})", there, "AND")]
    yield "the order of a conjunction", both[0], both[1]
    never = f"{key} IS NULL"
    either = [f"SELECT sum({column}) AS answer FROM {table} WHERE " + each for each in _orders(f"({own})", never, "OR")]
    yield "the order of a disjunction", either[0], either[1]
    grouped = f"SELECT {key}, sum({column}) AS answer FROM {table} WHERE {own} GROUP BY {key}"
    yield (
        "the order of the outputs",
        grouped,
        grouped.replace(f"{key}, sum({column}) AS answer", f"sum({column}) AS answer, {key}", 1),
    )
    yield "a group's name", grouped, grouped.replace(f"SELECT {key},", f"SELECT {key} AS k,", 1)
    yield "the order of the rows", grouped, f"{grouped} ORDER BY {key} DESC LIMIT 9"
    other = next((name for name in secret.declared.public if name != key), None)
    if other is not None:
        selected = f"SELECT {key}, {other}, sum({column}) AS answer FROM {table} WHERE {own} GROUP BY "
        yield "the order of the groups", f"{selected}{key}, {other}", f"{selected}{other}, {key}"


def _orders(one: str, two: str, word: str) -> tuple[str, str]:
    return f"{one} {word} {two}", f"{two} {word} {one}"


def _fits(difference: float, truths: Truths, step: float) -> float:
    first, second = (abs(difference - (steep - flat)) <= 1.01 * step for steep, flat in zip(*truths, strict=True))
    return CERTAIN * (second - first)


def _released(answer: Any) -> float:
    return float(answer.to_arrow()["answer"][0].as_py())


def _step(answer: Any) -> float:
    return float(next(one for one in answer.to_dict()["outputs"] if one["name"] == "answer")["step"])
