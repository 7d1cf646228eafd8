"""How long an answer takes at most, about, from public facts alone."""

from errorfloor.service.preparation import Prepared

AT_LEAST = 0.01  # seconds: statements, draws and words of the smallest answer
A_ROW = 2e-8  # for each row, and for each sum over it
A_CELL = 1e-4  # to evaluate, draw, round and write one number


def public_cost(prepared: Prepared) -> float:
    """Give an upper estimate, in seconds, of what happens after the charge.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     0.01 < public_cost(db.price("SELECT avg(kwh) FROM meters", max_error=0.5).prepared) < 0.02
    True
    """
    rows = sum(one.rows for one in prepared.snapshots)
    cells = len(prepared.bounds.groups) * len(prepared.outputs)
    return AT_LEAST + A_ROW * rows * (1 + len(prepared.sums)) + A_CELL * cells
