"""A real server and a real Chromium.

The server is the one that ``errorfloor serve`` runs, on generated tables, in a thread. Where Chromium is not installed
the pages are not tested, and the last lines of the run say so. All tests of pages stay on one worker of ``pytest -n``.
"""

import ctypes.util
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect, sync_playwright

from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.server import Role, Settings, TokenFile, create_app
from errorfloor.service import Database, open_database
from errorfloor.service.demo_table import demo_catalogue, make_demo_tables
from errorfloor.service.registering import register_all
from fonts import only

ATOMIC = ctypes.util.find_library("atomic") is not None  # what drives the browser is linked with it
CHROMIUM = ATOMIC and (shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"))
BROWSERS = [pytest.param(CHROMIUM, id="chromium")] if CHROMIUM else []
PATIENCE = 30_000  # milliseconds that a busy machine may take for anything
HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
WAGES = """
[tables.wages]
source = "wages.parquet"
version = "<b>1</b>"
row_key = ["person"]
public = { person = "whole", place = "text" }

[tables.wages.private.pay]
unit = "<i>£</i>"
range = [0, 100]
resolution = 0.01
floor = 5.0

[quota]
analyst = 0.5
"""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not CHROMIUM:
        terminalreporter.write_line(
            "NOT TESTED: the pages, Chromium (apt-get install chromium libatomic1) is missing", yellow=True
        )


@dataclass(frozen=True)
class Site:
    """A running server: where it is, its tables, and a token for each role."""

    url: str
    database: Database
    folder: Path
    tokens: dict[str, str]


@pytest.fixture(scope="package")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated town, and a table in which every text that can be is hostile; registered, with a new key."""
    folder = tmp_path_factory.mktemp("pages")
    make_demo_tables(folder, households=2000, days=30)
    places = [HOSTILE if person % 2 else "'; DROP TABLE wages; --" for person in range(200)]
    wages = pa.table({"person": list(range(200)), "place": places, "pay": [float(20 + i % 30) for i in range(200)]})
    pq.write_table(wages, folder / "wages.parquet")
    (folder / "errorfloor.toml").write_text(demo_catalogue(folder) + WAGES + "\n[limit]\nquestion = 1.0\n")
    declared = load(folder / "errorfloor.toml")
    KeyRing.create(folder / declared.place.keys)
    register_all(declared)
    return folder


@pytest.fixture(scope="package")
def site(tables: Path) -> Iterator[Site]:
    """The server, until the last test of pages is done."""
    tokens = TokenFile(None)
    texts = {role.value: tokens.create(f"the-{role.value}", role)[1] for role in Role}
    with open_database(tables / "errorfloor.toml") as database:
        settings = Settings(audit_log=tables / "audit.log", rate=0, failures=0)
        with Serving(create_app(database, tokens=tokens, settings=settings)) as (url, _):
            yield Site(url, database, tables, texts)


class Serving:
    """Run an app on a free port; gives its address and a function that stops it."""

    def __init__(self, app: object) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> tuple[str, "Serving"]:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}", self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


@pytest.fixture
def serve() -> type[Serving]:
    """Run an app of a test's own."""
    return Serving


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """What drives Chromium; an event loop runs while it is there, so it ends with the last test of pages."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package", params=BROWSERS)
def launch(request: pytest.FixtureRequest, playwright: Playwright) -> Callable[..., Browser]:
    """Start Chromium without a window."""

    def start(*, env: dict[str, str]) -> Browser:
        flags = ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1"]
        return playwright.chromium.launch(executable_path=request.param, args=flags, env=env)

    return start


@pytest.fixture(scope="package")
def browser(launch: Callable[..., Browser], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium with known fonts."""
    fonts = only("DejaVu", tmp_path_factory.mktemp("fonts"))
    with launch(env={**os.environ, **fonts}) as chromium:
        yield chromium


class Visit:
    """Opens pages as somebody, in one tab for each role: a new tab would cost a new process.

    ``faults`` has what a page logged as an error, and what it requested from elsewhere.
    """

    def __init__(self, browser: Browser, site: Site) -> None:
        self._site = site
        self._tabs = {role: self._tab(browser, role) for role in (None, *site.tokens)}
        self.faults: list[str] = []

    def __call__(self, role: str | None, path: str, *, width: int = 1280, scheme: str = "light") -> Page:
        page = self._tabs[role]
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(media="screen", color_scheme=scheme, reduced_motion="reduce")
        page.goto(f"{self._site.url}{path}")
        return page

    def forget(self) -> None:
        """Forget what was typed, and who signed in as a stranger."""
        for page in self._tabs.values():
            if page.url.startswith(self._site.url):
                page.evaluate("() => sessionStorage.clear()")
        self._tabs[None].context.clear_cookies()
        self.faults.clear()

    def _tab(self, browser: Browser, role: str | None) -> Page:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE)
        if role is not None:
            context.request.post(f"{self._site.url}/login", data={"token": self._site.tokens[role]})
        page = context.new_page()
        page.on("pageerror", lambda problem: self.faults.append(str(problem)))
        page.on("console", self._note)
        page.on("request", lambda asked: asked.url.startswith(self._site.url) or self.faults.append(asked.url))
        return page

    def _note(self, message: ConsoleMessage) -> None:
        # a refusal is an answer with a status of its own, which Chromium logs; everything else is a fault of the page
        if message.type in ("error", "warning") and "the server responded with a status of 4" not in message.text:
            self.faults.append(message.text)


@pytest.fixture(scope="package")
def tabs(browser: Browser, site: Site) -> Visit:
    """The tabs, for all tests of pages."""
    return Visit(browser, site)


@pytest.fixture
def visit(tabs: Visit) -> Iterator[Visit]:
    """Open pages; afterwards nothing may have gone wrong in any of them."""
    yield tabs
    faults = list(tabs.faults)
    tabs.forget()
    assert faults == []
