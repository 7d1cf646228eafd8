"""Cost of streams against the bare matrix products, and of long Gramians against stacking the rows."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.catalogue import PrivateColumn
from errorfloor.dynamics import LinearSystem
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.plots import canvas, save
from errorfloor.streams import Stream
from errorfloor.streams.fleet import Fleet

ENTITIES = int(os.environ.get("BENCH_ENTITIES", "100000"))
STEPS = int(os.environ.get("BENCH_STEPS", "1000"))
CAR = [[1.0, 0.05, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.05], [0.0, 0.0, 0.0, 1.0]]
SEEN = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
PRODUCTS, TURNED, STREAM = "bare products, entities as rows", "bare products, as columns", "stream"


def dense(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    return A / np.abs(np.linalg.eigvals(A)).max(), rng.normal(size=(m, n))


def stream_of(A: object, C: object) -> Stream:
    n = np.asarray(A).shape[0]
    names = tuple(f"state {i}" for i in range(n))
    system = LinearSystem(A, C, STEPS, states=names)
    place = PrivateColumn(range=(-5000, 5000), resolution="0.1", floor=1, unit="m")
    plan = system.protect(max_loss=STEPS * 1e6)
    return Stream(plan, name="cars", states={names[0]: place}, keys=Key.fresh(), ledger=MemoryLedger())


def compare(report: Report, title: str, A: object, C: object) -> None:
    stream = stream_of(A, C)
    step, seen = np.array(A).T.copy(), np.array(C).T.copy()
    fleet = stream.trips(list(range(ENTITIES)), ["one"] * ENTITIES)
    drawing = fleet._drawing
    columns = drawing.starts()
    starts = columns.T.copy()
    measured = np.random.default_rng(1).normal(0, 1000, size=(ENTITIES, seen.shape[1]))

    def products() -> None:
        z = starts
        for _ in range(STEPS):
            z @ seen
            z = z @ step

    def turned() -> None:
        z = columns
        for _ in range(STEPS):
            seen.T @ z
            z = step.T @ z

    def answered() -> None:
        trips = Fleet(drawing, stream.lattice, stream.ranges)  # the noise of every trip is drawn here, too
        for _ in range(STEPS):
            trips.answer(measured)

    times = side_by_side({PRODUCTS: products, TURNED: turned, STREAM: answered}, 3)
    report.ratios(f"{title}: {ENTITIES:,} entities × {STEPS:,} steps", times, PRODUCTS)


def gramians(report: Report) -> None:
    horizon = 100_000
    A, C = dense(10, 2)

    def stacking() -> None:
        rows, now = np.empty((horizon + 1, *C.shape)), C
        for k in range(horizon + 1):
            rows[k] = now
            now = now @ A
        np.linalg.qr(rows.reshape(-1, 10), mode="r")

    def blocks() -> None:
        _ = LinearSystem(A, C, horizon).gramian_root

    times = side_by_side({"stacked rows, one QR": stacking, "errorfloor, by blocks": blocks}, 3)
    report.ratios(f"Gramian of {horizon:,} steps, 10 states", times, "stacked rows, one QR", unit="ms")


def main(report: Report) -> None:
    compare(report, "Car in the plane, 4 states", CAR, SEEN)
    compare(report, "Dense system, 4 states", *dense(4, 2))
    compare(report, "Dense system, 10 states", *dense(10, 2))
    gramians(report)
    figure = per_step_excess([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    line = figure.axes[0].lines[0]
    rows = [
        [f"{int(horizon)}", float(times)] for horizon, times in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    title = "Information of noise drawn anew at every step, at equal quality (vehicle)"
    report.rows(title, ["horizon", "× that of one draw"], rows)
    if folder := os.environ.get("BENCH_PICTURES"):
        print(f"  picture: {save(figure, f'{folder}/per_step_excess.png')}")


def excess(system: LinearSystem) -> float:
    """How many times as much as one carried draw independent noise tells about the initial state, at equal quality.

    Independent noise of mean square Q/((T + 1)m) on every number tells G(T + 1)m/Q, one draw Σ⁻¹: the ratio is
    (T + 1) m Tr G/(Tr G^½)², in Tr I, whatever the quality.
    """
    numbers = (system.horizon + 1) * system.outputs
    return float(np.trace(system.gramian)) * numbers / system.protect(max_loss=1.0).certificate.value


def per_step_excess(A: Any, C: Any, horizons: Sequence[int]) -> Any:
    """Draw how many times as much noise on every step tells as one carried draw of equal quality, over the horizon."""
    times = [excess(LinearSystem(A, C, horizon)) for horizon in horizons]
    figure, axes = canvas()
    axes.loglog(list(horizons), times, marker="o", markersize=3)
    axes.set_xlabel("horizon")
    axes.set_ylabel("information, times that of one draw")
    axes.set_title("Noise drawn again at every step, at equal quality")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    return figure
