"""Noise: the figures on the page are those of the library."""

import math

import pytest
from playwright.sync_api import expect

import errorfloor as ef


def cells(page, row):
    texts = page.locator("#designed tbody tr").nth(row).locator("td").all_inner_texts()
    return [text.replace("\u2212", "-") for text in texts]


def test_interval_is_drawn_beside_the_usual_noises_at_equal_quality(visit):
    page = visit("reader", "/noise")
    expect(page.locator("#designed table")).to_be_visible()
    noise = ef.design(ef.Interval(-0.5, 0.5))
    floor = ef.floor(noise, [[1.0]])
    name, error, bound, information, told, least = cells(page, 0)
    assert name.split() == ["raised", "cosine", "chosen"]
    assert float(error) == pytest.approx(math.sqrt(noise.covariance[0, 0]), abs=5e-4)
    assert float(bound) == 0.5
    assert float(information) == pytest.approx(4 * math.pi**2, abs=5e-3)
    assert 0 <= float(told) / 100 - floor.distinguish(0.1) < 1.0001e-3
    assert float(least) == pytest.approx(1 / (2 * math.pi), abs=5e-4)
    assert [cells(page, row)[0] for row in (1, 2, 3)] == ["Gaussian", "Laplace", "truncated Laplace"]
    assert {cells(page, row)[1] for row in range(4)} == {error}
    assert float(cells(page, 2)[3]) == pytest.approx(2 / noise.covariance[0, 0], abs=5e-3)
    assert cells(page, 3)[3:] == ["∞", "no bound", "no bound"]
    assert page.locator("#designed .chart .line-0").count() >= 2
    assert "proved to be the least" in page.inner_text("#designed")


def test_half_line_needs_a_quality_and_gives_maxwell_noise(visit):
    page = visit("reader", "/noise")
    expect(page.locator("#designed table")).to_be_visible()
    page.select_option("#kind", "HalfLine")
    expect(page.locator("input[name=quality][value='']")).to_be_disabled()
    page.fill("#quality-value", "0.3")
    page.click("#to-design")
    expect(page.locator("#designed tbody tr").first).to_contain_text("Maxwell")
    expect(page.locator("#designed tbody tr").first).to_contain_text("30")  # 3/σ² with σ² = 0.3/3
    assert cells(page, 0)[3] == "30"


def test_whole_line_with_a_weight_gives_gaussian_noise_once(visit):
    page = visit("reader", "/noise")
    expect(page.locator("#designed table")).to_be_visible()
    page.select_option("#kind", "Reals")
    expect(page.locator("#designed tbody tr")).to_have_count(2)
    page.check("input[value=loss_weight]")
    page.fill("#quality-value", "4")
    page.click("#to-design")
    expect(page.locator("#designed tbody tr td").nth(3)).to_have_text("2")  # Σ = 1/√ϱ
    assert [cells(page, row)[0].split("\n")[0].split()[0] for row in range(2)] == ["Gaussian", "Laplace"]


def test_box_is_drawn_in_the_plane(visit):
    page = visit("reader", "/noise", width=360)
    expect(page.locator("#designed table")).to_be_visible()
    page.select_option("#kind", "Box")
    expect(page.locator("#designed .cell").first).to_be_attached()
    expect(page.locator("#designed tbody tr").first).to_contain_text("product of raised cosines")
    assert page.locator("#designed .cell").count() > 500
    assert page.locator("#correlation").is_visible()


def test_correlated_box_is_designed_or_politely_refused(visit):
    page = visit("reader", "/noise")
    expect(page.locator("#designed table")).to_be_visible()
    page.select_option("#kind", "Box")
    expect(page.locator("#designed .cell").first).to_be_attached()
    page.fill("#correlation", "0.6")
    page.click("#to-design")
    expect(page.locator("#designed")).not_to_have_attribute("aria-busy", "true")
    try:
        value = ef.design(ef.Box([-0.5, -0.5], [0.5, 0.5]), sensitivity=[[1, 0.6], [0.6, 1]]).certificate.value
    except ef.errors.NoClosedFormError as problem:
        expect(page.locator("#designed .refusal h3")).to_have_text("Not designed yet")
        assert str(problem)[1:40] in page.inner_text("#designed .refusal")
    else:
        expect(page.locator("#designed .cell").first).to_be_attached()
        assert f"{value:.4g}"[:4] in page.inner_text("#designed")


def test_impossible_support_is_refused_in_words(visit):
    page = visit("reader", "/noise")
    expect(page.locator("#designed table")).to_be_visible()
    page.fill("#support-low", "2")
    page.click("#to-design")
    expect(page.locator("#designed .refusal")).to_be_visible()
    page.fill("#support-low", "")
    page.click("#to-design")
    expect(page.locator("#designed .refusal h3")).to_have_text("A number is missing")
