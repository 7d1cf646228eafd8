"""The documentation site builds without a warning, has every proof and every name, and needs no network."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import errorfloor as ef

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "errorfloor"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build it, with warnings as errors: a page outside the navigation, a link or an anchor that leads nowhere."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return target


class _Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: _Page(path) for path in site.rglob("*.html")}


def test_no_page_loads_anything_from_elsewhere(pages, site):
    assert len(pages) > 60
    for path, page in pages.items():
        for address in page.loaded:
            assert not re.match(r"(\w+:)?//", address), f"{path.name} loads {address}"
            if path.name != "404.html":  # it is served for any address, and so has absolute ones
                assert (path.parent / urldefrag(address).url.split("?")[0]).exists(), f"{path.name} loads {address}"
    for style in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text()), style.name


def test_every_link_inside_the_site_leads_to_a_page_and_a_place_on_it(pages):
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            address, anchor = urldefrag(link)
            target = (path.parent / unquote(address)).resolve() if address else path
            assert target.exists(), f"{path.name} links to {link}"
            if anchor and target in pages:
                assert unquote(anchor) in pages[target].anchors, f"{path.name} links to {link}"


def test_every_proof_is_a_page_of_the_site(pages, site):
    proofs = sorted(SOURCE.rglob("*.proof.md"))
    assert len(proofs) > 40
    for proof in proofs:
        place = site / "proofs" / proof.relative_to(SOURCE).as_posix().replace(".proof.md", ".html")
        assert place in pages
        assert "checked-by" in pages[place].anchors


def test_the_reference_of_python_names_has_all_of_them(pages, site):
    reference = pages[site / "reference" / "api.html"]
    rooms = [path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists() and path.name != "cli"]
    missing = []
    for room in [*rooms, "errors"]:
        module = importlib.import_module(f"errorfloor.{room}")
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if (
                inspect.isclass(value) or inspect.isroutine(value)
            ) and f"{room}{name}".lower() not in reference.anchors:
                missing.append(f"{room}.{name}")
    assert not missing
    for name in ef.__all__:
        value = getattr(ef, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert any(anchor.endswith(value.__name__.lower()) for anchor in reference.anchors), name
