"""Totals by place: added place by place, exactly, for one version of a table; refused where one place is full."""

import importlib.util
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from errorfloor.accounts import KINDS, PLACES, Profile
from errorfloor.errors import AllowanceError, InputError, LedgerError
from errorfloor.ledger import Account, Charge, Quotas
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import Record
from errorfloor.ledger.total import BOOKED, Total, round_up

WORKER = Path(__file__).with_name("worker.py")
spec = importlib.util.spec_from_file_location("ledger_worker", WORKER)
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
drawn, entry = worker.drawn, worker.entry

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
ROOM = {KWH: Charge(1.0, 1.0, 1.0)}


def bump(first, last, height=1.0, *, version="1", kind="raised_cosine", foot=0.0):
    """A charge between two places."""
    numbers = tuple(height if first <= place < last else foot for place in range(PLACES))
    kinds = {name: numbers if name == kind else (0.0,) * PLACES for name in KINDS}
    amounts = {name: max(kinds[name]) for name in KINDS}
    return Charge.of({**amounts, "evaluation": 0.0}, Profile(version, **kinds))


def by_hand(charges):
    """Add up exactly: for each kind and version, place by place; flat charges apart."""
    flat = dict.fromkeys(("evaluation", *KINDS), Fraction(0))
    places = {}
    for charge in charges:
        flat["evaluation"] += Fraction(charge.evaluation)
        for kind in KINDS:
            if charge.profile is None:
                flat[kind] += Fraction(getattr(charge, kind))
            else:
                row = places.setdefault((kind, charge.profile.version), [Fraction(0)] * PLACES)
                for place, number in enumerate(getattr(charge.profile, kind)):
                    row[place] += Fraction(number)
    return flat, places


def most(flat, places, kind):
    return flat[kind] + sum(max(row) for (of, _), row in places.items() if of == kind)


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_exact_at_every_place_and_go_on_after_a_restart(ledger_place, seed):
    charges = list(drawn(seed, 30))
    for number, charge in enumerate(charges):
        if number % 10 == 0:
            book = ledger_place.open()
        book.charge([entry(f"{number}", charge)], {KWH: Charge(99.0, 1.0, 99.0)}, TERMS)
        if number % 10 == 9:
            book.close()
    flat, places = by_hand(charges)
    with ledger_place.open() as ledger:
        total = ledger.verify().totals[KWH]
        assert {kind: total.face(kind) for kind in KINDS} == {kind: most(flat, places, kind) for kind in KINDS}
        assert total.face("evaluation") == flat["evaluation"]
        found = {where: list(row) for where, row in total.places.items()}
        assert found == {(BOOKED[kind], version): row for (kind, version), row in places.items()}
        shown = ledger.spent([KWH])[KWH]
        assert shown.profile is None
        assert [getattr(shown, kind) for kind in KINDS] == [round_up(most(flat, places, kind)) for kind in KINDS]
        for version in "12":
            for kind in KINDS:
                rest = most(flat, places, kind) - max(places[kind, version])
                wanted = tuple(round_up(rest + number) for number in places[kind, version])
                assert total.rounded_up(version).places(kind) == wanted


