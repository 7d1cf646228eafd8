"""Who may sign in: failures are counted and logged, other sites cannot post, and tokens have terms."""

import datetime
from types import SimpleNamespace

import pytest

from errorfloor.access import auth
from errorfloor.access.limits import Attempts
from errorfloor.access.store import Store
from errorfloor.access.token import Terms, Token, Verifier
from errorfloor.errors import InputError
from errorfloor.server import Role, TokenFile
from serving import served

LIMIT = 5
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def strict(database, tmp_path):
    """A server that lets somebody fail five times."""
    with served(database, tmp_path, failures=LIMIT) as here:
        yield here


def guess(client, how, text):
    if how == "link":
        return client.get("/", params={"token": text})
    return client.post("/login", **({"json": {"token": text}} if how == "json" else {"data": {"token": text}}))


@pytest.mark.parametrize("how", ["form", "json", "link"])
def test_guessing_at_the_pages_is_limited_for_an_address_and_logged_with_it(strict, how):
    browser = strict.client(None)
    replies = [guess(browser, how, f"ef_{i:012x}_guess") for i in range(LIMIT + 3)]
    assert [reply.status_code for reply in replies] == [401] * LIMIT + [429] * 3
    right = guess(browser, how, strict.tokens["analyst"])
    assert right.status_code == 429  # not even looked at
    assert 1 <= int(right.headers["retry-after"]) <= 900
    for reply in (*replies, right):
        line = strict.line_of(reply)
        assert (line["status"], line["sign_in"], line["address"]) == (reply.status_code, "refused", "127.0.0.1")
        assert line["code"] == ("refused" if reply.status_code == 401 else "attempts")


def test_sign_in_carries_a_name(strict):
    reply = guess(strict.client(None), "form", strict.tokens["analyst"])
    line = strict.line_of(reply)
    assert (line["who"], line["role"], line["sign_in"], line["code"]) == ("analyst-1", "analyst", "done", "done")


def test_guessing_one_token_from_many_addresses_is_limited(database, tmp_path):
    tokens = TokenFile(None)
    with served(database, tmp_path, tokens=tokens, failures=LIMIT, behind_proxy=True) as server:
        claimed = server.tokens["analyst"][:16]
        browser = server.client(None)
        statuses = []
        for i in range(LIMIT + 1):
            headers = {"X-Forwarded-For": f"10.0.0.{i}", "X-Forwarded-Proto": "https"}
            statuses.append(browser.post("/login", json={"token": f"{claimed}{i}"}, headers=headers).status_code)
        assert statuses == [401] * LIMIT + [429]
        headers = {"X-Forwarded-For": "10.0.0.99", "X-Forwarded-Proto": "https"}
        other = browser.post("/login", json={"token": server.tokens["reader"]}, headers=headers)
        assert other.status_code == 200
        assert other.headers["set-cookie"].startswith("__Host-errorfloor=")
        assert "Secure" in other.headers["set-cookie"]


def test_guessed_bearer_tokens_are_limited_and_a_right_one_is_not_shut_out(strict):
    guesser = strict.client(None)
    statuses = [
        guesser.get(path, headers={"Authorization": f"Bearer ef_{i:012x}_guess"}).status_code
        for i, path in enumerate(["/v1/tables", "/ask"] * LIMIT)
    ]
    assert 429 not in statuses[:LIMIT]
    assert set(statuses[LIMIT:]) == {429}
    assert strict.client("reader").get("/v1/tables").status_code == 200
    assert guess(guesser, "json", strict.tokens["reader"]).status_code == 200  # people are counted apart from scripts


def test_failures_count_in_every_process_and_are_forgotten_after_a_while(tmp_path):
    now = [1e9]
    here, there = (Attempts(Store(tmp_path / "s.sqlite"), 2, clock=lambda: now[0]) for _ in range(2))
    here.fail(["x"])
    there.fail(["x"])
    for one in (here, there):
        with pytest.raises(Exception, match="wait 900 s"):
            one.check(["y", "x"])
    now[0] += 901
    here.check(["x"])


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    ],
)
def test_other_sites_can_post_nothing(server, headers):
    browser = server.client(None)
    for path in ("/login", "/logout", "/v1/price", "/v1/ask", "/nowhere"):
        reply = browser.post(path, content="token=x", headers={**FORM, **headers})
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "origin")
        assert server.line_of(reply)["code"] == "origin"
    right = browser.post("/login", data={"token": server.tokens["reader"]}, headers=headers)
    assert right.status_code == 403
    assert not browser.cookies


