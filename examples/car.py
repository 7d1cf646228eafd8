"""Release a drive whose start is private, and attack the release.

python examples/car.py FOLDER                 a drive that is generated; its map goes to FOLDER
python examples/car.py --recording DRIVE      your own recording: DRIVE/pose_20hz.csv with the columns t_s, east_m,
                                              north_m (metres, seconds), and as a map DRIVE/gnss_ublox_10hz.csv with
                                              east_m, north_m if there is one
Options: --deviation METRES of the noise, --step-deviation METRES of the robust variant, --seed.
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from errorfloor.dynamics import LinearSystem, Plan, Robust, smooth
from errorfloor.plots import canvas, save
from errorfloor.plots.canvas import COLOURS

STATES = ("east", "east speed", "north", "north speed")
ROAD = 3.0  # metres: how far a car may be from the map's line of its road
ZOOMS = 4
PRIOR = 1000.0  # metres: how well the smoother knows the start beforehand
MANY = 20_000
MATCHED = 20  # paths that are slid over the map


@dataclass(frozen=True)
class Drive:
    """Positions (east, north) once a second, the speed at the start, and a map: points of the road."""

    path: np.ndarray
    speed: np.ndarray
    road: np.ndarray


def generated(seed: int) -> Drive:
    """A minute in town: along a street, around a bend, past a crossing where the car slows down."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, 60, 0.1)
    pace = 9 + 3 * np.sin(t / 7) - 6 * np.exp(-(((t - 38) / 3) ** 2))
    heading = 1.5 - 0.9 / (1 + np.exp(-(t - 22) / 2.5)) + 0.5 / (1 + np.exp(-(t - 45) / 2))
    velocity = pace[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    path = np.cumsum(velocity, axis=0) * 0.1
    drift = np.cumsum(rng.normal(0, 0.1, size=path.shape), axis=0)
    return Drive(path[::10] - path[0], velocity[0], beyond(path - path[0] + 0.3 * drift))


def beyond(road: np.ndarray) -> np.ndarray:
    """Let the road go on straight at both ends: a map does not end where the drive does."""
    far = np.arange(2.0, 600.0, 2.0)[:, None]
    ends = [road[0] - road[20], road[-1] - road[-20]]
    first, last = (end / np.linalg.norm(end) for end in ends)
    return np.vstack([(road[0] + far * first)[::-1], road, road[-1] + far * last])


def recorded(folder: Path) -> Drive:
    """Read a recording, once a second."""
    rows = read(folder / "pose_20hz.csv", ("t_s", "east_m", "north_m"))
    seconds = np.arange(np.ceil(rows[0, 0]), np.floor(rows[-1, 0]) + 1)
    path = np.stack([np.interp(seconds, rows[:, 0], rows[:, column]) for column in (1, 2)], axis=1)
    map_file = folder / "gnss_ublox_10hz.csv"
    road = read(map_file, ("east_m", "north_m")) if map_file.exists() else rows[:, 1:]
    return Drive(path, path[1] - path[0], beyond(road))


def read(path: Path, columns: tuple[str, ...]) -> np.ndarray:
    """Read columns of numbers from a file with a heading."""
    with path.open(newline="") as file:
        return np.array([[float(row[name]) for name in columns] for row in csv.DictReader(file)])


def system_of(drive: Drive) -> LinearSystem:
    """Constant speed along both axes, positions observed; what the driver does is an unknown input."""
    axis = np.array([[1.0, 1.0], [0.0, 1.0]])
    A = np.kron(np.eye(2), axis)
    C = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    return LinearSystem(A, C, len(drive.path) - 1, states=STATES)


def on_the_map(released: np.ndarray, road: np.ndarray, deviation: float, step_deviation: float = 0.0) -> np.ndarray:
    """Estimate the start by sliding the released path over the map, shifts being as likely as the noise law says.

    The posterior mean: a shift s has the weight exp(−|s|²/2σ² − Σ d²/2(r² + τ²)), d the distances of the path, moved
    back by s, from the road; r is how far a car may be from it and τ the noise of each answer besides. Without the law
    a path could slide along a straight road for ever, and the estimate would be worse than the release itself. With
    noise on every answer the first ones are averaged, by a straight line through them; the start is on the road.
    """
    tree, spread = cKDTree(road), ROAD**2 + step_deviation**2
    middle, reach = np.zeros(2), 4 * deviation
    for _ in range(ZOOMS):
        along = np.linspace(-reach, reach, 25)
        shifts = middle + np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
        # between the points of the grid the distance may be less by half a diagonal
        blur = max(spread, (along[1] - along[0]) ** 2 / 2)
        distance, _ = tree.query(released - shifts[:, None])
        unlikely = (shifts**2).sum(axis=1) / deviation**2 + (distance**2).sum(axis=1) / blur
        weight = np.exp((unlikely.min() - unlikely) / 2)
        weight /= weight.sum()
        middle = weight @ shifts
        scatter = float(np.sqrt(weight @ ((shifts - middle) ** 2).sum(axis=1)))
        reach = min(reach, max(4 * scatter, 4 * (along[1] - along[0])))
    seconds = np.arange(10)
    first = released[0] if step_deviation == 0 else np.polyfit(seconds, released[:10], 1)[1]
    return road[tree.query(first - middle)[1]]


def smoothed(plan: Plan, answers: np.ndarray, step_variance: float) -> np.ndarray:
    """The start as a smoother finds it that takes what the driver does for random pushes of 1.5 m/s²."""
    push = 1.5**2 * np.kron(np.eye(2), np.array([[0.25, 0.5], [0.5, 1.0]]))
    prior = np.diag([PRIOR**2, 400.0, PRIOR**2, 400.0])
    found = smooth(
        plan,
        answers,
        prior_mean=[0.0] * 4,
        prior_covariance=prior,
        step_variance=step_variance,
        input_covariance=push,
    )
    return found.initial[..., [0, 2]]


def rms(errors: np.ndarray) -> float:
    """Root of the mean squared length."""
    return float(np.sqrt((errors**2).sum(axis=-1).mean()))


def across(drive: Drive, estimates: np.ndarray) -> str:
    """How much of the error is across the road that the car starts on; a single axis has a floor of its own."""
    along = (drive.path[3] - drive.path[0]) / np.linalg.norm(drive.path[3] - drive.path[0])
    beside = (estimates - drive.path[0]) @ np.array([-along[1], along[0]])
    return f"{float(np.sqrt((beside**2).mean())):.1f} m of it across the street"


def report(drive: Drive, deviation: float, step_deviation: float, seed: int, output: Path) -> None:
    """Plan, release, attack, and draw the map."""
    system, start = system_of(drive), drive.path[0]
    steps = len(drive.path)
    plan = system.protect(max_loss=2 * steps * deviation**2, protect=["east", "north"])
    floor = float(np.hypot(*plan.floor.per_entry[[0, 2]]))
    travelled = float(np.linalg.norm(np.diff(drive.path, axis=0), axis=1).sum())
    print(f"{steps} positions, one a second, {travelled:.0f} m; noise of {deviation:g} m along each axis, one draw")
    print(plan.explain(unit={"east": "m", "north": "m"}))
    print(f"\nFloor of the start, both axes together: {floor:.1f} m. Errors of adversaries, root mean square:")

    noise = plan.draws(MANY, rng=seed)
    # the least-squares adversary expects constant speed; subtracting what the driver does is its best case
    answers = system.carry([start[0], drive.speed[0], start[1], drive.speed[1]]) + noise
    moved = np.moveaxis(system.carry(np.eye(4)), 0, -1).reshape(-1, 4)  # how the start moves all answers
    errors = np.linalg.lstsq(moved, answers.reshape(MANY, -1).T, rcond=None)[0].T
    print(f"  least squares, inputs known       {rms(errors[:, [0, 2]] - start):7.1f} m   ({MANY:,} draws)")
    found = smoothed(plan, drive.path + noise[:2000], 1e-2) - start
    print(f"  smoother, inputs unknown          {rms(found):7.1f} m   (2,000 draws)")
    matched = np.array([on_the_map(drive.path + one, drive.road, deviation) for one in noise[:MATCHED]])
    error = rms(matched - start)
    print(f"  somebody with a map of the road   {error:7.1f} m   ({MATCHED} draws), {across(drive, matched)}")
    print("  one known position later          ", f"{0.0:6.1f} m   always: the whole path is moved by one vector")

    robust = Robust(plan, step_deviation)
    anywhere = float(robust.any_path().worst_entry)
    print(f"\nWith independent noise of {step_deviation:g} m added to every answer:")
    print(f"  floor of the start, any path at all {anywhere:5.1f} m along any direction (the price of no model)")
    rough = np.array([drive.path + robust.draw(rng=seed + k) for k in range(MATCHED)])
    matched_rough = np.array([on_the_map(one, drive.road, deviation, step_deviation) for one in rough])
    error = rms(matched_rough - start)
    print(f"  somebody with a map of the road   {error:7.1f} m   ({MATCHED} draws), {across(drive, matched_rough)}")
    found = smoothed(plan, rough, step_deviation**2) - start
    print(f"  smoother, inputs unknown          {rms(found):7.1f} m   ({MATCHED} draws)")

    released = drive.path + noise[0]
    marks = {
        "smoother's estimate of the start": smoothed(plan, released, 1e-2),
        "estimate with a map": matched[0],
    }
    paths = {"true path": drive.path, "released, one draw": released, "released, robust": rough[0]}
    print(f"\nMap before and after: {save(path_map(paths, marks), output / 'car_map.png')}")


def path_map(paths: dict[str, np.ndarray], marks: dict[str, np.ndarray]) -> Any:
    """Draw paths of points (east, north) on one map, each start marked, and further points with names."""
    figure, axes = canvas(width=6.4, height=5.6)
    for colour, (name, line) in zip(COLOURS, paths.items(), strict=False):
        axes.plot(line[:, 0], line[:, 1], color=colour, label=name)
        axes.plot(*line[0], "o", color=colour, markersize=7)
    for marker, (name, point) in zip("x*^vs", marks.items(), strict=False):
        axes.plot(*point, marker, color="#222222", markersize=9, label=name, linestyle="none")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("east (m)")
    axes.set_ylabel("north (m)")
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    return figure


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description="Release a drive whose start is private, and attack the release.")
    parser.add_argument("--recording", type=Path, help="a folder with pose_20hz.csv; otherwise a drive is generated")
    parser.add_argument("--deviation", type=float, default=50.0, help="noise in metres along each axis")
    parser.add_argument("--step-deviation", type=float, default=50.0, help="noise of each answer, robust variant")
    parser.add_argument("--seed", type=int, default=1, help="a public seed: this is a study, not a release")
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), help="where the map goes; it is made if need be"
    )
    given = parser.parse_args()
    drive = generated(given.seed) if given.recording is None else recorded(given.recording)
    report(drive, given.deviation, given.step_deviation, given.seed, given.folder)


if __name__ == "__main__":
    main()
