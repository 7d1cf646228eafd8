"""The adversary that searches for questions by itself, and the one that searches for formulas that take longer.

10,000 sets of questions are bred on servers at home and judged by a rule that is learnt there; the best set is asked of
servers that the search has never seen. *right* is how often the guess was, with a 95 % interval, *allowed* how often it
may be by the floor. A server in the manner of Diffix (sticky noise for each condition, small groups suppressed, no
budget) is the control. Formulas are compared by how many calls they take, and of which size, with either value.
"""

import os
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "attacks"))

from diffix import DiffixWorld
from formula_search import FormulaSearch

from benchmarks.report import Report
from errorfloor.attacks import World, judge
from errorfloor.attacks.question_search import QuestionSearch
from errorfloor.catalogue import Catalogue
from errorfloor.service.dummy import dummy_rows
from errorfloor.service.example import CATALOGUE

CANDIDATES = int(os.environ.get("BENCH_CANDIDATES", "10000"))
PAIRS, RUNS, FORMULAS, ROWS = 24, 200, 500, 60


def main(report: Report) -> None:
    """Search, ask, and count."""
    from scipy.stats import binomtest

    declared = Catalogue.model_validate(tomllib.loads(CATALOGUE))
    rows = {name: dummy_rows(one).slice(0, ROWS) for name, one in declared.tables.items()}
    found = []
    for name, kind in (("errorfloor", World), ("in the manner of Diffix", DiffixWorld)):
        attack = QuestionSearch(candidates=CANDIDATES, pairs=PAIRS)
        with kind(declared, "meters", "kwh", rows, seed=18) as world:
            finding = judge(attack, world, runs=RUNS, seed=18)
        ends = binomtest(finding.right, RUNS).proportion_ci(0.95)
        between = f"{ends.low:.1%} … {ends.high:.1%}"
        found.append([name, f"{finding.success:.1%}", between, f"{finding.promised:.1%}", finding.beaten])
    title = f"{CANDIDATES} sets of questions, {RUNS} servers never seen before"
    report.rows(title, ["server", "right", "95 % interval", "allowed", "beaten"], found)
    with World(declared, "meters", "kwh", rows, seed=18) as world:
        search = FormulaSearch(formulas=FORMULAS, clock=False)
        stages = [open_one() for open_one in world.shadows]
        formula, *_ = search.search(stages)
        low, high = (search.taken(*stage, formula) for stage in stages)
    taken = [["calls", *low[:1], *high[:1]], ["bytes", *low[1:], *high[1:]]]
    report.rows(f"The formula that differs most among {FORMULAS}", ["", "first value", "second value"], taken)
