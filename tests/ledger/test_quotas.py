"""Quotas are accounts in the same transaction: nothing races, nothing is given back, and the total always holds."""

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest

from errorfloor.errors import AllowanceError, InputError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, Quotas, SqlLedger, base

KWH, OWNERS = Account("meters", "kwh", ""), Account("meters", "", "")
TERMS = {"meters": {"account_by": []}}
ROOM = {KWH: Charge(1.0, 1.0), OWNERS: Charge(2.0, 0.0)}
MONTH = '["month", "2026-11"]'


def entry(number, information=0.125):
    return Entry(f"{number:064x}", {KWH: Charge(information, 0.0), OWNERS: Charge(information, 0.0)}, {})


@pytest.fixture
def clock(monkeypatch):
    """Give a function that sets the clock."""

    def set_to(text):
        monkeypatch.setattr(base, "_now", lambda: f"{text}T12:00:00+00:00")

    set_to("2026-11-15")
    return set_to


def spent(ledger, holder):
    return {account.column: charge.information for account, charge in ledger.accounts(holder=holder).items()}


def test_no_analyst_uses_more_than_the_quota_and_the_others_go_on(ledger):
    ada, bob = (Quotas({"analyst": 0.25}, name) for name in ("ada", "bob"))
    assert ledger.charge([entry(1), entry(2)], ROOM, TERMS, ada) == [True, True]
    with pytest.raises(AllowanceError) as refusal:
        ledger.charge([entry(3)], ROOM, TERMS, ada)
    assert str(refusal.value) == (
        "the answer would exceed a declared quota; nothing was charged. the quota of analyst ada of meters.kwh: "
        "information requested 0.125, remaining 0 of 0.25, difference 0.125. "
        "Ask for a larger max_error or for fewer outputs; what was answered before can be asked again free of charge"
    )
    assert [line["holder"] for line in refusal.value.fields["accounts"]] == ['["analyst", "ada"]']
    assert ledger.charge([entry(3)], ROOM, TERMS, bob) == [True]
    assert ledger.charge([entry(3)], ROOM, TERMS, ada) == [False]  # what somebody else was answered is free
    assert spent(ledger, '["analyst", "ada"]') == {"": 0.25, "kwh": 0.25}
    assert spent(ledger, '["analyst", "bob"]') == {"": 0.125, "kwh": 0.125}
    assert ledger.charge([entry(4)], ROOM, TERMS, Quotas({"analyst": 0.25})) == [True]  # the custodian has no quota
    assert ledger.spent([KWH])[KWH].information == 0.5
    assert ledger.verify().head.sequence == 4


def test_analysts_together_never_get_more_than_the_allowance(ledger):
    for number in range(8):
        assert ledger.charge([entry(number)], ROOM, TERMS, Quotas({"analyst": 0.25}, f"analyst {number}")) == [True]
    with pytest.raises(AllowanceError, match="break a declared floor"):
        ledger.charge([entry(9)], ROOM, TERMS, Quotas({"analyst": 0.25}, "somebody new"))


def test_a_period_has_its_quota_and_the_next_one_a_new_one(ledger, clock):
    quotas = Quotas({"month": 0.25, "analyst_day": 0.125}, "ada")
    assert ledger.charge([entry(1)], ROOM, TERMS, quotas) == [True]
    with pytest.raises(AllowanceError, match="the quota of analyst ada in day 2026-11-15 of meters"):
        ledger.charge([entry(2)], ROOM, TERMS, quotas)
    clock("2026-11-16")
    assert ledger.charge([entry(2)], ROOM, TERMS, quotas) == [True]
    clock("2026-11-17")
    with pytest.raises(AllowanceError, match="the quota of month 2026-11 of meters"):
        ledger.charge([entry(3)], ROOM, TERMS, quotas)
    clock("2026-12-01")
    assert ledger.charge([entry(3)], ROOM, TERMS, quotas) == [True]
    assert spent(ledger, MONTH) == {"": 0.25, "kwh": 0.25}


def test_a_clock_that_is_set_back_opens_no_earlier_period(ledger, clock):
    quotas = Quotas({"month": 0.125})
    assert ledger.charge([entry(1)], ROOM, TERMS, quotas) == [True]
    for earlier in ("2026-10-31", "2020-01-01", "1999-12-31"):
        clock(earlier)
        with pytest.raises(AllowanceError, match="the quota of month 2026-11"):
            ledger.charge([entry(2)], ROOM, TERMS, quotas)
        assert ledger.preview([entry(2)], quotas).time == "2026-11-15T12:00:00+00:00" == ledger.time()
    assert ledger.charge([entry(2)], ROOM, TERMS) == [True]  # without a period the clock does not matter
    assert [record.time for record in ledger.entries()] == ["2026-11-15T12:00:00+00:00"] * 2
    clock("2026-12-01")
    assert ledger.charge([entry(3)], ROOM, TERMS, quotas) == [True]
    assert ledger.verify().head.sequence == 3


