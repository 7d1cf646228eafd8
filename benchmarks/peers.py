"""Hardened noise elsewhere: OpenDP's vector Laplace, in an environment of its own."""

import json
import subprocess

from benchmarks.environments import python_for, reason, run
from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.noise import RaisedCosine

COUNT = 20_000
OURS = "raised cosine, secure bits"
WANTED = ("opendp[polars]>=0.14,<0.17",)
DRAWING = f"""
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


def main(report: Report) -> None:
    try:
        version, seconds = json.loads(run([python_for("opendp", WANTED), "-c", DRAWING]))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as problem:
        report.note(f"OpenDP could not be measured: {reason(problem)}")
        return
    report.peers["OpenDP"] = version
    ours = side_by_side({OURS: lambda: RaisedCosine(-0.5, 0.5).sample(1_000_000)}, 5)[OURS] * COUNT / 1_000_000
    report.ratios("Hardened noise, one draw", {OURS: ours, "OpenDP, vector Laplace": seconds}, OURS, COUNT, "ns")
