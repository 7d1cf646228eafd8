"""A release that is killed at any moment is complete or absent."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.identity import KeyRing
from repeated import rounds

KILLED = """
import json, os, random, signal, sys, time
from pathlib import Path
import errorfloor as ef
from errorfloor.bulk import release

source, target, keys, rounds = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
noises = {"kwh": ef.Interval(0, 0.5)}  # the parent loads everything and starts no thread, so that it can fork

def released(moment):
    target.write_bytes(b"old")
    child, start = os.fork(), time.monotonic()
    if not child:
        try:
            release(source, target, columns=noises, key=["household", "day"], batch="b", keys=keys, overwrite=True)
        finally:
            os._exit(0)
    if moment is not None:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return target.read_bytes(), time.monotonic() - start

whole, taken = released(None)
chance = random.Random(7)
found = [released(chance.uniform(0, 1.1 * taken))[0] for _ in range(rounds)]
again, _ = released(None)
print(json.dumps({
    "old": found.count(b"old"), "whole": found.count(whole), "same": again == whole, "rows": whole != b"old"
}))
"""


def test_a_killed_release_leaves_the_old_file_or_the_whole_new_one(tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    count = 100_000
    table = pa.table({"household": np.arange(count) // 365, "day": np.arange(count) % 365, "kwh": np.ones(count)})
    source, target, kills = tmp_path / "in.parquet", tmp_path / "out.parquet", rounds(8)
    pq.write_table(table, source)
    command = [sys.executable, "-c", KILLED, str(source), str(target), str(ring.path), str(kills)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["same"] and found["rows"]
    assert found["old"] + found["whole"] == kills
    assert found["old"] > 0  # some were killed before they were done
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["in.parquet", "keys.json", "keys.json.releases", "keys.json.releases.rows", "out.parquet"]
