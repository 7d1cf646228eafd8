"""The workshop: the best noise for a support, and all that is said about it, in a process of its own.

Designing can take long and much memory. A thread cannot be stopped; a process can, and it takes nothing from those that
answer questions.
"""

import math
import multiprocessing
import resource
import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from errorfloor import dp
from errorfloor.access.failures import DoorError
from errorfloor.access.supports import AnyShape, Positive, Square
from errorfloor.designer import design
from errorfloor.errors import ConvergenceError, ErrorFloorError, InputError
from errorfloor.floors import floor
from errorfloor.noise import Gaussian, Laplace, Noise, Product, TruncatedLaplace
from errorfloor.support import Interval

EXAMPLE: dict[str, Any] = {
    "support": {"kind": "Interval", "low": -0.5, "high": 0.5},
    "sensitivity": 0.2,
    "distances": [0.1, 0.2],
}
EPSILONS = np.linspace(0.0, 8.0, 33)
POINTS = 241  # along the axis of a density on a line
GRID = 41  # and along each of the two axes of one in the plane
FAR_INSIDE = 1 / 500  # a scale, in half widths, at which the ends are 500 scales away
NEARLY_UNIFORM = (
    0.577  # of half the width: the deviation beyond which no truncated Laplace noise can go, just below 1/√3
)
MEMORY = 2 * 2**30  # bytes that a design may take
SPAWN = multiprocessing.get_context("spawn")  # a copy of this process would have its connections and locks


class WantedDesign(BaseModel, extra="forbid", json_schema_extra={"examples": [EXAMPLE]}):
    """A support, a quality, and what a record does to the answer."""

    support: Annotated[AnyShape, Field(description="Where the noise must stay.")]
    loss: Annotated[
        Literal["squared", "absolute"] | Square | None, Field(description="A word, or the matrix R of wᵀRw.")
    ] = None
    max_loss: Annotated[Positive | None, Field(description="Bound on the expected loss.")] = None
    loss_weight: Annotated[Positive | None, Field(description="Instead: weight of the loss in the objective.")] = None
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="In two dimensions: how closely the two answers move together.")
    ] = 0.0
    sensitivity: Annotated[
        float, Field(ge=1e-9, le=1e9, description="How far one record moves an answer at most, for the (ε, δ) curves.")
    ] = 1.0
    distances: Annotated[
        list[Annotated[float, Field(ge=0, le=1e12)]] | None,
        Field(max_length=20, description="True answers this far apart: how well can they be told apart?"),
    ] = None


def attempted(wanted: WantedDesign) -> dict[str, Any]:
    """Design a noise; numbers that no method can cope with are said to be so."""
    try:
        return designed(wanted)
    except (ArithmeticError, MemoryError, np.linalg.LinAlgError, RuntimeError):
        raise ConvergenceError("no method here can handle these numbers: rescale them, or ask for less") from None


def designed(wanted: WantedDesign) -> dict[str, Any]:
    """Design a noise and say everything about it."""
    support = wanted.support.support()
    if support.dimension > 2:
        raise InputError(f"designs over the network have one or two dimensions, got {support.dimension}: use ef.design")
    if wanted.correlation and support.dimension == 1:
        raise InputError("correlation is for two dimensions, but this support has one")
    c = wanted.correlation
    query = np.array([[1.0, c], [c, 1.0]]) if support.dimension == 2 else None
    noise = design(
        support, sensitivity=query, loss=wanted.loss, max_loss=wanted.max_loss, loss_weight=wanted.loss_weight
    )
    certificate = noise.certificate
    distances = wanted.distances if wanted.distances is not None else [wanted.sensitivity]
    shifts = wanted.sensitivity if query is None else wanted.sensitivity * query
    axis = _axis(noise)
    return {
        "noise": noise.law,
        **_statement(noise, distances, shifts, axis),
        "certificate": None if certificate is None else certificate.to_dict() | {"explain": certificate.explain()},
        "compare": [
            {"name": name, "noise": other.law, **_statement(other, distances, shifts, axis)}
            for name, other in peers(noise)
        ],
    }


def _statement(noise: Noise, distances: list[float], shifts: Any, axis: "list[np.ndarray[Any, Any]]") -> dict[str, Any]:
    finite = noise.why_infinite is None
    found = floor(noise, np.eye(noise.dimension)) if finite else None
    return {
        "information": noise.information.tolist() if finite else "infinite",
        "why_infinite": noise.why_infinite,
        "floor": None if found is None else float(found.worst_entry),
        "standard_error": np.sqrt(np.diag(noise.covariance)).tolist(),
        "max_error": _reach(noise),
        "floors": [
            {"distance": h, "told_apart": 1.0 if found is None else float(found.distinguish(h))} for h in distances
        ],
        "density": _density(noise, axis),
        "delta_curve": _curve(noise, shifts),
    }


def _reach(noise: Noise) -> list[float | None]:
    """Give how far the noise can lie from zero, along each axis."""
    box = noise.support.bounding_box
    low, high = np.atleast_1d(box[0]), np.atleast_1d(box[1])
    reach = np.maximum(np.abs(low), np.abs(high)).tolist()
    return [one if math.isfinite(one) else None for one in reach]


