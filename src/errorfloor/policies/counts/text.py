"""A noise table as plain text: one line for each true count i and each published count j that occurs.

``p`` is the probability, ``v`` = j − i the noise; a cell key chooses the line of its count with
``p_int_lb`` ≤ key < ``p_int_ub`` as fractions of 1, or exactly ``first_key`` ≤ key ≤ ``last_key`` as 64-bit words.
"""

import csv
import io
import json
from typing import Any

from errorfloor.errors import InputError
from errorfloor.noise import Certificate
from errorfloor.policies.counts.rules import MOST_NOISE, CountRules
from errorfloor.policies.counts.table import CountTable
from errorfloor.policies.counts.weights import WHOLE
from errorfloor.values import build

TITLE = "# noise table for counts, format 1"
COLUMNS = ("i", "j", "p", "v", "p_int_lb", "p_int_ub", "first_key", "last_key")
NEEDED = ("i", "j", "p")
SUM = 1e-6  # how far the printed probabilities of a foreign row may be from 1
MOST_ROWS = 10_000


def to_text(table: CountTable) -> str:
    r"""Write it; probabilities keep every bit, keys are exact.

    >>> from errorfloor.policies.counts import design_counts
    >>> text = to_text(design_counts(max_noise=1, variance=0.5, keep_zero=True))
    >>> print("\n".join(text.splitlines()[2:6]))
    # counts above 2 use the lines of 2: their noise v is added to the count
    i,j,p,v,p_int_lb,p_int_ub,first_key,last_key
    0,0,1.0,0,0.0,1.0,0,18446744073709551615
    1,0,0.24...,-1,0.0,0.24...,0,4611686...
    """
    about = {
        "rules": None if table.rules is None else table.rules.to_dict(),
        "objective": table.objective,
        "certificate": None if table.certificate is None else table.certificate.to_dict(),
    }
    lines = [
        TITLE,
        f"# about {json.dumps(about, ensure_ascii=False)}",
        f"# counts above {table.last} use the lines of {table.last}: their noise v is added to the count",
        ",".join(COLUMNS),
    ]
    for i, row in enumerate(table.weights):
        below = 0
        for m, weight in enumerate(row):
            if weight:
                v, above = m - table.max_noise, below + weight
                fields = (i, i + v, weight / WHOLE, v, below / WHOLE, above / WHOLE, below, above - 1)
                lines.append(",".join(map(str, fields)))
                below = above
    return "\n".join(lines) + "\n"


def from_text(text: str) -> CountTable:
    r"""Read a table back, exactly; or one from other software that has the columns i, j and p at least.

    A foreign table carries no rules: what it promises is computed from its probabilities, rounded to 2⁻⁶⁴. Its columns
    may be separated by commas, semicolons or tabs.

    >>> from errorfloor.policies.counts import design_counts
    >>> table = design_counts(max_noise=1, variance=0.5, keep_zero=True)
    >>> from_text(to_text(table)) == table
    True
    >>> from_text("i;j;p\n0;0;1\n1;0;0.3\n1;1;0.4\n1;2;0.3\n").bias_at(1)
    0.0
    """
    if not isinstance(text, str):
        raise InputError(f"a table must be given as text, got {type(text).__name__}")
    lines = [line for line in text.splitlines() if line.strip()]
    about = _about([line for line in lines if line.startswith("#")])
    body = [line for line in lines if not line.startswith("#")]
    if not body:
        raise InputError("the text holds no table: it needs a line with the columns i, j and p, and lines below it")
    separator = max(";\t,", key=body[0].count)
    reader = csv.DictReader(io.StringIO("\n".join(body)), delimiter=separator)
    names = [name.strip().strip('"') for name in reader.fieldnames or ()]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}; it needs {', '.join(NEEDED)}, and has {names}")
    reader.fieldnames = names
    exact = {"first_key", "last_key"} <= set(names)
    cells: dict[int, dict[int, Any]] = {}
    for number, line in enumerate(reader, start=1):
        i, v, value = _cell(line, number, exact)
        if v in cells.setdefault(i, {}):
            raise InputError(f"line {number} of the table repeats the published count {i + v} of the true count {i}")
        cells[i][v] = value
    return CountTable(_weights(cells, exact), **about)


def _about(comments: list[str]) -> dict[str, Any]:
    marked = [line for line in comments if line.startswith("# about ")]
    if not marked:
        return {}
    try:
        found = json.loads(marked[0].removeprefix("# about "))
        rules, objective, certificate = found["rules"], found["objective"], found["certificate"]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise InputError("the table's line '# about' is damaged: leave it out to read the table without it") from None
    kinds = {"CountRules": CountRules, "Certificate": Certificate}
    return {
        "rules": None if rules is None else build(rules, kinds, "part of a table"),
        "objective": objective,
        "certificate": None if certificate is None else build(certificate, kinds, "part of a table"),
    }


def _cell(line: dict[str, Any], number: int, exact: bool) -> tuple[int, int, Any]:
    try:
        i, j = int(line["i"]), int(line["j"])
        p = float(line["p"])
        value = (int(line["first_key"]), int(line["last_key"]), p) if exact else p
    except (ValueError, TypeError):
        raise InputError(f"line {number} of the table does not hold the numbers that its columns promise") from None
    if not (0 <= i <= MOST_ROWS and j >= 0 and abs(j - i) <= MOST_NOISE):
        raise InputError(
            f"line {number} of the table publishes {j} for {i}: counts must be ≥ 0 and at most {MOST_NOISE} apart"
        )
    return i, j - i, value


def _weights(cells: dict[int, dict[int, Any]], exact: bool) -> tuple[tuple[int, ...], ...]:
    last = max(cells)
    absent = [i for i in range(last + 1) if i not in cells]
    if absent:
        raise InputError(f"the table has no lines for the true count {absent[0]}, but for {last}")
    reach = max(1, *(abs(v) for row in cells.values() for v in row))
    rows = []
    for i in range(last + 1):
        weights = _exact(i, cells[i]) if exact else _rounded(i, cells[i])
        rows.append(tuple(weights.get(v, 0) for v in range(-reach, reach + 1)))
    return tuple(rows)


def _exact(i: int, row: dict[int, tuple[int, int, float]]) -> dict[int, int]:
    below = 0
    for first, last, _ in sorted(row.values()):
        if first != below or last < first:
            raise InputError(f"the keys of the true count {i} leave a gap or overlap at {below}")
        below = last + 1
    if below != WHOLE:
        raise InputError(f"the keys of the true count {i} end at {below - 1}, not at 2⁶⁴ − 1")
    ordered = sorted(row)
    if [row[v] for v in ordered] != sorted(row.values()):
        raise InputError(f"the keys of the true count {i} do not rise with the published count")
    for v, (first, last, p) in row.items():
        if not abs(p - (last - first + 1) / WHOLE) <= SUM:
            raise InputError(
                f"the line of the true count {i} published as {i + v} contradicts itself: its probability {p:g} is not "
                f"that of its keys; leave out first_key and last_key to read the probabilities"
            )
    return {v: last - first + 1 for v, (first, last, _) in row.items()}


def _rounded(i: int, row: dict[int, float]) -> dict[int, int]:
    total = sum(row.values())
    if not (abs(total - 1) <= SUM and min(row.values()) >= 0):
        raise InputError(f"the probabilities of the true count {i} must be ≥ 0 and add up to 1, got {total:g}")
    weights = {v: int(p / total * WHOLE) for v, p in row.items()}
    weights[max(row, key=lambda v: row[v])] += WHOLE - sum(weights.values())
    return weights
