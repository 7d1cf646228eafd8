"""Pages are laid out alike whatever fonts a machine has."""

import os
import re

import pytest

from fonts import FAMILIES, only

SHEET = 297 - 2 * 16  # millimetres of an A4 sheet between its margins
INCH = 25.4


@pytest.mark.parametrize("family", FAMILIES)
def test_guarantee_prints_on_one_sheet_with_any_font(site, launch, tmp_path, family):
    with launch(env={**os.environ, **only(family, tmp_path)}) as browser:
        context = browser.new_context(viewport={"width": round((210 - 2 * 18) / INCH * 96), "height": 1000})
        context.request.post(f"{site.url}/login", data={"token": site.tokens["owner"]})
        page = context.new_page()
        page.goto(f"{site.url}/about")
        page.emulate_media(media="print")
        height = page.evaluate("() => document.querySelector('.sheet').getBoundingClientRect().height")
        pdf = page.pdf(prefer_css_page_size=True)
    used = set(re.findall(rb"/BaseFont\s*/\w+\+([A-Za-z]+)", pdf))
    assert used and all(name.startswith(family.encode()) for name in used)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    assert height / 96 * INCH < 0.9 * SHEET, "a font wider by a tenth would not fit"
