"""Owners whose accounts are divided by when they joined: who comes later does not inherit what others spent."""

import random

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError, CatalogueError, InputError, RefusedError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service.continuing import compare
from errorfloor.service.registering import erase_with, register_all
from errorfloor.vault.snapshot import notes
from houses import register_house

TABLE = """
[tables.meters]
source = "meters.csv"
version = "{version}"
row_key = ["home", "day"]
public = {{ home = "text", day = "date", since = "date", cohort = "whole" }}
owner = {{ column = "home", floor = 0.2{joined} }}
private.kwh = {{ range = [0, 20], resolution = 0.001, floor = 0.5, unit = "kWh" }}
{growth}
"""
JOINED = ', joined = { column = "since", period = "year" }'
MONTHLY = 'grows_by = { column = "day", part = "month"%s }'
MEAN = "SELECT avg(kwh) AS mean FROM meters"
OLD, NEW = '["2020"]', '["2024"]'


def write_rows(folder, months, *, since=None, kwh=None, gone=(), more=()):
    """Write readings of 30 homes that joined in 2020, and from March on of 10 that joined in 2024.

    ``since`` has other joining dates by home and month, ``kwh`` other readings.
    """
    lines = ["home,day,since,cohort,kwh"]
    for month in months:
        for home in range(40):
            joined = "2020-05-17" if home < 30 else "2024-03-02"
            if (home >= 30 and month < 3) or (home, month) in gone:
                continue
            joined = (since or {}).get((home, month), joined)
            value = (kwh or {}).get((home, month), round(random.Random(f"{home} {month}").uniform(1, 19), 3))
            lines.append(f"H{home},2024-{month:02}-15,{joined},{home % 3},{value}")
    (folder / "meters.csv").write_text("\n".join([*lines, *more]) + "\n")


def declare(folder, *, joined=JOINED, growth=MONTHLY % "", version="1"):
    (folder / "errorfloor.toml").write_text(TABLE.format(joined=joined, growth=growth, version=version))
    if not (folder / "keys.json").exists():
        KeyRing.create(folder / "keys.json")
    return load(folder / "errorfloor.toml")


def grow(folder, *, corrections=False):
    return register_house(load(folder / "errorfloor.toml"), corrections=corrections)


def corrected(**versions):
    named = ", ".join(f'"2024-{month[1:]}" = "{version}"' for month, version in versions.items())
    return MONTHLY % f", corrected = {{ {named} }}"


def ask(folder, sql=MEAN, **wish):
    with ef.open(folder / "errorfloor.toml") as db:
        return db.ask(sql, **(wish or {"max_error": 4}))


def owners(folder, sql=MEAN, **wish):
    """Give what a question costs owners, by the cell of their account."""
    with ef.open(folder / "errorfloor.toml") as db:
        charge = db.price(sql, **(wish or {"max_error": 4})).charge
    return {account.cell: one.raised_cosine for account, one in charge.items() if not account.column}


@pytest.fixture
def home(tmp_path):
    write_rows(tmp_path, [1, 2])
    declare(tmp_path)
    grow(tmp_path)
    return tmp_path


def next_months(folder):
    write_rows(folder, [3, 4])
    grow(folder)


def test_a_question_charges_the_years_whose_owners_it_reads(home):
    next_months(home)
    assert owners(home).keys() == {OLD, NEW}
    assert owners(home, f"{MEAN} WHERE day < '2024-03-01'").keys() == {OLD}
    assert owners(home, f"{MEAN} WHERE since >= '2024-01-01'").keys() == {NEW}
    both = owners(home)
    assert both[OLD] == pytest.approx(4 * both[NEW], rel=1e-6)  # four months of rows against two, squared, in one mean


def test_who_joins_later_does_not_inherit_what_others_spent(home):
    ask(home, f"{MEAN} WHERE day < '2024-02-01'", spend=0.9)
    next_months(home)
    later = f"{MEAN} WHERE day >= '2024-03-01' AND since %s '2024-01-01'"
    with pytest.raises(AllowanceError, match=r"two histories of one home \(since in the year 2020\) be told apart"):
        ask(home, later % "<", spend=0.5)
    ask(home, later % ">=", spend=0.5)
    with ef.open(home / "errorfloor.toml") as db:
        found = {one.account.cell: one for one in db.left() if not one.account.column}
        assert found.keys() == {OLD, NEW}
        assert 0.85 < found[OLD].used <= 0.9 and 0.45 < found[NEW].used <= 0.5
        assert found[NEW].name == f"owners of meters {NEW}"
        assert "(since in the year 2024)" in found[NEW].explain()
        assert db.tables()[0]["owner"]["joined"] == {"column": "since", "period": "year"}
        db.ledger.verify()


