"""How fast fresh answers find the truth: noises that jump are pinned at the rate 1/K, those with a floor at 1/√K.

Every noise stays in ±1. diffprivlib draws its own, in an environment of its own, with fixed seeds: LaplaceBoundedNoise
at ε = 0.5, δ = 0.1 (a smaller δ makes a smaller jump, found later), and LaplaceTruncated at the same ε with its ends at
the same bound: its atoms give the truth exactly. Maximum likelihood takes one end of what the extremes leave open, so
it comes to the slope −1 later than the midrange.
"""

import math
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.environments import python_for, reason, run
from benchmarks.repeated_draws import Estimator, average, maximum_likelihood, mean_square, midrange
from benchmarks.report import Report
from benchmarks.slope_pictures import Decline, late, slopes, told
from errorfloor.noise import Gaussian, Laplace, Noise, RaisedCosine, TruncatedGaussian, Uniform
from errorfloor.plots import save

COUNTS = (10, 30, 100, 300, 1000, 3000)
DRAWS, THEIRS = 6_000_000, 2_000_000  # of each noise, cut into as many runs as they give
ANSWERS, RUNS = 1000, 20_000  # against the floor
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "slopes.png"
# newer scikit-learn and SciPy make it fail when it is imported
DIFFPRIVLIB = ("diffprivlib==0.6.6", "numpy==2.0.2", "scipy==1.13.1", "scikit-learn==1.5.2", "setuptools<81")
DRAWING = f"""
import sys
from importlib.metadata import version
import numpy as np
from diffprivlib.mechanisms import LaplaceBoundedNoise, LaplaceTruncated
options = dict(epsilon=0.5, sensitivity=1.0)
bounded = LaplaceBoundedNoise(delta=0.1, random_state=1, **options)
bound = bounded.randomise(0.0) and bounded._noise_bound
truncated = LaplaceTruncated(lower=-bound, upper=bound, random_state=2, **options)
for name, mechanism in dict(bounded=bounded, truncated=truncated).items():
    drawn = np.fromiter((mechanism.randomise(0.0) for _ in range({THEIRS})), float, {THEIRS})
    np.save(sys.argv[1] + "/" + name + ".npy", drawn / bound)
print(version("diffprivlib"))
"""

BOUNDED, CLAMPED = "diffprivlib's LaplaceBoundedNoise", "diffprivlib's LaplaceTruncated"
FILES = {BOUNDED: "bounded", CLAMPED: "truncated"}
UNIFORM, CUT, SMOOTH = "uniform", "truncated Gaussian", "raised cosine"
NOISES: dict[str, Noise] = {
    UNIFORM: Uniform(low=-1.0, high=1.0),
    CUT: TruncatedGaussian(0.6, low=-1.0, high=1.0),
    SMOOTH: RaisedCosine(-1.0, 1.0),
}


def main(report: Report) -> None:
    draws = {name: noise.sample(DRAWS, rng=seed) for seed, (name, noise) in enumerate(NOISES.items(), 1)}
    draws |= by_diffprivlib(report)
    best: dict[str, Estimator] = {
        UNIFORM: midrange,  # every place between its extremes is as likely
        CUT: lambda y: within(y, y.mean(axis=1)),
        SMOOTH: maximum_likelihood(RaisedCosine(-1.0, 1.0)),
        BOUNDED: lambda y: within(y, np.median(y, axis=1)),
        CLAMPED: from_atoms,
    }
    found = {
        "midrange": {name: decline(name, drawn, midrange) for name, drawn in draws.items()},
        "maximum likelihood": {name: decline(name, drawn, best[name]) for name, drawn in draws.items()},
        "mean": {name: decline(name, drawn, average) for name, drawn in draws.items()},
    }
    rows = [[name, *(told(panel[name]) for panel in found.values())] for name in draws]
    report.rows(f"Slope of the error against K, from {COUNTS[-3]} to {COUNTS[-1]:,} answers", ["", *found], rows)
    allowed = floor(NOISES[SMOOTH], COUNTS[-1])
    rows = [[name, *(panel[name].errors[-1] / allowed for panel in found.values())] for name in draws]
    report.rows(f"Error after {COUNTS[-1]:,} answers, × the raised cosine's floor", ["", *found], rows)
    spread = 100 * 1.96 / math.sqrt(2 * THEIRS / COUNTS[-1])
    report.note(
        f"from {DRAWS:,} draws of each noise, {THEIRS:,} of diffprivlib's: give or take {spread:.0f} in a hundred"
    )
    panels = {title: list(panel.values()) for title, panel in found.items()}
    save(slopes(panels, floor=floor(NOISES[SMOOTH], 1)), PICTURE)
    report.picture(PICTURE.name, "Errors of three estimators against the number of fresh answers")
    against_the_floor(report)
    assert abs(late(found["midrange"][UNIFORM]).slope + 1) <= 0.05
    assert abs(late(found["maximum likelihood"][SMOOTH]).slope + 0.5) <= 0.05


