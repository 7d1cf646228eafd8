"""Hardened noise elsewhere: OpenDP's vector Laplace, in an environment of its own."""

import json
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.stopwatch import side_by_side, table
from errorfloor.noise import RaisedCosine

HOME = Path(__file__).parents[1] / ".venv-peers"
COUNT = 20_000
OPENDP = f"""
import importlib.metadata, json, time
import opendp.prelude as dp
dp.enable_features("contrib")
domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
draw = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0)
zeros = [0.0] * {COUNT}
times = []
for _ in range(5):
    start = time.perf_counter()
    draw(zeros)
    times.append(time.perf_counter() - start)
print(json.dumps([importlib.metadata.version("opendp"), sorted(times)[2]]))
"""


def main() -> None:
    python = HOME / "bin" / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", "opendp>=0.14,<0.16"], check=False)
    shown = subprocess.run([python, "-c", OPENDP], capture_output=True, text=True)
    if shown.returncode:
        print(f"\nOpenDP could not be measured: {shown.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return
    version, seconds = json.loads(shown.stdout)
    ours = side_by_side({"x": lambda: RaisedCosine(-0.5, 0.5).sample(1_000_000)}, 5)["x"] * COUNT / 1_000_000
    rows = {"raised cosine, secure bits": ours, f"OpenDP {version} vector Laplace": seconds}
    table("Hardened noise, one draw", rows, "raised cosine, secure bits", COUNT, "ns")
