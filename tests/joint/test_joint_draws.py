"""What is drawn, by every strategy: no bound is ever left, and half of all attempts are accepted in every block.

Laws in SQL are those of ``normal.py``, all others those that ``design_joint`` finds.
"""

import numpy as np
import pytest

from errorfloor.joint import Margins, design_joint, one_block, table, tree
from errorfloor.joint.normal import nested, running, totals
from errorfloor.joint.normal import table as full_table
from errorfloor.random import bits_from
from repeated import rounds

COUNT, AT_ONCE = 200_000, 20_000  # ten million in a long run
ROWS, COLUMNS = np.divmod(np.arange(6), 3)


def total_and(parts):
    return np.vstack([np.ones((1, parts)), np.eye(parts)])


def ranges(cells):
    return np.array([[float(i <= k < j) for k in range(cells)] for i in range(cells) for j in range(i + 1, cells + 1)])


def sums(*places):
    """Cells, and their sums by the number of each cell's sum."""
    return np.vstack([np.eye(6), *(np.eye(max(place) + 1)[:, place] for place in places)])


def coded(*places):
    return tuple(np.asarray(place, dtype="<i8").tobytes() for place in places)


ALL = np.zeros(6, dtype=int)
CHAINS = np.equal.outer([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1])  # running totals begin anew after two cells
DESIGNED = {
    "tree": total_and(3),
    "square root": np.tril(np.ones((6, 6))),
    "convex search": np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0]]),
    "ranges": ranges(4),
    "table": Margins((2, 3)),
}
IN_SQL = {
    "totals in SQL": (totals(6, coded(ROWS, COLUMNS, ALL)), sums(ROWS, COLUMNS, ALL)),
    "nested in SQL": (nested(6, coded(ROWS, ALL)), sums(ROWS, ALL)),
    "table in SQL": (full_table((2, 3), ((0, 1), (0,), (1,), ())), sums(ROWS, COLUMNS, ALL)),
    "running in SQL": (running((2, 4)), np.vstack([np.eye(6), np.tril(np.ones((6, 6))) * CHAINS])),
}
LARGE = {
    "a total and 100 parts": total_and(100),
    "40 groups of 60": Margins((40, 60), [(0, 1), (0,), ()]),
    "100 running totals": np.tril(np.ones((100, 100))),
    "528 ranges of 32 cells": ranges(32),
    "50 × 40 × 12, all margins": Margins((50, 40, 12)),
}


def law_of(name):
    """Give a form and the matrix of its sums."""
    if name in IN_SQL:
        return IN_SQL[name][0].form, IN_SQL[name][1]
    answers = DESIGNED[name]
    noise = design_joint(answers, 1.0)
    return noise.form, answers.matrix.toarray() if isinstance(answers, Margins) else answers


@pytest.mark.parametrize("name", [*DESIGNED, *IN_SQL])
def test_every_bound_holds_in_ten_million_draws(name):
    form, shown = law_of(name)
    farthest = np.zeros(len(shown))
    for block in range(rounds(COUNT) // AT_ONCE):
        drawn = form.sample(AT_ONCE, bits_from(block))
        farthest = np.maximum(farthest, np.abs(drawn @ shown.T).max(axis=0))
    assert (farthest <= 1).all()
    assert farthest.max() > (0.5 if name in IN_SQL else 0.95)  # bounds are used


@pytest.mark.parametrize("name", [*DESIGNED, *IN_SQL, *LARGE])
def test_half_of_all_attempts_are_accepted_in_every_block(name, monkeypatch):
    """By what is certified, and by what is seen: of each family of a tree, and of a block as a whole."""
    form = design_joint(LARGE[name], 1.0).form if name in LARGE else law_of(name)[0]
    assert form.accepted >= 0.5
    seen: dict[tuple, list] = {}

    def noted(module, accepted_share):
        def share(x, starts):
            found = accepted_share(x, starts)
            if found.ndim == 1:
                seen.setdefault((module, x.shape[1:]), []).append(found)
            return found

        return share

    for module in (one_block, table, tree):
        monkeypatch.setattr(module, "accepted_share", noted(module.__name__, module.accepted_share))
    form.sample(4000 if form.cells < 1000 else 20, bits_from(1))
    for found in seen.values():
        share = np.concatenate(found)
        assert share.mean() > 0.5 - 6.5 * 0.5 / np.sqrt(share.size)
        assert share.mean() > form.accepted - 6.5 * 0.5 / np.sqrt(share.size)
