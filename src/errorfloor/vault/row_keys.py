"""Whether no two rows have the same key: found out without collecting all keys, where that can be."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine

PASSES = 8  # over the keys of a very large table; with more, collecting all keys takes no longer
AT_ONCE = 2**25  # numbers that are compared at a time: they take half a gigabyte while they are read
SPARSEST = 8  # possible keys for each row: a list of them takes as much memory as the keys


def are_unique(
    keys: Sequence[str], relation: str, rows: int, engine: Engine, extent: Mapping[str, Sequence[int]]
) -> bool:
    """Say whether no two rows have the same keys, none of which is null.

    Rows in the order of their keys, each above the one before, are told apart by looking at neighbours: a fiftieth of
    what it takes to collect all keys, and the first row that is not above the one before ends it. In another order,
    whole numbers that lie close together are ticked off on a list of all that are possible, which takes a tenth of it.
    Other keys are told apart by their hashes, which are sorted here; NumPy does that ten times as fast on a processor
    with wide registers. Keys with different hashes differ; if two hashes are the same, the engine compares the keys.

    ``extent`` has the least and greatest value of columns of whole numbers.
    """
    if engine.keeps_order and _are_ascending(keys, relation, engine):
        return True
    hashed = engine.dialect.hashed(keys) if rows < PASSES * AT_ONCE else None
    if hashed is not None:
        spans = [1 + extent[key][1] - extent[key][0] for key in keys if key in extent]
        possible = prod(spans) if len(spans) == len(keys) else SPARSEST * rows + 1
        if possible < rows:
            return False
        if possible <= SPARSEST * rows:
            steps = [f"(CAST({key} AS BIGINT) - {extent[key][0]}) * {prod(spans[:n])}" for n, key in enumerate(keys)]
            return all(map(_fill_different_places, _numbers(f"({' + '.join(steps)})", relation, rows, engine)))
        if all(map(_all_differ, _numbers(hashed, relation, rows, engine))):
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


def _numbers(number: str, relation: str, rows: int, engine: Engine) -> Iterator[Array]:
    """Give a number of each row, equal ones in the same array and as equal there.

    A number is dealt to its part by its remainder and the hash of its quotient, which together tell it; by the
    remainder alone, keys that come in steps would all go to one part.
    """
    parts = 1 + rows // AT_ONCE
    turned = engine.dialect.hashed([f"{number} // {parts}"])
    dealt = f"(CAST({number} % {parts} AS BIGINT) + CAST({turned} % {parts} AS BIGINT)) % {parts}"
    for part in range(parts):
        some = f"{number} // {parts} AS n FROM {relation} WHERE {dealt} = {part}"
        found = engine.query(f"SELECT {some if parts > 1 else f'{number} AS n FROM {relation}'}").column("n")
        kind = np.uint64 if str(found.type) == "uint64" else np.int64
        words = [np.frombuffer(chunk.buffers()[1], dtype=kind)[chunk.offset :][: len(chunk)] for chunk in found.chunks]
        yield np.concatenate([np.zeros(0, dtype=kind), *words])


def _fill_different_places(places: Array) -> bool:
    taken = np.zeros(1 + int(places.max(initial=0)), dtype=bool)
    taken[places] = True
    return int(np.count_nonzero(taken)) == len(places)


def _all_differ(hashes: Array) -> bool:
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()