def test_all_years_together_cost_what_an_undivided_account_costs(home, tmp_path_factory):
    next_months(home)
    other = tmp_path_factory.mktemp("undivided")
    write_rows(other, [1, 2, 3, 4])
    declare(other, joined="")
    grow(other)
    for sql in (MEAN, "SELECT cohort, sum(kwh) AS total FROM meters GROUP BY cohort"):
        wish = {"max_error": 4 if sql == MEAN else 200}
        assert max(owners(home, sql, **wish).values()) == owners(other, sql, **wish)[""]


def test_prices_follow_no_private_number(home, tmp_path_factory):
    """Twins that differ in every reading of a home that joined late pay the same, in every account."""
    twin = tmp_path_factory.mktemp("twin")
    next_months(home)
    write_rows(twin, [1, 2, 3, 4], kwh={(35, month): 0 for month in (3, 4)})
    declare(twin)
    grow(twin)
    assert owners(home) == owners(twin)


def test_a_neighbour_changes_nothing_across_years(home, tmp_path_factory):
    """Whether owners of 2024 are there at all does not change what is charged to those of 2020."""
    without = tmp_path_factory.mktemp("without")
    next_months(home)
    write_rows(without, [1, 2, 3, 4], gone={(one, month) for one in range(31, 40) for month in (3, 4)})
    declare(without)
    grow(without)
    by_home = "SELECT home, sum(kwh) AS total FROM meters GROUP BY home"
    assert owners(home, by_home)[OLD] == pytest.approx(owners(without, by_home)[OLD], rel=1e-12)


def test_a_missing_date_is_a_period_of_its_own(tmp_path):
    write_rows(tmp_path, [1, 2], since={(0, month): "" for month in (1, 2)})
    declare(tmp_path)
    grow(tmp_path)
    assert owners(tmp_path).keys() == {OLD, "[null]"}
    with pytest.raises(AllowanceError, match=r"one home \(without since\)"):
        ask(tmp_path, f"{MEAN} WHERE since IS NULL", max_error=0.1)


def test_numbers_of_cohorts_divide_owners_too(tmp_path):
    write_rows(tmp_path, [1, 2])
    declare(tmp_path, joined=', joined = { column = "cohort" }')
    grow(tmp_path)
    assert owners(tmp_path).keys() == {"[0]", "[1]", "[2]"}
    with pytest.raises(AllowanceError, match=r"one home \(cohort 0\)"):
        ask(tmp_path, f"{MEAN} WHERE cohort = 0", max_error=0.01)


# -- each owner has joined in one period, in all parts and versions


@pytest.mark.parametrize("other", ["2024-01-01", ""])
def test_an_owner_of_another_part_may_not_join_again(home, other):
    write_rows(home, [3], since={(7, 3): other})
    with pytest.raises(CatalogueError, match="some home of meters has more than one year of since"):
        grow(home)
    with ef.open(home / "errorfloor.toml") as db:
        assert db.tables()[0]["rows"] == 60
    write_rows(home, [3], since={(7, 3): "2020-12-31"})  # the same year
    grow(home)
    assert owners(home).keys() == {OLD, NEW}


def test_an_owner_has_joined_once_within_a_part(tmp_path):
    write_rows(tmp_path, [1], more=["H0,2024-01-20,2021-01-01,0,5"])
    declare(tmp_path)
    with pytest.raises(CatalogueError, match="some home of meters has more than one year of since"):
        grow(tmp_path)


def test_an_owner_of_an_earlier_version_of_a_part_may_not_join_again(home):
    write_rows(home, [1], since={(7, 1): "2024-01-01"})
    declare(home, growth=corrected(m01="2"))
    with pytest.raises(CatalogueError, match="some row of meters has a different year of since than in version '1'"):
        grow(home, corrections=True)


def test_a_row_may_not_go_to_an_owner_who_joined_later(home):
    """A reading that was charged to the owners of 2020 would be charged to those of 2024 from then on."""
    next_months(home)
    lines = (home / "meters.csv").read_text().replace("H0,2024-03-15,2020-05-17", "H35,2024-03-15x,2024-03-02")
    (home / "meters.csv").write_text(lines.replace("2024-03-15x", "2024-03-16"))
    declare(home, growth=corrected(m03="2"))
    with pytest.raises(CatalogueError, match="meters has new rows, and rows of version '1' are gone, in several cells"):
        grow(home, corrections=True)


