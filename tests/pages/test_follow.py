"""Follow: standing questions with their figures, their price before it is charged, and their end."""

from playwright.sync_api import expect

SQL = "SELECT tariff, sum(kwh) AS used FROM meters GROUP BY tariff"


def plain(text):
    return text.replace("\u202f", "").replace("\u00a0", " ")


def test_a_question_is_followed_after_its_price_was_shown(visit, site):
    spent = site.database.ledger.accounts()
    page = visit("analyst", "/follow")
    expect(page.locator("#to-price")).to_be_enabled()
    page.fill("#sql", SQL)
    page.press("#sql", "Escape")
    for name, value in (("since", "2013-01-05"), ("until", "2013-01-16"), ("max_error", "400000")):
        page.fill(f"#{name}", value)
    page.select_option("#part", "day")
    expect(page.locator("#to-follow")).to_be_disabled()
    page.click("#to-price")
    expect(page.locator("#price .refusal")).to_contain_text("Owner_rows is how many rows of one household")
    page.click("text=More options")
    page.fill("#owner_rows", "1")
    page.click("#to-price")
    expect(page.locator("#price")).to_contain_text("all 12 are paid for")
    assert site.database.ledger.accounts() == spent
    page.fill("#max_error", "500000")
    expect(page.locator("#to-follow")).to_be_disabled()  # what is charged is what was priced
    page.click("#to-price")
    expect(page.locator("#to-follow")).to_be_enabled()
    page.click("#to-follow")
    card = page.locator("#following section").first
    expect(card.locator("h2")).to_have_text(SQL)
    (state,) = site.database.following("the-analyst")
    assert state["question"] == SQL and state["blocks"][0]["max_error"] == 500000

    card.locator("input").first.fill("2013-01-12")
    card.get_by_role("button", name="Release").click()
    expect(card.locator("svg[role=img]").first).to_be_visible()
    found = site.database.followed(state["id"])
    assert found.released[-1] == "2013-01-12"
    card.get_by_text("All figures").click()
    first = found.figures().to_pylist()[0]
    assert f"{first['used']:.0f}" in plain(card.inner_text()).replace("−", "-")
    assert "of the allowance of meters.kwh" in plain(card.inner_text())

    card.get_by_text("Extend or cancel").click()
    card.get_by_label("Extend up to").fill("2013-01-20")
    spent = site.database.ledger.accounts()
    card.get_by_role("button", name="What does that cost?").click()
    expect(card).to_contain_text("bounds add up to ±1000000 kWh")
    assert site.database.ledger.accounts() == spent
    card.get_by_role("button", name="Extend", exact=True).click()
    expect(card.locator("dl.facts").first).to_contain_text("from 2013-01-17 to 2013-01-20")
    assert site.database.ledger.accounts() != spent

    others = visit("reader", "/follow")
    card = others.locator("#following section").first
    expect(card.locator("h2")).to_have_text("A question about meters")
    expect(card.locator("svg[role=img]").first).to_be_visible()
    assert "used" not in card.inner_text() and card.locator("input").count() == 0

    page = visit("analyst", "/follow")
    card = page.locator("#following section").first
    card.get_by_text("Extend or cancel").click()
    card.get_by_role("button", name="Cancel it").click()
    assert not site.database.followed(state["id"]).cancelled
    card.get_by_role("button", name="Release nothing more, for ever").click()
    expect(card).to_contain_text("Cancelled: what was released stays.")
    assert site.database.followed(state["id"]).cancelled


def test_a_refusal_is_said_in_words(visit):
    page = visit("reader", "/follow")
    expect(page.locator("#to-price")).to_be_enabled()
    page.fill("#sql", "SELECT max(kwh) FROM meters")
    page.press("#sql", "Escape")
    for name, value in (("since", "2013-01"), ("until", "2013-03"), ("max_error", "5")):
        page.fill(f"#{name}", value)
    page.click("#to-price")
    expect(page.locator("#price .refusal")).to_contain_text("max(kwh) is not supported")
