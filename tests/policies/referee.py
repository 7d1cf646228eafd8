"""The same chain problem written down by other means: in CVXPY's words, and without cones for SciPy's SLSQP."""

import warnings

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from errorfloor.policies.chain import Chain

EXACT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 400}


def referee(chain: Chain) -> tuple[float, np.ndarray]:
    """Objective and laws, as second-order cones."""
    # only what is allowed is a variable: a probability that must be zero would leave its cone without an interior
    place = np.full(chain.allowed.shape, -1)
    place[chain.allowed] = np.arange(chain.allowed.sum())
    linked = chain.allowed[:-1] & chain.allowed[1:]
    p, r = cp.Variable(int(chain.allowed.sum()), nonneg=True), cp.Variable(int(linked.sum()))
    before, after = p[place[:-1][linked]], p[place[1:][linked]]
    of_node = sp.csr_array((np.ones(p.size), (np.nonzero(chain.allowed)[0], np.arange(p.size))))
    of_step = sp.csr_array((np.ones(r.size), (np.nonzero(linked)[0], np.arange(r.size))), (len(linked), r.size))
    held = [cp.SOC(before + after, cp.vstack([2 * r, before - after]), axis=0), of_node @ p == 1]
    for rows in chain.rows:
        sums = of_node @ cp.multiply(rows.coefficients[chain.allowed], p)
        left = cp.sum(sums) if rows.shared else sums
        bounds = rows.bounds.item() if rows.shared else rows.bounds
        held.append(left == bounds if rows.equal else left <= bounds)
    changes = cp.multiply(chain.couplings, 2 - 2 * (of_step @ r))
    cost = 0 if chain.cost is None else chain.cost[chain.allowed] @ p
    problem = cp.Problem(cp.Minimize((cp.max(changes) if chain.worst else cp.sum(changes)) + cost), held)
    with warnings.catch_warnings():  # it warns where it stops short of these very small tolerances
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver=cp.CLARABEL, **EXACT)
    assert problem.status in ("optimal", "optimal_inaccurate")
    laws = np.zeros(chain.allowed.shape)
    laws[chain.allowed] = p.value
    return float(problem.value), laws


def by_descent(chain: Chain) -> float:
    """The objective that a method without cones reaches from even laws, in v = √p; for rows of single nodes."""
    shape, allowed = chain.allowed.shape, chain.allowed.astype(float)

    def laws(v: np.ndarray) -> np.ndarray:
        return v.reshape(shape) ** 2 * allowed

    held = [{"type": "eq", "fun": lambda v: laws(v).sum(axis=1) - 1}]
    held += [{"type": "ineq", "fun": lambda v, rows=rows: rows.bounds - rows.of(laws(v))} for rows in chain.rows]
    found = minimize(
        lambda v: chain.energy(laws(v)),
        (allowed / np.sqrt(allowed.sum(axis=1, keepdims=True))).ravel(),
        bounds=[(0.0, 1.0)] * allowed.size,
        constraints=held,
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun)
