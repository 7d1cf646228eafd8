"""Ask: a question is priced, answered, refused, repeated and copied, by mouse and by keyboard."""

import json
import math
import os
import re
import subprocess
import sys
from decimal import Decimal

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

BY_TARIFF = "SELECT tariff, count(*) AS entries, avg(kwh) AS mean FROM meters GROUP BY tariff"


def write(page, sql, max_error=None):
    page.fill("#sql", sql)
    page.press("#sql", "Escape")
    if max_error is not None:
        page.fill("#max_error", str(max_error))


def price(page):
    page.click("#to-price")
    expect(page.locator("#price .figure")).to_be_visible()


def ask(page):
    page.click("#to-ask")
    expect(page.locator("#answer table")).to_be_visible()


def plain(text):
    return text.replace("\u2212", "-").replace("\u202f", "").replace("\u00a0", " ")


def spent(site):
    return [standing.used for standing in site.database.left()]


def test_question_is_priced_then_answered_with_intervals_that_hold_the_truth(visit, site):
    page = visit("analyst", "/ask")
    write(page, BY_TARIFF, 2.5)
    before = spent(site)
    price(page)
    expected = site.database.price(BY_TARIFF, max_error=2.5)
    share = max(standing.used_by_this for standing in expected.standings)
    shown = f"{math.ceil(share * 1000 - 1e-9) / 10:g} %"
    assert plain(page.inner_text("#price .figure strong")) == shown
    assert plain(page.inner_text("#to-ask")) == f"Ask · spends {shown}"
    assert spent(site) == before, "a price must not be charged"
    ask(page)
    assert spent(site) != before
    meters = pq.read_table(site.folder / "meters.parquet")
    kwh = pc.max_element_wise(pc.min_element_wise(meters["kwh"], 50.0), 0.0)
    released = {row["tariff"]: row for row in site.database.ask(BY_TARIFF, max_error=2.5).to_arrow().to_pylist()}
    rows = page.locator("#answer tbody tr").all()
    assert len(rows) == len(released) == 2
    for row in rows:
        tariff, entries, mean, interval = (plain(cell) for cell in row.locator("td").all_inner_texts())
        mine = pc.equal(meters["tariff"], tariff)
        truth = pc.mean(kwh.filter(mine)).as_py()
        low, high = (float(end) for end in interval.split(" … "))
        assert int(entries) == pc.sum(mine).as_py()
        assert float(mean.split(" ")[0]) == released[tariff]["mean"]
        assert low == pytest.approx(released[tariff]["mean_low"], abs=1e-9)
        assert high == pytest.approx(released[tariff]["mean_high"], abs=1e-9)
        assert low <= truth <= high
    said = page.inner_text("#answer .quote")
    assert said.startswith("mean is certainly within ±2.5 kWh of the truth, with kwh clamped to 0 … 50 kWh")
    assert "Whatever is asked, even someone who knows every other row names the true one of two histories" in said
    assert page.locator("#answer .chart .released").count() == 2
    assert page.locator("#answer .bar").count() == 4  # two accounts, and the quota of each


def test_asking_again_is_free_and_gives_the_same_numbers(visit, site):
    page = visit("analyst", "/ask")
    write(page, "SELECT avg(kwh) AS mean FROM meters", 2)
    price(page)
    ask(page)
    first = page.locator("#answer tbody").inner_text()
    before = spent(site)
    page.click("#to-price")
    expect(page.locator("#price .figure strong")).to_have_text("free")
    expect(page.locator("#to-ask")).to_have_text("Ask · free")
    page.click("#to-ask")
    expect(page.locator("#answer .tag")).to_have_text("free")
    assert page.locator("#answer tbody").inner_text() == first
    assert spent(site) == before


def test_nothing_can_be_asked_before_its_price_was_shown(visit):
    page = visit("analyst", "/ask")
    write(page, BY_TARIFF, 2.5)
    expect(page.locator("#to-ask")).to_be_disabled()
    price(page)
    expect(page.locator("#to-ask")).to_be_enabled()
    page.fill("#max_error", "2.4")
    expect(page.locator("#to-ask")).to_be_disabled()
    expect(page.locator("#stale")).to_be_visible()
    page.fill("#max_error", "2.5")
    expect(page.locator("#to-ask")).to_be_enabled()
    expect(page.locator("#stale")).to_be_hidden()
    page.press("#sql", "End")
    page.type("#sql", " LIMIT 1")
    expect(page.locator("#to-ask")).to_be_disabled()


