"""Cost of a draw in every family, secure bits, against NumPy's non-secure normal."""

import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    Maxwell,
    Product,
    RaisedCosine,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)
from errorfloor.random import ReproducibleBits, RowBits, SecureBits

COUNT = 1_000_000
BASE = "NumPy standard_normal"


def main(report: Report) -> None:
    generator = np.random.default_rng(1)
    cosine = RaisedCosine(-0.5, 0.5)
    noises = {
        "raised cosine": cosine,
        "Maxwell": Maxwell(1.0),
        "Gaussian": Gaussian(1.0),
        "Airy": Airy(1.0),
        "Laplace": Laplace(1.0),
        "uniform": Uniform(low=0, high=1),
        "truncated Laplace": TruncatedLaplace(1.0, low=-1, high=1),
        "truncated Gaussian": TruncatedGaussian(1.0, low=-1, high=1),
        "product of 2 raised cosines": Product((cosine, cosine)),
        "Bessel ball, 2 dimensions": BesselBall(2, 1.0),
        "Bessel ball, 8 dimensions": BesselBall(8, 1.0),
    }
    actions = {BASE: lambda: generator.standard_normal(COUNT)}
    actions |= {"secure 64-bit words": lambda: SecureBits().words(COUNT)}
    actions |= {"reproducible 64-bit words": lambda: ReproducibleBits(1).words(COUNT)}
    actions |= {f"{name}": (lambda noise=noise: noise.sample(COUNT)) for name, noise in noises.items()}
    tags = ReproducibleBits(1).words(2 * COUNT).reshape(COUNT, 2)
    actions |= {"raised cosine, sticky by row": lambda: cosine.sample(COUNT, rng=RowBits(bytes(32), tags))}
    actions |= {"Maxwell, sticky by row": lambda: noises["Maxwell"].sample(COUNT, rng=RowBits(bytes(32), tags))}
    report.ratios(f"One draw, of {COUNT:,} at a time, secure bits", side_by_side(actions, 5), BASE, COUNT, "ns")
