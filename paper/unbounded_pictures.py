"""Pictures of unbounded noise, repeated answers, trajectories and differential privacy."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from errorfloor.floors import floor
from errorfloor.noise import Gaussian, Laplace, RaisedCosine, TruncatedLaplace, Uniform
from errorfloor.plots.canvas import COLOURS, canvas
from paper.discussion import WEIGHTS, residual_range
from paper.dynamic import loss_and_floor
from paper.privacy import exact_delta, sufficient


def draw_corollary_six() -> Any:
    """Two densities and the cost against a factor on the covariance."""
    figure, (left, right) = canvas(1, 2, width=5.2, height=3.8)
    w = np.linspace(-5, 5, 401)
    left.plot(w, Gaussian(1.0).pdf(w), label="optimal: variance 1")
    left.plot(w, Gaussian(2.0).pdf(w), "--", label="as printed: variance 2")
    left.set_xlabel("noise w (unit of the answer)")
    left.set_ylabel("density (1/unit)")
    left.set_ylim(0, 0.52)
    left.legend(loc="upper right")
    factor = np.linspace(0.25, 3.0, 200)
    right.plot(factor, (factor + 1 / factor) / 2)
    right.plot([1, 2], [1, 1.25], "o", color="#cc4125")
    right.annotate("optimum", (1, 1), (0.85, 1.1))
    right.annotate("printed: 1.25", (2, 1.25), (1.55, 1.4))
    right.set_xlabel("factor on the covariance")
    right.set_ylabel("J + ϱQ relative to the optimum")
    return figure


def draw_repeated_answers() -> Any:
    """Errors of the mid-range and of the mean against the number of answers."""
    counts = np.unique(np.round(np.geomspace(2, 500, 16)).astype(int))
    figure, axes = canvas(width=6.8, height=4.4)
    smooth = RaisedCosine(-0.5, 0.5)
    noises = {
        "uniform": Uniform(low=-0.5, high=0.5),
        "truncated Laplace": TruncatedLaplace(0.25, low=-0.5, high=0.5),
        "raised cosine": smooth,
    }
    for name, noise in noises.items():
        draws = noise.sample((4000, int(counts[-1])), rng=3)
        middle = [(draws[:, :k].min(axis=1) + draws[:, :k].max(axis=1)) / 2 for k in counts]
        axes.loglog(counts, [np.sqrt((m**2).mean()) for m in middle], "o-", markersize=3, label=f"{name}: mid-range")
    mean = [np.sqrt((draws[:, :k].mean(axis=1) ** 2).mean()) for k in counts]
    axes.loglog(counts, mean, "s-", markersize=3, label="raised cosine: mean")
    one = floor(smooth, [[1.0]])
    axes.loglog(
        counts,
        [float(one.after(int(k)).worst_entry) for k in counts],
        "k--",
        linewidth=1.2,
        label="raised cosine: floor",
    )
    axes.set_xlabel("answers K to the same question")
    axes.set_ylabel("root-mean-square error (unit of the answer)")
    axes.legend(loc="lower left")
    return figure


def draw_traffic() -> Any:
    """Quality and floor over T, printed and corrected."""
    horizons = np.arange(1, 201)
    loss, error = np.array([loss_and_floor(int(T)) for T in horizons]).T
    figure, (left, right) = canvas(1, 2, width=5.2, height=4.0)
    for axes, values, slope, name in (
        (left, loss, horizons**1.5 / math.sqrt(3), "T^(3/2)/√3"),
        (right, error, 2 / np.sqrt(horizons), "2/√T"),
    ):
        axes.loglog(horizons, values, label="corrected")
        axes.loglog(horizons, 2 * values, "--", label="as printed")
        axes.loglog(horizons, slope, ":", color="#555555", label=f"slope {name}")
        axes.set_xlabel("horizon T (steps)")
    right.loglog(horizons, 2 * error[9] * (horizons / 10) ** -1.5, "-.", linewidth=1.2, label="printed rate T^(−3/2)")
    right.set_ylim(0.02, 10)
    left.set_ylabel("quality Q (squared distance)")
    right.set_ylabel("floor Tr I⁻¹ (squared distance and speed)")
    for axes in (left, right):
        axes.legend(loc="lower left" if axes is right else "upper left")
    return figure


def draw_equal_quality() -> Any:
    """Two densities of one variance, and the ratio of bounds against ϑ."""
    figure, (left, right) = canvas(1, 2, width=5.2, height=3.9)
    w = np.linspace(-5, 5, 801)
    left.plot(w, Gaussian(1.0).pdf(w), label="Gaussian: information 1")
    left.plot(w, Laplace(math.sqrt(0.5)).pdf(w), "--", label="Laplace: information 2")
    left.set_xlabel("noise w (unit of the answer)")
    left.set_ylabel("density (1/unit)")
    left.set_ylim(0, 0.88)
    left.legend(loc="upper right")
    loss, square = np.geomspace(1e-3, 30, 200), float(WEIGHTS @ WEIGHTS)
    least, most = residual_range()
    right.semilogx(loss, 1 + 1 / (1 + 2 * square * least / loss), label="1 + κ: at the minimum")
    right.semilogx(loss, 1 + 1 / (1 + 2 * square * most / loss), label="at the maximum")
    right.semilogx(loss, 1 + 1 / (1 + 2 * square**2 * most / loss), "--", label="as printed")
    right.set_xlabel("quality ϑ (unit squared)")
    right.set_ylabel("Gaussian bound over Laplace bound")
    right.set_ylim(0.95, 2.45)
    right.legend(loc="upper left")
    return figure


def draw_region() -> Any:
    """The granted region and exact curves, as printed and as corrected; the source shows the framed corner."""
    epsilon = np.geomspace(0.05, 20, 400)
    delta = np.geomspace(1e-4, 0.5, 400)
    figure, panels = canvas(1, 2, width=5.2, height=4.6)
    needed = sufficient(1.0, epsilon[:, None], delta[None, :])
    cases = (
        ("as printed: ϑ = s", [(1.0, "exact, s = 1"), (2.0, "exact, s = 4"), (10.0, "exact, s = 100")]),
        ("as corrected: √ϑ = s", [(1.0, "exact, every s")]),
    )
    for axes, (title, curves) in zip(panels, cases, strict=True):
        axes.contourf(delta, epsilon, needed, levels=[0, 1], colors=["#9fc5e8"])
        axes.plot([], [], color="#9fc5e8", linewidth=8, label="granted by the condition")
        for colour, (ratio, label) in zip(COLOURS[1:], curves, strict=False):
            axes.plot(np.clip(exact_delta(ratio, epsilon), 1e-5, 1.0), epsilon, color=colour, label=label)
        axes.plot([1e-3, 1e-3, 1, 1], [0.05, 1, 1, 0.05], color="#888888", linewidth=1, label="window of the source")
        axes.axvline(0.5, color="#555555", linestyle="--", linewidth=1, label="δ = 1/2")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1e-4, 1.25)
        axes.set_ylim(0.05, 20)
        axes.set_xlabel("δ")
        axes.set_ylabel("ε")
        axes.set_title(title)
        axes.legend(loc="lower left")
    return figure


PICTURES: Mapping[str, Callable[[], Any]] = {
    "corollary_six": draw_corollary_six,
    "repeated_answers": draw_repeated_answers,
    "traffic": draw_traffic,
    "equal_quality": draw_equal_quality,
    "region": draw_region,
}
