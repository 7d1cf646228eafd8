"""Hooks of the documentation site: proofs become pages of it, and links to them, and to other files, are followed.

The pages are written to be read in the repository, where a proof lies beside its code. On the site
``src/errorfloor/noise/raised_cosine.proof.md`` is the page ``proofs/noise/raised_cosine.md``, and a link to a file that
is no page, such as an example, leads to a copy of it under ``files/``. The reference of the Python names is made anew
from their docstrings.
"""

import os
import re
from pathlib import Path
from typing import Any

import python_reference
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "errorfloor"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
ROOMS = {  # in the order in which a reader meets them
    "noise": "Noise",
    "designer": "Design",
    "floors": "Floors",
    "joint": "Joint answers",
    "policies": "Policies",
    "dp": "Differential privacy",
    "dynamics": "Trajectories",
    "streams": "Streams",
    "catalogue": "Allowances",
    "vault": "The vault",
    "sql": "Questions",
    "pricing": "Prices",
    "ledger": "The ledger",
    "bulk": "Releases",
}


def proofs() -> dict[Path, str]:
    """Give every proof and its place on the site."""
    return {
        path: f"proofs/{path.relative_to(SOURCE).as_posix().replace('.proof.md', '.md')}"
        for path in sorted(SOURCE.rglob("*.proof.md"))
    }


def on_config(config: Any) -> Any:
    """Put the proofs into the navigation, under Theory, by the room of the house that they lie in."""
    theory = next(section["Theory"] for section in config.nav if "Theory" in section)
    if not any("Proofs" in entry for entry in theory):  # a server that builds anew reads the same navigation again
        places = list(proofs().values())
        there = dict.fromkeys(place.split("/")[1] for place in places)
        order = [room for room in ROOMS if room in there] + [room for room in there if room not in ROOMS]
        by_room = [(room, [place for place in places if place.split("/")[1] == room]) for room in order]
        theory.append({"Proofs": [{ROOMS.get(room, room.capitalize()): found} for room, found in by_room]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the proofs, the reference of Python names, and whatever else pages link to."""
    files.append(File.generated(config, "reference/api.md", content=python_reference.reference()))
    for path, place in proofs().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    for page in [*(ROOT / "docs").rglob("*.md"), *proofs()]:
        for target in linked(page):
            if target.is_file() and site_place(target).startswith("files/"):
                place = site_place(target)
                if files.get_file_from_path(place) is None:
                    files.append(File.generated(config, place, abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to where files are on the site."""
    source = Path(page.file.abs_src_path or ROOT / "docs" / page.file.src_uri)  # None for what is made here
    here = Path(page.file.src_uri).parent

    def moved(link: re.Match[str]) -> str:
        opening, target, anchor, closing = link.groups()
        there = (source.parent / target).resolve()
        if ":" in target or not there.exists():
            return link[0]
        return f"{opening}{os.path.relpath(site_place(there), here)}{anchor or ''}{closing}"

    return LINK.sub(moved, markdown)


def linked(page: Path) -> list[Path]:
    """Give the files that a page links to."""
    return [(page.parent / found[2]).resolve() for found in LINK.finditer(page.read_text()) if ":" not in found[2]]


def site_place(path: Path) -> str:
    """Give the place of a file on the site."""
    if path in proofs():
        return proofs()[path]
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs").as_posix()
    return f"files/{path.relative_to(ROOT).as_posix()}{'.txt' if path.suffix == '.md' else ''}"
