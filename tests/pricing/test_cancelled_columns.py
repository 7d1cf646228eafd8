"""What a comparison cancels may be missing all the same: then it is unknown, and its opposite does not hold."""

import random
import tomllib

import pytest

from errorfloor.catalogue import Catalogue
from errorfloor.sql import parse
from errorfloor.sql.record_ranges import Domains, row_range
from errorfloor.sql.records import weighed
from joined import JOINED, extents, looked_up
from patients import answers, content

FEMALE = "CASE WHEN p.sex = 'f' THEN 1 ELSE 0 END"
REGIONS = "FROM patients p LEFT JOIN regions r ON p.region = r.region"
CANCELLED = (
    "CASE WHEN p.age + r.age < r.age + 105 THEN 0 ELSE p.age - 105 END",
    "CASE WHEN p.cost + r.age < r.age + 2000 THEN 0.001 ELSE 0.001 * (p.cost - 2000) END",
    f"CASE WHEN r.age * {FEMALE} < p.cost THEN 0 ELSE p.cost END - 2000 * {FEMALE}",
    "floor(CASE WHEN p.cost + r.age < r.age + 105 THEN abs(p.age) ELSE p.age - p.cost END / 7)",
)


@pytest.mark.parametrize("what", CANCELLED)
def test_a_column_that_a_comparison_cancels_may_be_missing(what):
    catalogue = Catalogue.model_validate({"tables": tomllib.loads(JOINED)["tables"]})
    question = parse(f"SELECT sum({what}) AS s {REGIONS}", catalogue)
    domains = Domains(catalogue.tables["patients"], extents(question))
    question = weighed(question, domains)
    found, chance = row_range(question.outputs[0].formula, domains), random.Random(1)
    for _ in range(2000):
        rows = looked_up(content(chance, 2)[:1], question)
        assert all(-found.below <= added <= found.above for added in answers(question, rows).values())
