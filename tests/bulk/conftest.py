"""A small table of meter readings, and a key ring."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from errorfloor.identity import Key, KeyRing


@pytest.fixture
def ring_in():
    """Make a key ring with a known key in a folder, so that draws can be pinned; its register is new."""

    def make(folder):
        ring = KeyRing.create(folder / "keys.json")
        ring.keys = [Key(id="0011223344556677", created="2013-01-01T00:00:00+00:00", secret=bytes(range(32)))]
        return ring

    return make


@pytest.fixture
def ring(tmp_path, ring_in):
    """A key ring with a known key."""
    return ring_in(tmp_path)


@pytest.fixture
def meters():
    """300 households on 20 days."""
    generator = np.random.default_rng(2013)
    day = datetime.date(2013, 1, 1)
    return pa.table(
        {
            "household": pa.array(np.repeat(np.arange(300), 20), pa.int32()),
            "day": pa.array([day + datetime.timedelta(days=int(d)) for d in np.tile(np.arange(20), 300)]),
            "tariff": pa.array(["flat", "night"] * 3000),
            "kwh": pa.array(np.round(generator.lognormal(2.0, 0.7, 6000).clip(0, 50), 3)),
        }
    )
