"""Write docs/equal-usefulness.md and its picture: noises of one mean square, and of one bound, by every measure."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from noise_comparison import Compared, compare, equal_usefulness
from scipy.optimize import brentq

import errorfloor as ef
from errorfloor.noise import (
    Airy,
    Gaussian,
    Laplace,
    Maxwell,
    Noise,
    RaisedCosine,
    Spectral,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)
from errorfloor.plots import save

DOCS = Path(__file__).parents[1] / "docs"
TARGET, PICTURE = DOCS / "equal-usefulness.md", DOCS / "pictures" / "equal-usefulness.png"
SHOWN = (0.5, 1.0, math.inf)  # ε in the table
EPSILONS = (*np.linspace(0, 2.5, 51).tolist(), math.inf)
CELLS = 200  # to a distance, where a law is compared with its shifts cell by cell
SHIFTS = range(CELLS // 10, CELLS + 1, CELLS // 10)
WIDTHS = {"mean square": (0.5, (0.0, 10.0), 3.0), "bound": (0.2, (0.0, 4.0), 1.0)}  # distance, range, bound
OURS = "this library"
EVERYONE = "diffprivlib, OpenDP, PipelineDP, SmartNoise, Tumult"


def at_equal_mean_square() -> dict[tuple[str, str], Compared]:
    """Give every noise of mean square one; those that have both a bound and a size to choose stay in ±3."""
    distance, ranges, bound = WIDTHS["mean square"]
    cosine = 0.5 / RaisedCosine(-0.5, 0.5).unit
    noises = {
        ("Gaussian", f"{OURS}; {EVERYONE}"): Gaussian(1.0),
        (f"computed for ±{bound:g}", OURS): ef.design(ef.Interval(-bound, bound), max_loss=1.0),
        ("raised cosine", OURS): RaisedCosine(-cosine, cosine),
        ("Airy", OURS): Airy(1 / Airy(1.0).unit),
        ("Maxwell, never negative", OURS): Maxwell(1 / Maxwell(1.0).unit),
        ("Laplace", EVERYONE): Laplace(math.sqrt(0.5)),
        **truncated(bound, 1.0),
        ("uniform", "diffprivlib: Uniform"): Uniform(low=-math.sqrt(3), high=math.sqrt(3)),
    }
    return {
        **{key: measured(key[0], noise, distance, ranges) for key, noise in noises.items()},
        ("clamped Laplace", "diffprivlib: LaplaceTruncated"): clamped_laplace(bound, 1.0, distance),
        ("staircase", "diffprivlib: Staircase"): staircase(1.0, distance),
        ("discrete Laplace", "OpenDP; diffprivlib: Geometric"): discrete_laplace(1.0, distance),
    }


def at_equal_bound() -> dict[tuple[str, str], Compared]:
    """Give every noise that stays in ±1; those that leave a size to choose have the raised cosine's."""
    distance, ranges, bound = WIDTHS["bound"]
    cosine = RaisedCosine(-bound, bound)
    noises = {
        ("raised cosine", OURS): cosine,
        ("computed, half the mean square", OURS): ef.design(ef.Interval(-bound, bound), max_loss=cosine.unit**2 / 2),
        **truncated(bound, cosine.unit),
        ("uniform", "diffprivlib: Uniform"): Uniform(low=-bound, high=bound),
    }
    return {
        **{key: measured(key[0], noise, distance, ranges) for key, noise in noises.items()},
        ("clamped Laplace", "diffprivlib: LaplaceTruncated"): clamped_laplace(bound, cosine.unit, distance),
    }


def truncated(bound: float, size: float) -> dict[tuple[str, str], Noise]:
    """Give the Laplace and the Gaussian law cut off at a bound, of a root mean square."""

    def of(law: Callable[[float], Noise]) -> Noise:
        return law(brentq(lambda scale: law(scale).unit - size, 0.3 * size, 30 * size, xtol=1e-13))

    return {
        ("truncated Gaussian", "SciPy's truncnorm"): of(lambda d: TruncatedGaussian(d, low=-bound, high=bound)),
        ("truncated Laplace", "diffprivlib: LaplaceBoundedNoise"): of(
            lambda b: TruncatedLaplace(b, low=-bound, high=bound)
        ),
    }


