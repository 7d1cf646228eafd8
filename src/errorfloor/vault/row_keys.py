"""Whether no two rows have the same key: found out without collecting all keys, where that can be."""

from collections.abc import Iterator, Sequence

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine

PASSES = 8  # over the keys of a very large table; with more, collecting all keys takes no longer
AT_ONCE = 2**25  # hashes that are compared at a time: they take half a gigabyte while they are read


def are_unique(keys: Sequence[str], relation: str, rows: int, engine: Engine) -> bool:
    """Say whether no two rows have the same keys, of which none is null.

    Rows that lie in the order of their keys, each above the one before, are told apart by looking at neighbours: a
    fiftieth of what it takes to collect all keys, and the first row that is not above the one before ends it. In
    another order rows are told apart by hashes of their keys, sorted here: an eighth of it. Keys with different hashes
    differ; if two hashes are the same, the engine compares the keys themselves.

    >>> import inspect
    >>> list(inspect.signature(are_unique).parameters)
    ['keys', 'relation', 'rows', 'engine']
    """
    if engine.keeps_order and _are_ascending(keys, relation, engine):
        return True
    hashed = engine.dialect.hashed(keys) if rows < PASSES * AT_ONCE else None
    if hashed is not None and all(map(_all_differ, _hashes(hashed, relation, rows, engine))):
        return True
    distinct = f"SELECT count(*) AS n FROM (SELECT DISTINCT {', '.join(keys)} FROM {relation}) AS keys"
    return bool(engine.query(distinct).column("n")[0].as_py() == rows)


def _are_ascending(keys: Sequence[str], relation: str, engine: Engine) -> bool:
    before = ", ".join(f"{key}, lag({key}) OVER () AS before_{key}" for key in keys)
    above = "1 = 0"
    for key in reversed(keys):
        above = f"{key} > before_{key} OR ({key} = before_{key} AND ({above}))"
    fallen = f"SELECT 1 AS one FROM (SELECT {before} FROM {relation}) AS rows WHERE NOT ({above}) LIMIT 1"
    return not engine.query(fallen).num_rows


def _hashes(hashed: str, relation: str, rows: int, engine: Engine) -> Iterator[Array]:
    """Give the hashes of all rows, equal ones in the same array."""
    parts = 1 + rows // AT_ONCE
    for part in range(parts):
        where = f" WHERE {hashed} % {parts} = {part}" if parts > 1 else ""
        found = engine.query(f"SELECT {hashed} AS h FROM {relation}{where}").column("h")
        words = [
            np.frombuffer(chunk.buffers()[1], dtype=np.uint64)[chunk.offset :][: len(chunk)] for chunk in found.chunks
        ]
        yield np.concatenate([np.zeros(0, dtype=np.uint64), *words])


def _all_differ(hashes: Array) -> bool:
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()
