"""What holds on every page: nothing scrolls sideways, everything can be read, labelled, reached and trusted."""

import re

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from errorfloor.server import Role, Settings, TokenFile, create_app
from errorfloor.service.example import example_database

READY = {
    "/ask": "#tables details",
    "/plan": "#floors input",
    "/follow": "#following section, #following p:not(:has-text('Loading'))",
    "/ledger": "#history table, #history p:not(:has-text('Loading'))",
    "/noise": "#designed table",
    "/about": "#sheet-title",
    "/login": "#token",
}

CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => { for (let e = node; e; e = e.parentElement) {
    const found = rgb(getComputedStyle(e).backgroundColor); if (found[3] === 255) return found; }
    return [255, 255, 255, 255]; };
  const poor = [];
  let read = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const owner = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !owner.checkVisibility()) continue;
    if (['SCRIPT', 'NOSCRIPT'].includes(owner.tagName)) continue;
    const style = getComputedStyle(owner);
    const [one, two] = [light(rgb(owner instanceof SVGElement ? style.fill : style.color)), light(behind(owner))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    read += 1;
    if (ratio < 4.5) poor.push([walk.currentNode.data.trim().slice(0, 40), ratio]);
  }
  return [read, poor];
}"""
UNNAMED = """() => [...document.querySelectorAll('input, textarea, select, button, a, [role=region], svg[role=img],'
    + '[role=textbox]')]
  .filter(e => e.type !== 'hidden')
  .filter(e => !document.getElementById(e.getAttribute('aria-labelledby'))?.textContent.trim())
  .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)"""
RINGED = """() => { const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return document.activeElement === document.body || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2); }"""


def opened(visit, path, **how):
    page = visit(None if path == "/login" else "owner", path, **how)
    expect(page.locator(READY[path]).first).to_be_visible()
    if path == "/plan":
        page.fill("#floor-meters-kwh", "1 12")
        page.click("#to-plan")
        expect(page.locator("#planned table")).to_be_visible()
    return page


@pytest.mark.parametrize("path", READY)
def test_phone_never_scrolls_sideways(visit, path):
    page = opened(visit, path, width=360)
    if path == "/ask":
        page.fill(
            "#sql", "SELECT place, avg(pay) AS a_long_name_for_a_mean, count(*) AS entries FROM wages GROUP BY place"
        )
        page.press("#sql", "Escape")
        page.click("#to-try")
        expect(page.locator("#answer table")).to_be_visible()
        page.click("text=Copy as curl")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("path", READY)
def test_text_stands_out_in_both_schemes(visit, path):
    page = opened(visit, path)
    if path == "/ask":
        page.fill("#sql", "SELECT household, avg(kwh) AS mean FROM meters GROUP BY household")
        page.press("#sql", "Escape")
        page.fill("#max_error", "0.1")
        page.click("#to-price")
        expect(page.locator("#price .refusal")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        read, poor = page.evaluate(CONTRAST)
        assert read > 5
        assert poor == []
        ground = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground)[:3])) < 64) == (scheme == "dark")


@pytest.mark.parametrize("path", READY)
def test_everything_has_a_name_and_a_visible_focus(visit, path):
    page = opened(visit, path)
    assert page.evaluate(UNNAMED) == []
    assert page.locator("h1").count() == 1
    assert page.get_attribute("html", "lang") == "en"
    page.evaluate("() => document.activeElement.blur()")
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(RINGED), page.evaluate("() => document.activeElement.outerHTML")


@pytest.mark.parametrize("path", READY)
def test_pages_hold_no_inline_script_or_style(site, path):
    headers = {"Authorization": f"Bearer {site.tokens['owner']}"}
    response = httpx.get(site.url + path, headers=headers)
    assert response.status_code == 200
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://", response.text)
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", response.text))
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    nonce = re.search(r"style-src 'self' 'nonce-([\w-]{20,})'", policy).group(1)
    assert nonce not in httpx.get(site.url + path, headers=headers).headers["content-security-policy"]
    assert response.headers["cache-control"] == "no-store"


def test_live_regions_announce_prices_and_answers(visit):
    page = opened(visit, "/ask")
    for place in ("#price", "#answer"):
        assert page.get_attribute(place, "aria-live") == "polite"
    assert page.get_attribute("#presence", "role") == "alert"


def test_reduced_motion_stops_every_transition(visit):
    page = opened(visit, "/ask")
    moving = (
        "() => [...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration !== '0s').length"
    )
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0


def test_stranger_is_sent_to_the_login_page_and_back(visit, site):
    page = visit(None, "/ledger")
    assert page.url == f"{site.url}/login?next=/ledger"
    page.fill("#token", "ef_wrong_token")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("does not know this token")
    page.fill("#token", f"  {site.tokens['reader']} ")
    page.keyboard.press("Enter")
    expect(page.locator("#visitor")).to_have_text("the-reader · reader")
    assert page.url == f"{site.url}/ledger"
    assert page.evaluate("() => document.cookie") == "", "scripts must not see the token"
    page.click("#logout")
    expect(page.locator("#token")).to_be_visible()
    page.goto(f"{site.url}/ask")
    assert "/login" in page.url


def test_login_never_leads_elsewhere(site):
    for elsewhere in ("//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example", "/static", "/x"):
        page = httpx.get(f"{site.url}/login", params={"next": elsewhere}).text
        assert re.search(r'name="next" id="next" value="([^"]*)"', page).group(1) == "/ask"
    page = httpx.get(f"{site.url}/login", params={"next": "/noise"}).text
    assert 'value="/noise"' in page


def test_login_works_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/about")
    page.fill("#token", "ef_wrong_token")
    page.click("#login button")
    expect(page.locator("#problem")).to_contain_text("does not know this token")
    page.fill("#token", site.tokens["reader"])
    page.click("#login button")
    expect(page.locator("#sheet-title")).to_be_visible()
    context.close()


def test_a_question_has_a_plain_text_area_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    context.request.post(f"{site.url}/login", data={"token": site.tokens["reader"]})
    page = context.new_page()
    for path in ("/ask", "/ledger"):
        page.goto(site.url + path)
        page.fill("textarea#sql", "SELECT avg(kwh) FROM meters")
        expect(page.locator("textarea#sql")).to_have_value("SELECT avg(kwh) FROM meters")
    context.close()


def test_page_stays_when_the_server_is_gone(serve, site, browser):
    tokens = TokenFile(None)
    _, text = tokens.create("anna", Role.ANALYST)
    with example_database(households=50) as database:
        app = create_app(database, tokens=tokens, settings=Settings(audit_log=site.folder / "gone.log"))
        with serve(app) as (url, server):
            page = browser.new_page()
            page.goto(f"{url}/?token={text}")
            expect(page.locator("#tables details")).to_have_count(1)
            page.fill("#sql", "SELECT avg(kwh) FROM meters")
            page.press("#sql", "Escape")
            server.stop()
            page.click("#to-price")
            expect(page.locator("#presence")).to_be_visible()
            expect(page.locator("#price .refusal h3")).to_have_text("No connection")
            page.click("nav >> text=Ledger")
            page.click("#retry")
            expect(page.locator("#presence")).to_be_visible()
            expect(page.locator("h1")).to_have_text("Ask")
            assert page.text_content("#sql") == "SELECT avg(kwh) FROM meters"
            page.context.close()


def test_files_are_kept_by_edition_and_nothing_else_is_served(site):
    page = httpx.get(f"{site.url}/login").text
    edition = re.search(r'"(/static/[0-9a-f]{16})/base.css"', page).group(1)
    response = httpx.get(f"{site.url}{edition}/base.css")
    assert response.headers["content-type"].startswith("text/css")
    assert "immutable" in response.headers["cache-control"]
    for missing in (f"{edition}/none.js", f"{edition}/..%2froutes.py", "/static/0123456789abcdef/base.css"):
        assert httpx.get(f"{site.url}{missing}").status_code == 404


@pytest.mark.parametrize("path", READY)
def test_axe_finds_nothing(visit, path):
    page = opened(visit, path)
    if path == "/ask":
        page.fill("#sql", "SELECT day, tariff, avg(kwh) AS mean FROM meters GROUP BY day, tariff")
        page.press("#sql", "Escape")
        page.click("#to-try")
        expect(page.locator("#answer table")).to_be_visible()
        page.fill("#max_error", "0.3")  # the answer is now one to an earlier question
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
