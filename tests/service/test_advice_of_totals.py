"""Totals are made of every group: no advice leaves groups out of them."""

import pytest

from errorfloor.answering import advice
from errorfloor.service.example import example_database

KEYS = ("GROUP BY tariff", "GROUP BY ROLLUP (tariff)")


@pytest.mark.parametrize("keys", KEYS)
def test_only_questions_without_totals_are_told_to_leave_groups_out(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "least_that_fits", lambda *_: (40, 0.01))
    with example_database() as db:
        price = db.price(f"SELECT tariff, sum(kwh) AS total FROM meters {keys}", max_error=500)
        told = advice._larger_groups(price.prepared, 1.0)
        assert ("HAVING" in told) == ("ROLLUP" not in keys)
