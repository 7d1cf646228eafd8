"""Pictures of trajectories: noise carried along, and maps before and after."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers, whole
from errorfloor.dynamics import Plan
from errorfloor.errors import InputError
from errorfloor.plots.canvas import COLOURS, canvas, with_unit


def trajectories(plan: Plan, *, draws: int = 8, output: int = 0, unit: str = "", rng: Any = 1) -> Any:
    """Draw the noise w[0 … T] of a few trajectories, with its standard deviation at each step.

    >>> from errorfloor.dynamics import LinearSystem
    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20)
    >>> len(trajectories(vehicle.protect(max_loss=21.0), draws=3).axes[0].lines)
    3
    """
    count = whole("draws", draws)
    if not 0 <= output < plan.system.outputs:
        raise InputError(f"output must be one of 0 … {plan.system.outputs - 1}, got {output}")
    steps = np.arange(plan.system.horizon + 1)
    spread = plan.system.carry(plan.covariance_root.T)[..., output]
    deviation = np.sqrt((spread**2).sum(axis=0))
    middle = plan.path(plan.start.mean)[:, output]
    figure, axes = canvas()
    axes.fill_between(steps, middle - deviation, middle + deviation, color="#dddddd", label="one standard deviation")
    axes.plot(steps, plan.draws(count, rng)[..., output].T, linewidth=1)
    axes.set_xlabel("step")
    axes.set_ylabel(with_unit("noise", unit))
    axes.set_title("One draw each, carried along")
    axes.legend(frameon=False)
    return figure


def path_map(paths: Mapping[str, Any], *, marks: Mapping[str, Any] | None = None, unit: str = "m") -> Any:
    """Draw paths of points (east, north) on one map, each start marked; ``marks`` are further points with names.

    >>> figure = path_map({"true": [[0, 0], [1, 1]], "released": [[2, 0], [3, 1]]}, marks={"estimate": [2, 0]})
    >>> figure.axes[0].get_xlabel()
    'east (m)'
    """
    figure, axes = canvas(width=6.4, height=5.6)
    for colour, (name, points) in zip(COLOURS, paths.items(), strict=False):
        line = _points(name, points)
        axes.plot(line[:, 0], line[:, 1], color=colour, label=name)
        axes.plot(*line[0], "o", color=colour, markersize=7)
    for marker, (name, point) in zip("x*^vs", (marks or {}).items(), strict=False):
        axes.plot(*_points(name, [point])[0], marker, color="#222222", markersize=9, label=name, linestyle="none")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(with_unit("east", unit))
    axes.set_ylabel(with_unit("north", unit))
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    return figure


def _points(name: str, given: Any) -> Array:
    points = numbers(name, given)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise InputError(f"{name} must be points (east, north), got an array of shape {points.shape}")
    return points
