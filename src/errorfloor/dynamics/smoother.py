"""The adversary who attains the floors: a smoother that knows the system, the plan and all answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, broadcast, numbers, positive_definite, symmetric
from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.state_space import StateSpace
from errorfloor.errors import InputError

REDUNDANT = 1e-11  # of the largest variance: an innovation smaller than this is rounding


@dataclass(frozen=True)
class Smoothed:
    """Estimates of the states x[0 … T], of shape (…, T + 1, n), and their covariances as the adversary computes them.

    >>> Smoothed(np.zeros((3, 2)), np.zeros((3, 2, 2))).initial
    array([0., 0.])
    """

    states: Array
    covariances: Array

    @property
    def initial(self) -> Array:
        """The estimate of the initial state."""
        return np.asarray(self.states[..., 0, :])


def smooth(
    plan: Plan,
    answers: Any,
    *,
    prior_mean: Any,
    prior_covariance: Any,
    step_variance: Any = 0.0,
    input_covariance: Any = None,
) -> Smoothed:
    """Estimate every state from all answers: a Kalman filter forwards, then Rauch, Tung and Striebel's pass back.

    The filter follows x and the carried noise z side by side, for the answers are C(x + z). ``prior_mean`` and
    ``prior_covariance`` are what is known of the initial state beforehand; their inverse is the side information of
    the floor that it attains. ``step_variance`` is the variance of independent noise on each answer (one number, or
    one a step), ``input_covariance`` the n×n covariance of unknown inputs in each step of x.

    >>> from errorfloor.dynamics import LinearSystem
    >>> plan = LinearSystem([[1.0]], [[1.0]], 4).protect(max_loss=5.0)
    >>> found = smooth(plan, np.ones((5, 1)), prior_mean=[0.0], prior_covariance=[[1.0]])
    >>> found.initial.round(6), found.covariances[0].round(6)
    (array([0.5]), array([[0.5]]))
    """
    system, y = plan.system, numbers("answers", answers)
    if y.ndim < 2 or y.shape[-2:] != (system.horizon + 1, system.outputs):
        raise InputError(f"answers must have shape (…, {system.horizon + 1}, {system.outputs}), got {y.shape}")
    n = system.dimension
    mean = broadcast("prior_mean", prior_mean, n)
    prior = positive_definite("prior_covariance", prior_covariance, n)
    noise = broadcast("step_variance", step_variance, system.horizon + 1)
    if (noise < 0).any():
        raise InputError("step_variance must not be negative")
    inputs = np.zeros((n, n)) if input_covariance is None else symmetric("input_covariance", input_covariance, n)
    if plan.offset is not None:
        y = y - plan.offset
    state = np.concatenate([mean, plan.start.mean])
    covariance = np.block([[prior, np.zeros((n, n))], [np.zeros((n, n)), plan.covariance]])
    forward = _filter(system, y, state, covariance, noise, inputs)
    return _backward(system, *forward)


def _filter(
    system: StateSpace, y: Array, state: Array, P: Array, noise: Array, inputs: Array
) -> tuple[list[Array], list[Array], list[Array]]:
    """Give filtered means, filtered covariances and predicted covariances of (x, z), step by step."""
    n = system.dimension
    a = np.broadcast_to(state, (*y.shape[:-2], 2 * n))
    means, filtered, predicted = [], [], [P]
    for k in range(system.horizon + 1):
        C = system.output_matrix(k)
        H = np.hstack([C, C])
        S = H @ P @ H.T + noise[k] * np.eye(len(H))
        level = REDUNDANT * float(np.abs(H @ predicted[0] @ H.T).max())
        gain = P @ H.T @ _inverse(S, level)
        a = a + (y[..., k, :] - a @ H.T) @ gain.T
        keep = np.eye(2 * n) - gain @ H
        P = keep @ P @ keep.T + noise[k] * gain @ gain.T
        means.append(a)
        filtered.append(P)
        if k < system.horizon:
            F = np.kron(np.eye(2), system.step_matrix(k))
            a = a @ F.T
            P = F @ P @ F.T
            P[:n, :n] += inputs
            P = (P + P.T) / 2
            predicted.append(P)
    return means, filtered, predicted


def _backward(system: StateSpace, means: list[Array], filtered: list[Array], predicted: list[Array]) -> Smoothed:
    n, last = system.dimension, system.horizon
    states = np.empty((*means[0].shape[:-1], last + 1, n))
    covariances = np.empty((last + 1, n, n))
    a, P = means[last], filtered[last]
    for k in range(last, -1, -1):
        if k < last:
            F = np.kron(np.eye(2), system.step_matrix(k))
            gain = filtered[k] @ F.T @ _inverse(predicted[k + 1], REDUNDANT * float(np.abs(predicted[k + 1]).max()))
            a = means[k] + (a - means[k] @ F.T) @ gain.T
            P = filtered[k] + gain @ (P - predicted[k + 1]) @ gain.T
        states[..., k, :] = a[..., :n]
        covariances[k] = P[:n, :n]
    return Smoothed(states, covariances)


def _inverse(S: Array, level: float) -> Array:
    """Inverse on the directions whose variance is more than rounding; what is redundant tells nothing."""
    values, axes = np.linalg.eigh((S + S.T) / 2)
    live = values > level
    return np.asarray((axes[:, live] / values[live]) @ axes[:, live].T)
