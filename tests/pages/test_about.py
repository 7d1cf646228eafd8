"""About: the guarantee follows from the declarations and prints on one sheet."""

import re

from playwright.sync_api import expect

from errorfloor.catalogue import load
from errorfloor.catalogue.allowance import exact_allowance
from errorfloor.floors.two_point import told_apart
from errorfloor.server.pages.sheet import guarantee


def test_guarantee_states_the_declared_floors(visit):
    page = visit("reader", "/about")
    rows = page.locator(".sheet tbody tr").all_inner_texts()
    assert [text.split("\t")[0] for text in rows] == ["kwh", "pay"]
    kwh = " ".join(rows[0].split())
    assert kwh == "kwh 0 … 50 kWh 5 kWh 80 times in 100 2 kWh"
    assert "the true one is named at most 80 times in 100" in " ".join(page.inner_text(".sheet").split())
    assert "Public tables, which are not protected: households." in page.inner_text(".sheet")


def test_stated_times_follow_from_the_whole_allowance(tables):
    sheet = guarantee(load(tables / "errorfloor.toml"))
    pay = sheet.tables[1].private[0]
    column = load(tables / "errorfloor.toml").tables["wages"].private["pay"]
    most = 100 * told_apart(pay.declared.example, *exact_allowance(column))
    assert 0 <= float(pay.times) - most < 0.1000001


def test_guarantee_prints_on_one_sheet_without_the_rest(visit):
    page = visit("owner", "/about", scheme="dark")
    page.emulate_media(media="print")
    for hidden in ("nav", ".reading", "footer", "#print"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator("#sheet-title")).to_be_visible()
    assert page.evaluate("() => getComputedStyle(document.querySelector('.sheet')).color") == "rgb(0, 0, 0)"
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_threat_model_and_limits_are_there(visit):
    page = visit("reader", "/about")
    text = page.inner_text("main")
    for words in (
        "knows every number in the table but one",
        "Values are protected, membership is not",
        "never purely ε",
    ):
        assert words in text