def test_a_link_on_another_site_signs_nobody_in(server):
    browser = server.client(None)
    link = browser.get("/", params={"token": server.tokens["reader"]}, headers={"Sec-Fetch-Site": "cross-site"})
    assert (link.status_code, dict(browser.cookies)) == (403, {})


def test_pages_of_this_server_can_post(server):
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    browser = server.client(None)
    assert browser.post("/login", data={"token": server.tokens["reader"]}, headers=own).status_code == 303
    assert browser.post("/logout", headers={"Origin": server.url, "X-Errorfloor": "page"}).status_code == 303


def test_expired_token_is_refused_with_the_reason_and_so_are_its_sessions(database, tmp_path, monkeypatch):
    tokens = TokenFile(None)
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, zone):
            return soon.astimezone(zone)

    _, text = tokens.create("anna", Role.READER, Terms(expires=soon))
    with served(database, tmp_path, tokens=tokens) as server:
        bearer = server.client(None, params=None)
        bearer.headers["Authorization"] = f"Bearer {text}"
        browser = server.client(None)
        assert guess(browser, "json", text).status_code == 200
        assert [one.get("/v1/tables").status_code for one in (bearer, browser)] == [200, 200]
        monkeypatch.setattr(auth, "datetime", SimpleNamespace(**{**vars(datetime), "datetime": Later}))
        late = bearer.get("/v1/tables")
        assert (late.status_code, late.json()["error"]["code"]) == (401, "expired")
        assert browser.get("/v1/tables").status_code == 401
        assert guess(browser, "json", text).json()["error"]["code"] == "expired"


def test_token_is_used_from_its_networks_only(database, tmp_path):
    tokens = TokenFile(None)
    _, text = tokens.create("anna", Role.READER, Terms(addresses=("10.0.0.0/8", "2001:db8::/32")))
    with served(database, tmp_path, tokens=tokens, behind_proxy=True) as server:
        client = server.client(None)
        headers = {"Authorization": f"Bearer {text}", "X-Forwarded-Proto": "https"}
        for address, status in {"10.9.8.7": 200, "2001:db8::1": 200, "11.0.0.1": 403}.items():
            reply = client.get("/v1/tables", headers=headers | {"X-Forwarded-For": address})
            assert reply.status_code == status
        assert reply.json()["error"]["code"] == "address"


@pytest.mark.parametrize(
    "terms",
    [
        {"question": 0.0},
        {"day": 1.5},
        {"addresses": ("10.0.0.1/8",)},
        {"addresses": ("here",)},
        {"expires": datetime.datetime(2030, 1, 1)},
    ],
)
def test_terms_that_are_none_are_refused(terms):
    with pytest.raises(InputError):
        Terms(**terms)


def test_verifier_is_the_one_that_postgresql_derives():
    """libpq derives it from the same text, with a salt of its own choice."""
    from psycopg import pq

    token, text = Token.fresh("anna", Role.READER)
    assert Verifier.read(str(token.scram)) == token.scram
    encrypt = _Encryption(pq)
    theirs = Verifier.read(encrypt(text))
    assert Verifier.of(text, salt=theirs.salt, iterations=theirs.iterations) == theirs
    assert Verifier.of(text + "x", salt=theirs.salt, iterations=theirs.iterations) != theirs


class _Encryption:
    """PQencryptPasswordConn needs no connection when the algorithm is named."""

    def __init__(self, pq):
        self._connection = pq.PGconn.connect_start(b"host=/nowhere")

    def __call__(self, text):
        return self._connection.encrypt_password(text.encode(), b"anna", b"scram-sha-256").decode()
