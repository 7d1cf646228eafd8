"""How often a test that tries at random tries: a little in every run, fifty times as often in ``make soak``.

A test that calls ``rounds`` is marked ``soak``.
"""

import os

SOAK = 50 if os.environ.get("ERRORFLOOR_SOAK") else 1


def rounds(count: int) -> int:
    """Give how often to try where a usual run tries ``count`` times."""
    return count * SOAK
