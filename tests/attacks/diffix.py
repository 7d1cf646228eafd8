"""A server in the manner of Diffix: sticky noise for each condition, small groups suppressed, and nothing is spent."""

import hashlib
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa

from errorfloor.attacks import World
from errorfloor.errors import RefusedError

FEWEST = 4.0  # rows, give or take one, that a group must have to be answered
INNER = "SELECT least(greatest((x - t) / w + 0.5, 0), 1) AS s"
ABOVE = f"CREATE MACRO above(x, t, w) AS (SELECT s * s * (3 - 2 * s) FROM ({INNER}))"


class Rows:
    """The two tables in DuckDB; what they hold is asked once for each question."""

    def __init__(self, secret):
        self.secret = secret
        self._engines = [duckdb.connect() for _ in secret.values]
        self._known = {}
        for coin, engine in enumerate(self._engines):
            engine.execute(ABOVE)
            engine.register(secret.table, secret.rows_with(coin))

    def facts(self, sql, coin):
        """The true answer, which rows it is about, and the largest number that one of them adds to it."""
        if (sql, coin) not in self._known:
            self._known[sql, coin] = self._facts(sql, self._engines[coin])
        found = self._known[sql, coin]
        if isinstance(found, str):
            raise RefusedError(found, reason="engine")
        return found

    def _facts(self, sql, engine):
        selected, rest = sql.removeprefix("SELECT ").split(" AS answer ")
        keys = ", ".join(self.secret.declared.row_key)
        try:
            ((truth,),) = engine.execute(sql).fetchall()
            chosen = engine.execute(f"SELECT {keys} {rest} ORDER BY {keys}").fetchall()
            alone = f"SELECT {selected} AS answer {rest} GROUP BY {keys}"
            ((largest,),) = engine.execute(f"SELECT max(abs(answer)) FROM ({alone})").fetchall()
        except (duckdb.Error, ValueError) as problem:
            return str(problem).split("\n")[0]
        if truth is None or largest is None or not np.isfinite([truth, largest]).all():
            return "no answer"
        return float(truth), tuple(chosen), float(largest) / (len(chosen) if "avg(" in selected else 1)


class Diffix:
    """Adds normal noise for each condition and, once more, for each condition with the rows that it leaves."""

    def __init__(self, rows, coin, seed):
        self._rows, self._coin, self._seed = rows, coin, seed

    def price(self, sql, **wish):
        raise RefusedError("nothing has a price here", reason="price")

    def ask(self, sql, **wish):
        truth, chosen, scale = self._rows.facts(sql, self._coin)
        if len(chosen) < FEWEST + self._normal("suppression", chosen):
            return _Answer(None)
        conditions = sql.split(" WHERE ")[1].split(" AND ") if " WHERE " in sql else ["all"]
        layers = [self._normal(one, *more) for one in set(conditions) for more in ((), (chosen,))]
        return _Answer(truth + scale * sum(layers))

    def _normal(self, *about):
        digest = hashlib.sha256(repr((self._seed, *about)).encode()).digest()
        return float(np.random.default_rng(int.from_bytes(digest[:8], "big")).standard_normal())


class _Answer:
    def __init__(self, released):
        self._released = released

    def to_arrow(self):
        return pa.table({"answer": pa.array([self._released], pa.float64())})


class DiffixWorld(World):
    """Diffix-like servers on the two tables; the noise of each follows from its key."""

    def __init__(self, *given, seed=0):
        super().__init__(*given, seed=seed)
        self._tables = Rows(self.secret)

    @contextmanager
    def server(self, coin, *, key=None, **given):
        yield Diffix(self._tables, coin, (key or self.fresh_key()).secret)
