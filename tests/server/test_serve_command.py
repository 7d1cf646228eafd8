"""``errorfloor serve`` says clearly why it cannot start, and every setting is one of its options."""

import json
import os
import pty
import socket
import stat
import subprocess
import sys
from dataclasses import fields

import psycopg
import pytest
from typer.testing import CliRunner

from errorfloor.cli import serve
from errorfloor.cli.app import app
from errorfloor.cli.serve import _announce
from errorfloor.client import connect
from errorfloor.errors import CatalogueError, InputError
from errorfloor.server import Settings
from serving import self_signed, start_server, write_pay

OPEN = ("--host", "0.0.0.0", "--insecure")


def run(*arguments):
    """Run a command in this process; give what it printed."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    return write_pay(tmp_path_factory.mktemp("pay"))


def test_every_setting_is_an_option_with_its_own_sentence():
    words = " ".join(run("serve", "--help").replace("│", " ").split())
    for one in fields(Settings):
        assert f"--{one.name.replace('_', '-')} " in words
        assert one.metadata["help"] in words
    assert "until Ctrl+C" in words


def test_without_a_catalogue_the_one_in_the_folder_is_served_and_else_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serve, "prepare_demo", lambda folder: folder / "demo.toml")
    with serve._tables(None, None) as demo:
        assert demo.name == "demo.toml"
    (tmp_path / "errorfloor.toml").touch()
    with serve._tables(None, None) as here:
        assert here.name == "errorfloor.toml"
    with serve._tables(None, tmp_path) as kept:
        assert kept == tmp_path / "demo.toml"


def test_a_port_in_use_and_a_public_address_are_refused_in_words(catalogue):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"port {port} of 127\.0\.0\.1 is in use: choose another with --port, or 0"
        ):
            run("serve", catalogue, "--port", port, "--json")
    with pytest.raises(InputError, match=r"0\.0\.0\.0 can be reached from other machines"):
        run("serve", catalogue, "--host", "0.0.0.0")
    with pytest.raises(CatalogueError, match=r"there is no catalogue nowhere\.toml"):
        run("serve", "nowhere.toml")


def test_certificate_that_cannot_be_used_is_refused_in_words(catalogue, tmp_path):
    (tmp_path / "bad.pem").write_text("no certificate")
    with pytest.raises(InputError, match="give a certificate and its key as PEM files"):
        run("serve", catalogue, "--port", 0, "--cert", tmp_path / "bad.pem", "--key", tmp_path / "bad.pem", "--json")


def test_server_speaks_tls_and_the_client_checks_it(catalogue, tmp_path):
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    certificate, key = self_signed()
    (tmp_path / "host.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "host.key").write_bytes(private)
    server = start_server(catalogue, "--cert", tmp_path / "host.pem", "--key", tmp_path / "host.key")
    try:
        assert server.url.startswith("https://")
        with connect(server.url, token=server.token, verify=tmp_path / "host.pem") as database:
            assert database.tables()[0]["name"] == "pay"
    finally:
        assert server.stop() == 0
    tokens = catalogue.parent / "tokens.json"
    assert not tokens.exists()  # the token of this run was kept nowhere
    assert stat.S_IMODE((catalogue.parent / "keys.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("workers", [1, 2])
def test_server_speaks_the_protocol_of_postgresql_and_ends_its_lines(catalogue, workers):
    server = start_server(catalogue, "--postgres", 0, "--workers", workers)
    who = {"user": "owner", "password": server.token, "dbname": "errorfloor", "autocommit": True}
    try:
        lines = [psycopg.connect(host="127.0.0.1", port=server.postgres, connect_timeout=60, **who) for _ in range(4)]
        assert [line.execute("SELECT count(*) FROM pay").fetchone() for line in lines] == [(120,)] * 4
    finally:
        assert server.stop() == 0
    with pytest.raises(psycopg.OperationalError):
        lines[0].execute("SELECT count(*) FROM pay")
    for line in lines:
        line.close()


@pytest.mark.parametrize(
    "options", [(), ("--host", "0.0.0.0", "--insecure"), ("--host", "0.0.0.0", "--insecure", "--json")]
)
def test_no_token_is_made_where_a_log_would_keep_it_or_others_could_use_it(catalogue, options):
    with pytest.raises(InputError, match=r"make one first, with .* tokens create --file .*tokens\.json --name NAME"):
        run("serve", catalogue, "--port", 0, *options)


def test_a_terminal_is_shown_a_token_for_this_run(catalogue):
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "errorfloor", "serve", str(catalogue), "--port", "0"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    while b"stop with Ctrl+C" not in shown:
        shown += os.read(screen, 65536)
    server.terminate()
    assert server.wait(60) == 0
    os.close(screen)
    assert b"/?token=ef_" in shown


def test_once_there_are_tokens_it_says_where_to_sign_in(tmp_path, capsys):
    settings = Settings(tokens=tmp_path / "tokens.json")
    _announce(tmp_path / "errorfloor.toml", settings, None, False, False)
    said = capsys.readouterr().err
    assert "http://127.0.0.1:8470/login" in said
    assert f"tokens create --file {settings.tokens} --name NAME --role owner" in said
    _announce(tmp_path / "errorfloor.toml", settings, None, True, False)
    said = capsys.readouterr().err
    assert "http://127.0.0.1:8470/login" in said
    assert "--role owner" not in said


def test_a_second_token_of_one_name_is_told_with_the_first(tmp_path):
    def made():
        arguments = ["tokens", "create", "--name", "ada", "--file", str(tmp_path / "tokens.json")]
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments, catch_exceptions=False)
        return done.stdout.strip(), done.stderr

    text, first = made()
    assert "sign in with it at /login of the server (http://127.0.0.1:8470/login" in first
    assert "another token" not in first
    identity = text.split("_")[1]
    assert f"ada has another token, {identity} (analyst, made " in made()[1]


def test_tokens_by_command(tmp_path):
    file = tmp_path / "tokens.json"
    text = run("tokens", "create", "--name", "anna", "--role", "reader", "--file", file)
    assert text.startswith("ef_")
    (token,) = json.loads(run("tokens", "list", "--file", file, "--json"))
    assert (token["name"], token["role"]) == ("anna", "reader")
    assert text.strip() not in file.read_text()
    assert run("tokens", "revoke", "--id", token["id"], "--file", file) == f"revoked {token['id']} of anna\n"
    with pytest.raises(InputError, match="there is no token 'nobody'; there are: none"):
        run("tokens", "revoke", "--id", "nobody", "--file", file)
