"""The same average with bounded noise, Gaussian noise and Laplace noise of equal quality, in both languages.

In the language of floors: how well two values of a reading can be told apart. In the language of differential privacy:
epsilon at a given delta. Neither noise wins in both, and only one of them is bounded.
"""

import math
import sys
from pathlib import Path

import numpy as np

import errorfloor as ef
from errorfloor.plots import canvas, save

READINGS, RANGE, DELTA = 1000, 50.0, 1e-6


def main(folder: Path) -> Path:
    """Compare at one mean-square error."""
    bounded = ef.design(ef.Interval(-0.5, 0.5))
    variance = float(bounded.covariance[0, 0])
    noises = {
        "raised cosine, never beyond ±0.5": bounded,
        "Gaussian": ef.noise.Gaussian(variance),
        "Laplace": ef.noise.Laplace(math.sqrt(variance / 2)),
    }
    average = np.full((1, READINGS), 1 / READINGS)
    print(f"an average of {READINGS} readings in 0 … {RANGE:g} kWh, standard error {math.sqrt(variance):.3f} kWh")
    print(f"{'':34}beyond ±0.5   told 25 kWh apart   epsilon at delta {DELTA:g}")
    figure, axes = canvas()
    distances = np.linspace(0, RANGE, 200)
    for name, noise in noises.items():
        floor = ef.floor(noise, average, ranges=(0, RANGE))
        beyond = float(noise.cdf(-0.5) + 1 - noise.cdf(0.5))
        epsilon = ef.dp.epsilon(noise, RANGE / READINGS, DELTA)
        told = float(floor.distinguish(25.0))
        said = "none" if math.isinf(epsilon) else f"{epsilon:.2f}"
        print(f"{name:34}{100 * beyond:9.2f} %   {100 * told:13.2f} %   {said:>15}")
        axes.plot(distances, floor.after(100).distinguish(distances), label=name)
    never = ef.dp.delta(bounded, RANGE / READINGS, math.inf)
    print(f"(bounded noise rules values out with probability {never:.1e}: below that delta it has no epsilon)")
    axes.set_xlabel("distance between two values of a reading (kWh)")
    axes.set_ylabel("right at even odds, at most")
    axes.set_title("After 100 such answers")
    axes.legend(frameon=False)
    return save(figure, folder / "compare_with_laplace.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