def test_late_rows_and_corrected_numbers_are_registered(home):
    next_months(home)
    write_rows(home, [3, 4], kwh={(3, 3): 1.0}, more=["H41,2024-03-20,2024-03-02,0,5"])
    declare(home, growth=corrected(m03="2"))
    (made,) = grow(home, corrections=True)
    assert made.parts.corrected == ("2024-03",)
    assert ask(home).fresh == (True,)


def test_versions_of_a_whole_table_are_compared_by_owner(tmp_path):
    write_rows(tmp_path, [1, 2])
    declare(tmp_path, growth="")
    grow(tmp_path)
    assert ask(tmp_path).fresh == (True,)
    write_rows(tmp_path, [1, 2, 3], since={(7, 3): "2024-01-01"})
    declare(tmp_path, growth="", version="2")
    with pytest.raises(CatalogueError, match="some home of meters has more than one year of since"):
        grow(tmp_path)
    write_rows(tmp_path, [1, 2, 3])
    grow(tmp_path)
    assert owners(tmp_path).keys() == {OLD, NEW}


def test_parts_that_were_registered_before_joining_was_declared_are_compared_before_the_first_charge(tmp_path):
    write_rows(tmp_path, [1, 2], since={(7, 2): "2024-01-01"})
    declare(tmp_path, joined="")
    grow(tmp_path)
    declare(tmp_path)
    with pytest.raises(CatalogueError, match="version '1' was never compared"):
        ask(tmp_path)
    with pytest.raises(CatalogueError, match="some home of meters has more than one year of since"):
        grow(tmp_path)
    whole = tmp_path / "whole"
    whole.mkdir()
    write_rows(whole, [1, 2])
    declare(whole, joined="")
    grow(whole)
    declare(whole)
    grow(whole)
    assert ask(whole).fresh == (True,)


@pytest.mark.parametrize(("before", "after"), [("", JOINED), (JOINED, ""), (JOINED, JOINED.replace("year", "month"))])
def test_the_division_is_fixed_with_the_first_charge(home, before, after):
    declare(home, joined=before)
    ask(home)
    declare(home, joined=after)
    with pytest.raises(CatalogueError, match="the accounts of meters were opened with joined = "):
        ask(home, max_error=5)


def test_what_a_table_grows_by_is_fixed_with_the_first_charge_too(home):
    """Rows of a quarter would be compared with no month."""
    ask(home)
    declare(home, growth=MONTHLY.replace('"month"', '"quarter"') % "", version="2")
    with pytest.raises(CatalogueError, match="the accounts of meters were opened with joined = "):
        grow(home)


def test_a_part_that_the_vault_has_lost_stops_the_next_one(home):
    ask(home)
    (january,) = [key for key, note in _notes(home).items() if note["parts"] == ["2024-01"]]
    (home / "vault.duckdb" / f"{january}.duckdb").unlink()
    write_rows(home, [3])
    with pytest.raises(CatalogueError, match="was registered but is not in this vault"):
        grow(home)


def _notes(folder):
    declared = load(folder / "errorfloor.toml")
    with open_engine(declared.place, declared.folder) as engine:
        return notes(engine)


# -- erasure


def erase(folder, person, **others):
    declared = load(folder / "errorfloor.toml")
    with (
        open_engine(declared.place, declared.folder, read_only=False) as engine,
        open_ledger(declared.place, declared.folder) as ledger,
    ):
        erase_with(ledger, declared, "meters", ({"home": person} if person else {}) | others, engine=engine)


def test_an_erasure_does_not_forget_when_others_joined(home):
    """H8 is in an old version of January alone, which goes when H9 is erased; H8 must not come back as a new owner."""
    write_rows(home, [2], gone={(8, 2), (9, 2)})
    declare(home, growth=corrected(m02="2"))
    grow(home, corrections=True)
    ask(home)
    write_rows(home, [1, 2], gone={(home_, month) for home_ in (8, 9) for month in (1, 2)})
    declare(home, growth=corrected(m01="2", m02="2"))
    grow(home, corrections=True)
    erase(home, "H9")
    kept = _notes(home).values()
    assert sorted((note["parts"][0], note["version"]) for note in kept if "remains_of" not in note) == [
        ("2024-01", "2"), ("2024-02", "2"),
    ]  # fmt: skip
    assert sum("remains_of" in note for note in kept) == 2
    assert ask(home, f"{MEAN} WHERE day < '2024-02-01'").fresh == (True,)
    write_rows(home, [3], since={(8, 3): "2024-01-01"})
    with pytest.raises(CatalogueError, match="some home of meters has more than one year of since"):
        grow(home)
    write_rows(home, [3])
    (made,) = grow(home)
    assert made.parts.new == ("2024-03",)


