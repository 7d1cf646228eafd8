"""Registration of a table that protects records: domains, rests, and how many rows of an owner count."""

import json
from collections import Counter

import pytest

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.service.registering import register_all
from errorfloor.vault.registration import marks_of
from errorfloor.vault.report import source_report
from errorfloor.vault.snapshot import notes
from patients import CATALOGUE, MOST, open_patients, stored, visits, write_patients


def rows_of(tmp_path, rows, name="patients"):
    with open_patients(tmp_path / name, rows) as db:
        return stored(db)


def test_what_is_stored_lies_in_its_domain(tmp_path):
    found = rows_of(tmp_path, visits())
    assert {row["sex"] for row in found} == {"f", "m", "other"}
    assert {row["region"] for row in found} == {"north", "south", "west", "elsewhere"}
    assert all(0 <= row["age"] <= 110 and -200 <= row["cost"] <= 4000 for row in found)
    assert {row["day"].year for row in found} == {2024}
    assert None not in {value for row in found for value in row.values()}


def test_at_most_so_many_rows_of_an_owner_count(tmp_path):
    rows = visits()
    visited = Counter(row["patient"] for row in rows)
    assert max(visited.values()) > MOST
    assert len(rows_of(tmp_path, rows)) == sum(min(count, MOST) for count in visited.values())


def test_which_rows_of_an_owner_count_depends_on_no_other_owner_and_no_order(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
    rows = visits()
    whole, less = rows_of(tmp_path, rows), rows_of(tmp_path, [r for r in rows if r["patient"] != "P3"][::-1], "less")
    gone = Counter(map(str, whole)) - Counter(map(str, less))
    assert not Counter(map(str, less)) - Counter(map(str, whole))
    assert 1 <= gone.total() <= MOST


def test_what_is_noted_of_a_snapshot_depends_on_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
    seen = []
    for place, rows in enumerate((visits(), visits(3, seed=5), [])):
        catalogue = load(write_patients(tmp_path / str(place), rows))
        with open_engine(catalogue.place, catalogue.folder) as engine:
            (note,) = (dict(one) for one in notes(engine).values())
        seen.append(json.dumps(note | {"source": "", "files": []}, default=list))
    assert seen[0] == seen[1] == seen[2]


def test_registering_again_is_the_same_or_refused(tmp_path):
    path = write_patients(tmp_path, visits())
    write_patients(tmp_path, visits()[::-1])
    with pytest.raises(CatalogueError, match="is not what was registered as version '1'"):
        write_patients(tmp_path, visits()[1:])
    with pytest.raises(CatalogueError, match="declared differently"):
        write_patients(path.parent, visits(), CATALOGUE.replace("[0, 110]", "[0, 100]"))


def test_a_source_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(CatalogueError, match="has more rows than most_rows = 100"):
        write_patients(tmp_path / "large", visits(), CATALOGUE.replace("10000", "100"))
    with pytest.raises(CatalogueError, match=r"patients\.age is missing in some row"):
        write_patients(tmp_path / "nulls", visits(), CATALOGUE.replace("[0, 110], rest = 0", "[0, 110]"))
    with pytest.raises(CatalogueError, match="has no column 'patients'"):
        write_patients(tmp_path / "owner", visits(), CATALOGUE.replace('column = "patient"', 'column = "patients"'))


def test_the_report_tells_the_custodian_what_was_clamped_and_left_out(tmp_path):
    rows = visits()
    catalogue = load(write_patients(tmp_path, rows))
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        found = source_report(catalogue, "patients", engine)
    assert found[""]["rows"] == len(rows) > found[""]["rows_that_count"]
    assert found["sex"] == {
        "missing": sum(row["sex"] is None for row in rows),
        "outside": sum(row["sex"] == "F" for row in rows),
    }
    assert found["age"]["outside"] == sum(row["age"] in (-3.0, 130.0) for row in rows)


VALUES = """
[tables.{name}]
source = "{source}"
version = "1"
row_key = ["patient"]
public = {{ patient = "text" }}
[tables.{name}.private.cost]
range = [-100, 2000]
resolution = 1
floor = 20
nulls = "public"
"""


@pytest.mark.parametrize("copied", [True, False], ids=["copy", "link"])
@pytest.mark.parametrize("hidden_first", [True, False])
def test_a_link_to_a_source_or_a_copy_of_it_is_no_other_source(tmp_path, copied, hidden_first):
    """Whichever of the two is registered first, and whether the other has values to protect."""
    rows = list({row["patient"]: row for row in visits(20)}.values())
    plain = VALUES.format(name="plain", source="patients.parquet")
    path = write_patients(tmp_path, rows, CATALOGUE if hidden_first else plain)
    source, other = tmp_path / "patients.parquet", tmp_path / "other.parquet"
    other.write_bytes(source.read_bytes()) if copied else other.hardlink_to(source)
    kept, added = (CATALOGUE, plain) if hidden_first else (plain, CATALOGUE)
    path.write_text(kept + added.replace("patients.parquet", "other.parquet").replace("[limit]\nquestion = 1.0\n", ""))
    with pytest.raises(CatalogueError, match=r"has the same source as table (patients|plain): accounts belong to the"):
        register_all(load(path))


def test_large_sources_are_told_apart_by_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("errorfloor.vault.registration.WHOLE", 2**16)
    one, two, three = (tmp_path / name for name in "abc")
    one.write_bytes(bytes(2**20))
    two.write_bytes(bytes(2**20))
    three.write_bytes(bytes(2**19) + b"1" + bytes(2**19 - 1))
    content = [marks_of(str(each))[1] for each in (one, two, three)]
    assert content[0] == content[1] != content[2]
