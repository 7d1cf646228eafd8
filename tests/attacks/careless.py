"""A server that is careless in one way or another: each attack must win against one of them, or it proves nothing."""

import hashlib
import math
import re
import time
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa

from errorfloor.attacks import Population, World
from errorfloor.attacks.secret import Secret
from errorfloor.catalogue import allowance
from errorfloor.errors import RefusedError
from errorfloor.noise import RaisedCosine, Uniform
from errorfloor.random import ReproducibleBits


class CarelessAnswer:
    def __init__(self, released, noise):
        self._released, self._noise = released, noise
        self.max_error = {"answer": math.inf if noise is None else noise.high}

    def to_arrow(self):
        return pa.table({"answer": [self._released]})

    def to_dict(self):
        stated = {"name": "answer", "noise": None if self._noise is None else self._noise.to_dict(), "step": 1e-9}
        return {"outputs": [stated], "cells": [{"outputs": {"answer": {"answer": self._released}}}]}


class CarelessServer:
    """Answers with raised-cosine noise for a slope that it finds by moving the victim's number a little.

    ``flaw``: "no ledger" (nothing is ever spent), "fresh noise" (and asking again draws again), "cheap" (noise tells
    ten times what it should, and nothing is ever spent), "shared noise" (one draw for every question), "merged labels"
    (noise follows the words of a question, not its digits and signs), "jumps" (uniform noise, and nothing is ever
    spent), "private price" (the price is reckoned from the rows), "slow" (large numbers take longer), "no version"
    (noise follows the wording, whatever the rows are).
    """

    def __init__(self, secret, value, flaw, seed):
        self.secret, self.flaw, self.seed = secret, flaw, seed
        self._value, self._asked = value, 0

    def _truth(self, sql, value=None):
        found = truth(self.secret.column, self.secret.table, sql, self._value if value is None else value, self.secret)
        if isinstance(found, str):
            raise RefusedError(found, reason="engine")
        return found

    def _slope(self, sql):
        """The derivative at one point, as a careless designer takes it for a bound."""
        place = sum(self.secret.values) / 2 - 0.9 * self.secret.distance
        values = [self._truth(sql, value) for value in (place, place + 1e-3 * self.secret.distance)]
        if None in values or not all(map(math.isfinite, values)):
            return 1.0
        return max(abs(values[1] - values[0]) / (1e-3 * self.secret.distance), 1e-9)

    def price(self, sql, **wish):
        answer = CarelessAnswer(None, None)
        if self.flaw == "private price":
            answer.max_error = {"answer": self._truth(sql)}
            answer.to_dict = lambda: {"max_error": answer.max_error}
        return answer

    def ask(self, sql, *, spend=None, max_error=None, analyst=None):
        if self.flaw == "slow" and self._value > sum(self.secret.values) / 2:
            time.sleep(0.01)
        if "GROUP BY" in sql:
            raise RefusedError("one cell at a time", reason="groups")
        truth = self._truth(sql)
        if max_error is None:
            information, _ = allowance(self.secret.private)
            told = 10 * spend if self.flaw == "cheap" else spend
            max_error = math.pi * self._slope(sql) / math.sqrt(told * information)
        noise = Uniform(low=-max_error, high=max_error) if self.flaw == "jumps" else RaisedCosine(-max_error, max_error)
        merged = re.sub(r"[^a-z]", "", sql.split("WHERE")[0].lower())
        words = {"shared noise": "", "fresh noise": None, "merged labels": merged}.get(self.flaw, f"{sql} {spend}")
        self._asked += 1
        bits = ReproducibleBits(_number(f"{self.seed} {self._asked if words is None else words}"))
        if truth is None or not math.isfinite(truth):
            return CarelessAnswer(None, noise)
        return CarelessAnswer(truth + float(noise.sample(1, rng=bits)[0]), noise)


ENGINE, TRUTHS = duckdb.connect(), {}


def truth(column, table, sql, value, secret):
    """What DuckDB says when the victim has a value: a number, None, or an error message."""
    if (sql, value) not in TRUTHS:
        numbers = secret.known.copy()
        numbers[secret.victim] = value
        rows = secret.rows.set_column(secret.rows.column_names.index(column), column, pa.array(numbers))
        ENGINE.register(table, rows)
        try:
            found = ENGINE.execute(sql).fetchall()
            TRUTHS[sql, value] = None if not found or found[0][-1] is None else float(found[0][-1])
        except duckdb.Error as problem:
            TRUTHS[sql, value] = str(problem).split("\n")[0]
    return TRUTHS[sql, value]


def _number(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


class CarelessWorld(World):
    def __init__(self, *given, flaw, seed=0):
        super().__init__(*given)
        self.flaw = flaw
        self._seeds = np.random.default_rng(seed)

        self.shadows = (lambda: (self._careless(0), self.secret)), (lambda: (self._careless(1), self.secret))

    @contextmanager
    def server(self, coin, *, key=None, **given):
        yield self._careless(coin) if key is None else self._keyed(coin, key)

    @contextmanager
    def elsewhere(self, *, key):
        yield self._keyed(0, key)

    @contextmanager
    def updated(self, coin, folder, *, ledger, key):
        yield CarelessServer(self.secret, self.secret.values[coin], self.flaw, seed="the same")

    def _keyed(self, coin, key):
        return CarelessServer(self.secret, self.secret.values[coin], self.flaw, seed=key.id)

    def _careless(self, coin):
        return CarelessServer(self.secret, self.secret.values[coin], self.flaw, seed=int(self._seeds.integers(2**40)))


class OneNumber(CarelessServer):
    """Knows one number and answers with multiples of it."""

    def _truth(self, sql, value=None):
        times = re.search(r"sum\((\d+) \*", sql)
        return (self._value if value is None else value) * (int(times[1]) if times else 1)


class CarelessPopulation(Population):
    """Rows on a server that never refuses; or ("narrow") drawn from a narrower law than the one that is declared."""

    def __init__(self, *given, flaw, seed=0):
        self.flaw = flaw
        super().__init__(*given, seed=seed)

    def drawn(self, generator, count):
        found = super().drawn(generator, count)
        return (
            [self.belief.mean + 0.1 * (value - self.belief.mean) for value in found] if self.flaw == "narrow" else found
        )

    @contextmanager
    def turn(self, number):
        truth, secret = self._truths[number], self._secret
        victim = Secret(secret.table, secret.declared, secret.column, secret.rows, number, (truth - 1.0, truth + 1.0))
        yield OneNumber(victim, truth, "no ledger", seed=number), victim, truth