def measured(name: str, noise: Noise, distance: float, ranges: tuple[float, float]) -> Compared:
    """Measure a noise of the library; the curve of a computed one is found cell by cell."""
    if not isinstance(noise, Spectral):
        return compare({name: noise}, distance=distance, ranges=ranges, epsilons=EPSILONS)[0]
    promise = ef.floor(noise, [[1.0]], ranges=ranges)
    deltas = curve(np.diff(noise.cdf(cut(noise.knots[-1], distance))), SHIFTS)
    return Compared(
        name=name,
        bound=noise.knots[-1],
        size=noise.unit,
        unbiased=float(promise.worst_entry),
        any_estimator=float(promise.any_estimator[0]),
        promised=float(promise.distinguish(distance)),
        told_apart=(1 + deltas[0]) / 2,
        epsilons=EPSILONS,
        deltas=deltas,
        entropy=noise.entropy / math.log(2),
    )


def without_floor(name: str, bound: float, size: float, deltas: tuple[float, ...], entropy: float) -> Compared:
    """Give a law that jumps or has atoms: no floor can be stated."""
    return Compared(name, bound, size, 0.0, 0.0, 1.0, (1 + deltas[0]) / 2, EPSILONS, deltas, entropy)


def cut(bound: float, distance: float) -> np.ndarray:
    """Give the ends of the cells of ±bound, a whole number of which makes the distance."""
    return np.linspace(-bound, bound, round(2 * bound * CELLS / distance) + 1)


def curve(cells: np.ndarray, shifts: Iterable[int], apart: float = 0.0) -> tuple[float, ...]:
    """δ(ε) of a law given by the masses of equal cells, the worst of shifts by whole cells in either direction.

    Of an unbounded law the last cells are merged with nothing: what lies beyond them counts as told apart for
    certain, so they must be far out. ``apart`` is the mass of atoms, which no shift puts on one another.
    """
    worst = np.zeros(len(EPSILONS))
    for shift in shifts:
        for law in (cells, cells[::-1]):
            moved = np.concatenate([np.zeros(shift), law[:-shift]])
            found = [law[moved == 0].sum()]  # ε = ∞
            found = [np.maximum(law - math.exp(level) * moved, 0).sum() for level in EPSILONS[:-1]] + found
            worst = np.maximum(worst, np.array(found) + apart)
    return tuple(worst.tolist())


def clamped_laplace(bound: float, size: float, distance: float) -> Compared:
    """Laplace noise moved to the nearer end where it leaves ±bound: half e^(−bound/b) of it lies at either end."""

    def mean_square(b: float) -> float:
        return 2 * b * b * (1 - (1 + bound / b) * math.exp(-bound / b))

    b = brentq(lambda b: mean_square(b) - size**2, 0.1 * size, 100 * bound, xtol=1e-13)
    deltas = curve(np.diff(Laplace(b).cdf(cut(bound, distance))), SHIFTS, math.exp(-bound / b))
    return without_floor("clamped Laplace", bound, size, deltas, -math.inf)


