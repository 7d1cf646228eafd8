"""Bits are uniform, and the reproducible ones are the only ones that repeat."""

import math
import os

import mpmath
import numpy as np
import pytest
from scipy import stats

from errorfloor.errors import InputError
from errorfloor.noise import Airy, BesselBall, Gaussian, Laplace, Maxwell, RaisedCosine
from errorfloor.noise.raised_cosine import COEFFICIENTS, cosine_draws
from errorfloor.random import GeneratorBits, ReproducibleBits, RowBits, SecureBits, StickyBits, bits_from

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


def test_sticky_bits_repeat_from_the_label_alone():
    one, two = StickyBits(bytes(range(32))), StickyBits(bytes(range(32)))
    whole = one.words(10)
    assert np.array_equal(whole, two.words(10))
    assert not np.isin(one.words(10), whole).any()
    assert whole[:2].tolist() == [15032814528976949490, 9256919087594533801]
    with pytest.raises(InputError, match="32 bytes, got 16"):
        StickyBits(bytes(16))


def test_an_odd_request_never_gives_half_a_block_twice():
    bits = StickyBits(bytes(32))
    drawn = np.concatenate([bits.words(count) for count in (1, 3, 2, 5, 1)])
    assert len(np.unique(drawn)) == len(drawn)


@pytest.mark.parametrize(
    "noise",
    [
        RaisedCosine(-1, 2),
        Maxwell(1.0),
        Gaussian(np.diag([1.0, 4.0, 2.0])),
        Airy(1.0),
        BesselBall(3, 1.0),
        Laplace(1.0),
    ],
    ids=lambda n: type(n).__name__,
)
def test_a_row_keeps_its_noise_however_the_table_is_cut(noise):
    tags = ReproducibleBits(5).words(2 * 4000).reshape(-1, 2)
    whole = noise.sample(4000, rng=RowBits(bytes(32), tags))
    order = np.random.default_rng(1).permutation(4000)
    shuffled = noise.sample(4000, rng=RowBits(bytes(32), tags[order]))
    assert np.array_equal(shuffled, whole[order])
    parts = [noise.sample(len(part), rng=RowBits(bytes(32), part)) for part in np.split(tags, [1, 7, 1000, 1001])]
    assert np.array_equal(np.concatenate(parts), whole)
    other_key = noise.sample(4000, rng=RowBits(bytes([1] * 32), tags))
    assert not np.isin(other_key, whole).any()


def test_rows_draw_from_the_same_law():
    tags = np.stack([np.arange(COUNT, dtype=np.uint64), np.zeros(COUNT, dtype=np.uint64)], axis=1)
    for noise in (RaisedCosine(-1, 1), Airy(1.0), Maxwell(2.0)):
        assert distance(noise.sample(COUNT, rng=RowBits(bytes(range(32)), tags)), noise.cdf) < SLACK


def test_words_of_a_row_are_pinned():
    tags = np.array([[1, 2], [3, 4]], dtype=np.uint64)
    assert RowBits(bytes(range(32)), tags).words(2).tolist() == [8512708053679647822, 8886753113500546373]
    with pytest.raises(InputError, match="one word per row: asked for 3 of 2 rows"):
        RowBits(bytes(32), tags).words(3)


def test_draws_of_the_raised_cosine_stay_within_its_ends_whatever_the_words():
    pairs = ReproducibleBits(9).pairs(30_000)
    edges = np.array([0, 1, 2**11, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**53], dtype=np.uint64)
    pairs[:64] = np.stack([np.repeat(edges, 8), np.tile(edges, 8)], axis=1)
    for low, high in ((-0.5, 0.5), (0.0, 1e-300), (1e9, 1e9 + 1), (-3.7, 11.1)):
        drawn = cosine_draws(pairs, low, high)
        assert ((drawn >= low) & (drawn <= high)).all()
        assert np.array_equal(drawn[20_000:], cosine_draws(pairs[20_000:], low, high))  # however they are cut


def test_the_polynomial_is_the_sine_it_stands_for():
    with mpmath.workdps(40):
        for k in range(-200, 201):
            t = mpmath.mpf(k) / 200
            exact = mpmath.sin(mpmath.pi * t / 2) ** 2
            z = t * t
            value = z * sum(mpmath.mpf(c) * z**power for power, c in enumerate(COEFFICIENTS))
            assert abs(value - exact) < 6e-16  # rounding the coefficients to doubles is nearly all of it


def test_draws_of_the_raised_cosine_are_pinned():
    drawn = RaisedCosine(-0.5, 0.5).sample(3, rng=StickyBits(bytes(range(32))))
    assert [value.hex() for value in drawn.tolist()] == [
        "-0x1.7b05b6aa4ffb6p-3",
        "-0x1.a6046b55189a4p-4",
        "-0x1.09f34d2885291p-2",
    ]
