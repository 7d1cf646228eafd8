"""Where estimates are tried: a generated table whose entries were drawn from what is believed about them in advance."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from errorfloor.attacks.attack import Door
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.generated import registered, with_values
from errorfloor.attacks.keys import SeededKeys
from errorfloor.attacks.secret import Secret
from errorfloor.catalogue import Catalogue
from errorfloor.engines import Engine, open_engine
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.dummy import dummy_rows


class Population:
    """A declared table in which every entry of one private column was drawn from a belief.

    Each turn is about another row, on a fresh server whose key follows from the ``seed``. Use it as a context manager.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "prior": {"mean": 10, "deviation": 8}}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with Population(Catalogue(tables={"meters": meters}), "meters", "kwh", seed=1) as people:
    ...     with people.turn(3) as (door, secret, truth):
    ...         secret.question(), 0 <= truth <= 50
    ('SELECT sum(kwh) AS answer FROM meters WHERE (id = 3)', True)
    """

    def __init__(self, catalogue: Catalogue, table: str, column: str, *, seed: int) -> None:
        self.private = catalogue.tables[table].private[column]
        self.belief = Belief.of(self.private)
        rows = {name: dummy_rows(one) for name, one in catalogue.tables.items()}
        self._truths = self.drawn(np.random.default_rng(seed), rows[table].num_rows)
        rows[table] = with_values(rows[table], column, dict(enumerate(self._truths)))
        self._secret = Secret(table, catalogue.tables[table], column, rows[table], 0, (0.0, 0.0))
        self._catalogue, self._rows, self._stack, self._seed = catalogue, rows, ExitStack(), seed

    def drawn(self, generator: np.random.Generator, count: int) -> list[float]:
        """Draw the column's numbers."""
        found: list[float] = generator.choice(self.belief.values, count, p=self.belief.masses).tolist()
        return found

    @property
    def size(self) -> int:
        """How many rows there are, and so how many turns can be played."""
        return len(self._truths)

    @contextmanager
    def turn(self, number: int) -> Iterator[tuple[Door, Secret, float]]:
        """Open a fresh server; give it with the row that is the victim, and its number."""
        catalogue, engine = self._opened
        key = SeededKeys(self._seed, f"{self._secret.table} {self._secret.column} turn {number}").next()
        door = Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=key)
        yield door, replace(self._secret, victim=number), self._truths[number]

    @cached_property
    def _opened(self) -> tuple[Catalogue, Engine]:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        made = registered(self._catalogue, folder / "drawn", self._rows)
        return made, self._stack.enter_context(open_engine(made.place, made.folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