def staircase(size: float, distance: float) -> Compared:
    """The noise of least mean square among the ε-private ones, at ε such that it has this size: steps γs, (1 − γ)s."""

    def steps(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the steps right of zero, and the density on each, for sensitivity one."""
        first = 1 / (1 + math.exp(epsilon / 2))
        k = np.arange(math.ceil(60 / epsilon))
        ends = np.concatenate([[0.0], np.stack([k + first, k + 1.0], axis=1).ravel()])
        top = -math.expm1(-epsilon) / (2 * (first + math.exp(-epsilon) * (1 - first)))
        return ends, top * np.exp(-epsilon * np.stack([k, k + 1.0], axis=1).ravel())

    def mean_square(epsilon: float) -> float:
        ends, heights = steps(epsilon)
        return 2 * float((heights * np.diff(ends**3)).sum()) / 3

    epsilon = brentq(lambda e: mean_square(e) - (size / distance) ** 2, 0.05, 20.0, xtol=1e-13)
    ends, heights = steps(epsilon)
    masses = heights * np.diff(ends)
    right = np.interp(np.arange(0, ends[-1], 1 / CELLS), ends, np.concatenate([[0.0], np.cumsum(masses)]))
    cells = np.diff(right)
    deltas = curve(np.concatenate([cells[::-1], cells]), SHIFTS)
    entropy = -2 * float((masses * np.log2(heights / distance)).sum())
    return without_floor("staircase", math.inf, size, deltas, entropy)


def discrete_laplace(size: float, distance: float) -> Compared:
    """Laplace noise on the multiples of the distance, for answers that lie there too."""
    # 2r/(1 − r)² is the mean square of the law with ratio r, in steps
    wanted = (size / distance) ** 2
    r = 1 + 1 / wanted - math.sqrt((1 + 1 / wanted) ** 2 - 1)
    law = (1 - r) / (1 + r) * r ** np.abs(np.arange(-400, 401))
    return without_floor("discrete Laplace", math.inf, size, curve(law, [1]), -math.inf)


def table(rows: dict[tuple[str, str], Compared]) -> str:
    """Give one comparison as a table."""
    head = ["noise", "offered by", "never beyond", "r.m.s.", "floor, unbiased", "floor, any estimator"]
    head += ["right, promised", "right, exact", *(f"δ({label(level)})" for level in SHOWN), "entropy, bits"]
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2)]
    for (name, offered), row in rows.items():
        at = dict(zip(row.epsilons, row.deltas, strict=True))
        promised = [
            f"{value:.3f}" if row.unbiased else "none" for value in (row.unbiased, row.any_estimator, row.promised)
        ]
        told = [probability(at[level]) for level in SHOWN]
        measures = [number(row.bound), number(row.size), *promised, f"{row.told_apart:.3f}", *told, number(row.entropy)]
        lines.append([name, offered, *measures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def label(level: float) -> str:
    """Name a level of ε."""
    return "∞" if math.isinf(level) else f"{level:g}"


def number(value: float) -> str:
    """Give three decimals, or a dash for what is not finite."""
    return f"{value:.3f}" if math.isfinite(value) else "–"


def probability(value: float) -> str:
    """Give four decimals, or the magnitude of what is smaller."""
    return "0" if value < 1e-12 else f"{value:.4f}" if value >= 1e-3 else f"{value:.0e}"


def page(by_mean_square: dict[tuple[str, str], Compared], by_bound: dict[tuple[str, str], Compared]) -> str:
    """Give the whole page."""
    parts = []
    for title, rows, (distance, ranges, _) in (
        ("The same mean-square error", by_mean_square, WIDTHS["mean square"]),
        ("The same hard bound", by_bound, WIDTHS["bound"]),
    ):
        unit = "root-mean-square error" if rows is by_mean_square else "bound"
        parts.append(
            f"## {title}\n\nUnit: the {unit}. Values are {distance:g} apart, in a range of {ranges[1]:g}.\n\n"
            f"{table(rows)}"
        )
    return f"{OPENING}\n\n" + "\n\n".join(parts) + f"\n\n{CLOSING}\n"


OPENING = """# Privacy at equal usefulness

Noise that is twice as wide hides twice as much. So this page compares noise of the same mean-square error, or with the
same hard bound: then all are equally useful, and only what they hide differs. `scripts/write_equal_usefulness.py`
writes this page.

![Floors, δ(ε) and entropies of noises of one mean square, and of one bound](pictures/equal-usefulness.png)

How to read a row:

- *Floor, unbiased*: the least root-mean-square error, 1/√I, of an unbiased estimator from one answer. *Any estimator*:
  the same for every estimator, in the worst case over the range. With K fresh answers the first falls by a factor √K.
  *None*: the density jumps or has atoms, its information is infinite, and K answers find the truth at the rate 1/K or
  faster ([measured](performance.md#slopes)).
- *Right*: how often the best test names the right one of two values, at even odds, after one answer: as promised by the
  floor, and exactly.
- *δ(ε)*: the least δ for which the answer is (ε, δ)-differentially private. δ(∞) is the share of answers that rule one
  of two values out for certain.
- *Entropy* of the noise. It does not measure what can be learned: within a bound, uniform noise has the most."""

CLOSING = """## What follows

- At one mean square the Gaussian's floor is the highest: √2 times that of Laplace noise, √((π² − 6)/3) = 1.136 times
  that of a raised cosine. Noise computed to stay within three times its size comes between the two.
- Within a bound the raised cosine's floor is the highest, and noise that jumps has none. It looks no worse after one
  answer; after many answers it is.
- Only Laplace, discrete Laplace and staircase noise give pure differential privacy (δ = 0), and none of them is
  bounded. If that is what you want, use them.
- Clamped Laplace is meant for clamping *answers* to a fixed range, which is harmless. Here it bounds the noise instead,
  by `randomise(0)` on ±bound: its atoms give the truth away.
- Discrete Laplace is for answers that are multiples of the distance; a value in between would show at once.
- The mean square of Maxwell noise includes its mean: the noise is never negative, so an answer is never too low.
- The curves of computed, clamped and staircase noise are found cell by cell, to the digits shown; all others are exact.
- The distributions of other libraries are those in their documentation. Those of diffprivlib were also sampled
  ([slopes](performance.md#slopes))."""


if __name__ == "__main__":
    rows = at_equal_mean_square(), at_equal_bound()
    TARGET.write_text(page(*rows))
    titles = ("the same mean-square error", "the same hard bound")
    save(equal_usefulness({title: list(each.values()) for title, each in zip(titles, rows, strict=True)}), PICTURE)
