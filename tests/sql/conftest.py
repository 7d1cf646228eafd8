"""The small town on each engine in turn."""

import pytest

from homes import open_homes


@pytest.fixture
def town(engine_place):
    with open_homes(engine_place) as opened:
        yield opened
