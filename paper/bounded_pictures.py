"""Pictures of bounded noise: chord, raised cosine, trade-off, averaging, and the policies of Corollary 4."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from errorfloor.floors import floor
from errorfloor.noise import RaisedCosine, TruncatedLaplace, Uniform
from errorfloor.plots import compare, density
from errorfloor.plots.canvas import canvas
from paper.chain import STEP
from paper.chord import along_the_chord
from paper.scalar_queries import HOUSEHOLDS
from paper.weighted import bell, decay, policies


def draw_chord() -> Any:
    """Tr I⁻¹ and the floor of the more exposed entry against the thickness."""
    thickness = np.geomspace(1e-3, 0.45, 100)
    found = [along_the_chord(float(t)) for t in thickness]
    figure, (left, right) = canvas(1, 2, width=5.2, height=3.8)
    left.semilogx(thickness, [f.total**2 for f in found], label="rectangle around the chord")
    left.axhline(3.2 / (4 * math.pi**2), color="#888888", linestyle="--", linewidth=1.2, label="chord: diam²/4π²")
    left.axhline(2 / (4 * math.pi**2), color="#cc4125", linestyle=":", linewidth=1.4, label="product of raised cosines")
    left.set_ylim(0, 0.1)
    left.set_ylabel("Tr I⁻¹ (unit side squared)")
    left.legend(loc="lower left")
    right.loglog(thickness, [float(f.worst_entry) for f in found])
    right.set_ylabel("floor of the more exposed entry (unit side)")
    for axes in (left, right):
        axes.set_xlabel("thickness of the rectangle (unit side)")
    return figure


def draw_raised_cosine() -> Any:
    """Densities on one interval."""
    return compare(
        {
            "raised cosine": RaisedCosine(-0.5, 0.5),
            "uniform": Uniform(low=-0.5, high=0.5),
            "truncated Laplace": TruncatedLaplace(0.25, low=-0.5, high=0.5),
        }
    )


def draw_tradeoff() -> Any:
    """Floor against quality for centred and one-sided noise, and as printed."""
    widths = np.linspace(0.02, 2, 60)
    figure, axes = canvas(width=6.8, height=4.2)
    for label, low, style in (("noise in [−Δ/2, Δ/2]", -0.5, "-"), ("noise in [0, Δ]", 0.0, "-")):
        noises = [RaisedCosine(low * width, (1 + low) * width) for width in widths]
        floors = [float(floor(noise, [[1.0]]).worst_entry) for noise in noises]
        axes.plot([math.sqrt(noise.expected_loss()) for noise in noises], floors, style, label=label)
    printed = math.sqrt((2 * math.pi**2 - 3) / (6 * math.pi**2))
    axes.plot(printed * widths, widths / math.pi, "--", label="as printed, κ without the 4")
    axes.set_xlabel("root-mean-square noise √Q (unit of the answer)")
    axes.set_ylabel("floor √Tr I⁻¹, unbiased (same unit)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def draw_averaging() -> Any:
    """The noise of an average and the floors against the number of answers."""
    noise = RaisedCosine(-3.0, 3.0)
    one = floor(noise, np.full((1, HOUSEHOLDS), 1 / HOUSEHOLDS), ranges=(0, 50))
    counts = np.unique(np.round(np.geomspace(1, 3000, 50)).astype(int))
    after = [one.after(int(count)) for count in counts]
    figure, (left, right) = canvas(1, 2, width=5.2, height=3.8)
    density(noise, unit="kWh", axes=left)
    left.set_title("noise of the average")
    right.loglog(counts, [float(f.worst_entry) for f in after], label="unbiased estimators")
    right.loglog(counts, [float(f.any_estimator[0]) for f in after], label="any estimator, worst case over 0 … 50")
    right.axhline(50 / math.sqrt(12), color="#888888", linestyle="--", linewidth=1, label="the answers tell nothing")
    right.set_title("one household's reading")
    right.set_xlabel("independent answers")
    right.set_ylabel("root-mean-square error floor (kWh)")
    right.set_ylim(0.02, 40)
    right.legend(loc="lower left")
    return figure


def draw_corollary_four() -> Any:
    """Six maps of γ(w|x)."""
    figure, axes = canvas(2, 3, width=3.4, height=3.3)
    for row, weight, chain, formula in zip(
        axes, ("bell", "decay"), (bell(), decay()), ("exp(−x²)", "exp(−x)"), strict=True
    ):
        found = policies(weight)
        for panel, name in zip(row, ("as printed", "sign turned", "optimum"), strict=True):
            rows, energy = found[name]
            density = np.pad(rows**2 / STEP, ((0, 0), (1, 1)))
            w = STEP * np.arange(density.shape[1])
            image = panel.pcolormesh(
                w, chain.values, density, cmap="viridis", vmin=0, vmax=4, shading="gouraud", rasterized=True
            )
            panel.set_title(f"{name}, p ∝ {formula}\nJ = {energy:.2f}")
            panel.grid(visible=False)
            panel.set_xlabel("noise w")
        row[0].set_ylabel("private value x")
        figure.colorbar(image, ax=row, label="density γ(w|x)", extend="max")
    return figure


PICTURES: Mapping[str, Callable[[], Any]] = {
    "chord": draw_chord,
    "raised_cosine": draw_raised_cosine,
    "tradeoff": draw_tradeoff,
    "averaging": draw_averaging,
    "corollary_four": draw_corollary_four,
}
