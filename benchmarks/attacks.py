"""Every adversary against a server with default settings, 200 independent runs each.

Attained error over its floor, with 95 % intervals; below 1 by more than chance would be a broken floor. *right* is how
often the adversary was, *allowed* how often it may be. The joint false-alarm rate of the verdicts is 10⁻⁶.
"""

import argparse
import dataclasses
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import KEPT, Report
from errorfloor.attacks import Finding, audit
from errorfloor.attacks.audit import names
from errorfloor.attacks.judgement import FALSE_ALARM, threshold
from errorfloor.catalogue import Catalogue
from errorfloor.plots import save
from errorfloor.plots.attacks import findings
from errorfloor.service.example import CATALOGUE

RUNS, PIECE = 200, 50  # what a piece finds is kept, so that a run that was stopped is taken up again
PRIOR = "\n[tables.meters.private.kwh.prior]\nmean = 10\ndeviation = 8\n"
PLAYED = KEPT / "attacks.jsonl"
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "audit.png"


def main(report: Report) -> None:
    """Play what is left to play, and report all of it."""
    for name in names():
        for _ in pieces(name):
            pass
    found = kept()
    rows = [
        [name, one.ratio, "{:.2f} … {:.2f}".format(*one.interval), f"{one.success:.1%}", f"{one.promised:.1%}"]
        for name, one in found.items()
    ]
    title = f"Adversaries in process, {RUNS} runs each"
    report.rows(title, ["attack", "error over floor", "95 % interval", "right", "allowed"], rows)
    report.note(f"Floors beaten: {sum(one.beaten for one in found.values())} of {len(found)}.")
    save(findings(list(found.values())), PICTURE)
    report.picture(PICTURE.name, "Error over floor of every attack")
    PLAYED.unlink()


def pieces(name: str) -> Iterator[Finding]:
    """Play an attack until it has all its runs; give what each piece finds."""
    catalogue = Catalogue.model_validate(tomllib.loads(CATALOGUE + PRIOR))
    while (done := kept()[name].runs if name in kept() else 0) < RUNS:
        seed = 1000 * names().index(name) + done
        (here,) = audit(catalogue, runs=min(PIECE, RUNS - done), seed=seed, only=[name]).findings.values()
        PLAYED.parent.mkdir(parents=True, exist_ok=True)
        with PLAYED.open("a") as file:
            file.write(json.dumps(dataclasses.asdict(here[0])) + "\n")
        yield here[0]


def kept() -> dict[str, Finding]:
    """Put together the pieces that were played, by attack; all attacks share the false-alarm rate."""
    lines = [json.loads(line) for line in PLAYED.read_text().splitlines()] if PLAYED.exists() else []
    found: dict[str, Finding] = {}
    for line in sorted(lines, key=lambda line: names().index(line["attack"])):
        piece = Finding(**line | {"errors": tuple(line["errors"])})
        before = found.get(piece.attack, dataclasses.replace(piece, runs=0, right=0, errors=()))
        runs = before.runs + piece.runs
        found[piece.attack] = dataclasses.replace(
            piece,
            runs=runs,
            right=before.right + piece.right,
            errors=before.errors + piece.errors,
            threshold=threshold(runs, piece.promised, FALSE_ALARM / len(names())),
        )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=f"Play one piece of {PIECE} runs of an attack and keep it.")
    parser.add_argument("attack", choices=names())
    played = next(pieces(parser.parse_args().attack), None)
    print("nothing is left to play" if played is None else f"{played.attack}: {played.right} of {played.runs} right")
