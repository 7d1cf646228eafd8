"""Keys are kept to their owner, rotate without losing the old ones, and are never shown."""

import json
import os
import pickle
import stat

import pytest

from errorfloor.errors import InputError, KeyFileError
from errorfloor.identity import Key, KeyRing, Label

LABEL = Label("answer", ("meters", 1))


def test_a_new_key_file_belongs_to_its_owner_alone(tmp_path):
    previous = os.umask(0)
    try:
        KeyRing.create(tmp_path / "keys.json")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


def test_an_existing_file_is_never_overwritten(tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    with pytest.raises(KeyFileError, match="exists already"):
        KeyRing.create(ring.path)
    assert KeyRing(ring.path).current == ring.current


def test_rotation_keeps_old_keys_and_permissions(tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    first = ring.current
    second = ring.rotate()
    again = KeyRing(ring.path)
    assert [key.id for key in again.keys] == [first.id, second.id]
    assert again.current == second
    assert again.find(first.id).derive(LABEL) == first.derive(LABEL)
    assert first.derive(LABEL) != second.derive(LABEL)
    assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["keys.json"]
    with pytest.raises(InputError, match="has no key beef; it has"):
        again.find("beef")


def test_a_file_that_others_can_read_is_refused(tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    ring.path.chmod(0o640)
    with pytest.raises(KeyFileError, match="others can read"):
        KeyRing(ring.path)


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": 1, "keys": []}', '{"format": 9, "keys": []}', "[1]", '{"keys']
)
def test_a_damaged_file_is_refused_without_being_quoted(tmp_path, content):
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="damaged"):
        KeyRing(path)


def test_a_secret_never_shows(tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    secret = ring.current.secret
    shown = [repr(ring.current), str(ring.current), repr(ring), f"{ring.current!r:>80}"]
    plain = json.loads(ring.path.read_text())
    plain["keys"][0]["secret"] = plain["keys"][0]["secret"][:-1] + "z"  # no longer hexadecimal
    ring.path.write_text(json.dumps(plain))
    with pytest.raises(KeyFileError) as caught:
        KeyRing(ring.path)
    shown += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__ and caught.value.args)]
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(ring.current)
    for text in shown:
        assert secret.hex()[:16] not in text
        assert repr(secret)[2:10] not in text


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(KeyFileError, match="errorfloor keys create --file"):
        KeyRing(tmp_path / "none.json")
    with pytest.raises(KeyFileError, match="cannot make the key file"):
        KeyRing.create(tmp_path / "no" / "folder.json")


def test_derived_bytes_are_pinned_and_depend_on_everything():
    key = Key(id="0011223344556677", created="2013-01-01T00:00:00+00:00", secret=bytes(range(32)))
    assert key.derive(LABEL).hex() == PINNED
    other_id = Key(id="0011223344556678", created=key.created, secret=key.secret)
    other_secret = Key(id=key.id, created=key.created, secret=bytes(32))
    later = Key(id=key.id, created="2014-01-01T00:00:00+00:00", secret=key.secret)
    assert len({k.derive(LABEL) for k in (key, other_id, other_secret)}) == 3
    assert later.derive(LABEL) == key.derive(LABEL)


PINNED = "df9bdca910c0443f50f97d8fb00f374ebd19c5feb9c283af4607e971d917e0bf"


def test_rotations_at_once_lose_no_key(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    ring = KeyRing.create(tmp_path / "keys.json")
    link = tmp_path / "link.json"
    link.symlink_to(ring.path)
    with ThreadPoolExecutor(8) as pool:
        fresh = list(pool.map(lambda _: KeyRing(link).rotate().id, range(8)))
    assert set(fresh) <= {key.id for key in KeyRing(ring.path).keys}
    assert link.is_symlink()
