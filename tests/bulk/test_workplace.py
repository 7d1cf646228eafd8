"""A folder appears whole, in one step, or not at all."""

import ctypes

import pytest

from errorfloor.bulk.workplace import appear
from errorfloor.errors import InputError


@pytest.fixture
def folders(tmp_path):
    """A finished folder, and an older one under the name that it shall have."""
    for name in ("finished", "target"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "rows").write_text(name)
    return tmp_path / "finished", tmp_path / "target"


def test_a_folder_takes_the_place_of_an_older_one(folders):
    finished, target = folders
    appear(finished, target, overwrite=True)
    assert (target / "deep" / "rows").read_text() == "finished"
    assert (finished / "deep" / "rows").read_text() == "target"  # to be removed with the workplace


def test_a_folder_that_came_meanwhile_is_left_alone(folders):
    finished, target = folders
    with pytest.raises(InputError, match="cannot put the finished folder at"):
        appear(finished, target, overwrite=False)
    assert (target / "deep" / "rows").read_text() == "target"


def test_where_folders_cannot_be_exchanged_the_older_one_stays(folders, monkeypatch):
    finished, target = folders
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    with pytest.raises(InputError, match=r"in one step .*: choose another name"):
        appear(finished, target, overwrite=True)
    assert (target / "deep" / "rows").read_text() == "target"
