"""A floor keeps its meaning: what it is about is pinned with the first charge, and names cannot be mistaken."""

import pytest

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.listing import left, left_where_terms_hold
from errorfloor.vault import register

CATALOGUE = """
[tables.t]
source = "t.csv"
version = "1"
row_key = ["id"]

[tables.t.private.x]
range = [0, 10]
resolution = 1
floor = 0.1
unit = "kWh"
nulls = "public"

[tables.t.public]
id = "whole"
region = "text"
"""
QUESTION = "SELECT sum(x) AS total FROM t"


class Place:
    """A folder with a table of forty whole numbers, one ledger and one key."""

    def __init__(self, folder, ledger=None, key=None):
        self.folder, self.ledger, self.key = folder, ledger or MemoryLedger(), key or Key.fresh()
        self.write(0)

    def write(self, shift):
        rows = "".join(f"{i},{'north' if i % 2 else 'south'},{(i + shift) % 11}\n" for i in range(40))
        (self.folder / "t.csv").write_text("id,region,x\n" + rows)

    def declare(self, *changes, version="1"):
        text = CATALOGUE.replace('version = "1"', f'version = "{version}"')
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (self.folder / "errorfloor.toml").write_text(text)
        return load(self.folder / "errorfloor.toml")

    def ask(self, *changes, version="1", question=QUESTION):
        declared = self.declare(*changes, version=version)
        with open_engine(declared.place, self.folder, read_only=False) as engine:
            register(declared, "t", engine=engine)
            return Database(declared, engine=engine, ledger=self.ledger, keys=self.key).ask(question, spend=0.1)


def total(answer):
    return answer.to_arrow()["total"][0].as_py()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_two_catalogues_with_one_key_share_no_noise(tmp_path):
    """With the same noise, the difference of the two answers would be the difference of the two sums, exactly."""
    key, labels, errors = Key.fresh(), [], []
    for shift in (0, 1):
        (tmp_path / str(shift)).mkdir()
        other = Place(tmp_path / str(shift), key=key)
        other.write(shift)
        answers = [other.ask(question=f"SELECT sum(x) + {k} AS total FROM t") for k in range(8)]
        true = sum((i + shift) % 11 for i in range(40))
        errors.append([round(total(answer) - true - k, 6) for k, answer in enumerate(answers)])
        labels.append([record.labels for record in other.ledger.entries()])
        assert total(other.ask(question="SELECT sum(x) + 0 AS total FROM t")) == total(answers[0])  # and it is free
        assert other.ledger.head().sequence == 8
    assert not {*labels[0]} & {*labels[1]}
    assert errors[0] != errors[1]  # eight lattices of 100 points and more: by chance in less than 1 of 10^16


CHANGED = {
    "resolution": ("resolution = 1", "resolution = 0.001"),
    "range": ("range = [0, 10]", "range = [0, 20]"),
    "unit": ('unit = "kWh"', 'unit = "Wh"'),
    "nulls": ('nulls = "public"', 'nulls = "forbidden"'),
    "row_key": ('row_key = ["id"]', 'row_key = ["id", "region"]'),
    "account_by": ('row_key = ["id"]', 'row_key = ["id"]\naccount_by = ["region"]'),
    "owner": ('row_key = ["id"]', 'row_key = ["id"]\nowner = { column = "region", floor = 0.05 }'),
    "floor": ("floor = 0.1", "floor = 0.09"),
}


@pytest.mark.parametrize("word", CHANGED)
def test_a_new_version_cannot_change_what_the_floor_means(place, word):
    place.ask()
    before = place.ledger.head()
    with pytest.raises(CatalogueError, match=f"{word}.*declare it as it was"):
        place.ask(CHANGED[word], version="2")
    assert place.ledger.head() == before
    assert place.ask(version="3").fresh == (True,)


def test_the_same_rows_at_a_finer_resolution_are_refused_once_whole_numbers_were_promised(place):
    """Whole numbers 0 … 10, floor 0.1: at resolution 0.001 the same floor would allow answers that give them away."""
    place.ask()
    with pytest.raises(CatalogueError, match=r'opened with resolution = "1"; the catalogue now says .*"1/1000"'):
        place.ask(CHANGED["resolution"], version="2")


