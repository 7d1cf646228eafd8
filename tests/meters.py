"""A catalogue of meter readings, and short ways to ask it: for tests of how questions are read."""

import pytest

from errorfloor.catalogue.model import Catalogue
from errorfloor.errors import RefusedError
from errorfloor.sql import parse
from errorfloor.sql.plan import Formula
from errorfloor.sql.question import Question

METERS = Catalogue.model_validate(
    {
        "tables": {
            "meters": {
                "source": "meters.parquet",
                "version": "2013",
                "row_key": ["household", "day"],
                "public": {
                    "household": "whole",
                    "day": "date",
                    "tariff": "text",
                    "rooms": "whole",
                    "area": {"type": "number", "resolution": "0.5", "unit": "m²"},
                    "read_at": "moment",
                    "heated": "flag",
                    "zone": "text",
                    "region": "text",
                },
                "private": {
                    "kwh": {"range": [0, 50], "resolution": "0.001", "floor": 2, "unit": "kWh"},
                    "peak": {"range": [0, 10], "resolution": "0.01", "floor": 0.5, "unit": "kW", "nulls": "public"},
                    "income": {
                        "range": [0, 100000],
                        "resolution": 1,
                        "floor": 1000,
                        "unit": "£",
                        "nulls": "impute",
                        "impute": 0,
                    },
                },
            },
            "zones": {
                "source": "zones.csv",
                "version": "1",
                "row_key": ["zone"],
                "public": {
                    "zone": "text",
                    "area": {"type": "number", "resolution": "0.5"},
                    "country": "text",
                    "days": "whole",
                },
            },
            "weather": {
                "source": "weather.csv",
                "version": "1",
                "row_key": ["region", "day"],
                "public": {
                    "region": "text",
                    "day": "date",
                    "cold": "flag",
                    "celsius": {"type": "number", "resolution": "0.1", "unit": "°C"},
                },
            },
        }
    }
)


def ask(text: str) -> Question:
    return parse(text, METERS)


def formula(expression: str) -> Formula:
    """Give the plan of one expression over the meters."""
    return ask(f"SELECT {expression} AS answer FROM meters").outputs[0].formula


def refused(text: str) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        ask(text)
    return caught.value
