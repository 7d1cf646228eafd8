"""Declare: a custodian says what each column is, by keyboard, on a phone, without scripts."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from errorfloor.catalogue import Schema, draft, load
from errorfloor.cli.page import DeclaringPage

LONG = "a_very_long_name_of_a_column_that_nobody_would_choose_but_a_machine"
SCHEMA = Schema("pay.csv", {"nr": "whole", LONG: "text", "pay": "number"}, unique=frozenset({"nr"}))


def test_a_table_is_declared_without_scripts(browser, serve, tmp_path):
    def write(text):
        (tmp_path / "errorfloor.toml").write_text(text)
        return [("Register the table.", "errorfloor register")]

    declaring = DeclaringPage([SCHEMA], "errorfloor.toml", draft, write)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 780})
    with serve(declaring.app) as (url, _):
        page = context.new_page()
        page.goto(url + declaring.way_in)
        expect(page.locator("#t0-c2-low")).to_be_visible()
        expect(page.locator("#t0-c0-low")).to_be_hidden()  # a key is no private number
        page.click("#to-check")
        expect(page.locator("#t0-c2-problem")).to_contain_text("fill in the least value possible")
        page.fill("#t0-c2-low", "0")
        page.fill("#t0-c2-high", "5000")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("any estimate of one pay is off by at least 250 EUR")
        page.click("#to-write")
        expect(page.locator("h1")).to_have_text("errorfloor.toml is written")
        expect(page.locator("main pre")).to_have_text("errorfloor register")
    context.close()
    assert load(tmp_path / "errorfloor.toml").tables["pay"].private["pay"].high == 5000


def test_axe_finds_nothing_and_a_phone_never_scrolls_sideways(browser, serve):
    declaring = DeclaringPage([SCHEMA], "errorfloor.toml", draft, lambda _: [("Register.", "errorfloor register")])
    context = browser.new_context(viewport={"width": 360, "height": 780})
    faults = []
    with serve(declaring.app) as (url, _):
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text) if "status of 422" not in message.text else None)
        page.on("pageerror", lambda problem: faults.append(str(problem)))
        page.goto(url + declaring.way_in)
        for step in ("proposed", "mistaken", "checked", "written"):
            if step == "checked":
                page.fill("#t0-c2-low", "0")
                page.fill("#t0-c2-high", "5000")
            if step != "proposed":
                page.click("#to-write" if step == "written" else "#to-check")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                found = Axe().run(page)
                assert found.violations_count == 0, (step, found.generate_report())
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    context.close()
    assert faults == []
