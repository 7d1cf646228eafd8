"""Plan: what a list of questions takes together, as the database says it."""

from playwright.sync_api import expect

BY_TARIFF = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"
TOTAL = "SELECT sum(kwh) AS total FROM meters"


def plain(text):
    return text.replace("\u202f", "").replace("\u00a0", " ")


def fill(page, number, sql, kind, value, name=""):
    page.fill(f"#sql-{number}", sql)
    page.select_option(f"#kind-{number}", kind)
    page.fill(f"#value-{number}", value)
    page.fill(f"#name-{number}", name)


def test_a_plan_is_that_of_the_database_and_charges_nothing(visit, site):
    before = site.database.history(limit=1000)
    page = visit("reader", "/plan")
    expect(page.locator("#floors input")).to_have_count(3)
    fill(page, 1, BY_TARIFF, "max_error", "0.5", "by tariff")
    page.click("#add")
    fill(page, 2, TOTAL, "spend", "2")
    page.fill("#floor-meters-kwh", "1 5")
    page.click("#to-plan")
    expect(page.locator("#planned table tbody tr")).to_have_count(2)
    wanted = [{"sql": BY_TARIFF, "max_error": 0.5, "name": "by tariff"}, {"sql": TOTAL, "spend": 0.02}]
    found = site.database.plan(wanted, {"meters": {"kwh": [1, 5]}}, analyst="the-reader")
    shown = plain(page.inner_text("#planned"))
    for account in found.accounts:
        assert all(line in shown for line in account.advice)
        assert all(one.meaning in shown for one in account.candidates)
    assert plain(page.locator("#planned tbody tr").first.inner_text()).startswith("by tariff")
    assert found.explain().split("\n\n")[1].split("\n")[0] in shown
    assert site.database.history(limit=1000) == before
    page.reload()
    expect(page.locator("#sql-2")).to_have_text(TOTAL)
    expect(page.locator("#value-2")).to_have_value("2")
    expect(page.locator("#floor-meters-kwh")).to_have_value("1 5")


def test_a_mistake_is_said_in_words_and_questions_can_be_taken_away(visit):
    page = visit("owner", "/plan")
    expect(page.locator("#floors input")).to_have_count(3)
    fill(page, 1, "SELECT max(kwh) FROM meters", "max_error", "1", "top")
    page.click("#to-plan")
    expect(page.locator("#planned .refusal")).to_contain_text("Question 1 (top): max(kwh) is not supported")
    page.fill("#floor-meters-kwh", "one")
    page.click("#to-plan")
    expect(page.locator("#planned .refusal")).to_contain_text("give numbers above 0")
    page.click("text=Remove")
    expect(page.locator(".question")).to_have_count(1)
    expect(page.locator("#sql-2")).to_have_text("")
    page.fill("#floor-meters-kwh", "")
    page.click("#to-plan")
    expect(page.locator("#planned .refusal h3")).to_have_text("No question yet")
