"""Ledger: what is used, what was asked, and what can still be asked."""

import math
import re

from playwright.sync_api import expect

SQL = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


def plain(text):
    return text.replace("\u202f", "").replace("\u00a0", " ")


def shown_share(share):
    return "< 0.1 %" if 0 < share < 0.001 else f"{math.ceil(share * 1000 - 1e-9) / 10:g} %"


def test_bars_show_what_is_used_of_each_allowance_and_quota(visit, site):
    site.database.ask("SELECT avg(kwh) AS mean FROM meters", max_error=2.2, analyst="the-analyst")
    page = visit("analyst", "/ledger")
    expect(page.locator("#accounts .account")).to_have_count(3)
    standings = site.database.left()
    assert [plain(text) for text in page.locator("#accounts .account strong").all_inner_texts()] == [
        standing.name for standing in standings
    ]
    for bar, standing in zip(page.locator("#accounts .account").all(), standings, strict=True):
        assert shown_share(standing.used) in plain(bar.inner_text())
        width = bar.locator(".bar").evaluate(
            "bar => [...bar.children].reduce((sum, part) => sum + part.offsetWidth, 0) / bar.clientWidth"
        )
        assert abs(width - max(standing.used, 0.006 if standing.used else 0.0)) < 0.01
    quotas = site.database.quotas("the-analyst")
    expect(page.locator("#quotas .account")).to_have_count(len(quotas))
    assert all("analyst the-analyst" in text for text in page.locator("#quotas .account strong").all_inner_texts())


def test_history_is_paginated_and_shows_labels_to_the_owner_only(visit, site):
    for day in range(2, 27):
        site.database.ask(f"SELECT avg(kwh) AS mean FROM meters WHERE day > '2013-01-{day:02}'", max_error=24)
    entries = site.database.history(after=0, limit=1000)
    page = visit("owner", "/ledger")
    expect(page.locator("#history tbody tr")).to_have_count(20)
    expect(page.locator("#earlier")).to_be_disabled()
    seen = page.locator("#history td[data-title='no.']").all_inner_texts()
    while page.locator("#later").is_enabled():
        last = seen[-1]
        page.click("#later")
        expect(page.locator("#history td[data-title='no.']", has_text=last)).to_have_count(0)
        seen += page.locator("#history td[data-title='no.']").all_inner_texts()
    assert seen == [str(entry["sequence"]) for entry in entries]
    page.click("#earlier")
    expect(page.locator("#later")).to_be_enabled()
    assert page.locator("#history td[data-title=label]").count() == 20
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d", page.locator("#history td[data-title='time, UTC']").first.inner_text()
    )
    reader = visit("reader", "/ledger")
    expect(reader.locator("#history tbody tr")).to_have_count(20)
    assert reader.locator("#history td[data-title=label]").count() == 0


def test_simulator_says_how_many_more_answers_fit(visit, site):
    page = visit("owner", "/ledger")
    expect(page.locator("#accounts .account")).to_have_count(3)
    page.fill("#sql", SQL)
    page.press("#sql", "Escape")
    page.fill("#max_error", "1.5")
    page.click("#to-simulate")
    expect(page.locator("#simulation .figure")).to_be_visible()
    found = site.database.simulate(SQL, max_error=1.5)
    assert plain(page.inner_text("#simulation .figure strong")) == str(found.answers)
    assert found.binding in page.inner_text("#simulation")
    assert f"mean within ±{found.least_max_error['mean']:g} kWh" in page.inner_text("#simulation")


def test_simulated_refusal_is_in_words(visit):
    page = visit("reader", "/ledger")
    expect(page.locator("#accounts .account")).to_have_count(3)
    page.fill("#sql", "SELECT max(kwh) FROM meters")
    page.press("#sql", "Escape")
    page.click("#to-simulate")
    expect(page.locator("#simulation .refusal h3")).to_have_text("This cannot be asked")


def test_owner_sees_spending_over_time_and_filters_by_analyst(visit, site):
    site.database.ask("SELECT avg(kwh + 5) AS mean FROM meters WHERE tariff = 'Std'", max_error=5, analyst="zoe")
    page = visit("owner", "/ledger")
    expect(page.locator("#spending svg[role=img]")).to_be_visible()
    assert page.locator("#spending .legend li").count() >= 1
    page.select_option("#by", "zoe")
    expect(page.locator("#history tbody tr")).to_have_count(1)
    expect(page.locator("#history td[data-title=by]")).to_have_text("zoe")
    expect(page.locator("#history td[data-title=question]")).to_contain_text("tariff = 'Std'")
    reader = visit("reader", "/ledger")
    expect(reader.locator("#history tbody tr").first).to_be_visible()
    assert not reader.locator("#spending-card").is_visible() and not reader.locator("#history-filter").is_visible()
