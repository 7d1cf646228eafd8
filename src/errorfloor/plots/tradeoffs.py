"""Pictures of what privacy costs: information against quality, and floors against the number of answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from errorfloor.designer import Frontier
from errorfloor.floors import Floor
from errorfloor.noise import Noise
from errorfloor.plots.canvas import canvas, with_unit


def tradeoff(families: Mapping[str, Callable[[float], Noise]], sizes: Sequence[float], *, unit: str = "") -> Any:
    """Draw each family's error floor against its root-mean-square noise, as the family's size parameter runs.

    The floor is 1/√I_w, for an unbiased estimator of what the noise hides.

    >>> from errorfloor.noise import Gaussian, RaisedCosine
    >>> families = {"interval": lambda b: RaisedCosine(-b, b), "free": lambda b: Gaussian(b**2)}
    >>> len(tradeoff(families, [0.5, 1.0, 2.0]).axes[0].lines)
    2
    """
    figure, axes = canvas()
    for name, family in families.items():
        noises = [family(size) for size in sizes]
        quality = [noise.unit for noise in noises]
        floors = [1 / np.sqrt(float(noise.information[0, 0])) for noise in noises]
        axes.plot(quality, floors, marker="o", markersize=3, label=name)
    axes.set_xlabel(with_unit("root-mean-square noise", unit))
    axes.set_ylabel(with_unit("error floor, unbiased", unit))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(title="more noise, higher floor", frameon=False)
    return figure


def frontier(curve: Frontier, *, unit: str = "", name: str = "least information") -> Any:
    """Draw the least information against the loss, with what is proved to be out of reach shaded.

    >>> import errorfloor as ef
    >>> from errorfloor.designer import tradeoff
    >>> figure = frontier(tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.1, 0.13]))
    >>> figure.axes[0].get_xlabel()
    'expected loss'
    """
    figure, axes = canvas()
    axes.plot(curve.losses, curve.information, marker="o", markersize=4, label=name)
    between = np.geomspace(float(curve.losses.min()), float(curve.losses.max()), 400)
    proved = np.zeros_like(between)
    for noise, loss in zip(curve.noises, curve.losses, strict=True):
        if noise.certificate is not None and noise.certificate.lower_bound is not None:
            # J ≥ Λ(ϱ) − ϱ·loss for every loss: the tangent at this point
            weight = noise.certificate.loss_weight or 0.0
            proved = np.maximum(proved, noise.certificate.lower_bound - weight * (between - loss))
    axes.fill_between(between, 0.0, proved, color="#dddddd", linewidth=0, label="proved out of reach")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=float(curve.information.min()) / 2)
    axes.set_title("What quality costs")
    axes.set_xlabel(with_unit("expected loss", unit))
    axes.set_ylabel("information revealed, J")
    axes.legend(frameon=False)
    return figure


def floor_against_answers(floor: Floor, *, most: int = 1000, unit: str = "") -> Any:
    """Draw how the floors of the most exposed entry sink as answers of this kind accumulate.

    >>> import errorfloor as ef
    >>> floor = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [[0.01]], ranges=(0, 50))
    >>> figure = floor_against_answers(floor, most=100, unit="kWh")
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['unbiased, continuous entry', 'any estimator, worst case over the range', 'the answers tell nothing']
    """
    counts = np.unique(np.round(np.geomspace(1, most, 60)).astype(int))
    floors = [floor.after(int(count)) for count in counts]
    figure, axes = canvas()
    if not floor.rough.any():
        axes.loglog(counts, [float(f.worst_entry) for f in floors], label="unbiased, continuous entry")
    if floor.low is not None and floor.high is not None:
        axes.loglog(
            counts, [float(f.any_estimator.min()) for f in floors], label="any estimator, worst case over the range"
        )
        nothing = float((floor.high - floor.low).min()) / np.sqrt(12)
        axes.axhline(nothing, color="#888888", linestyle="--", linewidth=1, label="the answers tell nothing")
    axes.set_title("What accumulating answers leave of the floor")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("independent answers")
    axes.set_ylabel(with_unit("root-mean-square error floor", unit))
    axes.legend(frameon=False)
    return figure


def distinguishability(floor: Floor, *, widest: float, counts: Sequence[int] = (1, 10, 100), unit: str = "") -> Any:
    """Draw the best probability of telling two values apart against their distance, after several answers.

    >>> import errorfloor as ef
    >>> floor = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [[0.01]], ranges=(0, 50))
    >>> figure = distinguishability(floor, widest=50.0, unit="kWh")
    >>> figure.axes[0].get_ylabel()
    'right at even odds, at most'
    """
    figure, axes = canvas()
    h = np.linspace(0, widest, 301)
    for count in counts:
        axes.plot(h, floor.after(count).distinguish(h), label=f"{count} answer{'s' if count > 1 else ''}")
    axes.set_title("Telling two values apart")
    axes.set_xlim(0, widest)
    axes.set_ylim(0.5, 1.0)
    axes.set_xlabel(with_unit("distance between two values", unit))
    axes.set_ylabel("right at even odds, at most")
    axes.legend(frameon=False)
    return figure
