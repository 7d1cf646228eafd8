"""Tokens: hashed, kept to their owner, revoked at once, and compared in constant time."""

import hashlib
import hmac
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from errorfloor.access import tokens as module
from errorfloor.cli.app import app
from errorfloor.errors import InputError, KeyFileError
from errorfloor.server import Role, TokenFile
from serving import served


def test_only_a_hash_is_kept_and_only_for_its_owner(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token, text = file.create("anna", Role.ANALYST)
    kept = file.path.read_text()
    assert text not in kept
    assert text.split("_", 2)[2] not in kept  # the secret part, which may hold that sign itself
    assert json.loads(kept)["tokens"][0]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert TokenFile(file.path).find(text) == token
    assert text not in repr(token)


@pytest.mark.parametrize(
    "change", [lambda t: t + "x", lambda t: t[:-1], lambda t: "", lambda t: t.upper(), lambda t: "ef__"]
)
def test_anything_but_the_text_itself_is_nobody(tmp_path, change):
    file = TokenFile(tmp_path / "tokens.json")
    _, text = file.create("anna", Role.ANALYST)
    assert file.find(change(text)) is None


def test_one_comparison_a_lookup_however_many_tokens_there_are(monkeypatch):
    file = TokenFile(None)
    texts = [file.create(f"t{i}", Role.READER)[1] for i in range(50)]
    compared = []
    honest = hmac.compare_digest
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or honest(a, b))
    for text in (texts[0], texts[-1], texts[7] + "x", "ef_unknown_secret", "nonsense", ""):
        file.find(text)
    assert compared == [(64, 64)] * 6


def test_token_made_or_revoked_by_command_counts_at_once(database, tmp_path):
    file = tmp_path / "tokens.json"

    def command(*arguments):
        done = CliRunner().invoke(app, ["tokens", *arguments, "--file", str(file), "--json"], catch_exceptions=False)
        return json.loads(done.stdout)

    with served(database, tmp_path, tokens=TokenFile(file)) as server:
        made = command("create", "--name", "anna", "--role", "reader")
        client = server.client(None, cookies=None)
        headers = {"Authorization": f"Bearer {made['token']}"}
        assert client.get("/v1/tables", headers=headers).status_code == 200
        listed = command("list")[-1]
        assert "token" not in listed
        assert listed["used"] >= listed["created"]  # noted by the server that runs
        assert [one["used"] for one in command("list")[:-1]] == [None, None, None]
        assert listed["expires"] > listed["created"]  # a year, unless said otherwise
        assert command("revoke", "--id", made["id"])["name"] == "anna"
        assert client.get("/v1/tables", headers=headers).status_code == 401


def test_file_that_others_can_read_is_not_used(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    file.create("anna", Role.ANALYST)
    file.path.chmod(0o644)
    with pytest.raises(KeyFileError, match="others can read the token file"):
        TokenFile(file.path).all()


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": 3, "tokens": []}', '{"format": 1, "tokens": [{"id": 1}]}', "\0"]
)
def test_damaged_file_is_refused_without_quoting_it(tmp_path, content):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a token file of this version, or is damaged"):
        TokenFile(path).all()


def test_names_and_ids_are_checked(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    with pytest.raises(InputError, match="made of up to 64 letters"):
        file.create("anna\n", Role.READER)
    token, _ = file.create("anna", Role.READER)
    with pytest.raises(InputError, match=f"there are: {token.id} \\(anna\\)"):
        file.revoke("nobody")
    missing = TokenFile(tmp_path / "nowhere" / "tokens.json")
    with pytest.raises(KeyFileError, match="cannot write the token file"):
        missing.create("anna", Role.READER)


def test_file_of_the_version_before_is_read_and_kept(tmp_path):
    path, text = tmp_path / "tokens.json", "ef_0123456789ab_secret"
    old = {"id": "0123456789ab", "name": "anna", "role": "reader", "created": "2026-01-01T00:00:00+00:00"}
    old |= {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    path.write_text(json.dumps({"format": 1, "tokens": [old]}))
    path.chmod(0o600)
    file = TokenFile(path)
    assert file.find(text).name == "anna"
    file.create("otto", Role.READER)
    assert [one.name for one in TokenFile(path).all()] == ["anna", "otto"]
    assert TokenFile(path).find(text).scram is None


MANY = """
import sys
from errorfloor.access.tokens import Role, TokenFile
file = TokenFile(sys.argv[1])
for i in range(10):
    file.create(f"{sys.argv[2]}-{i}", Role.READER)
"""


def test_two_changes_at_once_lose_none(tmp_path):
    path = tmp_path / "tokens.json"
    started = [subprocess.Popen([sys.executable, "-c", MANY, str(path), name]) for name in "ab"]
    assert [process.wait(timeout=60) for process in started] == [0, 0]
    assert len(TokenFile(path).all()) == 20
