"""A shelf in the tables of a ledger: written and read in the ledger's own transactions."""

from collections.abc import Collection, Iterator
from typing import Any, final

from errorfloor.ledger.connections import LedgerConnection, marks
from errorfloor.ledger.shelf import LASTING, Kept, Shelf

FACTS = "number, text, seal, size"
PAGE = 100  # answers read at a time, without their content
ABOVE_ALL = 2**63 - 1  # no answer has so large a number


@final
class SqlShelf(Shelf):
    """The tables of what is kept, inside one transaction."""

    def __init__(self, connection: LedgerConnection) -> None:
        self._run = connection.run

    def put(self, kept: Kept) -> int:
        """Add an answer at the end."""
        (last,) = self._run("SELECT coalesce(max(number), 0) AS number FROM @kept")
        number = last["number"] + 1
        values = number, kept.text, kept.seal, kept.size, kept.content
        self._run(f"INSERT INTO @kept ({FACTS}, content) VALUES (?, ?, ?, ?, ?)", *values)
        for one in kept.outputs:
            insert = "INSERT INTO @kept_outputs (asked, over_what, label, number) VALUES (?, ?, ?, ?)"
            self._run(f"{insert} ON CONFLICT DO NOTHING", *one, number)
        return int(number)

    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""
        found, places = {}, {}
        for one in asked:
            for row in self._run("SELECT number FROM @kept_outputs WHERE asked = ?", one):
                places[one] = row["number"]
        for number in set(places.values()):
            for row in self._run(f"SELECT {FACTS}, content FROM @kept WHERE number = ?", number):
                found[number] = _kept(row)
        return {one: found[number] for one, number in places.items() if number in found}

    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels, without their content."""
        found: dict[str, Kept] = {}
        wanted = list(labels)
        for start in range(0, len(wanted), PAGE):
            some = wanted[start : start + PAGE]
            outputs = f"SELECT label, number AS place FROM @kept_outputs WHERE label IN ({marks(len(some))})"
            joined = f"SELECT label, {FACTS} FROM ({outputs}) AS outputs JOIN @kept ON number = place"
            found |= {row["label"]: _kept(row) for row in self._run(joined, *some)}
        return found

    def over(self, over: str, limit: int, before: int | None = None) -> list[Kept]:
        """The last answers, ``before`` a number, with an output over the same, newest first, without their content."""
        outputs = (
            "SELECT DISTINCT number FROM @kept_outputs WHERE over_what = ? AND number < ? ORDER BY number DESC LIMIT ?"
        )
        wanted = f"SELECT {FACTS} FROM @kept WHERE number IN ({outputs}) ORDER BY number DESC"
        return [_kept(row) for row in self._run(wanted, over, ABOVE_ALL if before is None else before, limit)]

    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order."""
        columns, most = (f"{FACTS}, content", 1) if whole else (FACTS, PAGE)
        while limit is None or limit > 0:
            count = most if limit is None else min(limit, most)
            page = f"SELECT {columns} FROM @kept WHERE number > ? ORDER BY number LIMIT ?"
            rows = self._run(page, after, count)
            yield from map(_kept, rows)
            if len(rows) < count:
                return
            after, limit = rows[-1]["number"], None if limit is None else limit - count

    def beyond(self, room: int) -> list[int]:
        """The oldest of what does not last, by number, without which the rest of it takes at most so many bytes."""
        lasting = f"SELECT number FROM @kept_outputs WHERE over_what IN ({marks(len(LASTING))})"
        others = f"SELECT number, size FROM @kept WHERE number NOT IN ({lasting})"
        taken = f"SELECT number, sum(size) OVER (ORDER BY number DESC) AS taken FROM ({others}) AS others"
        found = f"SELECT number FROM ({taken}) AS newest WHERE taken > ?"
        return [row["number"] for row in self._run(found, *LASTING, room)]

    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers for good."""
        for number in numbers:
            self._run("DELETE FROM @kept_outputs WHERE number = ?", number)
            self._run("DELETE FROM @kept WHERE number = ?", number)


def _kept(row: dict[str, Any]) -> Kept:
    content = row.get("content")
    return Kept(row["text"], row["seal"], row["size"], None if content is None else bytes(content), row["number"])