def test_a_clock_that_jumps_about_never_gets_more_than_the_allowance(ledger, clock):
    written = 0
    for number in range(20):
        clock(f"20{26 + number * 7 % 20}-0{1 + number % 9}-01")
        ledger.accept_clock()  # or a jump of years would be refused
        try:
            written += ledger.charge([entry(number)], ROOM, TERMS, Quotas({"day": 0.125, "month": 0.25})) == [True]
        except AllowanceError:
            continue
    assert 0 < written <= 8
    assert ledger.spent([KWH])[KWH].information <= 1.0


def test_threads_of_two_analysts_never_exceed_their_quotas(ledger_place):
    """Each may write 16 of 64; one ledger and two connections to it, as in two processes."""
    room, quotas = {KWH: Charge(64.0, 0.0)}, {name: Quotas({"analyst": 0.25}, name) for name in ("ada", "bob")}
    with ledger_place.open() as one, ledger_place.open() as two:

        def ask(number):
            name = "ada" if number % 2 else "bob"
            ledger = one if number % 4 < 2 else two
            single = Entry(f"{number:064x}", {KWH: Charge(1.0, 0.0)}, {})
            try:
                return name, ledger.charge([single], room, TERMS, quotas[name])[0]
            except AllowanceError:
                return name, False

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(48)))
        assert sorted(name for name, written in answers if written) == ["ada"] * 16 + ["bob"] * 16
        assert one.spent([KWH])[KWH].information == 32.0
        assert one.verify().head.sequence == 32


def test_quotas_are_part_of_records_and_survive_an_export(ledger_place, tmp_path, clock):
    quotas = Quotas({"analyst": 0.5, "week": 0.25}, "ada")
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(ledger_place.anchor), create=True) as old:
        old.charge([entry(1)], ROOM, TERMS, quotas)
        records = list(old.entries())
        assert len(records[0].charges) == 6
    with ledger_place.open(restore=records) as ledger:
        assert spent(ledger, '["week", "2026-W46"]') == {"": 0.125, "kwh": 0.125}
        assert ledger.charge([entry(2)], ROOM, TERMS, quotas) == [True]
        with pytest.raises(AllowanceError, match="week 2026-W46"):
            ledger.charge([entry(3)], ROOM, TERMS, quotas)
        assert len(ledger.accounts(holder=None)) == 6
        assert set(ledger.accounts()) == {KWH, OWNERS}


def test_preview_says_how_quotas_stand_and_writes_nothing(ledger, clock):
    quotas = Quotas({"analyst": 0.25}, "ada")
    ledger.charge([entry(1)], ROOM, TERMS, quotas)
    seen = ledger.preview([entry(1), entry(2)], quotas)
    assert seen.fresh == [False, True]
    assert seen.spent[Account("meters", "kwh", "", '["analyst", "ada"]')].information == 0.125
    assert ledger.head().sequence == 1


def test_without_spending_only_what_is_charged_is_given(ledger):
    ledger.charge([entry(1)], ROOM, TERMS)
    with ledger.settling([entry(1)], ROOM, TERMS, spend=False) as settled:
        assert settled.fresh == [False]
    refused = pytest.raises(AllowanceError, match="never released, and a reader cannot spend")
    with refused, ledger.settling([entry(1), entry(2)], ROOM, TERMS, spend=False):
        pass
    assert ledger.head().sequence == 1


def test_a_week_begins_on_monday_and_a_day_at_midnight_of_universal_time():
    kinds = {"day": 0.5, "week": 0.5, "month": 0.5}

    def periods(time):
        return [holder.split('"')[3] for holder in Quotas(kinds).holders(time)]

    assert periods("2026-11-15T23:59:59+00:00") == ["2026-11-15", "2026-W46", "2026-11"]
    assert periods("2026-11-16T00:00:00+00:00") == ["2026-11-16", "2026-W47", "2026-11"]
    assert periods("2027-01-01T00:00:00+00:00") == ["2027-01-01", "2026-W53", "2027-01"]
    assert datetime.date(2026, 11, 16).weekday() == 0


@pytest.mark.parametrize("wrong", [{"analyts": 0.5}, {"analyst": 0.0}, {"month": 1.5}, {"month": float("nan")}])
def test_quotas_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match=r"quota"):
        Quotas(wrong)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, 7, "\ud800"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(InputError, match="analyst must be a name"):
        Quotas({}, name)


def test_names_cannot_pass_for_each_other(ledger):
    """A name that looks like the text of another holder is another holder."""
    names = ["ada", 'ada"', '["analyst", "ada"]', "ada in day 2026-11-15", "ADA", "ada "]
    holders = {next(iter(Quotas({"analyst": 0.5}, name).holders("2026-11-15T00:00:00+00:00"))) for name in names}
    assert len(holders) == len(names)
    for number, name in enumerate(names):
        ledger.charge([entry(number, 0.01)], ROOM, TERMS, Quotas({"analyst": 0.5}, name))
    assert all(spent(ledger, holder) == {"": 0.01, "kwh": 0.01} for holder in holders)
