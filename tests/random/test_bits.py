"""Bits are uniform, and the reproducible ones are the only ones that repeat."""

import math
import os

import numpy as np
import pytest
from scipy import stats

from errorfloor.errors import InputError
from errorfloor.noise import RaisedCosine
from errorfloor.random import GeneratorBits, ReproducibleBits, SecureBits, bits_from

COUNT = 500_000
# Dvoretzky, Kiefer and Wolfowitz: the empirical cdf is off by more than this with probability below 1e-9
SLACK = math.sqrt(math.log(2 / 1e-9) / (2 * COUNT))
SOURCES = {
    "secure": SecureBits(),
    "reproducible": ReproducibleBits(1),
    "numpy": GeneratorBits(np.random.default_rng(1)),
}


def distance(sample, cdf):
    return stats.kstest(sample, cdf).statistic


@pytest.mark.parametrize("source", SOURCES)
def test_elementary_draws_have_their_laws(source):
    bits = SOURCES[source]
    assert distance(bits.uniform(COUNT), "uniform") < SLACK
    assert distance(bits.exponential(COUNT), "expon") < SLACK
    assert distance(bits.normal(COUNT), "norm") < SLACK
    assert abs(bits.sign(COUNT).mean()) < 2 * SLACK


@pytest.mark.parametrize("source", SOURCES)
def test_every_bit_of_a_word_is_fair(source):
    words = SOURCES[source].words(COUNT)
    shares = [float(((words >> np.uint64(k)) & np.uint64(1)).mean()) for k in range(64)]
    slack = math.sqrt(math.log(2 * 64 / 1e-9) / (2 * COUNT))
    assert max(abs(share - 0.5) for share in shares) < slack


def test_uniform_is_positive_at_most_one_and_exact():
    class Extreme(ReproducibleBits):
        def words(self, count):
            return np.array([0, 2**64 - 1], dtype=np.uint64)

    assert Extreme(0).uniform(2).tolist() == [2.0**-53, 1.0]


def test_secure_draws_differ_each_time_and_across_a_fork():
    noise = RaisedCosine(-1, 1)
    assert not np.array_equal(noise.sample(4), noise.sample(4))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, SecureBits().words(8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 64), dtype=np.uint64)
    os.close(reader)
    os.close(writer)
    assert not np.isin(theirs, SecureBits().words(8)).any()


def test_seeds_repeat_and_streams_go_on():
    noise = RaisedCosine(-1, 1)
    assert np.array_equal(noise.sample(5, rng=3), noise.sample(5, rng=ReproducibleBits(3)))
    bits = ReproducibleBits(3)
    assert not np.array_equal(noise.sample(5, rng=bits), noise.sample(5, rng=bits))


def test_reproducible_words_are_pinned():
    assert ReproducibleBits(2024).words(2).tolist() == [4991927602291500368, 11418230488571132843]


@pytest.mark.parametrize("rng", ["seed", 1.5, True, object()])
def test_anything_else_is_refused(rng):
    with pytest.raises(InputError, match="rng must be None for secure bits"):
        bits_from(rng)
