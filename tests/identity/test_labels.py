"""Two labels are equal exactly when their parts are."""

import datetime
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.errors import InputError
from errorfloor.identity import Label, encode

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False, allow_infinity=False)
)
PARTS = st.recursive(LEAVES, lambda inner: st.tuples() | st.tuples(inner) | st.tuples(inner, inner), max_leaves=6)


def same(a, b):
    """Equal, and of the same type all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


@given(PARTS, PARTS)
def test_encodings_agree_exactly_when_the_parts_do(a, b):
    assert (encode(a) == encode(b)) == same(a, b)


@given(PARTS, PARTS)
def test_no_encoding_is_the_beginning_of_another(a, b):
    if not same(a, b):
        assert not encode(a).startswith(encode(b))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        ((1,), ("1",)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((None,), ("",)),
        (("a",), (b"a",)),
        ((("a", "b"),), (("a",), "b")),
        ((datetime.date(2013, 1, 1),), (datetime.datetime(2013, 1, 1),)),
        ((Decimal("1.5"),), (1.5,)),
        ((Decimal("1" + "0" * 39 + "1"),), (Decimal("1e40"),)),
    ],
)
def test_things_that_look_alike_have_different_labels(one, other):
    assert Label("x", one).encoded != Label("x", other).encoded


def test_equal_numbers_of_one_type_are_one_part():
    assert encode(0.0) == encode(-0.0)
    assert encode(Decimal("1.50")) == encode(Decimal("1.5")) == encode(Decimal("15e-1"))
    assert encode(Decimal("-0.0")) == encode(Decimal(0))


def test_purposes_and_versions_are_part_of_a_label():
    assert Label("a", ()).encoded != Label("b", ()).encoded
    assert Label("a", ()).encoded.startswith(b"errorfloor label\x00\x01")


def test_encoding_is_pinned():
    parts = (1, 0.5, "é", b"\x00", None, True, datetime.date(2013, 1, 1), Decimal("1.50"), ("x",))
    assert Label("pin", parts).encoded.hex() == PINNED


PINNED = (
    "6572726f72666c6f6f72206c6162656c000173000000000000000370696e7400000000000000776900000000000000013166"
    "00000000000000083fe0000000000000730000000000000002c3a9790000000000000001006e000000000000000062000000"
    "00000000010161000000000000000a323031332d30312d30316400000000000000053135652d3174000000000000000a7300"
    "0000000000000178"
)


@pytest.mark.parametrize("part", [math.nan, Decimal("nan"), Decimal("inf"), [1], {"a": 1}, object()])
def test_what_has_no_identity_is_refused(part):
    with pytest.raises(InputError, match="a label cannot hold"):
        Label("x", (part,))
