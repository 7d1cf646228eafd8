"""A catalogue is written for a server process as it was declared, and a server that does not start says why."""

import tomllib

import pytest

from errorfloor.attacks.process import _address, server_process, written
from errorfloor.catalogue import Catalogue
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.service.demo_table import CATALOGUE as DEMO
from errorfloor.service.example import CATALOGUE as EXAMPLE

ODD = """
[quota]
analyst = 0.25

[tables.pay]
source = "pay.parquet"
version = '"1" — ü'
row_key = ["person"]
account_by = ["team"]
public = { person = "whole", team = "text", share = { type = "number", resolution = "1/7" } }
private.wage = { range = ["-1/3", 10], resolution = "1/3", floor = 1, nulls = "impute", impute = 0 }
"""


@pytest.mark.parametrize("text", [EXAMPLE, DEMO, ODD], ids=["example", "demo", "odd"])
def test_a_catalogue_that_is_written_reads_the_same(text):
    declared = Catalogue.model_validate(tomllib.loads(text))
    assert Catalogue.model_validate(tomllib.loads(written(declared))) == declared


def test_a_server_that_does_not_start_says_why(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("first\nerrorfloor: port 8470 is in use\n")
    with pytest.raises(ErrorFloorError, match="errorfloor serve did not start: errorfloor: port 8470 is in use"):
        _address(iter([]), log)


def test_the_files_of_a_custodian_are_never_replaced(tmp_path):
    (tmp_path / "errorfloor.toml").write_text(EXAMPLE)
    (tmp_path / "keys.json").write_text("a secret")
    declared = Catalogue.model_validate({**tomllib.loads(EXAMPLE), "folder": tmp_path})
    with pytest.raises(InputError, match="no audit wrote"), server_process(declared):
        pass
    assert (tmp_path / "keys.json").read_text() == "a secret"
