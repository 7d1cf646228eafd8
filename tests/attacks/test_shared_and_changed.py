"""Keys that two catalogues share, and versions that change what a floor means: careless servers fall to either."""

import shutil

from careless import CarelessWorld
from custodian import ChangedMeaning, SharedKeys
from custodians_world import CustodiansWorld

from errorfloor.attacks import judge
from errorfloor.attacks.judgement import threshold
from errorfloor.catalogue import Catalogue
from errorfloor.ledger import MemoryLedger
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
    with CustodiansWorld(declared, "meters", "kwh", rows(declared), seed=3) as small:
        weak, kept = (judge(ChangedMeaning(new_ledger=new), small, runs=20, seed=5) for new in (True, False))
    limit = threshold(20, weak.promised, 1e-2)  # keys are fixed
    assert limit <= weak.right
    assert kept.right < limit


def test_a_vault_made_anew_under_the_same_key_and_version_has_noise_of_its_own(tmp_path):
    """A custodian who deletes the vault, and whose ledger forgets what it settled, does not give the change away."""
    coins, declared = (0, 1, 1, 0, 1), catalogue()
    with CustodiansWorld(declared, "meters", "kwh", rows(declared), seed=4) as world:
        secret, key, differences = world.secret, world.fresh_key(), []
        for turn, coin in enumerate(coins):
            folder, released = tmp_path / f"{turn}", []
            for copy in (0, coin):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (folder / "vault.duckdb").mkdir(mode=0o700)
                with world.updated(copy, folder, ledger=MemoryLedger(), key=key) as door:
                    answer = door.ask(secret.question(), spend=0.4)
                released.append(answer.to_arrow()["answer"][0].as_py())
            differences.append(released[1] - released[0])
    # the same noise twice would leave the change itself in every run; by chance less than once in 10⁹
    moved = [coin * secret.distance for coin in coins]
    assert any(abs(one - two) > secret.distance / 20 for one, two in zip(differences, moved, strict=True))
