"""A noise table in words; floors are rounded down, probabilities up."""

from typing import TYPE_CHECKING

import numpy as np

from errorfloor.floors.words import rounded_down, times_in_hundred

if TYPE_CHECKING:
    from errorfloor.policies.counts.floor import CountFloor
    from errorfloor.policies.counts.table import CountTable

AIMS = {
    "average": "tells neighbouring counts apart least, added up over small counts",
    "worst": "keeps the most exposed pair of neighbouring counts closest together, for units in many cells",
    "distinguish": "tells the most exposed pair of neighbouring counts apart least, from one cell",
    "entropy": "has the greatest entropy at each count",
}


def explain(table: "CountTable") -> str:
    """Put the sentences together: what is published, exceptions, quality of the design, and the floor."""
    sentences = [
        f"A published count is a whole number of at least 0, never more than {table.max_noise} away from the true one; "
        f"counts above {table.last} have the noise of {table.last}."
    ]
    rules = table.rules
    if rules is not None:
        mean = "mean zero and variance" if rules.unbiased else "a mean square of"
        sentences.append(f"Its noise has {mean} at most {rules.variance:g}.")
        if rules.least_positive > 1:
            sentences.append(f"No count from 1 to {rules.least_positive - 1} is ever published.")
        sentences += [f"Exception: {remark}." for remark in rules.remarks]
        reached = table.mean_square_at(table.last)
        if reached < rules.variance * (1 - 1e-6):
            sentences.append(
                f"Large counts use a variance of {reached:.4g} only: more within ±{table.max_noise} would tell more."
            )
    if table.objective in AIMS:
        gap = "" if table.certificate is None else f" (proved to {max(1e-12, table.certificate.gap or 0.0):.1g})"
        sentences.append(f"Among such tables it {AIMS[table.objective]}{gap}.")
    return " ".join([*sentences, table.floor().explain()])


def explain_floor(floor: "CountFloor", cells: int) -> str:
    """Say what one unit more or less changes, and what seeing it in several cells adds."""
    table = floor.table
    right = np.array([floor.distinguish(count=i) for i in range(table.last + 1)])
    worst = int(right.argmax())
    sentences = [
        f"Somebody who knows everything but whether one more unit is in a cell is right at most "
        f"{times_in_hundred(float(right.max()))} times in 100 at even odds (50 is a coin); the most exposed are the "
        f"true counts {worst} and {worst + 1}. For large counts it is {times_in_hundred(float(right[-1]))} in 100."
    ]
    if table.weights[0][table.max_noise] == 2**64:
        stays = float(table.pmf(0, 1))
        sentences.append(
            f"A true 0 is published as 0, so a positive count proves that somebody is there; a single unit is hidden "
            f"behind a published 0 in {rounded_down(100 * stays)} of 100 cases."
        )
    sentences.append(
        f"Any estimate of a count is off by at least {rounded_down(floor.any_estimator(0, 100))} (root mean square, "
        f"worst case over 0 … 100)."
    )
    sentences.append(
        f"The same cell is published with the same noise in every table, so asking again tells nothing. Different "
        f"cells have noises of their own: a unit that is in {cells} of them, all else known, can be found out in up to "
        f"{times_in_hundred(floor.distinguish(cells=cells))} of 100 cases at even odds. That holds where noises of "
        f"different cells are independent: bare sums of record keys make them so in pairs only, for the key of a total "
        f"is the sum of the keys of its parts."
    )
    return " ".join(sentences)
