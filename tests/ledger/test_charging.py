"""Charges are made once, all or none, and never beyond the allowance."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.errors import AllowanceError, CatalogueError, InputError
from errorfloor.ledger import Account, Charge, Entry, MemoryLedger
from errorfloor.ledger.terms import term_name
from errorfloor.ledger.total import Total, round_down, round_up

KWH = Account("meters", "kwh", "")
WATER = Account("meters", "water", '["north"]')
OWNERS = Account("meters", "", "")
TERMS = {"meters": {"account_by": [], "owner": "household", "units": {"kwh": "kWh"}}}
TINY = 5e-324


def allow(information, evaluation=1.0):
    return dict.fromkeys((KWH, WATER, OWNERS), Charge(information, evaluation))


def entry(name, charges=None, note=None):
    return Entry(f"{name:064x}", {KWH: Charge(1.0, 0.0)} if charges is None else charges, note or {})


def test_a_label_is_charged_once(ledger):
    assert ledger.charge([entry(1)], allow(1.0), TERMS) == [True]
    assert ledger.charge([entry(1)], allow(1.0), TERMS) == [False]
    assert ledger.spent([KWH])[KWH] == Charge(1.0, 0.0)
    assert ledger.known([entry(1).label, entry(2).label]) == {entry(1).label}


def test_a_label_that_comes_twice_in_one_call_is_charged_once(ledger):
    same = entry(1)
    assert ledger.charge([same, same, entry(1), entry(2)], allow(2.0), TERMS) == [True, False, False, True]
    assert ledger.spent([KWH])[KWH].information == 2.0
    with pytest.raises(InputError, match="two different prices"):
        ledger.charge([entry(3), entry(3, {KWH: Charge(0.5, 0.0)})], allow(9.0), TERMS)


def test_entries_of_a_call_are_written_all_or_none(ledger):
    with pytest.raises(AllowanceError):
        ledger.charge([entry(1), entry(2), entry(3)], allow(2.5), TERMS)
    assert ledger.spent([KWH])[KWH] == Charge(0.0, 0.0)
    assert ledger.known([entry(n).label for n in (1, 2, 3)]) == set()
    assert ledger.head().sequence == 0
    assert ledger.charge([entry(1), entry(2)], allow(2.5), TERMS) == [True, True]


def test_what_is_known_is_free_even_when_nothing_is_left(ledger):
    ledger.charge([entry(1)], allow(1.0), TERMS)
    assert ledger.charge([entry(1)], allow(0.25), TERMS) == [False]
    with pytest.raises(AllowanceError):
        ledger.charge([entry(1), entry(2)], allow(1.0), TERMS)


def test_a_refusal_says_requested_remaining_and_difference(ledger):
    ledger.charge([entry(1, {KWH: Charge(0.75, 0.0)})], allow(1.0), TERMS)
    charges = {KWH: Charge(0.75, 0.0), WATER: Charge(3.0, 0.5), OWNERS: Charge(0.5, 0.25)}
    with pytest.raises(AllowanceError) as refusal:
        ledger.charge([entry(2, charges)], {**allow(1.0, 0.125), WATER: Charge(4.0, 1.0)}, TERMS)
    assert str(refusal.value) == (
        "the answer would break a declared floor; nothing was charged. "
        "meters.kwh: information requested 0.75, remaining 0.25 of 1, difference 0.5; "
        "the owners of meters: evaluation requested 0.25, remaining 0.125 of 0.125, difference 0.125. "
        "Ask for a larger max_error or for fewer outputs; what was answered before can be asked again free of charge"
    )
    first = {"table": "meters", "column": "kwh", "cell": "", "holder": "", "kind": "information"}
    amounts = {"requested": 0.75, "remaining": 0.25, "difference": 0.5, "allowance": 1.0}
    assert {**first, **amounts} in refusal.value.fields["accounts"]
    assert len(refusal.value.fields["accounts"]) == 2


def test_a_refusal_over_many_accounts_names_the_worst(ledger):
    cells = [Account("meters", "kwh", f'["{n:02}"]') for n in range(20)]
    asked = {cell: Charge(1.0 + n, 0.0) for n, cell in enumerate(cells)}
    with pytest.raises(AllowanceError, match=r'kwh for \["19"\]: information requested 20, .*and 16 more') as refusal:
        ledger.charge([entry(1, asked)], dict.fromkeys(cells, Charge(1.0, 0.0)), TERMS)
    assert len(refusal.value.fields["accounts"]) == 19


def test_an_allowance_that_was_lowered_leaves_nothing_and_blocks_nothing_free(ledger):
    ledger.charge([entry(1)], allow(1.0), TERMS)
    with pytest.raises(AllowanceError, match=r"remaining 0 of 0\.5, difference 1\."):
        ledger.charge([entry(2)], allow(0.5), TERMS)
    assert ledger.charge([entry(3, {KWH: Charge(0.0, 0.0)})], allow(0.5), TERMS) == [True]


def test_the_last_bit_of_an_allowance_is_kept(ledger):
    ledger.charge([entry(1, {KWH: Charge(0.1, 0.0)})], allow(1.0), TERMS)
    fifth = [entry(2, {KWH: Charge(0.2, 0.0)})]
    exact = Fraction(0.1) + Fraction(0.2)
    assert round_down(exact) < exact < round_up(exact)
    with pytest.raises(AllowanceError):
        ledger.charge(fifth, allow(round_down(exact)), TERMS)
    assert ledger.charge(fifth, allow(round_up(exact)), TERMS) == [True]


def test_tiny_charges_beside_a_large_one_are_not_lost(ledger):
    many = [entry(n, {KWH: Charge(2.0**-60, TINY)}) for n in range(1, 513)]
    ledger.charge([entry(0, {KWH: Charge(1.0, 0.0)}), *many], allow(2.0), TERMS)
    with pytest.raises(AllowanceError):  # 512·2⁻⁶⁰ = 2⁻⁵¹; a sum of doubles, each rounded to nearest, stays at 1
        ledger.charge([entry(999, {KWH: Charge(2.0**-60, 0.0)})], allow(1.0 + 2.0**-51), TERMS)
    assert ledger.spent([KWH])[KWH].information == 1.0 + 2.0**-51
    assert ledger.spent([KWH])[KWH].evaluation == 512 * TINY


def test_terms_are_fixed_by_the_first_charge(ledger):
    ledger.charge([entry(1)], allow(9.0), TERMS)
    other = {"meters": {**TERMS["meters"], "account_by": ["tariff"]}}
    wanted = r'opened with account_by = \[\]; the catalogue now says account_by = \["tariff"\]'
    with pytest.raises(CatalogueError, match=wanted):
        ledger.charge([entry(2)], allow(9.0), other)
    with pytest.raises(CatalogueError, match=wanted):
        ledger.charge([entry(1)], allow(9.0), other)
    assert ledger.charge([entry(2)], allow(9.0), {"meters": dict(reversed(TERMS["meters"].items()))}) == [True]


def test_terms_of_a_refused_charge_are_not_fixed(ledger):
    with pytest.raises(AllowanceError):
        ledger.charge([entry(1)], allow(0.5), {"meters": {"account_by": ["tariff"]}})
    assert ledger.charge([entry(1)], allow(1.0), TERMS) == [True]
    assert next(ledger.entries()).terms == kept(TERMS)


def kept(terms):
    return {term_name(path): value for path, value in terms.items()}


def test_several_tables_have_their_own_terms(ledger):
    wages = Account("wages", "pay", "")
    ledger.charge([entry(1)], allow(9.0), {**TERMS, "wages": {"account_by": []}})
    ledger.charge([entry(2, {wages: Charge(1.0, 0.0)})], {wages: Charge(1.0, 0.0)}, {"wages": {"account_by": ["year"]}})
    assert [record.terms for record in ledger.entries()] == [
        kept(TERMS),
        kept({"wages": {"account_by": ["year"]}}),
    ]
    with pytest.raises(InputError, match="what the accounts of meters mean"):
        ledger.charge([entry(3)], allow(9.0), {"wages": {"account_by": ["year"]}})


FLOOR = ("meters", "floor", "kwh")


def _with_floor(floor):
    return {**TERMS, FLOOR: {"floor": floor}}


def test_a_floor_rises_and_never_falls_below_the_highest_that_was_promised(ledger):
    for name, floor in ((1, 2.0), (2, 3.0)):
        assert ledger.charge([entry(name)], allow(9.0), _with_floor(floor)) == [True]
    for lower in (2.0, 2.999):
        with pytest.raises(CatalogueError, match=r"floor of meters\.kwh was 3 when it was charged, .* must not fall"):
            ledger.charge([entry(3)], allow(9.0), _with_floor(lower))
    assert ledger.charge([entry(2)], allow(9.0), _with_floor(4.0)) == [False]  # nothing is charged: nothing is promised
    assert ledger.charge([entry(3)], allow(9.0), _with_floor(3.0)) == [True]
    assert [record.terms for record in ledger.entries()] == [
        kept(_with_floor(2.0)),
        kept({FLOOR: {"floor": 3.0}}),
        {},
    ]
    assert ledger.verify().terms[term_name(FLOOR)] == '{"floor":3.0}'


def test_a_floor_raised_by_another_process_holds_for_one_that_runs(ledger_place):
    with ledger_place.open() as old, ledger_place.open() as new:
        old.charge([entry(1)], allow(9.0), _with_floor(2.0))
        new.charge([entry(2)], allow(9.0), _with_floor(3.0))
        with pytest.raises(CatalogueError, match=r"the floor of meters\.kwh was 3"):
            old.charge([entry(3)], allow(9.0), _with_floor(2.0))
        assert old.spent([KWH])[KWH].information == 2.0


def test_terms_have_names_as_long_as_tables_columns_and_versions(ledger):
    table, column = "t" * 63, "c" * 200
    account = Account(table, column, "")
    terms = {
        table: {"account_by": []},
        (table, "floor", column): {"floor": 1.0},
        (table, "snapshot", table, "v" * 300): {},
    }
    assert ledger.charge([entry(1, {account: Charge(1.0, 0.0)})], {account: Charge(1.0, 0.0)}, terms) == [True]
    assert set(ledger.verify().terms) == set(kept(terms))


def test_an_account_without_an_allowance_cannot_be_charged(ledger):
    with pytest.raises(CatalogueError, match=r"meters\.kwh has no allowance"):
        ledger.charge([entry(1)], {}, TERMS)
    with pytest.raises(InputError, match=r"the allowance of meters\.kwh must be finite"):
        ledger.charge([entry(1)], allow(math.inf), TERMS)
    assert ledger.head().sequence == 0


def test_records_come_back_as_they_were_written(ledger):
    note = {"output": "avg_kwh", "version": "2026-q1", "key": "ab12", "groups": 3, "max_error": 0.1, "other": None}
    cell = Account("meters", "kwh", '["naïve \\u0000", 1.5, "\\"quoted\\" \u2603"]')
    written = [entry(n, {cell: Charge(0.1 * n, 1e-300)}, note) for n in range(1, 1206)]
    ledger.charge(written, {cell: Charge(1e9, 1.0)}, TERMS)
    records = list(ledger.entries())
    assert [record.labels for record in records] == [one.labels for one in written]
    assert [record.note for record in records] == [one.note for one in written]
    assert [record.charges[cell].rounded_up() for record in records] == [one.charges[cell] for one in written]
    assert [record.sequence for record in records] == list(range(1, 1206))
    assert [record.sequence for record in ledger.entries(after=1100, limit=3)] == [1101, 1102, 1103]
    assert list(ledger.entries(after=1205)) == list(ledger.entries(limit=0)) == []
    assert ledger.verify().head == records[-1].head == ledger.head()
    assert set(ledger.accounts()) == {cell}


def test_threads_of_one_process_never_exceed_the_allowance(ledger):
    def attempt(n):
        try:
            return ledger.charge([entry(n)], allow(10.0), TERMS)[0]
        except AllowanceError:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(attempt, range(40))) == 10
    assert ledger.spent([KWH])[KWH].information == 10.0
    assert ledger.verify().head.sequence == 10


@pytest.mark.parametrize("wrong", [math.inf, True])
def test_charges_that_are_no_amounts_are_refused(wrong):
    with pytest.raises(InputError, match=r"the charge to meters\.kwh must be finite and not negative"):
        entry(1, {KWH: Charge(wrong, 0.0)})
    with pytest.raises(InputError, match=r"the charge to meters\.kwh must be finite and not negative"):
        entry(1, {KWH: Charge(0.0, wrong)})


@pytest.mark.parametrize("note", [{1: "a"}, {"a": math.nan}, {"a": {2, 3}}, {"a": [b"bytes"]}, ["a"]])
def test_notes_that_are_not_json_are_refused(note):
    with pytest.raises(InputError, match="note must be"):
        entry(1, note=note)


@pytest.mark.parametrize("name", ["", "me\0ters", "me\ud800ters", 7])
def test_accounts_that_a_database_cannot_hold_are_refused(name):
    with pytest.raises(InputError, match="account"):
        entry(1, {Account(name, "kwh", ""): Charge(1.0, 0.0)})


amounts = st.floats(min_value=0.0, max_value=1e300, allow_subnormal=True)


@given(st.lists(amounts, max_size=30))
def test_running_sums_are_exact_and_shown_rounded_up(charges):
    total = Total()
    for charge in charges:
        total = total.plus(Charge(charge, 0.0))
    exact = sum(map(Fraction, charges), Fraction(0))
    shown = total.rounded_up().information
    assert total.face("information") == exact
    assert Fraction(shown) >= exact
    assert shown == 0 or Fraction(math.nextafter(shown, 0)) < exact
    assert Fraction(round_down(exact)) <= exact


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.floats(0.0, 3.0))
def test_no_sequence_of_charges_exceeds_the_allowance(charges, limit):
    ledger = MemoryLedger()
    granted = []
    for number, charge in enumerate(charges):
        try:
            ledger.charge([entry(number, {KWH: Charge(charge, 0.0)})], allow(limit), TERMS)
            granted.append(charge)
        except AllowanceError:
            assert sum(map(Fraction, granted), Fraction(charge)) > Fraction(limit)
    assert sum(map(Fraction, granted), Fraction(0)) <= Fraction(limit)


def test_a_total_stays_short_however_many_charges_are_added():
    rng = np.random.default_rng(7)
    total = Total()
    for exponent in rng.integers(-1074, 1000, 3000):
        total = total.plus(Charge(math.ldexp(1.0 + rng.random(), int(exponent)), 0.0))
    assert len(str(total.face("information"))) < 1000
