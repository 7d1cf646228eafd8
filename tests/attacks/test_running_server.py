"""What is tried on a running server finds each promise that is not kept, and finds nothing where all are."""

import re
from types import SimpleNamespace

import pyarrow as pa
import pytest

from errorfloor.attacks import audit_server
from errorfloor.attacks.running_server import MOST_SPENT
from errorfloor.errors import AllowanceError, RefusedError
from errorfloor.service.example import example_database


@pytest.fixture(scope="module")
def database():
    with example_database(households=40) as made:
        yield made


class Tampered:
    """A database that breaks one promise."""

    def __init__(self, database, flaw):
        self.database, self.flaw, self.last, self.asked = database, flaw, None, None
        self.tables, self.dry = database.tables, database.dry

    def price(self, sql, **wish):
        try:
            found = self.database.price(sql, **wish)
        except RefusedError as problem:
            if self.flaw == "refusals":
                raise RefusedError(f"{problem}, and 17 rows are", reason="rows") from None
            raise
        stated = found.to_dict() | ({"outputs": [{"step": 1, "low": -17, "high": 17}]} if self.flaw == "prices" else {})
        return SimpleNamespace(to_dict=lambda: stated)

    def ask(self, sql, *, charge=True, **wish):
        same_words = sql == self.asked
        try:
            answer = self.database.ask(sql, charge=charge, **wish)
        except AllowanceError:
            if self.flaw != "label collisions":
                raise
            return self.last
        number = answer.to_arrow()["answer"][0].as_py()
        if self.flaw == "repeated questions" and not charge and same_words:
            number += 1.0
        if self.flaw == "rephrased questions" and not charge and not same_words:
            number += 1.0
        if self.flaw == "shared noise" and (multiple := re.search(r"sum\((\d) ", sql)):
            number = 400.0 * int(multiple[1]) + 31.0
        if charge:
            self.asked = sql
        self.last = SimpleNamespace(
            to_arrow=lambda: pa.table({"answer": [number]}),
            to_dict=answer.to_dict,
            max_error=answer.max_error,
            fresh=answer.fresh,
        )
        return self.last


NAMES = ["refusals", "prices", "repeated questions", "rephrased questions", "label collisions", "shared noise"]


@pytest.mark.parametrize("flaw", [None, *NAMES])
def test_exactly_the_promise_that_is_broken_is_found(flaw, database):
    found = audit_server(Tampered(database, flaw))
    assert [one.name for one in found.checks] == NAMES
    assert [one.name for one in found.broken] == ([] if flaw is None else [flaw])


def test_no_more_is_spent_than_is_said():
    with example_database(households=40) as fresh:
        said = audit_server(fresh).to_dict()["most_spent"]
        (standing,) = fresh.left()
    assert 0.9 * MOST_SPENT < standing.used <= MOST_SPENT == said


def test_tables_without_rows_or_private_columns_are_left_alone(database):
    nothing = SimpleNamespace(tables=lambda: [{"name": "areas", "rows": 7, "private": []}])
    assert audit_server(nothing).checks == ()
