"""Cell keys choose the noise exactly as weighed; texts carry every bit."""

import itertools
import json

import numpy as np
import pytest

from errorfloor.identity import Key, Label
from errorfloor.policies.counts import (
    CountTable,
    cell_keys,
    cell_words,
    design_counts,
    from_text,
    record_keys,
    to_text,
)
from errorfloor.policies.counts.weights import WHOLE

SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def table():
    return design_counts(max_noise=3, variance=2.0, keep_zero=True)


def test_every_threshold_is_met_to_the_word(table):
    for i, row in enumerate(table.weights):
        below = 0
        for m, weight in enumerate(row):
            if weight:
                edges = np.array([below, below + weight - 1], dtype=np.uint64)
                assert table.publish([i, i], edges).tolist() == [i + m - 3] * 2
                below += weight
        assert below == WHOLE


def test_samples_fit_the_weights_and_never_leave_the_bounds():
    table = design_counts(max_noise=4, variance=3.0, keep_zero=False, unbiased=False)
    size = 200_000
    for count in (0, 1, 3, 50):
        drawn = table.sample(np.full(size, count), rng=count + 1)
        assert drawn.min() >= max(0, count - 4)
        assert drawn.max() <= count + 4
        values = np.arange(count + 5)
        expected = table.pmf(values, count)
        seen = np.bincount(drawn, minlength=count + 5) / size
        # Hoeffding's bound: each frequency is this close but for 1e-11, all 50 of them but for 1e-9
        assert np.abs(seen - expected).max() < np.sqrt(np.log(2e11) / (2 * size))
        assert not seen[expected == 0].any()


def test_the_same_cell_has_the_same_noise_whatever_table_it_stands_in(table):
    people = np.arange(5000)
    keys = record_keys(SECRET, people)
    town, age = people % 7, people % 11
    by_town = cell_keys(keys, town, 7)
    shuffled = np.random.default_rng(1).permutation(5000)
    again = cell_keys(keys[shuffled], town[shuffled], 7)
    words = cell_words(SECRET, *by_town)
    np.testing.assert_array_equal(table.publish(by_town[0], words), table.publish(again[0], cell_words(SECRET, *again)))
    both = cell_keys(keys, town * 11 + age, 77)
    alone = (town == 3) & (age == 5)
    one = cell_keys(keys[alone], np.zeros(alone.sum(), dtype=int), 1)
    assert cell_words(SECRET, *both)[3 * 11 + 5] == cell_words(SECRET, *one)[0]


def test_record_keys_follow_from_secret_and_identifier_alone():
    derived = Key(id="a", created="now", secret=SECRET).derive(Label("record keys", ("census", 2021)))
    names = ["ada", "alan", "grace"]
    np.testing.assert_array_equal(record_keys(derived, names)[::-1], record_keys(derived, names[::-1]))
    assert (record_keys(derived, names) != record_keys(SECRET, names)).all()
    assert record_keys(derived, np.array([1, 2], dtype=np.int32))[1] == record_keys(derived, [2])[0]
    assert record_keys(derived, [-1])[0] == record_keys(derived, np.array([2**64 - 1], dtype=np.uint64))[0]


def test_fractions_of_one_serve_as_keys_too(table):
    bounds = table.probabilities[5].cumsum()
    fractions = [0.0, float(bounds[3]) - 1e-9, float(bounds[3]) + 1e-9, 1 - 2.0**-53]
    published = table.publish([5] * 4, fractions)
    assert published[1] < published[2]
    assert published[0] == 5 - 3 + int(np.flatnonzero(table.probabilities[5])[0])


def test_bare_sums_are_independent_in_pairs_and_not_in_triples():
    bits = 2  # keys of two bits, all cases: what holds for them modulo 4 holds modulo 2⁶⁴
    size = 2**bits
    pairs, triples = {}, {}
    for a, b in itertools.product(range(size), repeat=2):
        total = (a + b) % size
        pairs[a, total] = pairs.get((a, total), 0) + 1
        triples[a, b, total] = triples.get((a, b, total), 0) + 1
    assert set(pairs.values()) == {1} and len(pairs) == size**2
    assert len(triples) == size**2 < size**3
    keys = record_keys(SECRET, np.arange(3000))
    a, b = keys[:1000], keys[1000:2000]
    assert (a + b - a == b).all()
    ones = np.ones(1000, dtype=int)
    mixed = [cell_words(SECRET, ones, part) for part in (a, b, a + b)]
    top = [(word >> np.uint64(63)).astype(int) for word in mixed]
    parity = (top[0] ^ top[1] ^ top[2]).mean()
    assert abs(parity - 0.5) < np.sqrt(np.log(2e9) / 2000)  # Hoeffding's bound, 1e-9


def test_empty_cells_are_known_by_their_labels():
    keys, zeros = np.zeros(3, dtype=np.uint64), [0, 0, 0]
    words = cell_words(SECRET, zeros, keys, labels=["a", "b", "a"])
    assert words[0] == words[2] != words[1]
    assert words[0] != cell_words(SECRET, [1], keys[:1])[0]


@pytest.mark.parametrize("objective", ["average", "worst", "entropy"])
def test_text_and_mapping_give_the_table_back_exactly(objective):
    table = design_counts(max_noise=3, variance=1.7, keep_zero=False, least_positive=2, objective=objective)
    for again in (from_text(to_text(table)), from_text(table.to_text().replace("\n", "\r\n"))):
        assert again == table
        assert again.weights == table.weights
        assert again.rules == table.rules
        assert again.certificate == table.certificate
    plain = json.loads(json.dumps(table.to_dict()))
    assert CountTable(plain["weights"]).weights == table.weights


def test_text_of_other_software_is_read_with_what_it_promises():
    text = "i;j;p;v;p_int_lb;p_int_ub\n0;0;1;0;0;1\n1;0;0.5;-1;0;0.5\n1;2;0.5;1;0.5;1\n2;1;0.25;-1;0;0.25\n"
    text += "2;2;0.5;0;0.25;0.75\n2;3;0.25;1;0.75;1\n"
    table = from_text(text)
    assert table.rules is None
    assert table.max_noise == 1
    assert table.variance_at(1) == 1.0
    assert table.floor().distinguish(count=0) == 0.75
    assert table.publish([7, 7], [0.1, 0.9]).tolist() == [6, 8]
    assert "Exception" not in table.explain()


def test_thresholds_in_the_text_are_those_that_publish_uses(table):
    lines = [line.split(",") for line in table.to_text().splitlines() if line[0].isdigit()]
    assert len(lines) == sum(1 for row in table.weights for weight in row if weight)
    for i, j, p, v, lower, upper, first, last in lines:
        keys = np.array([int(first), int(last)], dtype=np.uint64)
        assert table.publish([int(i)] * 2, keys).tolist() == [int(j)] * 2
        assert int(j) - int(i) == int(v)
        assert float(upper) - float(lower) == pytest.approx(float(p), abs=1e-15)
