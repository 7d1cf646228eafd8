"""Pictures of noise: one density or several, noise of joint answers, and what noise tables make of small counts."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.plots.canvas import COLOURS, canvas, with_unit

if TYPE_CHECKING:
    from errorfloor.joint import JointNoise
from errorfloor.policies.counts import CountTable

POINTS = 801
MOST = 400
DRAWS = 4000


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


def joint_noise(noise: "JointNoise", answers: Any = None, *, max_error: Any = None) -> Any:
    """Draw the middle 90 % and the extremes of 4,000 draws of each answer's noise; of the cells without ``answers``.

    >>> from errorfloor.joint import design_joint
    >>> figure = joint_noise(design_joint([[1, 1], [1, 0], [0, 1]], max_error=1.0), [[1, 1], [1, 0], [0, 1]])
    >>> figure.axes[0].get_xlabel()
    'answer'
    """
    drawn = noise.sample(DRAWS, rng=1)
    shown = (
        drawn
        if answers is None
        else (answers @ drawn.T if hasattr(answers, "tocsr") else np.asarray(answers) @ drawn.T).T
    )
    if shown.shape[1] > MOST:
        raise InputError(f"at most {MOST} answers can be drawn, got {shown.shape[1]}: name some of them")
    figure, panel = canvas(width=7.2, height=3.8)
    x = np.arange(1, shown.shape[1] + 1)
    panel.vlines(x, shown.min(axis=0), shown.max(axis=0), color=COLOURS[1], linewidth=1, label="all draws")
    low, high = np.quantile(shown, [0.05, 0.95], axis=0)
    panel.vlines(x, low, high, color=COLOURS[0], linewidth=4, label="9 of 10 draws")
    if max_error is not None:
        bound = np.broadcast_to(np.asarray(max_error, dtype=float), x.shape)
        panel.plot(x, bound, "k--", x, -bound, "k--", linewidth=1)
    panel.set_xlabel("answer" if answers is not None else "cell")
    panel.set_ylabel("noise")
    panel.legend(frameon=False)
    return figure


def count_tables(tables: Mapping[str, CountTable], *, most: int | None = None) -> Any:
    """Draw tables side by side, and beside them how well neighbouring counts can be told apart.

    >>> from errorfloor.policies.counts import design_counts
    >>> rules = {"max_noise": 2, "variance": 1.0, "keep_zero": True}
    >>> tables = {name: design_counts(**rules, objective=name) for name in ("average", "entropy")}
    >>> len(count_tables(tables).axes)
    4
    """
    if not isinstance(tables, Mapping) or not tables:
        raise InputError('tables must be a mapping from names to tables, such as {"average": table}')
    top = int(most) if most is not None else max(2 * table.max_noise + 1 for table in tables.values())
    figure, axes = canvas(1, len(tables) + 1, width=5.6 if len(tables) == 1 else 4.6, height=4.4)
    for n, (panel, (name, table)) in enumerate(zip(axes[:-1], tables.items(), strict=True)):
        _squares(figure, panel, table, top, bar=n == len(tables) - 1)
        panel.set_title(name)
    _neighbours(axes[-1], tables, top)
    axes[-1].set_title("one unit more or less")
    if len(tables) > 1:
        axes[-1].legend(frameon=False)
    return figure


def _squares(figure: Any, axes: Any, table: CountTable, top: int, bar: bool = True) -> None:
    laws = table.dense(0, top)[:, : top + table.max_noise + 1]
    image = axes.pcolormesh(
        np.arange(top + 2) - 0.5,
        np.arange(laws.shape[1] + 1) - 0.5,
        np.sqrt(laws.T),
        cmap="Blues",
        vmin=0,
        vmax=1,
    )
    if bar:
        marks = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
        scale = figure.colorbar(image, ax=axes, shrink=0.85, label="probability")
        scale.set_ticks([mark**0.5 for mark in marks], labels=[f"{mark:g}" for mark in marks])
    axes.plot([0, top], [0, top], color=COLOURS[1], linewidth=0.8)
    axes.set_xlabel("true count")
    axes.set_ylabel("published count")
    axes.grid(visible=False)


def _neighbours(axes: Any, tables: Mapping[str, CountTable], top: int) -> None:
    counts = np.arange(top + 1)
    for n, (name, table) in enumerate(tables.items()):
        floor = table.floor()
        right = [floor.distinguish(count=int(i)) for i in counts]
        axes.plot(counts, right, marker="os^Dv"[n % 5], markersize=4, linewidth=1.2, label=name)
    axes.axhline(0.5, color="#888888", linestyle="--", linewidth=1)
    axes.set_ylim(0.45, 1.0)
    axes.set_xlabel("true count i, against i + 1")
    axes.set_ylabel("right at even odds, exactly")
