"""What is done with an answer: read all of its rows, sort them, see them, save them, link to them."""

import csv
import io

import pyarrow.parquet as pq
from playwright.sync_api import expect

from pages.test_ask import BY_TARIFF, ask, plain, price, spent, write

THREE_KEYS = (
    "SELECT day, tariff, class, avg(kwh) AS mean FROM meters WHERE day < '2013-01-06' GROUP BY day, tariff, class"
)


def answered(visit, sql, max_error, **how):
    page = visit("analyst", "/ask", **how)
    write(page, sql, max_error)
    price(page)
    ask(page)
    return page


def saved(page, name, to):
    with page.expect_download() as found:
        page.click(f"#answer >> text=Save as {name}")
    found.value.save_as(to)
    return to


def test_number_of_rows_is_said_and_more_of_them_are_shown_on_request(visit):
    page = answered(
        visit, "SELECT household, count(*) AS days FROM meters GROUP BY household ORDER BY household LIMIT 450", 1
    )
    total = page.evaluate("() => document.querySelector('#rows').textContent")
    assert plain(total) == "450 rows, of which 200 are shown."
    expect(page.locator("#answer tbody tr")).to_have_count(200)
    page.click("#answer >> text=Show more of")
    expect(page.locator("#answer tbody tr")).to_have_count(400)


def test_rows_are_sorted_by_a_click_on_a_heading_and_columns_stand_as_asked(visit):
    page = answered(visit, "SELECT tariff, class, avg(kwh) AS mean FROM meters GROUP BY tariff, class", 20)
    heads = [plain(text) for text in page.locator("#answer thead th").all_inner_texts()]
    assert heads[:2] == ["tariff", "class"]

    def means():
        return [
            float(plain(text).split(" ")[0]) for text in page.locator("#answer tbody td:nth-child(3)").all_inner_texts()
        ]

    unsorted = means()
    head = page.locator("#answer thead th").nth(2)
    for down, state in ((False, "ascending"), (True, "descending")):
        head.locator("button").click()
        assert means() == sorted(unsorted, reverse=down)
        assert head.get_attribute("aria-sort") == state


def test_saved_files_hold_the_released_numbers_and_are_free(visit, site, tmp_path):
    page = answered(visit, BY_TARIFF, 2.5)
    released = site.database.ask(BY_TARIFF, max_error=2.5).to_arrow()
    before = spent(site)
    assert pq.read_table(saved(page, "Parquet", tmp_path / "a.parquet")).equals(released)
    rows = list(csv.DictReader(io.StringIO(saved(page, "CSV", tmp_path / "a.csv").read_text())))
    assert [float(row["mean"]) for row in rows] == released["mean"].to_pylist()
    agreeing = list(csv.DictReader(io.StringIO(saved(page, "reconciled CSV", tmp_path / "b.csv").read_text())))
    theirs = site.database.ask(BY_TARIFF, max_error=2.5, analyst="the-analyst").reconciled()
    assert [float(row["mean"]) for row in agreeing] == theirs["mean"].to_pylist()
    assert saved(page, "PNG", tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert spent(site) == before


def test_three_keys_become_one_picture_in_rows_and_columns(visit):
    page = answered(visit, THREE_KEYS, 40)
    picture = page.locator("#answer .chart svg")
    expect(picture).to_have_count(1)
    expect(picture.locator(".frame")).to_have_count(6)  # one for each tariff and class
    expect(picture.locator(".released")).to_have_count(30)
    titles = picture.locator("text.title").evaluate_all("all => all.map(one => one.firstChild.data)")
    assert len(titles) == len(set(titles)) == 5  # three across, two down


def test_three_keys_become_small_pictures_with_one_scale_where_it_is_narrow(visit):
    page = answered(visit, THREE_KEYS, 40)
    page.set_viewport_size({"width": 310, "height": 780})
    expect(page.locator("#answer .multiples svg")).to_have_count(6)  # one for each tariff and class
    expect(page.locator("#answer .multiples .released")).to_have_count(30)
    titles = page.locator("#answer .multiples text.title").evaluate_all("all => all.map(one => one.firstChild.data)")
    assert len(set(titles)) == 6
    scales = page.locator("#answer .multiples svg").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('text[text-anchor=end]')].map(text => text.textContent).join())"
    )
    assert len(set(scales)) == 1


