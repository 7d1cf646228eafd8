"""What an answer costs to compute, from public facts: rows, sums, cells and steps; never from a private number."""

from collections.abc import Mapping

from errorfloor.preparing.preparation import Prepared
from errorfloor.sql.plan import Apply, Call, Different
from errorfloor.sql.question import walk
from errorfloor.sql.records import domain_rows

START = 0.02  # seconds, for what every answer needs
PER_ROW = {"duckdb": 2e-8, "postgresql": 4e-7, "spark": 4e-7}  # seconds for each sum over a row, generously
STARTING: Mapping[str, float] = {"spark": 2.0}  # what an engine needs for any question
PER_LOOKUP = 1e-7  # seconds for each row that is looked up in a joined table, or what a sum over it takes, if longer
PER_CALL = 2e-7  # seconds for each function of a row
PER_DIFFERENT = 1e-6  # seconds for each value that is looked for among those before, if no two are the same
PER_PART = 1e-3  # seconds for each part of a table that is read
PER_CELL = 2e-6  # seconds for each number of an answer
PER_STEP = 4e-7  # seconds for each node of a formula on a cell
PER_NODE = 1e-4  # seconds for each node of a formula, however few cells there are
PER_NOISE = 2e-6, 1.5e-8  # seconds for each noise of a standing question, and for each period before it
PER_PERIOD = 2e-4  # seconds for each period that is drawn, however few groups there are
PER_FUNCTION = {"exp": 2e-3, "ln": 2.5e-3, "tanh": 2.5e-3}  # the same where a node is a series of many terms


def drawing_cost(groups: int, periods: int) -> float:
    """Bound the seconds that drawing the joint noise of periods takes, which are drawn together for each group.

    >>> drawing_cost(0, 487), 20 < drawing_cost(9000, 487) < 60
    (0.0, True)
    """
    one, before = PER_NOISE
    return periods * (PER_PERIOD + groups * (one + before * periods)) if groups else 0.0


def public_cost(prepared: Prepared) -> float:
    """Bound the seconds between a charge and its answer on a machine of our time that does nothing else.

    It grows with the rows of the snapshots times the sums that are asked for, with the cells times the steps of
    their formulas, and with the steps themselves: an operation on an array of one cell takes its time, too.
    Whoever limits the time of answers compares this with the limit before anything is charged.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     small, large = (public_cost(db.price(f"SELECT {what} FROM meters", max_error=50).prepared)
    ...                     for what in ("avg(kwh)", "avg(kwh), sum(kwh), var_pop(kwh)"))
    >>> 0 < small < large < 1
    True
    """
    first, *joined = prepared.plan.snapshots
    rows = first.rows + prepared.pieces * sum(one.rows for one in joined) if prepared.looked_up else 0
    if rows and prepared.table.hides_records:
        rows += domain_rows(prepared.question, prepared.table)
    cells = len(prepared.bounds.groups)
    nodes = {node for one in prepared.looked_up for node in walk(one.output.formula)}  # each is computed once
    calls = sum(isinstance(node, Call) for node in nodes)
    different = sum(isinstance(atom, Different) for monomial, _ in prepared.sums for atom, _ in monomial)
    each = PER_ROW.get(prepared.engine, max(PER_ROW.values()))
    scanning = rows * (
        (1 + len(prepared.sums)) * each
        + len(joined) * max(PER_LOOKUP, each)
        + calls * PER_CALL
        + different * PER_DIFFERENT
    )
    computing = cells * (PER_CELL * (1 + len(prepared.outputs)) + PER_STEP * len(nodes))
    starting = sum(PER_FUNCTION.get(node.function, PER_NODE) if isinstance(node, Apply) else PER_NODE for node in nodes)
    opening = len(first.parts) * PER_PART
    return prepared.pieces * (START + starting) + STARTING.get(prepared.engine, 0.0) + opening + scanning + computing
