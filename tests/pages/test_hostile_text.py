"""Whatever stands in a table, a catalogue or a question is text: it is shown, and never becomes a part of the page."""

from playwright.sync_api import expect

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
FOREIGN = "() => document.querySelectorAll('main img, main script, main iframe, main b, main i').length"


def unharmed(page):
    assert page.evaluate(FOREIGN) == 0
    assert "broken" not in page.title()


def test_group_values_units_and_versions_are_shown_as_they_are(visit):
    page = visit("owner", "/ask")
    page.fill("#sql", "SELECT place, avg(pay) AS mean FROM wages GROUP BY place")
    page.press("#sql", "Escape")
    page.fill("#max_error", "45")
    page.click("#to-price")
    expect(page.locator("#to-ask")).to_be_enabled()
    assert "<i>£</i>" in page.inner_text("#price")
    page.click("#to-ask")
    expect(page.locator("#answer tbody tr")).to_have_count(2)
    assert HOSTILE in page.locator("#answer tbody").inner_text()
    assert "'; DROP TABLE wages; --" in page.locator("#answer tbody").inner_text()
    assert HOSTILE[:25] in page.locator("#answer svg").text_content()
    assert "version <b>1</b>" in page.inner_text("#tables")
    unharmed(page)


def test_question_that_is_markup_is_quoted_in_its_refusal(visit):
    page = visit("analyst", "/ask")
    for sql in (
        HOSTILE,
        f"SELECT avg(pay) FROM wages WHERE place = '{HOSTILE}' AND pay > 3",
        f'SELECT "{HOSTILE}" FROM wages',
    ):
        page.fill("#sql", sql)
        page.press("#sql", "Escape")
        page.click("#to-price")
        expect(page.locator("#price .refusal")).to_be_visible()
        unharmed(page)


def test_ledger_and_guarantee_escape_what_is_declared(visit):
    page = visit("owner", "/ledger")
    expect(page.locator("#accounts .account")).to_have_count(3)
    assert "<i>£</i>" in page.inner_text("#accounts")
    unharmed(page)
    page = visit("owner", "/about")
    assert "<i>£</i>" in page.inner_text(".sheet")
    assert "version <b>1</b>" in page.inner_text(".sheet")
    unharmed(page)
