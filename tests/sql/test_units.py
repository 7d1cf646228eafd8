"""Units of answers, for display."""

import pytest

from meters import ask


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("avg(kwh)", "kWh"),
        ("sum(kwh) + 1", "kWh"),
        ("avg(kwh + 1)", "kWh"),
        ("3 * avg(kwh)", "kWh"),
        ("count(*)", ""),
        ("var_pop(kwh)", "kWh²"),
        ("stddev(kwh)", "kWh"),
        ("power(avg(kwh), 3)", "kWh³"),
        ("covar_pop(kwh, peak)", "kW·kWh"),
        ("corr(kwh, peak)", ""),
        ("regr_slope(kwh, income)", "kWh/£"),
        ("1 / avg(kwh)", "1/kWh"),
        ("avg(kwh / area)", "kWh/m²"),
        ("avg(1 / (kwh * peak))", "1/(kW·kWh)"),
        ("avg(1 / kwh / peak)", "1/(kW·kWh)"),
        ("avg(sqrt(kwh))", "kWh^(1/2)"),
        ("avg(power(kwh, 1.5))", "kWh^(3/2)"),
        ("power(avg(area), 2)", "(m²)²"),
        ("avg(exp(kwh))", ""),
        ("avg(above(kwh, 1, 2))", ""),
        ("avg(greatest(kwh, 2))", "kWh"),
        ("least(avg(kwh), 2)", "kWh"),
        ("exp(avg(kwh))", ""),
        ("sum(kwh * income) / sum(income)", "kWh"),
        ("avg(CASE WHEN heated THEN kwh ELSE 0 END)", "kWh"),
        ("avg(kwh + peak)", ""),
        ("avg(kwh) + avg(peak)", ""),
        ("avg(kwh * rooms)", ""),
        ("avg(kwh * month(day))", ""),
    ],
)
def test_unit_of_an_answer(text: str, unit: str) -> None:
    assert ask(f"SELECT {text} AS a FROM meters").outputs[0].unit == unit


def test_unit_follows_a_renamed_and_a_joined_column() -> None:
    assert ask("SELECT avg(e) AS a FROM (SELECT kwh AS e FROM meters) x").outputs[0].unit == "kWh"
    joined = "FROM meters m JOIN weather w ON m.region = w.region AND m.day = w.day"
    assert ask(f"SELECT avg(kwh * celsius) AS a {joined}").outputs[0].unit == "kWh·°C"


def test_unit_is_no_part_of_what_is_computed() -> None:
    question = ask("SELECT avg(kwh) AS a FROM meters")
    assert "kWh" not in str(question.function_of(question.outputs[0]))
