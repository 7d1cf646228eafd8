"""A few policies, designed once."""

import numpy as np
import pytest

from errorfloor.policies import Integers, Policy, design_answer
from errorfloor.support import HalfLine, Interval

WISHES = {
    "share": {"outputs": Interval(0, 1), "values": Interval(0, 1), "max_loss": 0.02, "nodes": 14, "cells": 40},
    "reading": {"outputs": HalfLine(0.0), "values": Interval(0, 50), "max_loss": 30.0, "nodes": 24, "cells": 60},
    "count": {"outputs": Integers(0), "values": Interval(0, 12), "max_loss": 3.0, "nodes": 20},
    "absolute": {
        "outputs": Interval(0, 1),
        "values": Interval(0, 1),
        "max_loss": 0.15,
        "loss": "absolute",
        "nodes": 12,
        "cells": 36,
    },
    "worst": {
        "outputs": Interval(0, 1),
        "values": Interval(0, 1),
        "max_loss": 0.02,
        "objective": "worst",
        "nodes": 14,
        "cells": 40,
    },
    "shifted": {
        "outputs": Interval(-5, 5),
        "values": Interval(0, 2),
        "noise": Interval(-0.5, 0.5),
        "nodes": 40,
        "cells": 60,
    },
}


@pytest.fixture(scope="session")
def policies() -> dict[str, Policy]:
    return {name: design_answer(**wish) for name, wish in WISHES.items()}


@pytest.fixture(params=list(WISHES))
def named(request, policies) -> tuple[str, Policy]:
    return request.param, policies[request.param]


@pytest.fixture
def inside():
    """Values of s all over the range, nodes among them."""

    def values(policy: Policy, count: int = 4001) -> np.ndarray:
        return np.union1d(np.linspace(policy.values.low, policy.values.high, count), policy.nodes)

    return values
