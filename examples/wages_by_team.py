"""How exactly a pay table can be asked: the finer the groups, the wider the bound that the same allowance buys.

Generates 4,000 people in teams of very different sizes, declares a floor of 500 EUR, and asks what each question would
cost before asking any.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.plots import canvas, save
from errorfloor.service.registering import register_all

CATALOGUE = """
[tables.pay]
source = "pay.csv"
version = "2026-01"
row_key = ["person"]
public = { person = "whole", department = "text", team = "whole" }

[tables.pay.private.pay]
unit = "EUR"
range = [1000, 9000]
resolution = 0.01
floor = 500
distance = 1000
"""
QUESTIONS = {
    "everybody": "SELECT avg(pay) AS mean FROM pay",
    "by department": "SELECT department, avg(pay) AS mean FROM pay GROUP BY department",
    "by team": "SELECT team, avg(pay) AS mean FROM pay GROUP BY team",
    "each person": "SELECT person, avg(pay) AS mean FROM pay GROUP BY person",
}
BOUNDS = np.geomspace(1, 5000, 25)


def prepare(folder: Path) -> Path:
    """Generate, declare and register the table."""
    generator = np.random.default_rng(1)
    team = np.minimum(generator.geometric(0.05, 4000), 60)
    pay = generator.normal(2500 + 30 * team, 450).round(2)
    department = pa.array([f"department {number // 15}" for number in team])
    people = pa.table({"person": np.arange(4000), "department": department, "team": team, "pay": pay})
    pyarrow.csv.write_csv(people, folder / "pay.csv")
    path = folder / "errorfloor.toml"
    path.write_text(CATALOGUE)
    KeyRing.create(folder / "keys.json")
    declared = load(path)
    register_all(declared)
    return path


def main(folder: Path) -> Path:
    """Price every question at many bounds; ask one that is cheap and one that is refused."""
    figure, axes = canvas(width=7.2)
    with tempfile.TemporaryDirectory() as place, ef.open(prepare(Path(place))) as db:
        print(db.ask(QUESTIONS["by department"], max_error=100))
        try:
            db.ask(QUESTIONS["each person"], max_error=100)
        except ef.errors.AllowanceError as refusal:
            print(f"\nRefused: {refusal}")
        for name, question in QUESTIONS.items():
            used = [db.price(question, max_error=float(bound)).standings[0].used_by_this for bound in BOUNDS]
            axes.loglog(BOUNDS, 100 * np.array(used), label=name)
    axes.axhline(100, color="black", linestyle="--", linewidth=1)
    axes.text(BOUNDS[0], 130, "refused above this line")
    axes.set_xlabel("largest error asked for (EUR)")
    axes.set_ylabel("of the allowance (%)")
    axes.set_ylim(1e-5, 1e9)
    axes.legend(frameon=False)
    return save(figure, folder / "wages_by_team.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
