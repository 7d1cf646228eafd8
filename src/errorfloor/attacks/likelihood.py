"""How strongly answers speak for one value against another."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from errorfloor.attacks.attack import Door
from errorfloor.attacks.secret import Secret
from errorfloor.checks import Array
from errorfloor.errors import AllowanceError, ErrorFloorError
from errorfloor.noise import Gaussian, from_dict
from errorfloor.preparing.record_noise import NAME as TAPERED

About = TypeVar("About")
SMALLEST = 1e-300  # probability that stands for none, so that logarithms stay finite


def log_likelihoods(answer: Any, output: str, truths: Any, *, cell: int = 0) -> Array:
    """Give log P(released | true answer) for one cell of an output, the first if none is named, and several truths.

    The released number is a point of a lattice, so its probability is that of the noise within half a step: nothing
    that was released is thrown away.
    """
    stated = next(one for one in answer.to_dict()["outputs"] if one["name"] == output)
    released = answer.to_arrow()[output][cell].as_py()
    noise, step = _law(stated["noise"]), float(stated["step"])
    places = released - np.asarray(truths, dtype=float)
    inside = noise.cdf(places + step / 2) - noise.cdf(places - step / 2)
    mass = np.where(inside > 1e-9, inside, noise.pdf(places) * step)
    return np.asarray(np.log(np.maximum(mass, SMALLEST)))


def _law(described: Mapping[str, Any]) -> Any:
    """Give the noise; of one that is normal and cut off, the normal law, whose odds it has inside."""
    return Gaussian(described["deviation"] ** 2) if described["type"] == TAPERED else from_dict(described)


def log_odds(answer: Any, output: str, first: float, second: float, *, cell: int = 0) -> float:
    """Give log P(released | second) − log P(released | first); ``first`` and ``second`` are the two true answers."""
    one, two = log_likelihoods(answer, output, [first, second], cell=cell).tolist()
    return float(two - one)


def multiples(door: Door, secret: Secret, shares: Iterable[float]) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Ask for one multiple of the victim's own number after the other, so that none is free; give which and how."""
    return ((k, partial(door.ask, secret.question(times=k), spend=share)) for k, share in enumerate(shares, 1))


def evidence(secret: Secret, asks: Iterable[tuple[int, Callable[[], Any]]]) -> float:
    """Add up the log-odds of answers about multiples of the victim's number; the same answer again says nothing new."""
    seen: dict[tuple[float, ...], float] = {}
    for times, answer in answered(asks):
        ((output, bound),) = answer.max_error.items()
        released = answer.to_arrow()[output][0].as_py()
        seen[times, released, bound] = log_odds(answer, output, *secret.truths(times))
    return sum(seen.values())


def answered(asks: Iterable[tuple[About, Callable[[], Any]]]) -> Iterator[tuple[About, Any]]:
    """Ask one after the other; give the answers, each with what it is about.

    When the allowance did not suffice three times in a row, no more will come.
    """
    short = 0
    for about, ask in asks:
        try:
            answer = ask()
        except AllowanceError:
            short += 1
            if short == 3:
                return
        except ErrorFloorError:
            continue  # a question that is not answered; the next may be
        else:
            short = 0
            yield about, answer
