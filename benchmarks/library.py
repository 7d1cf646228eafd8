"""Cost of designing, of floors as the table grows, and of importing."""

import subprocess
import sys

import numpy as np

import errorfloor as ef
from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side


def main(report: Report) -> None:
    imports = {
        "import numpy": lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True),
        "import errorfloor": lambda: subprocess.run([sys.executable, "-c", "import errorfloor"], check=True),
        "import errorfloor; design": lambda: subprocess.run(
            [sys.executable, "-c", "import errorfloor as ef; ef.design(ef.Interval(0, 1))"], check=True
        ),
    }
    report.ratios("A fresh process", side_by_side(imports, 3), "import numpy", unit="ms")

    shear = np.array([[1.0, 0.5], [0.0, 1.0]])
    tilted = ef.Box([-1, -1], [1, 1]).image(shear)
    designs = {
        "interval": lambda: ef.design(ef.Interval(-0.5, 0.5)),
        "box, 8 sides": lambda: ef.design(ef.Box(np.zeros(8), np.ones(8))),
        "ball, 8 dimensions": lambda: ef.design(ef.Ball(8, 1.0)),
        "Gaussian, 8 answers": lambda: ef.design(ef.Reals(8), max_loss=1.0),
        "half-line with quality": lambda: ef.design(ef.HalfLine(0.0), max_loss=1.0),
        "parallelogram": lambda: ef.design(tilted, jacobian=shear),
    }
    report.ratios("A design in closed form", side_by_side(designs), "interval", unit="ms")

    noise = ef.design(ef.Interval(-0.5, 0.5))
    sizes = {n: np.full((1, n), 1 / n) for n in (1_000, 10_000, 100_000, 1_000_000)}
    floors = {
        f"{n:,} entries": (lambda F=F: ef.floor(noise, F, ranges=(0, 50)).any_estimator) for n, F in sizes.items()
    }
    times = side_by_side(floors, 3)
    report.ratios("Floor of an average", times, "1,000 entries", unit="ms")
    exponent = np.polyfit(np.log(list(sizes)), np.log(list(times.values())), 1)[0]
    report.note(f"time grows as entries^{exponent:.2f}")
