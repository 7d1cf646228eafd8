"""Pictures of noise: one density, or several side by side."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.plots.canvas import canvas, with_unit

POINTS = 801


def density(noise: Noise, *, unit: str = "", label: str | None = None, axes: Any = None) -> Any:
    """Draw a density in one or two dimensions; in more, the density of each coordinate, from samples.

    >>> from errorfloor.noise import RaisedCosine
    >>> figure = density(RaisedCosine(-0.5, 0.5), unit="kWh")
    >>> figure.axes[0].get_xlabel()
    'noise w (kWh)'
    """
    if noise.dimension == 1:
        return _curve(noise, unit, label, axes)
    if axes is not None:
        raise InputError(f"axes can be given for noise in one dimension only; this noise has {noise.dimension}")
    return _map(noise, unit) if noise.dimension == 2 else _marginals(noise, unit)


def compare(noises: Mapping[str, Noise], *, unit: str = "", title: str = "") -> Any:
    """Draw densities on the line over one another, each with its information and root-mean-square size.

    >>> from errorfloor.noise import Gaussian, Laplace
    >>> len(compare({"Laplace": Laplace(1.0), "Gaussian": Gaussian(2.0)}).axes[0].lines)
    2
    """
    if not isinstance(noises, Mapping):
        raise InputError('noises must be a mapping from names to noises, such as {"Gaussian": Gaussian(1.0)}')
    figure, axes = canvas(width=7.2, height=4.2)
    for name, noise in noises.items():
        information = float(noise.information[0, 0])
        told = "∞" if math.isinf(information) else f"{information:.3g}"
        _curve(noise, unit, f"{name}: information {told}, r.m.s. {noise.unit:.3g}", axes)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def window(noise: Noise) -> tuple[float, float]:
    """Give the stretch of the line worth drawing: the support, or all but a thousandth of the mass on each side.

    >>> from errorfloor.noise import RaisedCosine
    >>> window(RaisedCosine(0, 1))
    (0.0, 1.0)
    """
    low, high = noise.knots[0], noise.knots[-1]
    return (
        low if math.isfinite(low) else float(noise.icdf(1e-3)),
        high if math.isfinite(high) else float(noise.icdf(1 - 1e-3)),
    )


def _curve(noise: Noise, unit: str, label: str | None, axes: Any) -> Any:
    figure, axes = canvas() if axes is None else (axes.figure, axes)
    low, high = window(noise)
    margin = 0.08 * (high - low)
    edge = 1e-9 * (high - low)
    inner = np.linspace(low + edge, high - edge, POINTS)
    w = np.concatenate([[low - margin, low - edge], inner, [high + edge, high + margin]])
    (line,) = axes.plot(w, noise.pdf(w), label=label)
    axes.fill_between(w, noise.pdf(w), alpha=0.08, color=line.get_color())
    axes.set_xlabel(with_unit("noise w", unit))
    axes.set_ylabel(with_unit("density", f"1/{unit}" if unit else ""))
    axes.set_ylim(0, max(1.05 * float(noise.pdf(inner).max()), axes.get_ylim()[1] if len(axes.lines) > 1 else 0.0))
    return figure


def _map(noise: Noise, unit: str) -> Any:
    figure, axes = canvas(width=5.6, height=4.6)
    low, high = _box(noise)
    x, y = (np.linspace(a, b, 301) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    image = axes.pcolormesh(x, y, noise.pdf(grid), cmap="Blues", shading="gouraud", rasterized=True)
    figure.colorbar(image, ax=axes, shrink=0.8, label=with_unit("density", f"1/{unit}²" if unit else ""))
    axes.set_xlabel(with_unit("noise w₁", unit))
    axes.set_ylabel(with_unit("noise w₂", unit))
    axes.set_aspect("equal")
    axes.grid(visible=False)
    return figure


def _marginals(noise: Noise, unit: str) -> Any:
    figure, axes = canvas()
    drawn = noise.sample(200_000, rng=0)
    for i in range(noise.dimension):
        heights, edges = np.histogram(drawn[:, i], bins=120, density=True)
        axes.stairs(heights, edges, label=f"coordinate {i + 1}")
    axes.set_xlabel(with_unit("noise w", unit))
    axes.set_ylabel(with_unit("density of a coordinate", f"1/{unit}" if unit else ""))
    if noise.dimension <= 8:
        axes.legend(frameon=False)
    return figure


def _box(noise: Noise) -> tuple[Array, Array]:
    low, high = noise.support.bounding_box
    spread = 3.5 * np.sqrt(np.diag(noise.covariance))
    return (
        np.where(np.isfinite(low), low, noise.mean - spread),
        np.where(np.isfinite(high), high, noise.mean + spread),
    )
