"""Signing in by cookie: it names a session that ends, other sites cannot use it, and the address keeps no token."""

import hashlib
import sqlite3

import httpx
import pytest

from errorfloor.access.store import ENDED, MOST, OLDEST, Sessions, Store
from errorfloor.access.token import Terms, Token
from errorfloor.errors import KeyFileError
from errorfloor.server import Role, TokenFile
from serving import served

ASK = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 1e6}
PAGE = {"X-Errorfloor": "page"}


def signed_in(server, role="analyst", **options):
    browser = server.client(None, **options)
    assert browser.post("/login", json={"token": server.tokens[role]}).status_code == 200
    return browser


def test_printed_link_signs_in_and_leaves_the_address_clean(server):
    browser = server.client(None)
    reply = browser.get("/", params={"token": server.tokens["analyst"]})
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie  # there is no TLS here
    assert browser.get("/v1/tables").status_code == 200
    bad = server.client(None).get("/", params={"token": "ef_x_y"})
    assert (bad.status_code, "does not know this token" in bad.text) == (401, True)
    assert "set-cookie" not in bad.headers


def test_cookie_alone_changes_nothing(server):
    browser = signed_in(server)
    forged = browser.post("/v1/ask", json=ASK)
    assert (forged.status_code, forged.json()["error"]["code"]) == (403, "forged")
    assert browser.post("/logout").status_code == 403
    assert browser.post("/v1/ask", json=ASK, headers=PAGE).status_code == 200


def test_cookie_is_never_the_token_and_the_file_holds_no_identifier(database, tmp_path):
    with served(database, tmp_path, tokens=TokenFile(tmp_path / "tokens.json")) as server:
        browser = signed_in(server)
        cookie = browser.cookies["errorfloor"]
        assert server.tokens["analyst"] not in cookie
        assert cookie not in server.tokens["analyst"]
        forged = httpx.Client(base_url=server.url, cookies={"errorfloor": server.tokens["analyst"]}, trust_env=False)
        with forged:
            assert forged.get("/v1/tables").status_code == 401
        kept = sqlite3.connect(tmp_path / "sessions.sqlite")
        assert kept.execute("SELECT digest FROM sessions").fetchall() == [
            (hashlib.sha256(cookie.encode()).hexdigest(),)
        ]
        kept.close()
    assert (tmp_path / "sessions.sqlite").stat().st_mode & 0o777 == 0o600


def test_form_signs_in_and_goes_on_within_this_server(server):
    for wanted, location in {
        "/ledger": "/ledger",
        "//evil.example": "/",
        "https://evil.example": "/",
        "/\\evil": "/",
    }.items():
        reply = server.client(None).post("/login", data={"token": server.tokens["reader"], "next": wanted})
        assert (reply.status_code, reply.headers["location"]) == (303, location)


@pytest.mark.parametrize("body", [{"token": "ef_x_y"}, {"token": ""}, {}, {"token": 5}, []])
def test_unknown_token_does_not_sign_in(server, body):
    browser = server.client(None)
    reply = browser.post("/login", json=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "refused")
    form = browser.post("/login", data=body if isinstance(body, dict) else {})
    assert (form.status_code, "does not know this token" in form.text) == (401, True)
    by_script = browser.post("/login", data={"token": "x"}, headers={"Accept": "application/json"})
    assert by_script.status_code == 401
    assert not browser.cookies


def test_signing_out_ends_the_session_wherever_its_cookie_was_copied_to(server):
    browser = signed_in(server, "reader")
    thief = server.client(None, cookies=dict(browser.cookies))
    assert thief.get("/v1/tables").status_code == 200
    assert browser.post("/logout", headers=PAGE).headers["location"] == "/login"
    assert browser.get("/v1/tables").status_code == 401
    stolen = thief.get("/v1/tables")
    assert (stolen.status_code, "session has ended" in stolen.json()["error"]["message"]) == (401, True)


def test_signing_in_again_is_another_session_and_ends_the_one_before(server):
    browser = signed_in(server, "reader")
    before = browser.cookies["errorfloor"]
    browser.post("/login", json={"token": server.tokens["reader"]})
    assert browser.cookies["errorfloor"] != before
    assert server.client(None, cookies={"errorfloor": before}).get("/v1/tables").status_code == 401


