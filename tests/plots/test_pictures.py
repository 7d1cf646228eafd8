"""Pictures are drawn without a screen, labelled with units, and written in every format."""

import subprocess
import sys

import numpy as np
import pytest

from errorfloor import plots
from errorfloor.errors import InputError
from errorfloor.noise import BesselBall, Gaussian, LinearImage, Maxwell, Product, RaisedCosine, Uniform

SHEAR = [[1.0, 0.5], [0.0, 1.0]]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_density_is_written_in_every_format(tmp_path, ending):
    path = plots.save(RaisedCosine(-0.5, 0.5).plot(unit="kWh"), tmp_path / f"noise.{ending}")
    assert path.stat().st_size > 2000


@pytest.mark.parametrize(
    "noise",
    [
        Maxwell(2.0),
        Gaussian([[2.0, 0.5], [0.5, 1.0]]),
        LinearImage(Product((RaisedCosine(-1, 1), RaisedCosine(-1, 1))), SHEAR),
        BesselBall(3, 1.0),
    ],
    ids=["line", "plane", "parallelogram", "space"],
)
def test_every_dimension_has_a_picture_with_labels(noise, tmp_path):
    figure = noise.plot(unit="m")
    assert "(m)" in figure.axes[0].get_xlabel()
    assert plots.save(figure, tmp_path / "noise.png").stat().st_size > 2000


def test_curve_shows_the_density_itself():
    noise = RaisedCosine(-0.5, 0.5)
    line = noise.plot().axes[0].lines[0]
    assert np.allclose(line.get_ydata(), noise.pdf(line.get_xdata()))
    assert line.get_ydata().max() == pytest.approx(2.0, rel=1e-4)


def test_a_comparison_names_the_information_of_each_noise():
    noises = {"Gaussian": Gaussian(0.49), "uniform": Uniform(low=-0.7 * 3**0.5, high=0.7 * 3**0.5)}
    figure = plots.compare(noises, unit="kWh", title="equal quality")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0].startswith("Gaussian: information 2.04, r.m.s. 0.7")
    assert labels[-1].startswith("uniform: information ∞, r.m.s. 0.7")


def test_axes_are_refused_where_they_make_no_sense():
    _, axes = plots.canvas()
    with pytest.raises(InputError, match="axes can be given for noise in one dimension only"):
        plots.density(Gaussian(np.eye(2)), axes=axes)


def test_pictures_do_not_touch_global_state_or_need_a_screen():
    code = (
        "import matplotlib, errorfloor as ef; before = dict(matplotlib.rcParams);"
        "ef.design(ef.Interval(0, 1)).plot(); assert dict(matplotlib.rcParams) == before;"
        "import sys; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": "", "MPLBACKEND": "agg"})


def test_wrong_requests_are_named(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.png, \.svg, \.pdf"):
        plots.save(RaisedCosine(0, 1).plot(), tmp_path / "noise.xyz")
    with pytest.raises(InputError, match="a mapping from names to noises"):
        plots.compare([RaisedCosine(0, 1)])
