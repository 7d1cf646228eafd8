"""Time several actions alternately, so that a busy machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def side_by_side(actions: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each action over alternating rounds; each runs once beforehand to warm up."""
    for action in actions.values():
        action()
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}
