"""Attacks over HTTP: a real server on generated rows, with a fresh table for every run."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from errorfloor.attacks.attack import Door, Shadows, Stage
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.generated import registered, with_values
from errorfloor.attacks.process import AnalystDoor, server_process
from errorfloor.attacks.secret import Secret
from errorfloor.attacks.world import World
from errorfloor.catalogue import Catalogue
from errorfloor.service.dummy import dummy_rows

KINDS = ("first", "second")  # of copies, by the value or history that they hold
EACH_RUN = 2  # copies of a kind that a run may use: its own, and one at home to compare with
ROWS = 60  # of the attacked table, so that many copies are registered quickly
FEWEST, TABLES = 5, 100  # copies with either value, and with drawn ones, before the server is restarted


@final
class Served(World):
    """A server process whose catalogue has many copies of the attacked table, each with accounts of its own.

    Every run takes another copy. When all were used the server is restarted, with another key and an empty ledger.
    Use it as a context manager; the first run starts the server. Without a ``column`` an owner is attacked. Adversaries
    with the custodian's files are played in this process: what they attack are files, not a door.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with Served(Catalogue(tables={"meters": meters}), "meters", "kwh", runs=200, seed=1) as served:
    ...     served.size
    6000
    """

    def __init__(self, catalogue: Catalogue, table: str, column: str | None, *, runs: int, seed: int) -> None:
        rows = {name: dummy_rows(one) for name, one in catalogue.tables.items()}
        rows[table] = rows[table].slice(0, ROWS)
        super().__init__(catalogue, table, column, rows)
        self.private, self.belief = self.secret.private, Belief.of(self.secret.private)
        self._tables = min(max(FEWEST, runs + 1), TABLES)
        drawn = np.random.default_rng(seed).choice(self.belief.values, (self._tables, ROWS), p=self.belief.masses)
        self._truths: list[list[float]] = drawn[:, : rows[table].num_rows].tolist()
        self._life = self._stack.enter_context(ExitStack())
        self._door: AnalystDoor | None = None
        self._used: set[str] = set()

    @property
    def size(self) -> int:
        """How many entries were drawn, each of which can be estimated once."""
        return self._tables * len(self._truths[0])

    @contextmanager
    def stage(self, coin: int) -> Iterator[Stage]:
        """Give the server's door, and what is at stake in a table of its own with the value that a coin chose."""
        if any(len(self._left(kind)) < EACH_RUN for kind in KINDS):
            self._door = None  # started anew now rather than in the middle of the run
        yield self._take(coin)

    @cached_property
    def shadows(self) -> Shadows:
        """Further tables of the same server, whose values the adversary knows."""
        return partial(self._take, 0), partial(self._take, 1)

    @contextmanager
    def turn(self, number: int) -> Iterator[tuple[Door, Secret, float]]:
        """Give the server's door, a drawn entry of a table that nobody has asked for, and its number."""
        row, table = divmod(number, self._tables)
        name = self._name("drawn", table)
        door = self._fresh([name])[0]
        yield door, replace(self.secret, table=name, victim=row), self._truths[table][row]

    def _take(self, coin: int) -> Stage:
        door, name = self._fresh(self._names(KINDS[coin]))
        return door, replace(self.secret, table=name)

    def _names(self, kind: str) -> list[str]:
        return [self._name(kind, number) for number in range(self._tables)]

    def _left(self, kind: str) -> list[str]:
        return [name for name in self._names(kind) if name not in self._used]

    def _fresh(self, names: list[str]) -> tuple[Door, str]:
        """Give a table among these that nobody has asked for; if there is none, restart the server."""
        left = [name for name in names if name not in self._used]
        if self._door is None or not left:
            self._life.close()
            self._door = self._life.enter_context(server_process(self._made))
            self._used, left = set(), names
        self._used.add(left[0])
        return self._door, left[0]

    def _name(self, kind: str, number: int) -> str:
        return f"{self.secret.table[:40]}_{kind}_{number}"

    @cached_property
    def _made(self) -> Catalogue:
        """The catalogue of all copies, registered."""
        rows, secret = dict(self._rows), self.secret
        for number in range(self._tables):
            for coin, kind in enumerate(KINDS):
                rows[self._name(kind, number)] = secret.rows_with(coin)
            drawn = dict(enumerate(self._truths[number]))
            rows[self._name("drawn", number)] = with_values(secret.rows, secret.column, drawn)
        tables = {name: self._catalogue.tables.get(name, secret.declared) for name in rows}
        declared = self._catalogue.model_copy(update={"tables": tables, "streams": {}})
        return registered(declared, self._folder / "served", rows)


@final
class ServedStreams:
    """The streams of a catalogue behind a server process; the owner pushes, and anybody may read what is answered.

    >>> ServedStreams(Catalogue(tables={})).catalogue.streams
    {}
    """

    def __init__(self, catalogue: Catalogue) -> None:
        folder = catalogue.folder
        plans = {
            name: one if one.plan is None else one.model_copy(update={"plan": str((folder / one.plan).resolve())})
            for name, one in catalogue.streams.items()
        }
        self.catalogue = catalogue.model_copy(update={"tables": {}, "streams": plans})
        self._stack = ExitStack()

    @cached_property
    def _door(self) -> AnalystDoor:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        made = registered(self.catalogue, folder / "served", {})
        return self._stack.enter_context(server_process(made))

    def answer(self, **push: Any) -> Any:
        """Release the measurement of one step of a trip."""
        return self._door.answer(**push)

    def __enter__(self) -> "ServedStreams":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
