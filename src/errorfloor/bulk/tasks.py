"""What runs on the machines of a cluster: rows are looked at, or released, a batch at a time.

A task that fails says only that it failed: the texts of libraries quote values, and a cluster logs them. What a rule of
ours refuses is written, in the rule's fixed words, to a folder that the driver reads.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.bulk.content import Content
from errorfloor.bulk.holding import Holding
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.errors import ErrorFloorError

HELD = pa.schema(
    [
        ("column", pa.string()),
        ("rows", pa.int64()),
        ("sum", pa.string()),
        ("words", pa.binary()),
        ("halvings", pa.int64()),
    ]
)
Batches = Iterator[pa.RecordBatch]


class TaskFailedError(RuntimeError):
    """A task failed; a cluster shows this instead of the reason."""


@dataclass(frozen=True)
class Inspecting:
    """Refuses what breaks a rule, and adds up what the rows hold."""

    content: Content
    refusals: str

    def run(self, batches: Batches) -> Batches:
        """Give a row for each column and batch: what its rows hold."""
        return _silenced(batches, self._inspect, self.refusals)

    def _inspect(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        held = [
            (name, part.rows, f"{part.sum:x}", part.words.tobytes(), part.halvings)
            for name, part in self.content.of(batch).items()
        ]
        return pa.record_batch([list(values) for values in zip(*held, strict=True)], schema=HELD)


def held_by(row: Any) -> Holding:
    """Give back what a row of a task says."""
    words = np.frombuffer(bytes(row["words"]), dtype="<u8")
    return Holding(row["rows"], int(row["sum"], 16), words, row["halvings"])


@dataclass(frozen=True)
class Releasing:
    """Draws the noise; it carries the derived keys of one batch, which only the machines that draw may have."""

    work: Perturbation
    refusals: str

    def run(self, batches: Batches) -> Batches:
        """Give the released rows, in their order."""
        return _silenced(batches, self._release, self.refusals)

    def _release(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self.work.apply(batch)[0]


def refusal(folder: Path) -> str | None:
    """Give the words of a rule that a task refused by, if there was one; the same ones if there were several.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     refusal(Path(folder)) is None
    True
    """
    return min((file.read_text(encoding="utf-8") for file in folder.iterdir()), default=None)


def _silenced(batches: Batches, work: Callable[[pa.RecordBatch], pa.RecordBatch], refusals: str) -> Batches:
    refused = None
    try:
        for batch in batches:
            yield work(batch)
    except ErrorFloorError as problem:
        refused = str(problem)
    except Exception:  # its text may quote a value
        refused = ""
    if refused is None:
        return
    if refused:
        (Path(refusals) / uuid.uuid4().hex).write_text(refused, encoding="utf-8")
    raise TaskFailedError("the rows could not be released")
