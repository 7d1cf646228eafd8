"""Which tables people may see who sign in elsewhere: what is declared must be there."""

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import CatalogueError
from serving import write_pay

BEGINNING = """
[sign_in]
issuer = "https://id.example.org"
client_id = "errorfloor"
address = "https://errorfloor.example.org"
reader = ["staff"]
"""


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ('staff = ["pya"]', "has tables for 'staff', and no table or stream 'pya' is declared: there are pay"),
        ("staff = []", "has none for 'staff': name some"),
        ('staff = "pay"', "tables"),
    ],
)
def test_tables_that_are_not_declared_are_refused(tmp_path, tables, said):
    path = write_pay(tmp_path)
    text = path.read_text()
    path.write_text(f"{BEGINNING}[sign_in.tables]\n{tables}\n{text}")
    with pytest.raises(CatalogueError, match=said):
        load(path)


def test_tables_of_all_groups_are_opened(tmp_path):
    path = write_pay(tmp_path)
    path.write_text(f'{BEGINNING}[sign_in.tables]\nstaff = ["pay"]\nboard = ["*"]\n{path.read_text()}')
    here = load(path).sign_in
    assert here.tables_of({"groups": ["staff", "others"]}) == ("pay",)
    assert here.tables_of({"groups": "staff"}) == ("pay",)
    assert here.tables_of({"groups": ["staff", "board"]}) == ()
    for nobody in ({"groups": ["others"]}, {"groups": [7]}, {}):
        assert here.tables_of(nobody) is None
