"""Designs on disk: found again by content, safe against other writers and damage."""

import json
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer import cache, numerical
from errorfloor.designer.cache import cache_folder, key_of

K = [[1.0, 0.5], [0.5, 1.0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ERRORFLOOR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def solved(monkeypatch):
    """How many problems were solved numerically."""
    count = []
    original = numerical.numerical_design

    def counted(*arguments, **options):
        count.append(1)
        return original(*arguments, **options)

    monkeypatch.setattr(numerical, "numerical_design", counted)
    return count


def square():
    return ef.design(ef.Box([0, 0], [1, 1]), sensitivity=K)


def test_a_second_identical_design_is_read_and_draws_the_same(folder, solved):
    first, second = square(), square()
    assert len(solved) == 1
    assert first == second
    assert second.certificate == first.certificate
    assert np.array_equal(first.sample(200, rng=1), second.sample(200, rng=1))
    assert np.array_equal(first.information, second.information)


def test_anything_else_asked_is_another_design(folder, solved):
    square()
    ef.design(ef.Box([0, 0], [1, 1 + 1e-15]), sensitivity=K)
    ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.5 + 1e-17], [0.5 + 1e-17, 1.0]])  # the same double
    ef.design(ef.Box([0, 0], [1, 1]), sensitivity=K, loss_weight=1.0)
    ef.design(ef.Box([0, 0], [1, 1]), sensitivity=K, loss="absolute", loss_weight=1.0)
    assert len(solved) == 4


def test_largest_errors_are_kept_too(folder, monkeypatch):
    error = ef.design(ef.Box([0, 0], [1, 1]), objective="error", information_cap=80.0)
    monkeypatch.setattr(sys.modules["errorfloor.designer.largest_error"], "largest_error", None)
    same = ef.design(ef.Box([0, 0], [1, 1]), objective="error", information_cap=80.0)
    assert same.certificate == error.certificate


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.", "0.1", 1),
        lambda text: "[]",
        lambda text: '{"check": 1, "noise": {"type": "Blob"}}',
        lambda text: "\x00" * 100,
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(folder, solved, damage):
    noise = square()
    (file,) = folder.rglob("*.json")
    good = file.read_text()
    file.write_text(damage(good))
    assert square() == noise
    assert len(solved) == 2
    assert file.read_text() == good
    assert square() == noise
    assert len(solved) == 2


def test_a_value_that_is_not_the_noises_own_is_not_believed(folder, solved):
    square()
    (file,) = folder.rglob("*.json")
    stored = json.loads(file.read_text())
    stored["noise"]["certificate"]["value"] *= 0.5
    stored["check"] = cache._digest(stored["noise"])
    file.write_text(json.dumps(stored))
    assert square().certificate.value > 70
    assert len(solved) == 2


def _writer(folder: str, seed: int) -> None:
    import os

    os.environ["ERRORFLOOR_CACHE"] = folder
    noise = ef.noise.RaisedCosine(0, 1, certificate=ef.noise.Certificate(39.0))
    for _ in range(60):
        cache.remember({"seed": seed % 2}, noise)


def test_many_writers_leave_whole_files(folder):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_writer, args=(str(folder), seed)) for seed in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        for file in folder.rglob("*.json"):
            assert json.loads(file.read_text())["noise"]["type"] == "RaisedCosine"
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert sorted(len(list(folder.rglob(pattern))) for pattern in ("*.json", ".writing-*")) == [0, 2]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, solved):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ERRORFLOOR_CACHE", str(tmp_path / "file"))
    square()
    square()
    assert len(solved) == 2


@pytest.mark.parametrize("word", ["off", "0", "", "OFF"])
def test_the_cache_can_be_switched_off(monkeypatch, word, solved):
    monkeypatch.setenv("ERRORFLOOR_CACHE", word)
    assert cache_folder() is None
    ef.design(ef.Interval(-1, 1), loss_weight=1.0)
    ef.design(ef.Interval(-1, 1), loss_weight=1.0)
    assert len(solved) == 2


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, ".cache/errorfloor"),
        ("linux", {"XDG_CACHE_HOME": "/elsewhere"}, "/elsewhere/errorfloor"),
        ("darwin", {}, "Library/Caches/errorfloor"),
        ("win32", {}, "AppData/Local/errorfloor/Cache"),
    ],
)
def test_the_folder_follows_the_platform(monkeypatch, platform, variables, folder):
    monkeypatch.delenv("ERRORFLOOR_CACHE")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path.home() / folder


def test_keys_depend_on_every_bit_and_on_the_solvers_version(monkeypatch):
    question = {"sensitivity": [[1.0]], "max_loss": 0.1}
    assert key_of(question) == key_of(dict(reversed(question.items())))
    assert key_of(question) != key_of({**question, "max_loss": np.nextafter(0.1, 1)})
    before = key_of(question)
    monkeypatch.setattr(cache, "VERSION", cache.VERSION + 1)
    assert key_of(question) != before
