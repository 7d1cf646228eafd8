"""Where the custodian's files are attacked: versions, redeclared and changed rows, and another catalogue."""

import shutil
from contextlib import contextmanager, suppress
from functools import cached_property

from errorfloor.attacks import World
from errorfloor.attacks.generated import identity, registered
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from errorfloor.vault import register

VERSIONS = 3
WIDER, FINER = 10, 10  # what another meaning does to a range, on either side, and to its steps
OTHER = "another meaning"


class CustodiansWorld(World):
    """The two copies in several versions that hold the same, and what a custodian may do to them."""

    versions = VERSIONS

    def _registered(self, coin, name):
        rows = self._rows | {self.secret.table: self.secret.rows_with(coin)}
        made = registered(self._catalogue, self._folder / name, rows)
        with open_engine(made.place, made.folder, read_only=False) as writing:
            for number in range(1, VERSIONS):
                renamed = {n: t.model_copy(update={"version": version(t, number)}) for n, t in made.tables.items()}
                for table in made.tables:
                    declared = made.model_copy(update={"tables": renamed})
                    register(declared, table, engine=writing, identity=identity(name, table, number))
        return made, self._stack.enter_context(open_engine(made.place, made.folder))

    @contextmanager
    def server(self, coin, *, ledger=None, key=None, version_number=0):
        """Open a server on the copy that a coin chose; a fresh one unless a ledger and a key are given."""
        table, (declared, engine) = self.secret.table, self._copies[coin]
        named = declared.tables[table].model_copy(update={"version": version(declared.tables[table], version_number)})
        catalogue = declared.model_copy(update={"tables": declared.tables | {table: named}})
        yield Database(catalogue, engine=engine, ledger=ledger or MemoryLedger(), keys=key or self.fresh_key())

    def enter(self, coin, ledger):
        """Enter a copy in a ledger, as registering it there does."""
        enter_all(ledger, self._copies[coin][1])

    @contextmanager
    def elsewhere(self, *, key):
        """Open a server on another catalogue with the same names and the first value, registered by itself."""
        catalogue, engine = self._other
        yield Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=key)

    @cached_property
    def _other(self):
        return self._registered(0, "elsewhere")

    @contextmanager
    def redeclared(self, coin, *, ledger, key):
        """Open a server on a further version of a copy, of the same rows, that gives the floor another meaning.

        Where registering is refused, what was registered before is served.
        """
        catalogue, engine = self._redeclared[coin]
        yield Database(catalogue, engine=engine, ledger=ledger, keys=key)

    @cached_property
    def _redeclared(self):
        found = []
        for coin, (declared, _) in enumerate(self._copies):
            folder = self._folder / f"redeclared {coin}"
            shutil.copytree(declared.folder, folder)
            made = redeclared(declared.model_copy(update={"folder": folder}), [self.secret.table])
            found.append((made, self._stack.enter_context(open_engine(made.place, folder))))
        return found

    @contextmanager
    def updated(self, coin, folder, *, ledger, key):
        """Put the rows of a copy in the place of those in a folder, register them under the same version, and serve.

        Where registering is refused, what was registered before is served.
        """
        declared = self._copies[coin][0]
        for source in declared.folder.glob("*.parquet"):
            shutil.copy(source, folder)
        if not (folder / declared.place.snapshots).exists():
            kept = declared.folder / declared.place.snapshots
            shutil.copytree(kept, folder / kept.name)  # as it was registered before
        catalogue = declared.model_copy(update={"folder": folder})
        with suppress(CatalogueError), open_engine(catalogue.place, folder, read_only=False) as engine:
            for name in catalogue.tables:
                register(catalogue, name, engine=engine)
        with open_engine(catalogue.place, folder) as engine:
            yield Database(catalogue, engine=engine, ledger=ledger, keys=key)


def redeclared(catalogue, names):
    """Register a further version of some tables that declares wider ranges and finer steps for the same rows.

    Give the catalogue that has it; where that is refused, the table stays as it was.
    """
    tables = dict(catalogue.tables)
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        for name in names:
            changed = catalogue.model_copy(update={"tables": tables | {name: _other_meaning(tables[name])}})
            with suppress(CatalogueError):
                register(changed, name, engine=engine, identity=identity(catalogue.folder.name, name, OTHER))
                tables = changed.tables
    return catalogue.model_copy(update={"tables": tables})


def _other_meaning(table):
    private = {}
    for name, column in table.private.items():
        low, high = column.range
        wider, finer = (low - WIDER * (high - low), high + WIDER * (high - low)), column.resolution / FINER
        private[name] = column.model_copy(update={"range": wider, "resolution": finer})
    return table.model_copy(update={"version": f"{table.version} ({OTHER})", "private": private})


def version(table, number):
    """Give the name of a version; the first is the declared one."""
    return f"{table.version} ({number})" if number else table.version