def test_question_about_a_private_value_is_refused_in_place_with_what_to_ask(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT avg(kwh) FROM meters WHERE kwh > 20", 0.5)
    page.click("#to-price")
    refusal = page.locator("#price .refusal")
    expect(refusal.locator("h3")).to_have_text("This cannot be asked")
    expect(refusal.locator("code").first).to_have_text("kwh > 20")
    assert "avg(above(kwh, t, width))" in refusal.inner_text()
    expect(page.locator("#to-ask")).to_be_disabled()


def test_no_older_answer_or_price_stands_beside_a_refusal(visit):
    page = visit("analyst", "/ask")
    write(page, BY_TARIFF, 0.5)
    price(page)
    ask(page)
    price(page)
    expect(page.locator("#answer table")).to_be_visible()  # of the question that is written there
    write(page, "SELECT avg(kwh) FROM meters WHERE kwh > 20", 0.5)
    page.click("#to-price")
    expect(page.locator("#price .refusal h3")).to_have_text("This cannot be asked")
    expect(page.locator("#answer-card")).to_be_hidden()
    expect(page.locator("#stale")).to_be_hidden()


def test_advised_bound_is_applied_by_one_click_and_then_affordable(visit, site):
    page = visit("analyst", "/ask")
    write(page, "SELECT day, avg(kwh) AS mean FROM meters GROUP BY day", 0.05)
    before = spent(site)
    page.click("#to-price")
    expect(page.locator("#price .refusal h3")).to_have_text("Would be refused: a floor would break")
    broken = page.locator("#price .account", has_text="would take").first
    expect(broken).to_contain_text("could be told apart")  # no floor is stated of what would break it
    expect(broken).not_to_contain_text("by declaration")
    expect(page.locator("#price .figure")).to_have_count(0)
    expect(page.locator("#to-ask")).to_be_disabled()
    advised = re.search(r"± ([\d.]+)", plain(page.inner_text("#use-advice"))).group(1)
    page.click("#use-advice")
    expect(page.locator("#price .refusal")).to_have_count(0)
    expect(page.locator("#to-ask")).to_be_enabled()
    assert page.input_value("#max_error") == advised
    assert spent(site) == before


def test_refusal_after_somebody_else_spent_is_shown_with_advice(visit, site):
    page = visit("owner", "/ask")
    write(page, "SELECT avg(pay) AS mean FROM wages WHERE person < 150")
    page.check("input[value=spend]")
    page.fill("#spend", "60")
    price(page)
    site.database.ask("SELECT sum(pay) AS total FROM wages", spend=0.45)
    page.click("#to-ask")
    refusal = page.locator("#answer .refusal")
    expect(refusal.locator("h3")).to_have_text("Refused: a floor would break")
    assert "its declared floor is 5" in refusal.inner_text()
    page.click("#use-advice")
    expect(page.locator("#to-ask")).to_be_enabled()
    ask(page)


def test_quota_that_does_not_suffice_is_told_from_a_floor(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT var_pop(kwh) AS spread FROM meters")
    page.check("input[value=spend]")
    page.fill("#spend", "60")
    page.click("#to-price")
    expect(page.locator("#price .refusal h3")).to_have_text("Would be refused: a quota is too small")
    expect(page.locator("#price .refusal")).to_contain_text("the floor is not in danger")
    page.click("#use-advice")
    expect(page.locator("#to-ask")).to_be_enabled()
    expect(page.locator("#price .account", has_text="analyst the-analyst")).to_have_count(2)


def test_share_of_the_allowance_buys_a_bound(visit, site):
    page = visit("analyst", "/ask")
    sql = "SELECT class, avg(kwh) AS mean FROM meters GROUP BY class"
    write(page, sql)
    page.check("input[value=spend]")
    page.fill("#spend", "2")
    price(page)
    bound = site.database.price(sql, spend=0.02).max_error["mean"]
    assert f"±{bound:g} kWh" in plain(page.inner_text("#price dl"))


def test_each_output_may_have_a_bound_of_its_own_unit(visit, site):
    page = visit("analyst", "/ask")
    sql = "SELECT avg(kwh) AS mean, var_samp(kwh) AS variance FROM meters"
    write(page, sql, 3)
    page.click("#to-price")
    expect(page.locator("#price dl")).to_contain_text("3 kWh²")
    page.check("#each")
    expect(page.locator("#wish-bounds .with-unit")).to_have_text(["kWh", "kWh²"])
    page.fill("#bound-1", "80")
    page.click("#to-price")
    expect(page.locator("#price dl")).to_contain_text("80 kWh²")
    page.click("#to-try")
    expect(page.locator("#answer .chart")).to_have_count(2)
    write(page, "SELECT avg(kwh) AS mean FROM meters", None)
    page.click("#to-price")
    expect(page.locator("#to-ask")).to_be_enabled()
    expect(page.locator("#max_error")).to_be_visible()


def test_dry_try_is_free_and_says_that_its_rows_are_made_up(visit, site):
    page = visit("reader", "/ask")
    write(page, "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", 0.1)
    before = spent(site)
    page.click("#to-try")
    expect(page.locator("#answer .tag")).to_have_text("dummy rows")
    expect(page.locator("#answer table")).to_be_visible()
    assert spent(site) == before


def test_reader_gets_what_was_released_and_nothing_else(visit, site):
    known = "SELECT avg(kwh) AS known FROM meters"
    site.database.ask(known, max_error=2)
    page = visit("reader", "/ask")
    write(page, known, 2)
    price(page)
    ask(page)
    write(page, "SELECT avg(kwh + 3) AS unknown FROM meters WHERE tariff = 'Std'", 9)
    price(page)
    before = spent(site)
    page.click("#to-ask")
    expect(page.locator("#answer .refusal")).to_be_visible()
    assert "never released" in page.inner_text("#answer .refusal")
    assert spent(site) == before


def test_names_are_completed_by_keyboard_alone(visit):
    page = visit("analyst", "/ask")
    expect(page.locator("#tables details")).to_have_count(3)
    page.fill("#sql", "")
    page.focus("#sql")
    page.keyboard.type("SELECT ta")
    names = page.locator("#question [role=option]")
    expect(names.first).to_contain_text("tariff")
    page.keyboard.press("Enter")
    page.keyboard.type(", av")
    expect(names.first).to_contain_text("avg(")
    page.keyboard.press("Tab")
    page.keyboard.type("kw")
    expect(names.first).to_contain_text("kwh")
    assert page.get_attribute("#sql", "aria-activedescendant") == names.first.get_attribute("id")
    page.keyboard.press("Tab")
    page.keyboard.type(") FROM met")
    expect(names.first).to_contain_text("meters")
    page.keyboard.press("Enter")
    page.keyboard.type(" GROUP BY ")
    page.keyboard.press("Control+Space")
    expect(names.first).to_contain_text("kwh")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(names).to_have_count(0)
    page.keyboard.type("tari")
    expect(names.first).to_contain_text("tariff")
    page.keyboard.press("Enter")
    assert page.text_content("#sql") == "SELECT tariff, avg(kwh) FROM meters GROUP BY tariff"


def test_words_of_the_language_are_told_from_names_and_values(visit):
    page = visit("analyst", "/ask")
    write(
        page,
        "-- one day\nSELECT tariff, avg(kwh) FROM meters WHERE day = DATE '2013-01-05' AND kwh < 7 GROUP BY tariff",
    )
    shown = {kind: page.locator(f"#sql .{kind}").all_inner_texts() for kind in ("word", "function", "value", "remark")}
    assert shown == {
        "word": ["SELECT", "FROM", "WHERE", "AND", "GROUP", "BY"],
        "function": ["avg", "DATE"],
        "value": ["'2013-01-05'", "7"],
        "remark": ["-- one day"],
    }


def test_tab_leads_through_the_editor_and_back(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT avg(kwh) FROM meters", 2)
    page.click("label >> text=Question, in SQL")
    expect(page.locator("#sql")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("input[value=max_error]")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#sql")).to_be_focused()
    assert page.text_content("#sql") == "SELECT avg(kwh) FROM meters"


def test_keyboard_prices_and_asks(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT class, count(*) AS entries, avg(kwh) AS mean FROM meters GROUP BY class", 5)
    page.focus("#sql")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#to-ask")).to_be_enabled()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer tbody tr")).to_have_count(3)


def test_copied_python_and_curl_give_the_same_answer(visit, site):
    page = visit("analyst", "/ask")
    sql = "SELECT tariff, avg(kwh) AS mean FROM meters WHERE class <> 'it''s \\ \"odd\" $HOME `id`'\nGROUP BY tariff"
    write(page, sql, 3)
    price(page)
    ask(page)
    truth = site.database.ask(sql, max_error=3).to_arrow().to_pylist()
    environment = os.environ | {"ERRORFLOOR_TOKEN": site.tokens["analyst"]}

    def copied(name, program):
        page.click(f"text=Copy as {name}")
        expect(page.locator("#answer [role=status]")).to_contain_text(f"Copied as {name}")
        text = page.evaluate("() => navigator.clipboard.readText()")
        assert text == page.inner_text("#code")
        return subprocess.run([*program, text], env=environment, capture_output=True, text=True, check=True).stdout

    printed = copied("Python", [sys.executable, "-c", "import sys; exec(sys.argv[1])"])
    for row in truth:
        assert f"{row['mean']:g}" in printed
    answered = json.loads(copied("curl", ["/bin/sh", "-c"]))
    assert [dict(zip(answered["columns"], row, strict=True)) for row in answered["rows"]] == truth


def test_many_rows_are_drawn_as_a_course(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT day, avg(kwh) AS mean FROM meters GROUP BY day ORDER BY day", 30)
    price(page)
    ask(page)
    expect(page.locator("#answer .released")).to_have_count(30)
    expect(page.locator("#answer tbody tr")).to_have_count(30)
    assert page.locator("#answer tbody td").first.inner_text() == "2013-01-01"


def test_nothing_is_written_for_somebody_who_has_begun_to_write(visit):
    page = visit("analyst", "/about")
    page.route("**/v1/tables", lambda route: held.append(route))
    held = []
    page.goto(page.url.replace("/about", "/ask"))
    page.focus("#sql")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator("#tables details")).to_have_count(3)
    assert page.text_content("#sql") == ""
    page.unroute("**/v1/tables")
    page.reload()
    expect(page.locator("#tables details")).to_have_count(3)
    assert page.text_content("#sql").startswith("SELECT tariff, count(*) AS entries, avg(kwh) AS mean")


def test_empty_question_is_answered_in_words(visit):
    page = visit("analyst", "/ask")
    expect(page.locator("#tables details")).to_have_count(3)
    write(page, "")
    page.click("#to-price")
    expect(page.locator("#price .refusal h3")).to_have_text("No question yet")


def test_shown_intervals_are_rounded_outwards(visit):
    page = visit("reader", "/about")
    beside = "document.querySelector('script').src.replace(/[^/]*$/, 'numbers.js')"
    shown = f"async ([ends, step]) => (await import({beside})).outward(ends, step)"
    for low, high, step in [
        (7.869999999999999, 12.87, "0.01"),
        (-1.2345, 1.2345, "0.01"),
        (3.0, 4.0, "1"),
        (-0.5, 2e-4, "0.001"),
    ]:
        one, two = (Decimal(plain(end)) for end in page.evaluate(shown, [[low, high], step]))
        size = Decimal(step)
        assert Decimal(low) - size < one <= Decimal(low) + size / 10**8
        assert Decimal(high) + size > two >= Decimal(high) - size / 10**8
        assert one % size == two % size == 0
    assert page.evaluate(shown, [[2.5, None], "0.1"]) == ["2.5", "∞"]


def test_a_question_is_saved_opened_and_removed(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT avg(kwh) AS mean FROM meters", 3)
    page.click("#saved-card summary")
    page.fill("#save-name", "the mean of everything, under a long name that has to be broken on a phone")
    page.click("#to-save")
    expect(page.locator("#saved li")).to_have_count(1)
    write(page, "SELECT count(*) AS n FROM meters", 1)
    page.click("#saved li button.link")
    expect(page.locator("#price .figure")).to_be_visible()
    assert page.text_content("#sql") == "SELECT avg(kwh) AS mean FROM meters"
    assert page.input_value("#max_error") == "3"
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    page.click("#saved li button[aria-label^=Remove]")
    expect(page.locator("#saved li")).to_have_count(0)


def test_what_is_derived_of_records_has_an_interval_rounded_outwards_and_no_bound_of_its_own(visit):
    page = visit("reader", "/about")
    folder = "document.querySelector('script').src.replace(/[^/]*$/, '')"
    outward = f"async (ends) => (await import({folder} + 'numbers.js')).outward(ends, undefined)"
    for low, high in [(380.25210084, 2000.0), (-0.0021008403, 0.0036231884), (-1.0, 1.0)]:
        one, two = (float(plain(end)) for end in page.evaluate(outward, [low, high]))
        assert low - 1e-5 * abs(low) <= one <= low and high <= two <= high + 1e-5 * abs(high)
    off_by = f"async (output) => (await import({folder} + 'released.js')).offBy(output)"
    assert plain(page.evaluate(off_by, {"rows": 50, "low": None, "high": None})) == "from counts ±50"


def test_what_was_overlooked_stands_beside_the_price_and_the_answer(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT count(*) AS n, avg(kwh + 4) AS mean FROM meters WHERE tariff IN ('ToU', 'Nightly')", 1e6)
    price(page)
    said = [
        "No row of meters has tariff = 'Nightly': there are ",
        "The bound of mean says nothing beyond the declared ",
    ]
    for text in said:
        expect(page.locator("#price .remark", has_text=text)).to_be_visible()
    ask(page)
    for text in said:
        expect(page.locator("#answer .quote", has_text=text)).to_be_visible()
