"""A noise survives JSON to the last bit."""

import json

import numpy as np
import pytest

import errorfloor.noise
from errorfloor.errors import InputError
from errorfloor.noise import Certificate, LinearImage, Maxwell, Product, RaisedCosine, Translation


def through_json(noise):
    return errorfloor.noise.from_dict(json.loads(json.dumps(noise.to_dict())))


def assert_same(noise):
    again = through_json(noise)
    assert again == noise
    assert hash(again) == hash(noise)
    w = noise.sample(100, rng=1)
    assert np.array_equal(again.pdf(w), noise.pdf(w))
    assert np.array_equal(again.sample(100, rng=1), w)
    assert again.to_dict() == noise.to_dict()


def test_noise_on_the_line_survives_json(scalar_case):
    assert_same(scalar_case.noise)


def test_noise_in_several_dimensions_survives_json(vector_case):
    assert_same(vector_case.noise)


def test_every_bit_of_an_awkward_number_survives_json():
    for scale in (0.1 + 0.2, 1 / 3, np.nextafter(1.0, 2.0), 1e-75 * 1.1, 1.7e74):
        assert through_json(Maxwell(scale)).scale == scale


def test_nested_noise_and_its_certificate_survive_json():
    certificate = Certificate(39.5, 39.5, "closed form", reference="C1", loss=0.1 + 0.2, loss_weight=None)
    noise = Translation(
        LinearImage(
            LinearImage(Product((RaisedCosine(-1 / 3, 0.1), Maxwell(0.7), RaisedCosine(-2.0, 2.0))), np.eye(3) + 0.1),
            np.diag([1.0, -2.0, 0.3]),
        ),
        [1 / 7, 0.0, -3.0],
        certificate=certificate,
    )
    assert_same(noise)
    again = through_json(noise)
    assert again.certificate == certificate
    assert again.certificate.gap == 0
    assert again.base.base.base.factors[0] == RaisedCosine(-1 / 3, 0.1)


def test_a_certificate_belongs_to_the_design_and_not_to_the_law():
    plain = RaisedCosine(0, 1)
    certified = RaisedCosine(0, 1, certificate=Certificate(1.0, None, "none"))
    assert plain == certified
    assert "certificate" not in plain.to_dict()
    assert "certificate" in certified.to_dict()


def test_different_parameters_make_different_noises():
    assert RaisedCosine(0, 1) != RaisedCosine(0, 2)
    assert LinearImage(Maxwell(1), -1) != LinearImage(Maxwell(1), 1)
    assert Product((Maxwell(1), Maxwell(2))) != Product((Maxwell(2), Maxwell(1)))
    assert RaisedCosine(0, 1) != "RaisedCosine(low=0.0, high=1.0)"


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"type": "Cauchy"}, r"unknown noise type 'Cauchy'; known: Airy, BesselBall, .*Uniform"),
        ({"scale": 1.0}, "a noise must be a mapping with a 'type', got dict"),
        ([1.0], "a noise must be a mapping with a 'type', got list"),
        ({"type": "Maxwell", "scale": -1.0}, "scale must be positive, got -1.0"),
        ({"type": "Maxwell", "spread": 1.0}, "spread"),
    ],
)
def test_what_is_no_noise_is_refused(plain, message):
    with pytest.raises(InputError, match=message):
        errorfloor.noise.from_dict(plain)