@pytest.mark.parametrize("word", ["range", "resolution"])
def test_how_accounts_stand_is_not_said_of_another_declaration(place, word):
    """Half of the range would make of a fifth used a larger part of another allowance, or a smaller one."""
    place.ask()
    declared = place.declare(CHANGED[word])
    assert left(place.declare(), place.ledger)[0].used > 0
    with pytest.raises(CatalogueError, match=f"{word}.*declare it as it was"):
        left(declared, place.ledger)
    assert not left_where_terms_hold(declared, place.ledger)


def test_what_was_never_charged_may_be_declared_otherwise(place):
    declared = place.declare()
    with open_engine(declared.place, place.folder, read_only=False) as engine:
        register(declared, "t", engine=engine)
    assert place.ask(CHANGED["resolution"], CHANGED["range"], version="2").fresh == (True,)


def test_a_private_column_called_owner_does_not_touch_the_owners_floor(place):
    changes = [
        ("private.x]", "private.owner]"),
        ('row_key = ["id"]', 'row_key = ["id"]\nowner = { column = "id", floor = 0.05 }'),
        ('public"', 'public"\ndistance = 1'),
    ]
    (place.folder / "t.csv").write_text((place.folder / "t.csv").read_text().replace("region,x", "region,owner"))
    question = "SELECT sum(owner) AS total FROM t"
    place.ask(*changes, question=question)
    assert place.ledger.terms(("t", "owner floor")) == {"floor": 0.05}
    assert place.ledger.terms(("t", "floor", "owner")) == {"floor": 0.1}
    with pytest.raises(CatalogueError, match=r"the floor of t\.owner was 0.1 .* now says 0.06"):
        place.ask(*changes, ("floor = 0.1", "floor = 0.06"), version="2", question=question)
    with pytest.raises(CatalogueError, match=r"the floor of t' owners was 0.05 .* now says 0.04"):
        place.ask(*changes, ("floor = 0.05", "floor = 0.04"), version="2", question=question)


def test_a_renamed_private_column_gets_no_second_allowance(place):
    place.ask()
    (place.folder / "t.csv").write_text((place.folder / "t.csv").read_text().replace("region,x", "region,y"))
    with pytest.raises(CatalogueError, match="has a private column x, and version '2' has y in its place"):
        place.ask(("private.x]", "private.y]"), version="2", question="SELECT sum(y) AS total FROM t")


DIVIDED = ('row_key = ["id"]', 'row_key = ["id"]\naccount_by = ["region"]')
BY_REGION = "SELECT region, sum(x) AS total FROM t GROUP BY region"


def divided(place, rows, version):
    (place.folder / "t.csv").write_text("id,region,x\n" + "".join(f"{i},{region},3\n" for i, region in rows))
    return place.ask(DIVIDED, version=version, question=BY_REGION)


FIRST = [(i, "north" if i % 2 else "south") for i in range(40)]


def test_rows_with_new_keys_get_no_second_allowance(place):
    """The same rows under other keys, in other cells: their old cell was charged, and now the new one would be."""
    divided(place, FIRST, "1")
    recoded = [(i + 100, "south" if region == "north" else "north") for i, region in FIRST]
    with pytest.raises(CatalogueError, match="if the row key has new values, the same rows would have a second"):
        divided(place, recoded, "2")
    with pytest.raises(CatalogueError, match="some row of t has a different region than in version '1'"):
        divided(place, [(i, region.upper()) for i, region in FIRST], "2")


def test_rows_may_be_added_or_left_out_and_replaced_within_one_cell(place):
    divided(place, FIRST, "1")
    assert divided(place, [*FIRST, (100, "north"), (101, "east")], "2").fresh == (True,)
    assert divided(place, FIRST[5:], "3").fresh == (True,)
    with pytest.raises(CatalogueError, match="rows of version '2' are gone"):
        divided(place, [*FIRST, (102, "north"), (103, "south")], "4")


def test_rows_of_one_cell_may_be_exchanged(place):
    divided(place, FIRST, "1")
    assert divided(place, [(90 if i == 1 else i, region) for i, region in FIRST], "2").fresh == (True,)
