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


def table(title: str, rows: Mapping[str, float], base: str, per: int = 1, unit: str = "s") -> None:
    """Print times in units of ``unit`` per item, and as ratios to the ``base`` row."""
    scale = {"s": 1.0, "ms": 1e3, "ns": 1e9}[unit]
    print(f"\n{title}")
    for name, seconds in rows.items():
        print(f"  {name:<34} {seconds / per * scale:>10.3g} {unit}   {seconds / rows[base]:>8.2f} × {base}")
