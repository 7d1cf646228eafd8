"""Where attacks are tried: servers that hold a generated table.

In a ``World`` one entry has one of two values; in a ``Population`` all were drawn from what is believed in advance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from errorfloor.attacks.attack import Attack, Door, Shadows, Stage
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.generated import Ground, SeededKeys, with_values
from errorfloor.attacks.owner_secret import owner_at_stake, presence_at_stake
from errorfloor.attacks.secret import Secret, entry_at_stake
from errorfloor.catalogue import Catalogue
from errorfloor.engines import Engine
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.dummy import dummy_rows


class World(Ground):
    """A declared table with generated rows, in two copies that differ in one entry of one private column.

    Every ``server`` is fresh: it has a key of its own and nothing has been spent. The two values are as far apart as
    makes the promise worth testing.

    ``rows`` of each table are dummy ones unless they are given. Keys follow from a ``seed``, if there is one. Without a
    ``column`` the copies differ in all that belongs to one owner; of a table that protects records, in whether an
    owner is there.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with World(Catalogue(tables={"meters": meters}), "meters", "kwh") as world:
    ...     with world.stage(1) as (door, secret):
    ...         answer = door.ask(f"SELECT sum(kwh) AS kwh FROM meters WHERE {secret.condition()}", spend=0.1)
    >>> world.secret.values, round(world.secret.promised, 2)
    ((23.935, 26.065), 0.69)
    """

    def __init__(
        self,
        catalogue: Catalogue,
        table: str,
        column: str | None,
        rows: Mapping[str, pa.Table] | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        declared = catalogue.tables.get(table)
        if declared is None or (column is not None and column not in declared.private):
            raise InputError(f"{table}.{column} is not a private column of the catalogue")
        self._catalogue = catalogue
        self._rows = {name: dummy_rows(one) for name, one in catalogue.tables.items()} if rows is None else dict(rows)
        made = self._rows[table]
        if made.num_rows < 3:
            raise InputError(f"attacks need a table of three rows or more, and {table} has {made.num_rows}")
        self.secret: Secret
        if declared.hides_records:
            self.secret = presence_at_stake(table, declared, made)
        elif column is None:
            self.secret = owner_at_stake(table, declared, made)
        else:
            self.secret = entry_at_stake(table, declared, column, made)
        self._seed, self._keys = seed, SeededKeys(seed, "")
        super().__init__()

    def begin(self, attack: str) -> None:
        """Start the row of keys anew for an attack: what it finds does not depend on others that were played before."""
        self._keys = SeededKeys(self._seed, f"{self.secret.table} {self.secret.column} {attack}")

    def played(self, attack: Attack, coins: Sequence[int]) -> Iterable[float]:
        """Play an attack once for each coin; give the odds as seen afterwards, 0 if a server will have none of it."""
        for coin in coins:
            try:
                yield attack.play(self, coin)
            except ErrorFloorError:
                yield 0.0

    @contextmanager
    def stage(self, coin: int) -> Iterator[Stage]:
        """Open a fresh server on the copy that a coin chose, and say what is at stake there."""
        with self.server(coin) as door:
            yield door, self.secret

    @contextmanager
    def server(self, coin: int, *, key: Key | None = None) -> Iterator[Door]:
        """Open a fresh server on the copy that a coin chose."""
        catalogue, engine = self._copies[coin]
        yield Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=key or self.fresh_key())

    def fresh_key(self) -> Key:
        """Give a key that no other server has."""
        return self._keys.next()

    @cached_property
    def shadows(self) -> Shadows:
        """Servers of the adversary's own, one on each copy."""
        return partial(self._shadow, 0), partial(self._shadow, 1)

    def _shadow(self, coin: int) -> Stage:
        catalogue, engine = self._copies[coin]
        return Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=self.fresh_key()), self.secret

    @cached_property
    def _copies(self) -> list[tuple[Catalogue, Engine]]:
        """The two copies, registered when they are first needed."""
        return [self._registered(coin, f"{coin}") for coin in range(2)]

    def _registered(self, coin: int, name: str) -> tuple[Catalogue, Engine]:
        return self.opened(self._catalogue, name, self._rows | {self.secret.table: self.secret.rows_with(coin)})


class Population(Ground):
    """A declared table in which every entry of one private column was drawn from a belief.

    Each turn is about another row, on a fresh server whose key follows from the ``seed``.

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
        self._catalogue, self._rows, self._seed = catalogue, rows, seed
        super().__init__()

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
        catalogue, engine = self._registered
        key = SeededKeys(self._seed, f"{self._secret.table} {self._secret.column} turn {number}").next()
        door = Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=key)
        yield door, replace(self._secret, victim=number), self._truths[number]

    @cached_property
    def _registered(self) -> tuple[Catalogue, Engine]:
        return self.opened(self._catalogue, "drawn", self._rows)
