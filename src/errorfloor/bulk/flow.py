"""Rows on their way from the source to the target: read ahead, perturbed on several cores, watched, counted."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Queue
from threading import Event
from typing import Any, Protocol

import pyarrow as pa

from errorfloor.bulk.perturbation import Perturbation
from errorfloor.checks import Array

WORKERS = 2
AHEAD = 10  # batches in flight


class Watch(Protocol):
    """Somebody who looks at every batch, to tell in the end that no two rows share a key."""

    def look(self, batch: pa.RecordBatch, tags: Array) -> Any:
        """Look at a batch, on any core and in any order; what is found is taken later."""

    def take(self, found: Any) -> None:
        """Take what was found, in the order of the batches."""

    def settle(self) -> None:
        """Refuse a table in which two rows share a key."""


class Counter:
    """Counts rows on their way to the target."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.rows = 0
        self._progress = progress

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass the batches on."""
        for batch in batches:
            yield batch
            self.rows += batch.num_rows
            if self._progress is not None:
                self._progress(self.rows)


def perturbed(
    batches: Iterator[pa.RecordBatch], work: Perturbation, watch: Watch
) -> Generator[pa.RecordBatch, None, None]:
    """Read ahead, perturb on several cores, and give the batches in their order."""
    line: Queue[Future[tuple[pa.RecordBatch, Any]] | None] = Queue(AHEAD)
    stopped = Event()

    def perturb(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        released, tags = work.apply(batch)
        return released, watch.look(batch, tags)

    with ThreadPoolExecutor(WORKERS + 1) as pool:

        def feed() -> None:
            try:
                for batch in batches:
                    if stopped.is_set():
                        return
                    line.put(pool.submit(perturb, batch))
            finally:
                line.put(None)

        feeder = pool.submit(feed)
        try:
            while (future := line.get()) is not None:
                released, found = future.result()
                watch.take(found)
                yield released
            feeder.result()
        finally:
            stopped.set()
            while not feeder.done():  # it may be waiting for room in the line
                with suppress(Empty):
                    line.get(timeout=0.01)
