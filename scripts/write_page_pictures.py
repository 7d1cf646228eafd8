"""Write docs/pictures/pages-*.png: the pages as they are, on the demo's table; needs Chromium and the extra ``dev``."""

import io
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page, sync_playwright

from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.server import Role, Settings, TokenFile, create_app
from errorfloor.service import open_database
from errorfloor.service.demo_table import demo_catalogue, make_demo_tables
from errorfloor.service.registering import register_all

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "pictures"
COLOURS = 64  # of a picture's palette: enough for pages, and a third of the size
QUESTION = "SELECT tariff, count(*) AS entries, avg(kwh) AS mean\nFROM meters\nGROUP BY tariff"
sys.path.insert(0, str(ROOT / "tests"))
from fonts import only  # noqa: E402  (the fonts that the tests of pages bring)


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Serve the demo's tables; gives the address and an analyst's token."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_demo_tables(folder, households=2000, days=60)
        (folder / "errorfloor.toml").write_text(demo_catalogue(folder))
        declared = load(folder / "errorfloor.toml")
        KeyRing.create(folder / declared.place.keys)
        register_all(declared)
        tokens = TokenFile(None)
        _, token = tokens.create("anna", Role.ANALYST)
        with open_database(folder / "errorfloor.toml") as database:
            app = create_app(database, tokens=tokens, settings=Settings(audit_log=folder / "audit.log"))
            taken = socket.create_server(("127.0.0.1", 0))
            server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
            thread.start()
            while not server.started:
                time.sleep(0.01)
            try:
                yield f"http://127.0.0.1:{taken.getsockname()[1]}", token
            finally:
                server.should_exit = True
                thread.join()


def opened(browser: Browser, url: str, token: str, path: str, *, width: int = 1120, scale: float = 1.0) -> Page:
    """Open a page, signed in."""
    size = {"width": width, "height": 740}
    context = browser.new_context(viewport=size, device_scale_factor=scale, reduced_motion="reduce")
    context.request.post(f"{url}/login", data={"token": token})
    page = context.new_page()
    page.goto(f"{url}{path}")
    return page


def written(page: Page, sql: str, max_error: str) -> None:
    """Write a question, and price it."""
    page.wait_for_selector("#tables details")
    page.fill("#sql", sql)
    page.press("#sql", "Escape")
    page.fill("#max_error", max_error)
    page.click("#to-price")
    page.wait_for_selector("#price .figure, #price .refusal")
    page.wait_for_function("() => !document.getElementById('to-price').disabled")
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")


def kept(name: str, shot: bytes, margin: int = 0) -> None:
    """Keep a picture with few colours; a sheet of paper has a margin."""
    picture = ImageOps.expand(Image.open(io.BytesIO(shot)).convert("RGB"), border=margin, fill="white")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(TARGET / f"pages-{name}.png", optimize=True)


def write(browser: Browser, url: str, token: str) -> None:
    """Write all pictures."""
    page = opened(browser, url, token, "/ask")
    written(page, QUESTION, "2")
    bottom = page.locator("#saved-card").bounding_box()
    assert bottom is not None
    clip = {"x": 0, "y": 0, "width": 1120, "height": bottom["y"] - 8}
    kept("price", page.screenshot(full_page=True, clip=clip))
    page.click("#to-ask")
    page.wait_for_selector("#answer table")
    page.evaluate("() => document.activeElement.blur()")
    kept("answer", page.locator("#answer-card").screenshot())
    page = opened(browser, url, token, "/ask", width=360, scale=1.5)
    written(page, "SELECT day, avg(kwh) AS mean\nFROM meters\nGROUP BY day", "0.05")
    page.locator("#price-card").scroll_into_view_if_needed()
    kept("phone", page.locator("#price-card").screenshot())
    page = opened(browser, url, token, "/noise")
    page.wait_for_selector("#designed table")
    kept("noise", page.screenshot(full_page=True))
    page = opened(browser, url, token, "/about", width=672)
    page.emulate_media(media="print")
    kept("guarantee", page.screenshot(full_page=True), margin=44)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as fonts, served() as (url, token), sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        env = {**os.environ, **only("DejaVu", Path(fonts))}
        with playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"], env=env) as browser:
            write(browser, url, token)