def test_a_part_without_a_person_is_made_and_asked(home):
    ask(home)
    write_rows(home, [1, 2], gone={(9, 1), (9, 2)})
    declare(home, growth=corrected(m01="2", m02="2"))
    erase(home, "H9")
    assert not any("remains_of" in note for note in _notes(home).values())  # all other rows are in the new version
    assert ask(home).fresh == (True,)
    next_months(home)
    assert owners(home).keys() == {OLD, NEW}


@pytest.mark.parametrize("growth", [MONTHLY % "", ""])
def test_owners_are_erased_one_at_a_time(tmp_path, growth):
    """H8 and H9 have rows in February alone: without these, they could join again in another year."""
    write_rows(tmp_path, [1, 2], gone={(8, 1), (9, 1)})
    declare(tmp_path, growth=growth)
    grow(tmp_path)
    write_rows(tmp_path, [1], gone={(8, 1), (9, 1)})
    declare(tmp_path, growth=growth and corrected(m02="2"), version="1" if growth else "2")
    before = _notes(tmp_path)
    with pytest.raises(InputError, match="rows of more than one home of meters"):
        erase(tmp_path, None, day="2024-02-15")
    assert _notes(tmp_path) == before
    erase(tmp_path, "H9", day="2024-02-15")
    assert sum(note["rows"] for note in _notes(tmp_path).values()) == 57


# -- kills, plans, what is refused


def test_a_kill_before_the_comparison_is_written_down_is_made_up_for(home, monkeypatch):
    import errorfloor.service.registering as room

    with monkeypatch.context() as patched:
        patched.setattr(room, "keep", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        write_rows(home, [3])
        with pytest.raises(KeyboardInterrupt):
            grow(home)
    with pytest.raises(CatalogueError, match="was never compared"):
        ask(home)
    grow(home)
    assert ask(home).fresh == (True,)


def test_the_comparison_is_made_once(home, monkeypatch):
    declared = load(home / "errorfloor.toml")
    with (
        open_engine(declared.place, declared.folder) as engine,
        open_ledger(declared.place, declared.folder) as ledger,
    ):
        before = ledger.head()
        compare("meters", declared.tables["meters"], ledger, engine)
        assert ledger.head() == before


def test_a_plan_names_the_division(home):
    with ef.open(home / "errorfloor.toml") as db:
        plan = db.plan([{"sql": MEAN, "max_error": 4}], {"meters": {"owner": [0.1]}})
        (line,) = [one for one in plan.accounts if one.name == "owners of meters"]
        assert 0 < line.candidates[0].used < 1
        assert "owners of meters, by year of since" in line.largest


def test_a_dry_run_has_owners_who_joined_once(home):
    with ef.open(home / "errorfloor.toml", dry=True) as db:
        charge = db.ask(MEAN, max_error=4).charge
        assert any(not account.column and account.cell for account in charge)


def test_a_standing_question_needs_an_undivided_account(home):
    with ef.open(home / "errorfloor.toml") as db, pytest.raises(RefusedError, match=r"owner\.joined"):
        db.follow("SELECT sum(kwh) AS total FROM meters", since="2024-01", until="2024-06", max_error=500, owner_rows=1)


@pytest.mark.parametrize(
    ("joined", "said"),
    [
        (', joined = { column = "sinse", period = "year" }', "did you mean since"),
        (', joined = { column = "since" }', 'period = "month", or another of day, week, month, quarter, year'),
        (', joined = { column = "cohort", period = "year" }', "is for dates, and cohort is declared 'whole'"),
        (', joined = { column = "kwh", period = "year" }', "which is private"),
        (', joined = { column = "home" }', "the owner's own column"),
        (f'{JOINED}, register = "homes"', "cannot be declared together with register"),
        (f'{JOINED}, per = {{ column = "day", period = "month" }}', "cannot be declared together with per"),
        (', joined = { column = "since", perod = "year" }', "did you mean period"),
    ],
)
def test_divisions_that_cannot_be_meant_are_refused(tmp_path, joined, said):
    with pytest.raises(CatalogueError, match=said):
        declare(tmp_path, joined=joined)


def test_a_release_is_charged_by_year(tmp_path):
    write_rows(tmp_path, [1, 2, 3])
    declare(tmp_path, growth="")
    register_all(load(tmp_path / "errorfloor.toml"))
    with ef.open(tmp_path / "errorfloor.toml") as db:
        report = db.release("meters", tmp_path / "out.csv", columns={"kwh": ef.Interval(-500, 500)}, batch="b")
        charged = {one.account.cell: one.charge.raised_cosine for one in report.standings if not one.account.column}
    assert charged[OLD] == pytest.approx(3 * charged[NEW], rel=1e-6)