OVERLAPPING = """svg => [...svg.querySelectorAll('text')].map(one => one.getBoundingClientRect())
  .filter((one, place, all) => all.slice(0, place).some(other => one.left < other.right && other.left < one.right
    && one.top + 3 < other.bottom && other.top + 3 < one.bottom)).length"""


def test_names_of_days_keep_apart_whatever_the_width(visit):
    page = answered(visit, "SELECT day, avg(kwh) AS mean FROM meters GROUP BY day", 20)
    for width in (1280, 900, 620, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        assert page.locator("#answer .chart svg").evaluate(OVERLAPPING) == 0, width


def test_long_names_of_pictures_differ_where_their_ends_do(visit):
    long = "CASE WHEN {} THEN 'a contract for the whole of the year' ELSE 'a contract for the whole of the day' END"
    keys = f"{long.format('tariff = ' + chr(39) + 'Std' + chr(39))} AS a, class AS b"
    page = answered(
        visit, f"SELECT day, {keys}, avg(kwh) AS mean FROM meters WHERE day < '2013-01-06' GROUP BY day, a, b", 40
    )
    for width in (1280, 330):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        shown = page.locator("#answer .chart svg text.title").evaluate_all("all => all.map(one => one.firstChild.data)")
        assert not [text for text in shown if "…" in text]
        assert " ".join(shown).count("day") and " ".join(shown).count("year")


def test_a_histogram_is_one_picture_and_a_wide_table_shows_that_there_is_more(visit):
    page = answered(visit, "SELECT histogram(kwh, 5, 10, 15, 20, 30) FROM meters", 20_000)
    picture = page.locator("#answer .chart svg")
    expect(picture).to_have_count(1)
    expect(picture.locator(".released")).to_have_count(6)
    names = picture.locator("text.strong[text-anchor=end]").evaluate_all("all => all.map(one => one.firstChild.data)")
    assert [name for name in names if not name[-1:].isdigit() or " " in name][:6] == [
        "to 5", "5 to 10", "10 to 15", "15 to 20", "20 to 30", "from 30"
    ]  # fmt: skip
    table = page.locator("#answer .scroll")
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    assert "to right" in table.evaluate("one => getComputedStyle(one).backgroundImage")


def test_answer_to_an_earlier_question_is_marked(visit):
    page = answered(visit, BY_TARIFF, 2.5)
    expect(page.locator("#answer-stale")).to_be_hidden()
    expect(page.locator("#price")).to_contain_text("Answered below")
    page.fill("#max_error", "2.4")
    expect(page.locator("#answer-stale")).to_be_visible()
    expect(page.locator("#price")).to_contain_text("The question has changed")
    page.fill("#max_error", "2.5")
    expect(page.locator("#answer-stale")).to_be_hidden()


def test_link_opens_the_question_and_shows_what_was_released(visit, site):
    page = answered(visit, BY_TARIFF, 2.5)
    table = page.locator("#answer tbody").inner_text()
    page.click("text=Copy as link")
    link = page.inner_text("#code")
    before = spent(site)
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#answer .tag", has_text="free")).to_be_visible()
    assert page.text_content("#sql") == BY_TARIFF
    assert page.locator("#answer tbody").inner_text() == table
    assert spent(site) == before


def test_link_to_what_was_never_asked_is_priced_and_not_asked(visit, site):
    before = spent(site)
    page = visit("analyst", "/about")
    page.goto(f"{site.url}/ask#sql=SELECT+avg(kwh)+AS+linked+FROM+meters&spend=0.01")
    expect(page.locator("#price .figure")).to_be_visible()
    expect(page.locator("#answer-card")).to_be_hidden()
    assert page.input_value("#spend") == "1"
    assert spent(site) == before


def test_link_survives_signing_in(visit, site):
    page = visit(None, "/about")
    page.goto(f"{site.url}/ask#sql=SELECT+var_pop(kwh)+AS+later+FROM+meters&max_error=90")
    page.fill("#token", site.tokens["reader"])
    page.keyboard.press("Enter")
    expect(page.locator("#price .figure")).to_be_visible()
    assert page.text_content("#sql") == "SELECT var_pop(kwh) AS later FROM meters"


def test_slider_trades_error_against_price(visit, site):
    page = visit("analyst", "/ask")
    write(page, "SELECT var_pop(kwh) AS traded FROM meters", 80)
    price(page)
    page.locator("#trade").fill("-1")
    expect(page.locator("#max_error")).to_have_value("40")
    expect(page.locator("#price dd").first).to_have_text("±\u202f40\u00a0kWh²")


def test_click_on_a_column_puts_its_name_into_the_question(visit):
    page = visit("analyst", "/ask")
    expect(page.locator("#tables details")).to_have_count(3)
    write(page, "SELECT avg()")
    page.press("#sql", "ArrowLeft")
    page.click("#tables button.name >> text=kwh")
    assert page.text_content("#sql") == "SELECT avg(kwh)"


def test_missing_bound_is_asked_for_in_the_words_of_the_page(visit):
    page = visit("analyst", "/ask")
    write(page, "SELECT avg(kwh) AS mean FROM meters", "")
    page.click("#to-price")
    expect(page.locator("#price .refusal h3")).to_have_text("How exact?")


def test_scarcest_allowance_comes_first_and_the_rest_is_folded(visit):
    page = answered(visit, BY_TARIFF, 2.5)
    names = page.locator("#answer .account-head strong")
    assert names.evaluate_all("all => all.filter(one => one.checkVisibility()).length") == 1
    page.click("#answer summary >> text=other")
    heads = page.locator("#answer .account-head").all_inner_texts()
    shares = [float(plain(head).split("\n")[1].split(" %")[0].lstrip("< ")) for head in heads]
    assert len(shares) == 4
    assert [":" in head.split("\n")[0] for head in heads] == [False, False, True, True]  # allowances before quotas
    assert shares[0] >= shares[1]
    assert shares[2] >= shares[3]


LONG = (
    "SELECT tariff AS a_key_with_a_name_that_is_much_too_long_for_a_phone, avg(kwh) AS "
    "the_mean_of_all_readings_of_all_households_of_a_tariff, count(*) AS n FROM meters GROUP BY 1"
)


def test_long_names_push_no_number_off_a_phone(visit):
    page = visit("owner", "/ask", width=360)
    page.fill("#sql", LONG)
    page.press("#sql", "Escape")
    page.fill("#max_error", "6")
    page.click("#to-try")
    expect(page.locator("#answer table")).to_be_visible()
    ends = "cells => cells.map(cell => [cell.innerText.length, cell.getBoundingClientRect().right])"
    shown = page.locator("#answer tbody td > span").evaluate_all(ends)
    assert len(shown) >= 8 and all(letters > 0 and right <= 360 for letters, right in shown)


def test_paper_has_every_row_and_no_form(visit):
    page = visit("owner", "/ask")
    page.fill("#sql", "SELECT day, avg(kwh) AS mean FROM meters GROUP BY day")
    page.press("#sql", "Escape")
    page.fill("#max_error", "6")
    page.click("#to-try")
    expect(page.locator("#answer tbody tr").nth(20)).to_be_attached()
    page.emulate_media(media="print")
    cut = "place => place.scrollHeight - place.clientHeight"
    assert page.locator("#answer .high").evaluate(cut) <= 1
    assert not page.locator("#question").is_visible() and not page.locator(".top").is_visible()
    expect(page.locator("#answer .paper")).to_have_text("SELECT day, avg(kwh) AS mean FROM meters GROUP BY day")
    assert not page.locator("#tables-card").is_visible()
