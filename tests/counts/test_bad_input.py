"""What cannot be designed, drawn or read is refused in words."""

import math

import numpy as np
import pytest

from errorfloor.errors import IllPosedError, InputError
from errorfloor.policies.counts import (
    CountTable,
    cell_keys,
    cell_words,
    design_counts,
    from_text,
    record_keys,
)

GOOD = {"max_noise": 3, "variance": 2.0, "keep_zero": True}


@pytest.fixture(scope="module")
def table():
    return design_counts(**GOOD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_noise": 0}, "max_noise must be a whole number of at least 1, got 0"),
        ({"max_noise": 2.5}, "max_noise must be a whole number"),
        ({"max_noise": 99}, "at most 20"),
        ({"variance": 9.5}, "variance 9.5 is too large for max_noise 3: .* at most 9; .* max_noise ≥ 4"),
        ({"variance": 0.0}, "variance must be positive"),
        ({"variance": 1e-9}, "at least 1e-06"),
        ({"variance": math.nan}, "variance must be a finite number, got nan"),
        ({"variance": math.inf}, "variance must be a finite number, got inf"),
        ({"variance": "two"}, "variance must be numbers"),
        ({"keep_zero": "yes"}, "keep_zero must be True or False, got 'yes'"),
        ({"unbiased": 1}, "unbiased must be True or False, got 1"),
        ({"least_positive": 0}, "least_positive must be a whole number of at least 1"),
        ({"objective": "best"}, "objective must be one of average, worst, distinguish, entropy, got 'best'"),
        ({"own_rows": 2}, "own_rows must be from 3"),
        ({"own_rows": 10**6}, "to 400; got 1000000"),
    ],
)
def test_bad_rules_are_named(change, message):
    with pytest.raises(InputError, match=message):
        design_counts(**(GOOD | change))


def test_counts_without_unbiased_noise_are_named():
    with pytest.raises(IllPosedError, match=r"mean zero at the true counts 1, 2, 4, 5 with .* max_noise ≥ 5") as caught:
        design_counts(max_noise=3, variance=2.0, keep_zero=True, least_positive=6)
    assert caught.value.fields["counts"] == (1, 2, 4, 5)  # 3 may be published as 0 or 6


def test_counts_that_need_more_variance_are_named():
    with pytest.raises(IllPosedError, match=r"variance 1 cannot be kept at the true counts 1, 2 .* at least 2,"):
        design_counts(max_noise=3, variance=1.0, keep_zero=True, least_positive=3)


def test_least_variance_that_is_just_enough_settles_the_row():
    table = design_counts(max_noise=3, variance=1.0, keep_zero=True, least_positive=2)
    assert table.dense(1, 1)[0, :3].tolist() == [0.5, 0.0, 0.5]
    assert "no choice at the true count 1" in table.explain()


def test_rows_that_cannot_have_the_variance_are_stated():
    words = design_counts(max_noise=3, variance=4.0, keep_zero=False).explain()
    assert "at most 3 at 1" in words
    assert "the row of the true count 0 has a bias" in words
    assert "Large counts use a variance of 2.086" in words


@pytest.mark.parametrize("counts", [[-1], [1.5], [math.nan], ["a"], [True]])
def test_counts_must_be_whole(table, counts):
    with pytest.raises(InputError, match="counts must be whole numbers from 0 on"):
        table.sample(counts)


def test_keys_must_fit(table):
    with pytest.raises(InputError, match="one for each count"):
        table.publish([1, 2], np.array([1], dtype=np.uint64))
    with pytest.raises(InputError, match="64-bit words"):
        table.publish([1], [-1])
    with pytest.raises(InputError, match=r"fractions in \[0, 1\)"):
        table.publish([1], [1.5])
    with pytest.raises(InputError, match="32 bytes"):
        record_keys(b"short", [1])
    with pytest.raises(InputError, match="whole numbers, or of texts"):
        record_keys(bytes(32), [1.5])
    with pytest.raises(InputError, match="numbered 0 … 1, got 2"):
        cell_keys(np.zeros(1, dtype=np.uint64), [2], 2)
    with pytest.raises(InputError, match="one text for each of the 1 cells"):
        cell_words(bytes(32), [0], np.zeros(1, dtype=np.uint64), labels=[])


def test_empty_cells_that_share_a_key_are_refused_where_zeros_move(table):
    zeros, keys = [0, 0], np.zeros(2, dtype=np.uint64)
    assert table.publish(zeros, keys).tolist() == [0, 0]
    moving = design_counts(max_noise=3, variance=2.0, keep_zero=False)
    with pytest.raises(InputError, match="empty cells share a key"):
        moving.publish(zeros, keys)
    words = cell_words(bytes(32), zeros, keys, labels=["north", "south"])
    assert moving.publish(zeros, words).shape == (2,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no table"),
        ("i,j\n0,0\n", "no column 'p'"),
        ("i,j,p\n0,zero,1\n", "line 1 of the table does not hold the numbers"),
        ("i,j,p\n0,0,0.9\n", "add up to 1, got 0.9"),
        ("i,j,p\n0,0,1\n2,2,1\n", "no lines for the true count 1"),
        ("i,j,p\n0,0,0.5\n0,0,0.5\n", "line 2 of the table repeats"),
        ("i,j,p\n0,99,1\n", "at most 20 apart"),
        ("# about {\ni,j,p\n0,0,1\n", "'# about' is damaged"),
        ("i,j,p,first_key,last_key\n0,0,1,0,5\n", "end at 5"),
        ("i,j,p,first_key,last_key\n0,0,1,1,5\n", "leave a gap or overlap at 0"),
    ],
)
def test_damaged_texts_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        from_text(text)


def test_a_text_whose_lines_break_its_rules_is_refused(table):
    lines = table.to_text().splitlines()
    kept = [line for line in lines if not line.startswith("5,")]
    forged = [*kept[: len(kept) - 7], "5,8,1.0,3,0.0,1.0,0,18446744073709551615", *kept[len(kept) - 7 :]]
    with pytest.raises(InputError, match="mean zero at the true count 5, got 3"):
        from_text("\n".join(forged))


def test_weights_must_add_up():
    with pytest.raises(InputError, match="add up to 2⁶⁴"):
        CountTable(((0, 1, 0),))
    with pytest.raises(InputError, match="below 0 for the true count 0"):
        CountTable(((2**63, 2**63, 0),))
    with pytest.raises(InputError, match="one odd length"):
        CountTable(((2**64, 0),))
