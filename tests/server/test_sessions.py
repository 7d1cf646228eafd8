"""Signing in by cookie: scripts cannot read it, other sites cannot use it, and the address keeps no token."""

import pytest

ASK = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 1e6}


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
    assert (bad.status_code, bad.headers["location"]) == (303, "/login?failed=1")
    assert "set-cookie" not in bad.headers


def test_cookie_alone_changes_nothing(server):
    browser = server.client(None)
    browser.post("/login", data={"token": server.tokens["analyst"]})
    forged = browser.post("/v1/ask", json=ASK)
    assert (forged.status_code, forged.json()["error"]["code"]) == (403, "forged")
    assert browser.post("/logout").status_code == 403
    assert browser.post("/v1/ask", json=ASK, headers={"X-Errorfloor": "page"}).status_code == 200


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
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "token")
    form = browser.post("/login", data=body if isinstance(body, dict) else {})
    assert form.headers["location"].startswith("/login?failed=1")
    by_script = browser.post("/login", data={"token": "x"}, headers={"Accept": "application/json"})
    assert by_script.status_code == 401
    assert not browser.cookies


def test_signing_out_takes_the_cookie_away(server):
    browser = server.client(None)
    browser.post("/login", json={"token": server.tokens["reader"]})
    assert browser.get("/v1/tables").status_code == 200
    assert browser.post("/logout", headers={"X-Errorfloor": "page"}).headers["location"] == "/login"
    assert browser.get("/v1/tables").status_code == 401


def test_no_token_is_in_any_log_line(server, capfd):
    server.client(None).get("/", params={"token": server.tokens["owner"]})
    server.client(None).get("/v1/tables", params={"token": server.tokens["owner"]})
    assert server.tokens["owner"] not in server.audit.read_text()
    assert server.tokens["owner"] not in "".join(capfd.readouterr())