def test_session_ends_when_idle_when_old_and_with_its_token():
    now, tokens = [1e9], TokenFile(None)
    token, _ = tokens.create("anna", Role.ANALYST)
    sessions = Sessions(Store(None), tokens, idle=600, life=3600, clock=lambda: now[0])
    used, unused = sessions.begin(token), sessions.begin(token)
    for _ in range(11):
        now[0] += 300
        assert sessions.find(used) == token
    assert sessions.find(unused) is None
    now[0] += 299
    assert sessions.find(used) == token
    now[0] += 1
    assert sessions.find(used) is None  # an hour after it began, though it was used a second ago
    third = sessions.begin(token)
    tokens.revoke(token.id)
    assert sessions.find(third) is None


def test_a_token_has_so_many_sessions_and_a_further_one_ends_its_oldest():
    now, tokens, store = [0.0], TokenFile(None), Store(None)
    anna, otto = (tokens.create(name, Role.READER)[0] for name in ("anna", "otto"))
    sessions = Sessions(store, tokens, idle=600, life=3600, clock=lambda: now[0])
    of_otto, of_anna = sessions.begin(otto), []
    for _ in range(MOST + 3):
        now[0] += 1.0
        of_anna.append(sessions.begin(anna))
    assert [sessions.find(one) is not None for one in of_anna] == [False] * 3 + [True] * MOST
    assert sessions.find(of_otto) is not None
    assert store.rows("SELECT count(*) FROM sessions") == [(MOST + 1,)]


@pytest.mark.parametrize(("statement", "values"), [(ENDED, (1.0, 1.0)), (OLDEST, ("ab12", 1))])
def test_clearing_away_sessions_reads_no_others(statement, values):
    steps = [row[-1] for row in Store(None).rows(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any("INDEX" in step for step in steps)
    assert not any(step.startswith("SCAN") for step in steps)


def test_signing_in_counts_as_a_request_of_the_token(database, tmp_path):
    with served(database, tmp_path, rate=0.001, burst=3) as server:
        sign_in = {"token": server.tokens["reader"]}
        statuses = [server.client(None).post("/login", json=sign_in).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]


def test_session_counts_in_every_process_and_after_a_restart(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    token, _ = tokens.create("anna", Role.ANALYST)
    here, there = (Sessions(Store(tmp_path / "s.sqlite"), tokens, idle=60, life=60) for _ in range(2))
    session = here.begin(token)
    assert there.find(session) == token
    there.end(session)
    assert here.find(session) is None


def test_file_of_sessions_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "sessions.sqlite"
    path.touch(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        Store(path)
    path.chmod(0o600)
    path.write_text("this is not a database, and long enough to be seen as none" * 20)
    with pytest.raises(KeyFileError, match="signs everybody out"):
        Store(path)
    with pytest.raises(KeyFileError, match="--sessions"):
        Store(tmp_path / "nowhere" / "sessions.sqlite")


def test_no_token_is_in_any_log_line(server, capfd):
    server.client(None).get("/", params={"token": server.tokens["owner"]})
    server.client(None).get("/v1/tables", params={"token": server.tokens["owner"]})
    assert server.tokens["owner"] not in server.audit.read_text()
    assert server.tokens["owner"] not in "".join(capfd.readouterr())


def test_session_of_a_person_keeps_to_their_tables():
    sessions = Sessions(Store(None), TokenFile(None), idle=600, life=3600, clock=lambda: 0.0)
    for tables in ((), ("pay",)):
        person = Token.vouched("oidc-1", "anna", Role.ANALYST, Terms(tables=tables))
        assert sessions.find(sessions.begin(person)).terms.tables == tables
    before = sessions.begin(person)
    sessions.store.change("UPDATE sessions SET person = ?", ('["anna", "analyst"]',))
    assert sessions.find(before) is None  # it says nothing of tables


def test_session_of_a_person_ends_when_something_else_is_declared_of_signing_in():
    store, person = Store(None), Token.vouched("oidc-1", "anna", Role.ANALYST)
    then, same, now = (Sessions(store, TokenFile(None), 600, 3600, vouched_by=one) for one in ("a1", "a1", "b2"))
    named = then.begin(person)
    assert same.find(named).name == "anna"
    assert now.find(named) is None
    assert Sessions(store, TokenFile(None), 600, 3600).find(named) is None  # nobody vouches for people any more
