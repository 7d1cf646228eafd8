"""Time several actions alternately, so that a busy machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping

Actions = Mapping[str, Callable[[], object]]


def side_by_side(actions: Actions, rounds: int = 7) -> dict[str, float]:
    """Median seconds of each action over alternating rounds; each runs once beforehand to warm up."""
    return on_clocks(actions, rounds, time.perf_counter)[0]


def on_clocks(actions: Actions, rounds: int, *clocks: Callable[[], float]) -> list[dict[str, float]]:
    """Give these medians for each of several clocks; ``time.process_time`` counts the work of all threads."""
    for action in actions.values():
        action()
    taken: list[dict[str, list[float]]] = [{name: [] for name in actions} for _ in clocks]
    for _ in range(rounds):
        for name, action in actions.items():
            start = [clock() for clock in clocks]
            action()
            for found, clock, begun in zip(taken, clocks, start, strict=True):
                found[name].append(clock() - begun)
    return [{name: statistics.median(times) for name, times in found.items()} for found in taken]
