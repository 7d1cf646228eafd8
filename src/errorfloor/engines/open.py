"""From a declared place to an open engine."""

from pathlib import Path

from errorfloor.catalogue.model import Place
from errorfloor.engines.base import Engine
from errorfloor.errors import MissingExtraError


def has_vault(place: Place, folder: Path) -> bool:
    """Say whether there is something to open: a file or folder of snapshots, or a server, which is always asked.

    >>> has_vault(Place(), Path("nowhere"))
    False
    """
    return place.engine == "postgresql" or (folder / place.snapshots).exists()


def open_engine(place: Place, folder: Path, *, read_only: bool = True) -> Engine:
    """Open the engine that a catalogue declares, which lies in a folder: relative paths start there.

    Any number may be open for asking at once, ``read_only``. Registering needs False, and is alone in doing so.

    Raises MissingExtraError if the engine's package is not installed, CatalogueError if nothing was ever registered in
    a DuckDB file that is to be read, EngineError if the engine cannot be reached, or somebody else is writing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_engine(Place(), Path(folder), read_only=False) as engine:
    ...         engine.create("squares", "SELECT k, k * k AS square FROM range(4) AS t(k)")
    ...         engine.query(f"SELECT sum(square) AS total FROM {engine.relation('squares')}").to_pylist()
    [{'total': Decimal('14')}]
    """
    match place.engine:
        case "duckdb":
            try:
                from errorfloor.engines.duckdb import DuckDBEngine
                from errorfloor.engines.duckdb_folder import DuckDBFolder
            except ImportError:
                raise MissingExtraError("sql", "duckdb") from None
            path = (folder / place.snapshots).resolve()
            kind = DuckDBEngine if path.is_file() else DuckDBFolder  # a file is what older versions made
            return kind(path, folder, read_only=read_only)
        case "postgresql":
            try:
                from errorfloor.engines.postgresql import PostgreSQLEngine
            except ImportError:
                raise MissingExtraError("postgres", "adbc-driver-postgresql") from None
            return PostgreSQLEngine(place.snapshots, folder, read_only=read_only)
        case "spark":
            try:
                from errorfloor.engines.spark import SparkEngine
            except ImportError:
                raise MissingExtraError("spark", "pyspark") from None
            return SparkEngine((folder / place.snapshots).resolve(), folder, read_only=read_only)
