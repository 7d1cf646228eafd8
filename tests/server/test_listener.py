"""Processes that listen on one socket share the lines: none takes all of them while another is idle."""

import os
import socket
import subprocess
import sys

import pytest

from errorfloor.access.shared import LONGEST, SLOT, OpenLines, SharedListener
from errorfloor.server import Settings


@pytest.fixture
def listener(tmp_path):
    taken = socket.create_server(("127.0.0.1", 0))
    with SharedListener(taken, tmp_path / "lines", lambda lines: None) as found:
        found.setblocking(False)
        found.count()
        yield found


def other(tmp_path, process, count):
    """Write down the lines of another process."""
    with (tmp_path / "lines").open("r+b") as file:
        file.seek(SLOT.size)
        file.write(SLOT.pack(process, count))


def ended():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_lines_are_taken_one_at_a_time(listener):
    lines = [socket.create_connection(listener.getsockname()) for _ in range(3)]
    taken = []
    for _ in lines:
        taken.append(listener.accept()[0])
        with pytest.raises(BlockingIOError):  # whoever else was woken may take the next
            listener.accept()
    for line in (*lines, *taken):
        line.close()


@pytest.mark.parametrize(("count", "waits"), [(0, [0.002]), (1, [0.001]), (2, []), (9, [])])
def test_a_process_gives_way_to_one_that_has_fewer(listener, tmp_path, monkeypatch, count, waits):
    waited = []
    monkeypatch.setattr("errorfloor.access.shared.time.sleep", waited.append)
    listener._lines.change(+2)
    other(tmp_path, os.getppid(), count)
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert waited == waits


def test_nobody_waits_long_nor_for_the_dead(listener, tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr("errorfloor.access.shared.time.sleep", waited.append)
    listener._lines.change(+2000)
    for process in (os.getppid(), ended()):
        other(tmp_path, process, 0)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert waited == [LONGEST]


def test_a_new_process_takes_the_place_of_a_dead_one(tmp_path):
    OpenLines(tmp_path / "lines")
    (tmp_path / "lines").write_bytes(SLOT.pack(ended(), 7) + (tmp_path / "lines").read_bytes()[SLOT.size :])
    OpenLines(tmp_path / "lines").change(+1)
    assert SLOT.unpack((tmp_path / "lines").read_bytes()[: SLOT.size]) == (os.getpid(), 1)


def test_there_is_a_process_for_each_core_unless_told_otherwise():
    assert Settings().processes == min(len(os.sched_getaffinity(0)), 64)
    assert Settings(workers=1).processes == 1