def by_diffprivlib(report: Report) -> dict[str, np.ndarray]:
    """Let diffprivlib draw; nothing if it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = [python_for("diffprivlib", DIFFPRIVLIB), "-c", DRAWING, folder]
            report.peers["diffprivlib"] = run(command, patience=600).strip()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as problem:
            report.note(f"diffprivlib could not be measured: {reason(problem)}")
            return {}
        return {name: np.load(Path(folder) / f"{file}.npy") for name, file in FILES.items()}


def decline(name: str, drawn: np.ndarray, estimator: Estimator) -> Decline:
    """Measure an estimator from all draws, cut into runs of each length."""
    errors = []
    for count in COUNTS:
        runs = drawn[: drawn.size // count * count].reshape(-1, count)
        parts = np.array_split(runs, max(1, runs.size // 500_000))
        errors.append(math.sqrt(sum(float((estimator(part) ** 2).sum()) for part in parts) / len(runs)))
    return Decline(name, COUNTS, tuple(errors))


def within(draws: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Move a guess to where no draw lies beyond ±1: a log-concave shape that jumps there is likeliest at that place."""
    return np.clip(guess, draws.max(axis=1) - 1, draws.min(axis=1) + 1)


def from_atoms(draws: np.ndarray) -> np.ndarray:
    """Find an end by a number that came twice, which no density gives; else as without atoms."""
    low, high = draws.min(axis=1), draws.max(axis=1)
    guess = within(draws, np.median(draws, axis=1))
    guess = np.where((draws == low[:, None]).sum(axis=1) > 1, low + 1, guess)
    return np.where((draws == high[:, None]).sum(axis=1) > 1, high - 1, guess)


def floor(noise: Noise, count: int) -> float:
    """1/√(KI)."""
    return 1 / math.sqrt(count * float(noise.information[0, 0]))


def against_the_floor(report: Report) -> None:
    """Play maximum likelihood against noises of one mean square that have a floor."""
    cosine = 0.5 / RaisedCosine(-0.5, 0.5).unit
    smooth = RaisedCosine(-cosine, cosine)
    played: dict[str, tuple[Noise, Estimator]] = {
        "Gaussian": (Gaussian(1.0), average),
        "raised cosine": (smooth, maximum_likelihood(smooth)),
        "Laplace": (Laplace(math.sqrt(0.5)), lambda y: np.median(y, axis=1)),
    }
    rows = []
    for seed, (name, (noise, estimator)) in enumerate(played.items(), 5):
        attained = mean_square(noise, estimator, ANSWERS, runs=RUNS, seed=seed)
        over = attained / floor(noise, ANSWERS) ** 2
        # a mean of squares of nearly normal errors has relative deviation √(2/runs)
        rows.append([name, f"{floor(noise, 1):.3f}", f"{over:.3f} ± {1.96 * over * math.sqrt(2 / RUNS):.3f}"])
        assert name != "raised cosine" or 1.0 <= over <= 1.05
    title = f"Maximum likelihood from {ANSWERS:,} answers, noises of one mean square, {RUNS:,} runs"
    report.rows(title, ["", "floor of one answer", "mean square over the floor's"], rows)
