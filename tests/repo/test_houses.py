"""Houses that tests copy are as good as registered ones, and two houses of one test are two."""

from errorfloor.ledger import open_ledger
from errorfloor.service import open_database
from houses import met
from serving import write_pay
from town import open_town, write_town

MEAN = "SELECT team, avg(wage) AS mean FROM pay GROUP BY team"


def look(path):
    with open_database(path) as database:
        seen = database.ask(MEAN, max_error=1e6).to_arrow().to_pylist()
        identity = database._known.snapshot(database.catalogue, "pay", database._engine).identity
        with open_ledger(database.catalogue.place, path.parent) as ledger:
            return identity, seen, ledger.verify().head.sequence


def test_a_copy_is_asked_and_charged_like_the_house_that_it_was_copied_from(tmp_path):
    first = look(write_pay(tmp_path / "first", people=90))
    met.clear()  # as when another test begins
    copied = look(write_pay(tmp_path / "copied", people=90))
    assert copied == first
    assert first[2] == 2  # registered, and asked


def test_two_houses_of_one_test_have_their_own_identities(tmp_path):
    one, two = (look(write_pay(tmp_path / name, people=90)) for name in ("one", "two"))
    assert one[0] != two[0] and one[1] != two[1]


def test_a_patched_test_registers_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
    assert look(write_pay(tmp_path / "patched", people=90))[0] == "5eed" * 8


def test_other_rows_or_declarations_are_other_houses(tmp_path):
    sums = []
    for name, kind in (("one", "low"), ("two", "high")):
        write_town(tmp_path / name, kind)
        with open_town(tmp_path / name) as town:
            sums.append(town.ask("SELECT sum(kwh) AS s FROM meters", max_error=10).to_arrow().column(0)[0].as_py())
    assert sums[1] > sums[0] + 20_000
