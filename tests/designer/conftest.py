"""Designs are computed here, every time: nothing is read from, or left on, the disk of whoever runs the tests."""

import pytest


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("ERRORFLOOR_CACHE", "off")
