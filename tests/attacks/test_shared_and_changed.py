"""Keys that two catalogues share, and versions that change what a floor means: careless servers fall to either."""

from careless import CarelessWorld

from errorfloor.attacks import ChangedMeaning, SharedKeys, World, judge
from errorfloor.attacks.judgement import threshold
from errorfloor.catalogue import Catalogue
from errorfloor.service.dummy import dummy_rows

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}


def catalogue(**kwh):
    private = {"kwh": KWH | kwh}
    table = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": private}
    return Catalogue(tables={"meters": table})


def rows(declared):
    return {"meters": dummy_rows(declared.tables["meters"]).slice(0, 60)}


def test_one_key_for_two_catalogues_gives_a_number_away_where_noise_forgets_the_rows():
    with CarelessWorld(catalogue(), "meters", "kwh", flaw="no version") as careless:
        assert judge(SharedKeys(), careless, runs=40, seed=5).beaten


def test_a_version_with_another_meaning_helps_only_with_a_new_ledger():
    declared = catalogue(range=[0, 10], resolution=0.01, floor=2.85)
    with World(declared, "meters", "kwh", rows(declared), seed=3) as small:
        weak, kept = (judge(ChangedMeaning(new_ledger=new), small, runs=20, seed=5) for new in (True, False))
    limit = threshold(20, weak.promised, 1e-2)  # keys are fixed
    assert limit <= weak.right
    assert kept.right < limit
