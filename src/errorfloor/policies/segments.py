"""A chain cut into segments: stretches of inner nodes, and single nodes that separate them.

Arrays over nodes (n, …) become (count, length + 1, …): a segment's inner nodes, then the separator behind them. What
belongs to a step stands at the step's second node. The end is filled up with nodes that nothing is joined to.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array

SHORTEST = 32


@dataclass(frozen=True)
class Segments:
    """How ``nodes`` are cut: ``count`` segments of ``length`` inner nodes.

    >>> Segments.of(nodes=10, cells=4, shortest=3)
    Segments(nodes=10, count=3, length=3)
    >>> Segments(10, 3, 3).of_nodes(np.arange(10.0), fill=-1.0).tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, -1.0, -1.0]]
    """

    nodes: int
    count: int
    length: int

    @classmethod
    def of(cls, nodes: int, cells: int, shortest: int = SHORTEST) -> "Segments":
        """Balance inner nodes, a cost of their number squared each, with separators, of that of the cells cubed."""
        wanted = max(shortest, cells // 2)
        count = max(1, round((nodes + 1) / (wanted + 1)))
        length = -(-(nodes + 1) // count) - 1
        return cls(nodes, -(-(nodes + 1) // (length + 1)), length)

    def of_nodes(self, values: Array, fill: float) -> Array:
        """Cut what belongs to nodes."""
        return self._cut(values, 0, fill)

    def of_steps(self, values: Array, fill: float) -> Array:
        """Cut what belongs to steps."""
        return self._cut(values, 1, fill)

    def _cut(self, values: Array, before: int, fill: float) -> Array:
        whole = np.full((self.count * (self.length + 1), *values.shape[1:]), fill)
        whole[before : before + len(values)] = values
        return whole.reshape(self.count, self.length + 1, *values.shape[1:])

    def joined(self, values: Array, before: int = 0) -> Array:
        """What was cut, in one piece again; ``before`` is 1 for steps."""
        return np.asarray(values.reshape(-1)[before : self.nodes])
