"""What processes count together outlives its folder, and holds between processes."""

import shutil
import subprocess
import sys

from errorfloor.server.rates import Rates
from errorfloor.server.shared import SharedNumbers, SharedSeats

HOLDER = """
import sys
from pathlib import Path
from errorfloor.server.shared import SharedSeats

print(SharedSeats(Path(sys.argv[1])).take("anna", 1), flush=True)
sys.stdin.read()
"""


def test_a_seat_is_free_again_when_its_process_is_killed(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    seats = SharedSeats(tmp_path)
    assert not seats.take("anna", 1)
    holder.kill()
    holder.communicate()
    assert seats.take("anna", 1)
    seats.leave("anna")


def test_a_folder_that_somebody_cleaned_stops_nobody(tmp_path):
    folder = tmp_path / "counts"
    rates, seats = Rates(1.0, 2, folder), SharedSeats(folder)
    shutil.rmtree(folder)
    rates.take("anna")
    assert seats.take("anna", 1)
    seats.leave("anna")
    Rates(1.0, 2, folder).close()  # as a process does that is started anew
    rates.close()


def test_more_names_than_there_is_room_for_push_out_the_oldest(tmp_path, monkeypatch):
    monkeypatch.setattr("errorfloor.server.shared.SLOTS", 8)
    numbers = SharedNumbers(tmp_path / "numbers")
    for then in range(1, 10):
        numbers.change(f"name {then}", lambda count, _, then=then: (count + 1, float(then)))
    assert numbers.change("name 9", lambda count, then: (count, then)) == (1.0, 9.0)
    assert numbers.change("name 1", lambda count, then: (count, 10.0)) == (0.0, 10.0)
    numbers.close()