def test_two_processes_add_up_exactly_and_never_exceed_the_allowance_anywhere(ledger_place):
    limit, count = 6.0, 25
    command = [sys.executable, "-W", "error", str(WORKER), "profiles", *ledger_place.arguments]
    racers = [
        subprocess.Popen(
            [*command, str(seed), str(count), str(limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for seed in (5, 6)
    ]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 2
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    written = [json.loads(racer.communicate(timeout=300)[0]) for racer in racers]
    charges = [
        list(drawn(seed, count))[number] for seed, those in zip((5, 6), written, strict=True) for number in those
    ]
    assert 5 < len(charges) < 2 * count
    flat, places = by_hand(charges)
    assert all(most(flat, places, kind) <= limit for kind in KINDS)
    with ledger_place.open() as ledger:
        total = ledger.verify().totals[KWH]
        assert all(total.face(kind) == most(flat, places, kind) for kind in KINDS)


def test_charges_to_different_places_stand_beside_each_other(ledger):
    for number in range(8):
        assert ledger.charge([entry(f"{number}", bump(8 * number, 8 * number + 8))], ROOM, TERMS) == [True]
    assert ledger.spent([KWH])[KWH] == Charge(0.0, 0.0, 1.0)
    with pytest.raises(AllowanceError, match=r"raised cosine requested 0\.25, remaining 0 of 1, difference 0\.25"):
        ledger.charge([entry("more", bump(20, 21, 0.25))], ROOM, TERMS)
    ledger.verify()


def test_an_answer_is_refused_where_one_place_is_full_and_says_so(ledger):
    ledger.charge([entry("1", bump(0, 10, 0.75))], ROOM, TERMS)
    with pytest.raises(AllowanceError) as refusal:  # at the place that it overfills it takes a half, elsewhere more
        both = Profile("1", (0.0,) * PLACES, (0.5,) * 5 + (0.875,) * (PLACES - 5))
        ledger.charge([entry("2", Charge(0.0, 0.0, 0.875, both))], ROOM, TERMS)
    (line,) = refusal.value.fields["accounts"]
    assert (line["requested"], line["remaining"], line["difference"]) == (0.875, 0.25, 0.625)
    assert ledger.charge([entry("3", bump(10, PLACES))], ROOM, TERMS) == [True]


def test_flat_charges_count_everywhere(ledger):
    ledger.charge([entry("1", Charge(0.0, 0.0, 0.5))], ROOM, TERMS)
    ledger.charge([entry("2", bump(3, 4, 0.5))], ROOM, TERMS)
    ledger.charge([entry("3", bump(4, 5, 0.5))], ROOM, TERMS)
    with pytest.raises(AllowanceError):
        ledger.charge([entry("4", Charge(0.0, 0.0, 2.0**-60))], ROOM, TERMS)


def test_versions_are_not_added_place_by_place(ledger):
    """A value may be in one place in one version and in another place in the next: both are charged in full."""
    ledger.charge([entry("1", bump(0, 1, 0.75))], ROOM, TERMS)
    with pytest.raises(AllowanceError, match=r"requested 0\.5, remaining 0\.25 of 1"):
        ledger.charge([entry("2", bump(5, 6, 0.5, version="2"))], ROOM, TERMS)
    ledger.charge([entry("3", bump(5, 6, 0.25, version="2"))], ROOM, TERMS)
    assert ledger.charge([entry("4", bump(5, 6, 0.75))], ROOM, TERMS) == [True]
    assert ledger.spent([KWH])[KWH].raised_cosine == 1.0
    assert bump(0, 1) + bump(5, 6, version="2") == Charge(0.0, 0.0, 2.0)


def test_a_place_that_is_above_a_raised_floor_lets_nothing_grow(ledger):
    ledger.charge([entry("1", bump(0, 1, 0.75))], ROOM, TERMS)
    with pytest.raises(AllowanceError, match="requested 0, remaining 0"):
        ledger.charge([entry("2", bump(5, 6, 0.125))], {KWH: Charge(1.0, 1.0, 0.5)}, TERMS)


def test_quotas_count_by_place_too(ledger):
    half = Quotas({"analyst": 0.5}, "ada")
    ledger.charge([entry("1", bump(0, 1, 0.5))], ROOM, TERMS, half)
    ledger.charge([entry("2", bump(1, 2, 0.5))], ROOM, TERMS, half)
    with pytest.raises(AllowanceError, match="exceed a declared quota"):
        ledger.charge([entry("3", bump(1, 2, 0.25))], ROOM, TERMS, half)
    assert ledger.charge([entry("3", bump(1, 2, 0.25))], ROOM, TERMS) == [True]


def test_how_an_account_stands_is_shown_place_by_place_for_the_version_that_is_asked(ledger):
    ledger.charge([entry("1", bump(0, 1, 0.75)), entry("2", bump(5, 6, 0.125, version="2"))], ROOM, TERMS)
    settled = ledger.preview([entry("3", bump(7, 8, 0.5))])
    after = settled.spent[KWH] + settled.asked[KWH]
    assert after.places("raised_cosine")[:9] == (0.875, *[0.125] * 6, 0.625, 0.125)
    assert after.raised_cosine == 0.875


def test_an_export_keeps_every_place(ledger_place):
    with ledger_place.open() as ledger:
        for number, charge in enumerate(drawn(9, 6)):
            ledger.charge([entry(f"{number}", charge)], {KWH: Charge(99.0, 1.0, 99.0)}, TERMS)
        lines = [json.dumps(one.to_json()) for one in ledger.entries()]
        head, before = ledger.head(), ledger.verify().totals
    read = [Record.from_json(json.loads(line)) for line in lines]
    assert read[-1].head == head
    assert [one.digest() for one in read] == [one.hash for one in read]
    total = Total()
    for one in read:
        total = total.plus(one.charges[KWH])
    assert {KWH: total} == before


def test_a_place_that_was_changed_is_found(ledger_place):
    with ledger_place.open() as ledger:
        ledger.charge([entry("1", bump(0, 10, 0.75, foot=0.25))], ROOM, TERMS)

        def work(book):
            book.connection.run("UPDATE @accounts SET amount = ?", "10*1/2 54*1/4")

        assert isinstance(ledger._write(lambda book: book), Book)
        ledger._write(work)
        with pytest.raises(LedgerError, match=r"spent of meters\.kwh is not the sum of its 1 records"):
            ledger.verify()


@pytest.mark.parametrize(
    "text", ["", "64*0", "63*1", "65*1", "64*-1", "0*1 64*1", "32*1/2 32", "32*x 32*1", "-1*1 65*1", "1 1", "64*1/0"]
)
def test_texts_that_are_no_profile_are_refused(text):
    with pytest.raises((ValueError, ZeroDivisionError)):
        Total.from_json({"A1@1": text})


def test_a_coordinate_of_a_later_program_is_refused_with_advice():
    for name in ("E@1", "A3", "A3@1"):
        with pytest.raises(LedgerError, match="install a newer errorfloor"):
            Total.from_json({name: "64*1"})


def test_versions_of_any_name_are_kept_apart():
    names = ["1", "", "a@b", "Ü 2", "A1"]
    total = Total()
    for number, name in enumerate(names):
        total = total.plus(bump(number, number + 1, version=name))
    assert Total.from_json(json.loads(json.dumps(total.to_json()))) == total
    assert total.face("raised_cosine") == len(names)


def test_a_profile_that_is_not_one_is_refused():
    with pytest.raises(InputError, match="64 numbers of each kind"):
        Profile("1", (0.0,) * PLACES, (float("nan"),) * PLACES)
    with pytest.raises(InputError, match=r"the largest number of its profile, got 0\.5"):
        Charge(0.0, 0.0, 0.5, bump(0, 1).profile)


def test_sums_of_charges_are_never_below_the_exact_ones():
    chance = random.Random(3)
    charges = [charge for charge in drawn(4, 40) if charge.version in (None, "1")]
    chance.shuffle(charges)
    flat, places = by_hand(charges)
    total = charges[0]
    for charge in charges[1:]:
        total = total + charge
    for kind in KINDS:
        for shown, exact in zip(total.places(kind), places[kind, "1"], strict=True):
            assert 0 <= Fraction(shown) - flat[kind] - exact <= Fraction(1, 10**12)


# Exported by the program before profiles: two records, the second of raised-cosine noise.
BEFORE = [
    '{"format": 2, "sequence": 1, "time": "2026-11-18T09:10:35+00:00", "labels": ["' + "aa" * 32 + '"], "charges": '
    '[[{"table": "meters", "column": "kwh"}, {"A2": "3602879701896397/36028797018963968", "E": '
    '"4835703278458517/4835703278458516698824704"}]], "note": {"output": "mean", "version": "1"}, "terms": '
    '{"[\\"meters\\"]": {"account_by": []}}, "previous": "' + "00" * 32 + '", "hash": '
    '"40a8b23f02aaf74be23240c7189c3a26dc94c5892aa78d45a357863a6004bcec"}',
    '{"format": 2, "sequence": 2, "time": "2026-11-18T09:10:35+00:00", "labels": ["' + "bb" * 32 + '"], "charges": '
    '[[{"table": "meters", "column": "kwh"}, {"A1": "5404319552844595/18014398509481984"}]], "note": {"output": '
    '"share", "version": "1"}, "terms": {}, "previous": '
    '"40a8b23f02aaf74be23240c7189c3a26dc94c5892aa78d45a357863a6004bcec", "hash": '
    '"f9704e64d37b5aa24b6d25d56772eae0f149552f080e0dadb40940f17ec11da9"}',
]


def test_a_ledger_from_before_profiles_goes_on_as_it_is(ledger_place):
    """What it holds counts everywhere; records without a profile are written as before, byte for byte."""
    records = [Record.from_json(json.loads(line)) for line in BEFORE]
    with ledger_place.open(restore=records, accept=True) as ledger:
        assert [json.dumps(one.to_json()) for one in ledger.entries()][:-1] == BEFORE  # the last: it was accepted
        assert ledger.spent([KWH])[KWH] == Charge(0.1, 1e-9, 0.3)
        for number in range(6):
            ledger.charge([entry(f"{number}", bump(10 * number, 10 * number + 9, 0.7))], ROOM, TERMS)
        with pytest.raises(AllowanceError, match=r"requested 0\.0625, remaining 5\.551e-17 of 1"):
            ledger.charge([entry("more", bump(0, 9, 0.0625))], ROOM, TERMS)
        assert ledger.charge([entry("elsewhere", bump(60, 64, 0.7))], ROOM, TERMS) == [True]
        assert ledger.verify().head.sequence == 10
