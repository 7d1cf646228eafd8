"""The frontier of information against loss."""

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer import Frontier, tradeoff
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Gaussian


def test_every_point_is_the_design_with_that_bound():
    losses = [0.02, 0.05, 0.1]
    frontier = tradeoff(ef.Interval(-1, 1), max_losses=losses)
    for noise, bound in zip(frontier.noises, losses, strict=True):
        alone = ef.design(ef.Interval(-1, 1), max_loss=bound)
        assert noise.certificate.value == pytest.approx(alone.certificate.value, rel=1e-9)
        assert noise.expected_loss() == pytest.approx(bound, rel=1e-10)
        assert noise.certificate.gap < 1e-8


def test_information_falls_and_is_convex_in_the_loss():
    frontier = tradeoff(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.6], [0.6, 1.0]], points=5)
    slopes = np.diff(frontier.information) / np.diff(frontier.losses)
    assert (slopes < 0).all()
    assert (np.diff(slopes) > 0).all()
    assert len(frontier) == 5
    # the last point is where quality costs nothing any more
    free = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.6], [0.6, 1.0]])
    assert frontier.information[-1] == pytest.approx(free.certificate.value, rel=1e-9)


def test_points_are_kept_on_disk_as_designs_are(tmp_path, monkeypatch):
    monkeypatch.setenv("ERRORFLOOR_CACHE", str(tmp_path))
    first = tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.1])

    def not_again(*arguments, **options):
        raise AssertionError("solved again")

    monkeypatch.setattr("errorfloor.designer.numerical.numerical_design", not_again)
    second = tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.1])
    assert second.noises == first.noises
    assert [noise.certificate for noise in second.noises] == [noise.certificate for noise in first.noises]
    assert ef.design(ef.Interval(-1, 1), max_loss=0.05) == first[0]
    with pytest.raises(AssertionError, match="solved again"):
        tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.07])


def test_unbounded_supports_have_a_frontier_too():
    frontier = tradeoff(ef.HalfLine(0.0), points=4)
    assert np.allclose(frontier.information * frontier.losses, 9.0, rtol=1e-9)  # Maxwell: 3/σ² at 3σ²
    line = tradeoff(ef.Reals(1), max_losses=[0.5, 2.0])
    assert isinstance(line[0], Gaussian)
    absolute = tradeoff(ef.Reals(1), loss="absolute", points=3)
    assert np.allclose(absolute.information * absolute.losses**2, 0.626634, atol=1e-6)


def test_the_curve_is_drawn_with_what_is_out_of_reach():
    frontier = tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.1, 0.13])
    axes = frontier.plot(unit="kWh²").axes[0]
    assert axes.get_xlabel() == "expected loss (kWh²)"
    assert np.allclose(axes.lines[0].get_ydata(), frontier.information)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["least information", "proved out of reach"]


def test_progress_is_told():
    told = []
    tradeoff(ef.Interval(-1, 1), max_losses=[0.05, 0.1], progress=lambda what, share: told.append((what, share)))
    assert [one for one in told if one[0] == "frontier"] == [("frontier", 0.0), ("frontier", 0.5)]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_losses": []}, InputError, "at least one loss"),
        ({"points": 1}, InputError, "points must be at least 2, got 1"),
        ({"max_losses": [-1.0]}, InputError, "max_losses must be positive"),
        ({"max_losses": [1e-3], "loss": lambda w: w * w + 1}, IllPosedError, "cannot be met"),
    ],
)
def test_bad_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        tradeoff(ef.Interval(-1, 1), **options)


def test_dependent_answers_have_no_frontier_of_densities():
    with pytest.raises(InputError, match="K has rank 1 of 2"):
        tradeoff(ef.Box([0, 0], [1, 1]), sensitivity=np.ones((2, 2)), max_losses=[0.5])


def test_a_frontier_is_a_sequence_of_noises():
    frontier = Frontier((Gaussian(1.0),), np.array([1.0]), np.array([1.0]))
    assert len(frontier) == 1
    assert frontier[0] == Gaussian(1.0)
