"""How strongly an answer speaks for one value against the other."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError
from errorfloor.noise import Noise, from_dict


def log_odds(answer: Any, output: str, first: float, second: float) -> float:
    """Give log P(released | second) − log P(released | first) for the single cell of an output.

    ``first`` and ``second`` are the true answers under the two values. The released number is a point of a lattice, so
    its probability is that of the noise within half a step: nothing that was released is thrown away.
    """
    stated = next(one for one in answer.to_dict()["outputs"] if one["name"] == output)
    released = answer.to_arrow()[output][0].as_py()
    noise, step = from_dict(stated["noise"]), float(stated["step"])
    one, two = (_mass(noise, released - truth, step) for truth in (first, second))
    if one == two:
        return 0.0
    return math.log(max(two, 1e-300)) - math.log(max(one, 1e-300))


def evidence(secret: Secret, asks: Iterable[Callable[[], Any]]) -> float:
    """Add up what answers say whose truth is the victim's own number; a refused question says nothing."""
    return sum(log_odds(answer, "answer", *secret.values) for answer in answered(asks))


def answered(asks: Iterable[Callable[[], Any]]) -> Iterator[Any]:
    """Ask one after the other and give the answers; when six in a row were refused, no more will come."""
    refused = 0
    for ask in asks:
        try:
            answer = ask()
        except ErrorFloorError:
            refused += 1
            if refused == 6:
                return
            continue
        refused = 0
        yield answer


def _mass(noise: Noise, place: float, step: float) -> float:
    ends = np.array([place - step / 2, place + step / 2])
    low, high = noise.cdf(ends)
    if high - low > 1e-9:
        return float(high - low)
    return float(noise.pdf(np.array([place]))[0]) * step