def _axis(noise: Noise) -> "list[np.ndarray[Any, Any]]":
    """Give where densities are evaluated: the support and a little more, or five standard errors."""
    low, high = (np.atleast_1d(end) for end in noise.support.bounding_box)
    middle, spread = noise.mean, np.sqrt(np.diag(noise.covariance))
    low = np.where(np.isfinite(low), low - 0.15 * spread, middle - 5 * spread)
    high = np.where(np.isfinite(high), high + 0.15 * spread, middle + 5 * spread)
    count = POINTS if noise.dimension == 1 else GRID
    return [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]


def _density(noise: Noise, axis: "list[np.ndarray[Any, Any]]") -> dict[str, Any]:
    if len(axis) == 1:
        return {"points": axis[0].tolist(), "values": np.asarray(noise.pdf(axis[0])).tolist()}
    x, y = axis
    values = noise.pdf(np.stack(np.meshgrid(x, y), axis=-1))
    return {"x": x.tolist(), "y": y.tolist(), "values": np.asarray(values).tolist()}


def _curve(noise: Noise, shifts: Any) -> dict[str, list[float]] | None:
    try:
        values = dp.delta(noise, shifts, EPSILONS)
    except (InputError, ConvergenceError):
        return None  # no formula is known, or none that double precision carries
    return {"epsilon": EPSILONS.tolist(), "delta": np.asarray(values).tolist()}


def peers(noise: Noise) -> Iterator[tuple[str, Noise]]:
    """Give Gaussian and Laplace noise of the same covariance, and on an interval also truncated Laplace noise.

    >>> from errorfloor.noise import RaisedCosine
    >>> [(name, round(float(one.covariance[0, 0]), 6)) for name, one in peers(RaisedCosine(-0.5, 0.5))]
    [('Gaussian', 0.032673), ('Laplace', 0.032673), ('TruncatedLaplace', 0.032673)]
    """
    yield "Gaussian", Gaussian(noise.covariance)
    scales = np.sqrt(np.diag(noise.covariance) / 2)
    if noise.dimension > 1:
        yield "Laplace", Product(tuple(Laplace(scale) for scale in scales))
        return
    yield "Laplace", Laplace(scales[0])
    deviation = math.sqrt(float(noise.covariance[0, 0]))
    if isinstance(noise.support, Interval) and deviation < NEARLY_UNIFORM * noise.support.width / 2:
        yield "TruncatedLaplace", truncated(noise.support, deviation)


def truncated(interval: Interval, deviation: float) -> TruncatedLaplace:
    """Give truncated Laplace noise around the middle of an interval, with this standard deviation.

    Uniform noise has the largest, width/√12. Where the wanted one is so small that the ends are never reached, it is
    √2 times the scale.

    >>> [round(float(truncated(Interval(-1, 1), d).covariance[0, 0]) ** 0.5, 9) for d in (0.5, 0.1, 1e-6)]
    [0.5, 0.1, 1e-06]
    """
    from scipy.optimize import brentq

    half = interval.width / 2
    wanted = (deviation / half) ** 2

    def excess(scale: float) -> float:
        """The mean square on [−1, 1], less the one wanted: 2s² − (1 + 2s)/(e^{1/s} − 1)."""
        return 2 * scale**2 - (1 + 2 * scale) / math.expm1(1 / scale) - wanted

    scale = deviation / math.sqrt(2) if excess(FAR_INSIDE) >= 0 else half * float(brentq(excess, FAR_INSIDE, 50.0))
    return TruncatedLaplace(scale, interval.center, low=interval.low, high=interval.high)


class Workshop:
    """Designs noise in another process, one at a time; the process is made when first needed.

    Guarantee: ``design`` returns or raises within ``time_limit`` seconds, and its process ends with this one.
    """

    def __init__(self, *, time_limit: float) -> None:
        self._time_limit = time_limit
        self._process: Any = None
        self._line: Connection | None = None
        self._alone = threading.Lock()

    def design(self, wanted: WantedDesign) -> dict[str, Any]:
        """Design a noise; raises DoorError (503) if it takes too long, ConvergenceError if it takes too much."""
        with self._alone:
            line = self._open()
            try:
                line.send(wanted)
                if not line.poll(self._time_limit):
                    self._end()
                    raise DoorError(
                        503,
                        "time",
                        f"this design was not found within {self._time_limit:g} s: ask for a simpler one, or use "
                        f"ef.design, which has no limit",
                        time_limit=self._time_limit,
                    )
                found: dict[str, Any] | ErrorFloorError = line.recv()
            except (EOFError, OSError):
                self._end()
                raise ConvergenceError("this design takes more memory than there is: ask for a simpler one") from None
        if isinstance(found, ErrorFloorError):
            raise found
        return found

    def close(self) -> None:
        """End the process."""
        with self._alone:
            self._end()

    def _open(self) -> Connection:
        if self._line is None or not self._process.is_alive():
            self._end()
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=_work, args=(theirs,), name="errorfloor-workshop", daemon=True)
            try:
                process.start()
            except BaseException:  # such as a limit on processes: the next design tries again
                ours.close()
                raise
            finally:
                theirs.close()
            self._line, self._process = ours, process
        return self._line

    def _end(self) -> None:
        if self._line is not None:
            self._line.close()
            self._process.kill()
            self._process.join()
            self._process.close()
            self._line = self._process = None


def _work(line: Connection) -> None:
    """Design what comes until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which then closes the line
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    while True:
        try:
            wanted = line.recv()
        except (EOFError, OSError):
            return
        try:
            line.send(attempted(wanted))
        except ErrorFloorError as problem:
            problem.__traceback__ = problem.__cause__ = problem.__context__ = None  # what led to it cannot be sent
            line.send(problem)
