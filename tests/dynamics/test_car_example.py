"""The example with a car: generated, and read from a recording."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "car.py"
spec = importlib.util.spec_from_file_location("car_example", FILE)
car = importlib.util.module_from_spec(spec)
spec.loader.exec_module(car)


def test_a_map_breaks_the_floor_of_one_draw_and_noise_on_every_answer_helps(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(car, "MATCHED", 5)
    car.report(car.generated(1), 50.0, 50.0, 1, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    floor = next(float(line.split(": ")[1].split()[0]) for line in lines if line.startswith("Floor"))
    errors = {
        line.split("  ")[1].strip(): float(line.split(" m ")[0].split()[-1]) for line in lines if " draws)" in line
    }
    matched = [float(line.split(" m ")[0].split()[-1]) for line in lines if "map of the road" in line]
    assert floor == pytest.approx(70.7, abs=0.1)
    assert errors["least squares, inputs known"] == pytest.approx(floor, rel=0.02)
    assert errors["smoother, inputs unknown"] > 0.97 * floor
    assert matched[0] < 3
    assert matched[1] > 15
    assert (tmp_path / "car_map.png").stat().st_size > 10_000


def test_a_map_of_a_straight_road_helps_across_it_and_never_does_worse_than_the_release():
    """Along the road the release is all there is; across it the map knows."""
    road = np.stack([np.arange(-3000.0, 3000.0, 2.0), np.zeros(3000)], axis=1)
    path = np.stack([20.0 * np.arange(60), np.zeros(60)], axis=1)
    shifts = 50.0 * np.random.default_rng(3).normal(size=(20, 2))
    found = np.array([car.on_the_map(path + shift, road, 50.0) for shift in shifts])
    assert np.abs(found[:, 1]).max() < 0.1
    assert car.rms(found) == pytest.approx(np.sqrt((shifts[:, 0] ** 2).mean()), rel=0.05)
    assert car.rms(found) < 0.8 * car.rms(shifts)


def test_a_recording_is_read_once_a_second(tmp_path):
    t = np.arange(0, 30.01, 0.05)
    rows = "\n".join(f"{a:.2f},{2 * a:.4f},{5 + a:.4f}" for a in t)
    (tmp_path / "pose_20hz.csv").write_text(f"t_s,east_m,north_m\n{rows}\n")
    drive = car.recorded(tmp_path)
    assert drive.path == pytest.approx(np.column_stack([2 * np.arange(31), 5 + np.arange(31)]))
    assert drive.speed == pytest.approx([2.0, 1.0])
