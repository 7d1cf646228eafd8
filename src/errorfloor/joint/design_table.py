"""The best variances, one per interaction, for a table with margins."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.joint.solver import ATTEMPTS
from errorfloor.joint.table import Margins, TableNoise, exposure_of, spread_of, subsets
from errorfloor.joint.taper import best_start, cost_and_loss


def design_table(margins: Margins, bounds: Array) -> TableNoise:
    """Give the noise with the least certified information about one cell.

    >>> noise = design_table(Margins((2, 2)), np.ones(4))
    >>> bool(noise.cell_information.max() / np.pi**2 < 2.26), noise.accepted > 0.5
    (True, True)
    """
    from scipy.optimize import minimize

    spread, exposure, counts = spread_of(margins), exposure_of(margins), np.asarray(margins.sizes)

    def price(log_variances: Array) -> float:
        variances = np.exp(log_variances)
        deviations = np.sqrt(spread @ variances) / bounds
        cost, loss = cost_and_loss(deviations)
        attempts = float(loss @ counts) / ATTEMPTS
        return float(exposure @ (1 / variances) + (cost / bounds**2).sum()) * max(1.0, attempts)

    summed = np.prod(margins.shape) / counts
    first = np.log(_fitting(margins, (0.25 * bounds) ** 2 / summed))
    found = minimize(price, first, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "adaptive": True})
    found = minimize(price, found.x, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "adaptive": True})
    variances = np.exp2(np.floor(np.log2(np.exp(found.x)) * 32) / 32)  # a few bits, the same on every machine
    deviations = np.sqrt(spread @ variances) / bounds
    return TableNoise(margins, bounds, best_start(deviations), variances)


def _fitting(margins: Margins, wanted: Array) -> Array:
    """Give every interaction the smallest variance that a set with it asks for, and others a little of the largest."""
    found = []
    for part in subsets(len(margins.shape)):
        near = [size for kept_axes, size in zip(margins.sets, wanted, strict=True) if set(part) <= set(kept_axes)]
        found.append(min(near) if near else float(wanted.max()))
    return np.array(found)
