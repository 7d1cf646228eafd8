"""Nodes of a tree that are alike, in what hangs below them and above: what is computed for one holds for all."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array


@dataclass(frozen=True, eq=False)
class Alike:
    """A small tree, a node for each kind of node of a large one: its parent, and how many siblings of it there are.

    ``kind`` gives each node's place in the small tree, where parents come before their parts as well.

    >>> small = Alike.of(np.array([-1, 0, 0, 1, 1, 2, 2]), np.ones((7, 1)))
    >>> small.kind.tolist(), small.parents.tolist(), small.times.tolist()
    ([0, 1, 1, 2, 2, 2, 2], [-1, 0, 1], [1, 2, 2])
    """

    kind: Array
    parents: Array
    times: Array

    @classmethod
    def of(cls, parents: Array, numbers: Array) -> "Alike":
        """Tell nodes apart by a row of numbers each, by their parts, and by their parents."""
        below = _by_parts(parents, numbers)
        known: dict[tuple[int, int], int] = {}
        kind = np.zeros(len(parents), dtype=np.int64)
        above: list[int] = []
        first: list[int] = []
        for node, parent in enumerate(parents.tolist()):
            key = (-1 if parent < 0 else int(kind[parent]), below[node])
            if key not in known:
                known[key] = len(above)
                above.append(key[0])
                first.append(parent)
            kind[node] = known[key]
        times = np.zeros(len(above), dtype=np.int64)
        family = np.asarray(first)[kind] == parents  # one family of each kind is counted
        np.add.at(times, kind[family], 1)
        tops = np.asarray(above) < 0
        times[tops] = 1
        return cls(kind, np.asarray(above, dtype=np.int64), times)

    def families(self) -> list[tuple[int, Array]]:
        """Give each parent with the kinds of its parts, parents first."""
        order = np.argsort(self.parents, kind="stable")
        order = order[self.parents[order] >= 0]
        cuts = np.flatnonzero(np.diff(self.parents[order])) + 1
        return [(int(self.parents[part[0]]), part) for part in np.split(order, cuts) if part.size]


def _by_parts(parents: Array, numbers: Array) -> list[int]:
    """Give nodes the same number if their own rows and their parts are alike."""
    row_of = np.unique(numbers, axis=0, return_inverse=True)[1].ravel().tolist()
    above = parents.tolist()
    counts: list[dict[int, int]] = [{} for _ in above]
    known: dict[tuple[object, ...], int] = {}
    found = [0] * len(above)
    for node in range(len(above) - 1, -1, -1):
        key = (row_of[node], *sorted(counts[node].items()))
        found[node] = known.setdefault(key, len(known))
        if above[node] >= 0:
            count = counts[above[node]]
            count[found[node]] = count.get(found[node], 0) + 1
    return found
