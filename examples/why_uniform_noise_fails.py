"""Two bounded noises, one attack: fresh answers are collected until the number behind them shows.

Uniform noise jumps at its ends. The extremes of K answers pin the truth with an error like 1/K. The raised cosine has
no jump; the best that anybody can do against it is 1/√K, and the floor says so in advance. (A server never draws twice
for one question, so it spares you this.)
"""

import sys
from pathlib import Path

import numpy as np

import errorfloor as ef
from errorfloor.plots import canvas, save

DRAWS = (10, 30, 100, 300, 1000)
RUNS = 400


def main(folder: Path) -> Path:
    """Measure the errors of the midrange and of the average, and draw them over the floor."""
    cosine = ef.design(ef.Interval(-1, 1))
    uniform = ef.noise.Uniform(low=-1.0, high=1.0)
    attacks = {
        "uniform noise, middle of the extremes": (uniform, lambda y: (y.min(axis=1) + y.max(axis=1)) / 2),
        "raised cosine, middle of the extremes": (cosine, lambda y: (y.min(axis=1) + y.max(axis=1)) / 2),
        "raised cosine, average": (cosine, lambda y: y.mean(axis=1)),
    }
    figure, axes = canvas()
    for name, (noise, estimate) in attacks.items():
        found = [estimate(noise.sample((RUNS, count), rng=count)) for count in DRAWS]
        errors = [float(np.sqrt((one**2).mean())) for one in found]
        slope = np.polyfit(np.log(DRAWS), np.log(errors), 1)[0]
        print(f"{name:40} error falls like K^{slope:.2f}: {errors[0]:.3f} … {errors[-1]:.4f}")
        axes.loglog(DRAWS, errors, marker="o", markersize=4, label=name)
    floor = 1 / np.sqrt(cosine.information[0, 0] * np.array(DRAWS))
    print(f"{'floor of the raised cosine':40} {floor[0]:.3f} … {floor[-1]:.4f}")
    axes.loglog(DRAWS, floor, color="black", linestyle="--", linewidth=1, label="floor of the raised cosine")
    axes.set_xlabel("fresh answers, K")
    axes.set_ylabel("root-mean-square error")
    axes.legend(frameon=False, fontsize=8)
    return save(figure, folder / "why_uniform_noise_fails.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
