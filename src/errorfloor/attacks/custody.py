"""The custodian's files under attack: a table for every run, and servers one after the other on what lies there."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.attacks.attack import Stage
from errorfloor.attacks.generated import redeclared, registered, version
from errorfloor.attacks.process import server_process
from errorfloor.attacks.secret import Secret
from errorfloor.catalogue import Catalogue
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.vault import register

if TYPE_CHECKING:
    from errorfloor.attacks.process import AnalystDoor

LEDGER = "ledger.sqlite*"


@final
class Custody:
    """One folder with a copy of the attacked table for every run, and with accounts of its own for each.

    A ``server`` keeps the key and the ledger of the one before it. Between two of them the ledger can be put back and
    sources can be replaced, as somebody does who has the custodian's files. ``coins`` say which value each copy holds.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        secret: Secret,
        coins: Sequence[int],
        folder: Path,
        *,
        versions: int = 1,
        name: str = "held",
    ) -> None:
        self.secrets = [replace(secret, table=f"{secret.table[:40]}_{number}") for number in range(len(coins))]
        self.versions = versions
        self._folder, self._backup = folder / name, folder / f"{name} backup"
        self._attacked = catalogue, secret
        tables = {one.table: secret.declared for one in self.secrets}
        declared = catalogue.model_copy(update={"tables": tables, "streams": {}})
        self._catalogue = registered(declared, self._folder, self._rows(secret, coins), versions=versions)

    def _rows(self, secret: Secret, coins: Sequence[int]) -> dict[str, pa.Table]:
        copies = [secret.rows_with(coin) for coin in range(2)]
        return {one.table: copies[coin] for one, coin in zip(self.secrets, coins, strict=True)}

    @contextmanager
    def server(self, version_number: int = 0) -> Iterator[list[Stage]]:
        """Serve a version of all copies; give the door with what is at stake in each."""
        named = {
            name: one.model_copy(update={"version": version(one, version_number)})
            for name, one in self._catalogue.tables.items()
        }
        with self._served(self._catalogue.model_copy(update={"tables": named})) as door:
            yield [(door, secret) for secret in self.secrets]

    def _served(self, catalogue: Catalogue) -> AbstractContextManager["AnalystDoor"]:
        return server_process(catalogue, anew=False)

    @contextmanager
    def redeclared(self) -> Iterator[list[Stage]]:
        """Serve a further version of all copies, of the same rows, that gives the floor another meaning."""
        with self._served(redeclared(self._catalogue, list(self._catalogue.tables))) as door:
            yield [(door, secret) for secret in self.secrets]

    def elsewhere(self) -> "Custody":
        """Register all copies once more in a folder of their own, with the first value and the same keys."""
        other = Custody(*self._attacked, [0] * len(self.secrets), self._folder.parent, name="elsewhere")
        shutil.copy(self._folder / "keys.json", other._folder)
        return other

    def back_up(self) -> None:
        """Copy the ledger and its anchor."""
        self._backup.mkdir()
        for file in self._folder.glob("ledger*"):
            shutil.copy(file, self._backup)

    def put_back(self, *, with_anchor: bool) -> None:
        """Put the copy of the ledger in its place, of the anchor too if so wished."""
        for left in self._folder.glob(LEDGER):
            left.unlink()
        for file in self._backup.glob("ledger*" if with_anchor else LEDGER):
            shutil.copy(file, self._folder)

    def update(self, coins: Sequence[int]) -> None:
        """Replace the sources and register them under the version that they had; what is refused stays as it was."""
        with open_engine(self._catalogue.place, self._folder, read_only=False) as engine:
            for name, rows in self._rows(self.secrets[0], coins).items():
                pq.write_table(rows, self._folder / self._catalogue.tables[name].source)
                with suppress(CatalogueError):
                    register(self._catalogue, name, engine=engine)
