"""Signing in at an identity provider, in a browser: its strict cookie goes along on the page that follows."""

import pytest
from playwright.sync_api import Browser, expect

import identity_provider as elsewhere
from errorfloor.service import open_database
from serving import served, write_pay

DECLARED = """
[sign_in]
issuer = "{issuer}"
client_id = "public"
address = "{address}"
analyst = ["staff"]
"""


def test_browser_signs_in_at_the_provider_and_goes_on(browser: Browser, tmp_path):
    reason = elsewhere.missing()
    if reason is not None:
        pytest.skip(f"NOT TESTED: signing in at an identity provider, {reason}")
    catalogue, port = write_pay(tmp_path), elsewhere.free_port()
    address = f"http://localhost:{port}"  # another site than the provider's 127.0.0.1
    with elsewhere.identity_provider(f"{address}/login/callback") as issuer:
        catalogue.write_text(DECLARED.format(issuer=issuer, address=address) + catalogue.read_text())
        with open_database(catalogue) as database, served(database, tmp_path, port=port):
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{address}/ledger")
            page.locator("#provider").click()
            page.locator("input[name=login]").fill("staff-anna")
            page.locator("input[name=password]").fill("x")
            page.locator("button[type=submit]").click()
            expect(page.locator("#visitor")).to_have_text("staff-anna · analyst")
            assert page.url == f"{address}/ledger"
            context.close()
