"""``errorfloor design`` for computed designs."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import errorfloor.noise
from errorfloor.cli.app import app
from errorfloor.errors import IllPosedError, InputError

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["design", *arguments], catch_exceptions=True)


def test_a_computed_noise_is_printed_with_its_certificate_and_read_back():
    result = run("--support=0..1,0..1", "--sensitivity", "[[1, 0.6], [0.6, 1]]", "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    noise = errorfloor.noise.from_dict(facts["noise"])
    assert np.allclose(noise.information, facts["information"])
    assert noise.certificate.value == pytest.approx(72.5572, abs=1e-4)


def test_a_polygon_is_written_by_its_corners():
    result = run("--support=polygon:0,0;1,0;0,1")
    assert result.exit_code == 0
    assert "proved to be within" in result.stdout
    assert isinstance(run("--support=polygon:0,0;1,1;1,0;0,1").exception, InputError)
    assert isinstance(run("--support=polygon:0,0;one").exception, InputError)


def test_the_largest_error_needs_a_cap():
    refused = run("--support=0..1,0..1", "--objective", "error")
    assert isinstance(refused.exception, IllPosedError)
    assert "information_cap" in str(refused.exception)
    allowed = run("--support=0..1,0..1", "--objective", "error", "--information-cap", "80")
    assert allowed.exit_code == 0
    assert "The cap does not bind" in allowed.stdout
