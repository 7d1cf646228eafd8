"""A census table with noise on every cell: whole numbers, never below 0, never off by more than 5.

Every person has a key; a cell's key is the sum of its persons' keys, and decides its noise. So the same cell has the
same noise in every table, as is usual at statistical offices.
"""

import sys
from pathlib import Path

import numpy as np

import errorfloor as ef
from errorfloor.floors.words import times_in_hundred
from errorfloor.identity import Key, Label
from errorfloor.plots import count_tables, save
from errorfloor.policies.counts import cell_keys, cell_words, record_keys

TOWNS, AGES = 6, 5


def main(folder: Path) -> Path:
    """Publish persons by town and age, and compare the table with the one of greatest entropy."""
    generator = np.random.default_rng(1)
    persons = np.arange(400)
    cell = generator.integers(0, TOWNS, 400) * AGES + generator.binomial(AGES - 1, 0.2, 400)

    table = ef.design_counts(max_noise=5, variance=3.0, keep_zero=True, objective="worst")
    secret = Key.fresh().derive(Label("record keys", ("census", 2026)))
    counts, sums = cell_keys(record_keys(secret, persons), cell, TOWNS * AGES)
    published = table.publish(counts, cell_words(secret, counts, sums))
    assert np.abs(published - counts).max() <= 5
    assert published.min() >= 0

    print("true", " " * 22, "published")
    for true, shown in zip(counts.reshape(TOWNS, AGES), published.reshape(TOWNS, AGES), strict=True):
        print(" ".join(f"{n:4d}" for n in true), "   ", " ".join(f"{n:4d}" for n in shown))
    print(f"total {counts.sum()}, of the published cells {published.sum()}")

    usual = ef.design_counts(max_noise=5, variance=3.0, keep_zero=True, objective="entropy")
    for name, made in (("least information", table), ("greatest entropy", usual)):
        told = max(made.floor().distinguish(count=n) for n in range(20))
        print(f"{name}: neighbouring counts are told apart at most {times_in_hundred(told)} times in 100")
    return save(
        count_tables({"least information": table, "greatest entropy": usual}, most=12), folder / "counts_table.png"
    )


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
