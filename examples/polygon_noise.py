"""Noise for a position on a map that must not leave an irregular region.

The least informative noise on an L-shaped polygon, found by finite elements. The certificate states, with a
proof, how far from the best possible it can be at most.
"""

import sys
from pathlib import Path

import numpy as np

import errorfloor as ef
from errorfloor.floors.words import times_in_hundred
from errorfloor.plots import save

CORNERS = [(-200, -200), (200, -200), (200, 0), (0, 0), (0, 200), (-200, 200)]  # metres


def main(folder: Path) -> Path:
    """Design, draw, and check that no draw leaves the polygon."""
    shape = ef.Polygon(CORNERS)
    noise = ef.design(shape)
    drawn = noise.sample(20_000, rng=1)
    assert shape.contains(drawn).all()
    print(noise.certificate.explain())
    print(f"20,000 draws, all inside; standard deviations {np.sqrt(np.diag(noise.covariance)).round().astype(int)} m")
    floor = ef.floor(noise, np.eye(2))
    print(
        f"two positions 20 m apart can be told apart at most {times_in_hundred(floor.distinguish(20.0))} times in 100"
    )
    figure = noise.plot(unit="m")
    figure.axes[0].plot(*np.array([*CORNERS, CORNERS[0]]).T, color="black", linewidth=1)
    return save(figure, folder / "polygon_noise.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
