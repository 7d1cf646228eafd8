"""Notes that an older version wrote are brought to this one on every engine; snapshots and identities stay."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor import vault
from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import open_engine
from errorfloor.service.upgrading import raw_notes, upgrade_notes
from errorfloor.vault.snapshot import FORMAT


def test_notes_of_an_older_vault_are_upgraded_on_every_engine(engine_place):
    rows = {"meter": ["a", "b", "c"], "kwh": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(rows), engine_place.folder / "meters.parquet")
    table = {
        "source": "meters.parquet",
        "row_key": ["meter"],
        "public": {"meter": "text"},
        "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 2.0}},
    }
    identities = {}
    with open_engine(engine_place.place, engine_place.folder, read_only=False) as engine:
        for version in ("1", "2"):
            tables = {"meters": table | {"version": version}}
            declared = Catalogue(place=engine_place.place, tables=tables, folder=engine_place.folder)
            identities[version] = vault.register(declared, "meters", engine=engine).snapshot.identity
        for name, note in raw_notes(engine).items():
            older = {key: value for key, value in note.items() if key != "parts"} | {"format": FORMAT - 1}
            engine.note_anew(name, json.dumps(older))
        told = []
        assert upgrade_notes(engine, raw_notes(engine), told.append) == 2
        assert upgrade_notes(engine, raw_notes(engine), told.append) == 0
        assert {note["version"]: note["identity"] for note in told} == identities
    with open_engine(engine_place.place, engine_place.folder, read_only=True) as engine:
        found = {note["version"]: note for note in raw_notes(engine).values()}
        assert {version: note["identity"] for version, note in found.items()} == identities
        assert vault.snapshot(declared, "meters", engine=engine).identity == identities["2"]
