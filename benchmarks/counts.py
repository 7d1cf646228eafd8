"""Noise tables for counts: growth of a design's cost with the noise, and drawing."""

import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.policies.counts import design_counts


def main(report: Report) -> None:
    rows = []
    for D in range(2, 9):
        options = {"max_noise": D, "variance": D / 2 + 0.5, "keep_zero": True}
        average, worst, widest = (design_counts(**options, objective=name) for name in ("average", "worst", "entropy"))
        added = (1 - np.cos(average.angles))[:-1].sum() / (1 - np.cos(widest.angles))[:-1].sum()
        supremum = worst.information() / widest.information()
        moved = average.information(10**6) / widest.information(10**6)
        rows.append([f"±{D}", f"{added:.4f}", f"{supremum:.4f}", f"{moved:.5f}"])
    title = "Information against the table of greatest entropy, variance D/2 + 1/2, zeros kept"
    report.rows(title, ["largest noise D", "sum", "supremum", "large counts"], rows)

    designs = {
        "±4": lambda: design_counts(max_noise=4, variance=3.0, keep_zero=True),
        "±8": lambda: design_counts(max_noise=8, variance=6.0, keep_zero=True),
        "±16": lambda: design_counts(max_noise=16, variance=12.0, keep_zero=True),
    }
    report.ratios("A table for counts", side_by_side(designs, 3), "±4", unit="ms")

    made = design_counts(max_noise=5, variance=3.0, keep_zero=True)
    size = 1_000_000
    counts = np.random.default_rng(0).integers(0, 100, size)
    keys = np.random.default_rng(1).integers(0, 2**64 - 1, size, dtype=np.uint64)
    draws = {
        "words alone": lambda: np.random.default_rng(1).integers(0, 2**64 - 1, size, dtype=np.uint64),
        "published by cell keys": lambda: made.publish(counts, keys),
        "sampled, secure bits": lambda: made.sample(counts),
    }
    report.ratios("A million cells", side_by_side(draws, 5), "words alone", per=size, unit="ns")
