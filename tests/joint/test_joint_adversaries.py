"""Adversaries who know the joint density itself: no test of theirs beats the floor, in one answer or in many."""

import math

import numpy as np
import pytest

from errorfloor.floors.adversary.table import value_table
from errorfloor.joint import design_joint
from errorfloor.joint.taper import accepted_share
from errorfloor.random import ReproducibleBits

TOTAL_AND_PARTS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
RUNNING = np.array([[1.0, 0.0], [1.0, 1.0]])
STEP = 1 / 100
MOVES = [(1, 0), (0, 1), (1, -1), (1, 1)]


def block_density(form, axis):
    both = np.stack([part.ravel() for part in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    precision = np.linalg.inv(form.factor @ form.factor.T)
    share = accepted_share(both @ form.rows.matrix.toarray().T / form.bounds, form.starts)
    return (share * np.exp(-np.einsum("ij,jk,ik->i", both, precision, both) / 2)).reshape(axis.size, axis.size)


def tree_density(form, axis):
    """A total, and its two parts given the total: each family is normalised by itself."""

    def tapered(node):
        share = accepted_share(axis[:, None] / form.bounds[node], form.starts[node : node + 1])
        return share * np.exp(-(axis**2) / (2 * form.variances[node]))

    total, one, two = (tapered(node) for node in (0, *form.leaves))
    family = np.convolve(one, two)
    shown = np.interp(STEP * (np.arange(family.size) - axis.size + 1), axis, total, left=0.0, right=0.0)
    ratio = np.divide(shown, family, out=np.zeros_like(shown), where=family > 0)
    place = np.arange(axis.size)
    return one[:, None] * two[None, :] * ratio[place[:, None] + place[None, :]]


def on_a_grid(answers):
    noise = design_joint(answers, 1.0)
    axis = STEP * np.arange(-100, 101)
    density = (block_density if len(answers) == 2 else tree_density)(noise.form, axis)
    return noise, np.pad(density / density.sum(), 101)


@pytest.mark.parametrize("answers", [TOTAL_AND_PARTS, RUNNING])
@pytest.mark.parametrize("move", MOVES)
def test_no_test_with_the_joint_density_beats_the_floor(answers, move):
    """Differencing, extremes and maximum likelihood are tests of the answers; the best of all is ½(1 + TV)."""
    noise, density = on_a_grid(answers)
    floor = noise.floor([move])
    for steps in (1, 5, 20, 50, 100):
        moved = np.roll(density, (steps * move[0], steps * move[1]), axis=(0, 1))
        success = 0.5 + 0.25 * np.abs(moved - density).sum()
        assert success <= floor.distinguish(steps * STEP) + 1e-9
        if steps == 5:
            assert success > 0.5 + 0.5 * (floor.distinguish(steps * STEP) - 0.5)  # the floor is not far off


@pytest.mark.parametrize("answers", [TOTAL_AND_PARTS, RUNNING])
def test_one_joint_answer_fits_the_table_of_raised_cosines_where_it_is_tried(answers):
    """Measured, not proved: it is booked as any other noise. Charges from 0.1 to 7, at the certified information."""
    table = value_table()
    far = np.linspace(0, table.half_period, 1001)
    waves = np.cos(np.outer(far, table.frequencies))
    odds = np.linspace(-8, 8, 161)
    noise, density = on_a_grid(answers)

    def mistakes(charge):
        return (waves @ table.curve(charge)).clip(min=0)

    information = float(noise.information_along([[1, 0]])[0])
    for steps in (8, 20, 65):
        charge = information * (steps * STEP) ** 2
        moved = np.roll(density, steps, axis=0)
        both = (density > 0) & (moved > 0)
        edges = np.linspace(-50, 50, 20_001)
        ratio = np.clip(np.log(moved[both] / density[both]), -50, 50)
        weight = np.histogram(ratio, edges, weights=np.sqrt(density[both] * moved[both]))[0]
        ratio = (edges[1:] + edges[:-1]) / 2
        for left in (0.0, 1.0, 6.0):
            after = np.array([np.interp(np.abs(x + ratio), far, mistakes(left), right=0.0) @ weight for x in odds[::8]])
            before = np.interp(np.abs(odds[::8]), far, mistakes(charge + left))
            assert (before <= after + 1e-6).all()


def test_ten_joint_answers_tell_no_more_than_ten_times_the_information_of_one():
    """The likelihood ratio of ten independent draws for eight running totals, an entry moved in the first cell."""
    noise = design_joint(np.tril(np.ones((8, 8))), 1.0)
    form, answers, trials, distance = noise.form, 10, 8_000, 0.12
    precision = np.linalg.inv(form.factor @ form.factor.T)
    rows = form.rows.matrix.toarray()

    def log_density(v):
        with np.errstate(divide="ignore"):
            share = np.log(accepted_share(v @ rows.T / form.bounds, form.starts))
        return share - np.einsum("ij,jk,ik->i", v, precision, v) / 2

    drawn = form.sample(answers * trials, ReproducibleBits(5))
    drawn[:, 0] += distance
    moved, still = (log_density(v).reshape(trials, answers) for v in (drawn - distance * np.eye(8)[0], drawn))
    gain = moved.sum(axis=1) - still.sum(axis=1)
    right = (gain > 0).mean()  # by symmetry as often under either hypothesis
    bound = 0.5 * (1 + math.sin(min(0.5 * distance * math.sqrt(answers * noise.certificate.value), math.pi / 2)))
    assert 0.6 < right < bound
