"""Every adversary against a server with default settings, 200 independent runs each.

Attained error over its floor, and where that ratio lies but for luck; all of it below 1 would be a broken floor.
*right* is how often the adversary was, *allowed* how often it may be. The joint false-alarm rate of all verdicts is
10⁻⁶.
"""

import argparse
import dataclasses
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "attacks"))

from custodian import NewVersions, RestoredLedger
from custodians_world import CustodiansWorld
from drawn_games import games_won
from numpy.random import default_rng

from benchmarks.report import KEPT, Report
from errorfloor.attacks import Finding, audit, judge, owner_attacks
from errorfloor.attacks.audit import names
from errorfloor.attacks.best_play import best_policy
from errorfloor.attacks.judgement import FALSE_ALARM, threshold
from errorfloor.catalogue import Catalogue
from errorfloor.floors.adversary import best_success
from errorfloor.plots import save
from errorfloor.plots.answers import findings
from errorfloor.service.example import CATALOGUE

RUNS, PIECE = 200, 100  # what a piece finds is kept, so that a run that was stopped is taken up again
WEAK_RUNS = 70
GAMES = 10**6
PRIOR = "\n[tables.meters.private.kwh.prior]\nmean = 10\ndeviation = 8\n"
OWNER = 'row_key = ["household", "day"]\nowner = { column = "household", floor = 0.2 }'
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
    report.rows(f"Adversaries, {RUNS} runs each", ["attack", "error over floor", "interval", "right", "allowed"], rows)
    report.note(f"Floors beaten: {sum(one.beaten for one in found.values())} of {len(rows)}.")
    weakened(report)
    best_play(report)
    save(findings(list(found.values())), PICTURE)
    report.picture(PICTURE.name, "Error over floor of every attack")
    PLAYED.unlink()


def weakened(report: Report) -> None:
    """Let the two adversaries win who need many servers in turn to do so; the tests have all others."""
    with CustodiansWorld(declared(""), "meters", "kwh", seed=1) as world:
        found = {
            "restored ledger, anchor and all": judge(RestoredLedger(with_anchor=True), world, runs=WEAK_RUNS, seed=1),
            "new versions, each with a new ledger": judge(NewVersions(new_ledger=True), world, runs=WEAK_RUNS, seed=1),
        }
    rows = [[name, f"{one.success:.1%}", f"{one.promised:.1%}", one.beaten] for name, one in found.items()]
    report.rows(
        f"Set-ups that are weak on purpose, {WEAK_RUNS} runs each", ["attack", "right", "allowed", "beaten"], rows
    )


def best_play(report: Report) -> None:
    """Play the adversary's own programme a million times with real draws, beside what is stated and what it attains."""
    rows = []
    for whole in (0.25, 1.0, 2.0, 4.0, 8.0):
        stated, values = float(best_success(whole)), [best_policy(whole, n).success for n in (128, 512, 2048)]
        won = sum(games_won(best_policy(whole, 512), GAMES // 10, default_rng([7, part])) for part in range(10))
        limit = 2 * values[2] - values[1]  # quanta four times as small lose half as much
        rows.append([whole, f"{stated:.4f}", *(f"{one:.4f}" for one in (won / GAMES, *values, limit))])
    columns = ["allowance", "stated", "played, 512 quanta", "128 quanta", "512", "2,048", "without limit"]
    report.rows(f"Best play, {GAMES:,} games each: how often the right one of two is named", columns, rows)


def declared(name: str) -> Catalogue:
    """Give the catalogue that an attack is played on; owners are declared only where they are attacked."""
    text = CATALOGUE + PRIOR
    if name in {one.name for one in owner_attacks()}:
        text = text.replace('row_key = ["household"]', OWNER).replace("public = {", 'public = { day = "whole",', 1)
    return Catalogue.model_validate(tomllib.loads(text))


def pieces(name: str) -> Iterator[Finding]:
    """Play an attack until it has all its runs; give what each piece finds."""
    while (done := kept()[name].runs if name in kept() else 0) < RUNS:
        seed = 1000 * names().index(name) + done
        here = audit(declared(name), runs=min(PIECE, RUNS - done), seed=seed, only=[name]).findings
        ((found,),) = here.values()
        PLAYED.parent.mkdir(parents=True, exist_ok=True)
        with PLAYED.open("a") as file:
            file.write(json.dumps(dataclasses.asdict(found)) + "\n")
        yield found


def kept() -> dict[str, Finding]:
    """Put together the pieces that were played, by attack; all verdicts share the false-alarm rate."""
    lines = [json.loads(line) for line in PLAYED.read_text().splitlines()] if PLAYED.exists() else []
    found: dict[str, Finding] = {}
    for line in sorted(lines, key=lambda line: names().index(line["attack"])):
        place = line["attack"]
        piece = Finding(**line | {"errors": tuple(line["errors"])})
        before = found.get(place, dataclasses.replace(piece, runs=0, right=0, errors=()))
        runs = before.runs + piece.runs
        found[place] = dataclasses.replace(
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
    given = parser.parse_args()
    played = next(pieces(given.attack), None)
    print("nothing is left to play" if played is None else f"{played.attack}: {played.right} of {played.runs} right")
