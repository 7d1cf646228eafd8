"""Noise belongs to the snapshot that was priced: one made anew under the same name gets none of it."""

import pytest

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import AnswerFailedError
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.example import CATALOGUE
from errorfloor.vault import register

QUESTION = "SELECT sum(kwh) AS total FROM meters"


def write(folder, first):
    rows = "".join(f"{i},A,{first if i == 0 else 7 + i % 13}\n" for i in range(100))
    (folder / "meters.csv").write_text(f"household,tariff,kwh\n{rows}")


def test_a_vault_that_is_made_anew_under_a_running_server_is_not_answered_from(tmp_path):
    write(tmp_path, 7)
    (tmp_path / "errorfloor.toml").write_text(CATALOGUE)
    catalogue = load(tmp_path / "errorfloor.toml")
    catalogue = catalogue.model_copy(update={"tables": {"meters": catalogue.tables["meters"]}})
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        register(catalogue, "meters", engine=engine)
        database = Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=Key.fresh())
        first = database.ask(QUESTION, max_error=50)
        for name in engine.known():
            engine.destroy(name)
        write(tmp_path, 47)
        register(catalogue, "meters", engine=engine)
        assert first.fresh == (True,)
        with pytest.raises(AnswerFailedError):  # the same noise on other rows would show the change exactly
            database.ask(QUESTION, max_error=50)
