"""Sixty questions and more whose answers are kept, aspect by aspect: ``python tests/recorded.py`` writes them.

Each aspect is a digest: ``values`` of what is computed before noise, ``bounds`` of what pricing finds, ``charges``
of each output and of all ``together``,
``stated`` of what is said of each cell, and ``answer`` of the released table. A change of how things are computed
leaves all of them alone. A change of the sampler changes ``answer``, and then its version in the label has to change.

Most have the noise of a bound, which is a raised cosine. ``NOISES`` has questions with every other noise.
"""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from errorfloor.answering.releasing import values_before_noise
from errorfloor.preparing.choosing import prepare
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.record_noise import WholeAdded
from errorfloor.support import HalfLine, Interval
from patients import CATALOGUE, STATED, visits, write_patients
from questions import ANSWERED
from town import open_town, write_keys, write_town

KEPT = Path(__file__).with_name("recorded.json")
BY_KEYS = [
    "SELECT {0}, avg(kwh) AS a, count(*) AS n FROM meters GROUP BY {0}",
    "SELECT {0}, var_samp(kwh) AS a, sum(peak * area) AS b FROM meters GROUP BY {0}",
    "SELECT {0}, sum(kwh * area) / sum(area) AS a, avg(area) AS mean FROM meters WHERE rooms > 1 GROUP BY {0}",
]
KEYS = ["household", "day", "area", "rooms", "rooms, tariff", "area, day", "household, day, rooms", "tariff, area"]
COMPUTED = [
    "SELECT CASE WHEN rooms > 3 THEN tariff END AS k, avg(kwh) AS a FROM meters GROUP BY k",
    "SELECT area / 3 AS k, rooms, avg(kwh) AS a FROM meters GROUP BY k, rooms",
    "SELECT floor(area / 7) AS k, avg(kwh) AS a FROM meters GROUP BY k ORDER BY a DESC LIMIT 3",
    "SELECT date_trunc('week', day) AS k, avg(kwh) AS a FROM meters GROUP BY k",
    "SELECT rooms, day, avg(kwh) AS a, avg(peak) AS b FROM meters GROUP BY day, rooms ORDER BY b, day DESC",
    "SELECT h.people, count(*) AS n, avg(kwh) AS a FROM meters JOIN homes h USING (household) GROUP BY h.people",
    "SELECT avg(kwh) AS a FROM meters GROUP BY rooms",
    "SELECT day, avg(kwh) FILTER (WHERE day < '2013-02-01') AS a, sum(rooms) AS r FROM meters GROUP BY day",
]
QUESTIONS = [*ANSWERED, *(text.format(key) for text in BY_KEYS for key in KEYS), *COMPUTED]
TOWNS = {"plain": "", "owner": "", "divided": 'account_by = ["rooms"]\n'}
WIDE = {"plain": 1000.0, "owner": 1e6, "divided": 1000.0}
CLINICS = {"clinic": CATALOGUE, "clinic that states ε": STATED}


class Noised(NamedTuple):
    """A question of a town or clinic, what is wished for, and the noise of its first output."""

    house: str
    sql: str
    wish: dict
    noise: str


AVERAGES = "SELECT tariff, avg(kwh) AS a FROM meters GROUP BY tariff"
CELLS = "SELECT rooms, area, avg(kwh) AS a, sum(peak) AS b FROM meters GROUP BY rooms, area"
TOTALS = "SELECT {1}, sum(peak) AS b FROM meters GROUP BY {0} ({1})"
RUNNING = "SELECT day, sum(kwh) AS s, sum(sum(kwh)) OVER (ORDER BY day) AS r FROM meters GROUP BY day"
PATIENTS = "SELECT sex, {} AS a FROM patients GROUP BY sex"
NOISES = {
    "to one side": Noised("plain", AVERAGES, {"support": HalfLine(0.0), "max_loss": 9.0}, "Translation"),
    "around a number": Noised("plain", AVERAGES, {"support": Interval(-4.0, 9.0)}, "RaisedCosine"),
    "for a share": Noised("plain", CELLS, {"spend": 0.001}, "RaisedCosine, several"),
    "of totals": Noised("plain", TOTALS.format("CUBE", "tariff, rooms"), {"max_error": 60}, "OneBlock"),
    "of totals for a share": Noised("owner", TOTALS.format("CUBE", "tariff, rooms"), {"spend": 0.02}, "OneBlock"),
    "of nested totals": Noised("plain", TOTALS.format("ROLLUP", "household, day"), {"max_error": 300}, "TreeNoise"),
    "of a table's margins": Noised("plain", TOTALS.format("CUBE", "household, day"), {"max_error": 300}, "TableNoise"),
    "of running totals": Noised("divided", RUNNING, {"max_error": 300}, "OneBlock"),
    "of a count": Noised("clinic", PATIENTS.format("count(*)"), {"max_error": 90}, "WholeAdded"),
    "of a sum of records": Noised("clinic", PATIENTS.format("sum(cost)"), {"max_error": 3e5}, "RaisedCosine"),
    "cut off, of a count": Noised("clinic that states ε", PATIENTS.format("count(*)"), {"max_error": 90}, "Gaussian"),
    "cut off, of a sum": Noised("clinic that states ε", PATIENTS.format("sum(cost)"), {"spend": 0.1}, "Gaussian"),
}


def digest(content: object) -> str:
    """Give a digest of anything that has one way to be written."""
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def opened(folder: Path, town: str):
    """Open a town of a kind: without owners, with them, or with accounts by rooms."""
    write_town(folder, owner=town == "owner")
    file = folder / "errorfloor.toml"
    file.write_text(file.read_text().replace('version = "1"\n', f'version = "1"\n{TOWNS[town]}', 1))
    return open_town(folder)


def opened_clinic(folder: Path, clinic: str):
    """Open patients as one kind of table that protects records."""
    write_keys(folder)
    path = write_patients(folder, visits(), CLINICS[clinic], identity=digest(clinic))
    return open_town(path.parent, make=False)


def aspects(database, text: str, **wish) -> dict[str, str]:
    """Ask, and give the digest of each aspect."""
    answer = database.ask(text, **wish)
    read = database._known.read(text, database.catalogue, database._engine)
    plan = database._known.plan(read, database.catalogue, database._engine)
    prepared = prepare(plan, QuestionWish(**wish), database._engine)  # also if it was released before
    bounds, groups = prepared.bounds, [repr(group) for group in prepared.bounds.groups]
    order = sorted(range(len(groups)), key=groups.__getitem__)
    values = values_before_noise(prepared, database._engine)
    return {
        "values": digest([[_hex(one.high[order]), _hex(one.low[order])] for one in values]),
        "bounds": digest([_bounds(bounds, one, order) for one in bounds.outputs]),
        "charges": digest([_charges(_alone(prepared, one)) for one in prepared.outputs]),
        "together": digest(_charges(prepared.charges)),
        "stated": digest(sorted(map(_without_answer, answer.cells()))),
        "answer": digest([answer.table.schema.names, answer.table.to_pylist()]),
    }


def noise_of(price) -> str:
    """Name the noise of the first output of a price."""
    added = next(one.added for one in price.prepared.outputs if one.added is not None)
    widest = added.widest
    form = getattr(widest, "form", None)
    name = type(form or (widest if isinstance(widest, WholeAdded) else widest.noise)).__name__
    return f"{name}, several" if added.varies else name


def noise_aspects(folder: Path, name: str) -> dict[str, str]:
    """Ask the question with a noise in a house of its own, and give the digest of each aspect."""
    house, sql, wish, noise = NOISES[name]
    opening = opened_clinic if house in CLINICS else opened
    with opening(folder, house) as database:
        assert noise_of(database.price(sql, **wish)) == noise
        return aspects(database, sql, **wish)


def _alone(prepared, one):
    return {} if one.added is None else prepared.charges_of([one])


def _charges(charges) -> list[object]:
    return sorted(
        (str(account), (charge.information + charge.raised_cosine).hex()) for account, charge in charges.items()
    )


def _bounds(bounds, one, order: list[int]) -> list[object]:
    kinds = bounds.kind[order]
    slopes = [(name, [sorted(_hex(slopes[kind])) for kind in kinds]) for name, slopes in sorted(one.slopes.items())]
    arrays = [_hex(array[kinds]) for array in (one.owner, one.error, one.low, one.high, one.defined)]
    return [slopes, arrays]


def _without_answer(cell: dict) -> str:
    left = ("answer", "certain_interval", "centred", "max_error")  # noise, and what was asked for
    kept = {name: {k: v for k, v in o.items() if k not in left} for name, o in cell["outputs"].items()}
    return repr([cell["keys"], kept])


def _hex(numbers) -> list[str]:
    return [number.hex() for number in np.asarray(numbers, dtype=float).tolist()]


def record() -> dict[str, dict[str, dict[str, str]]]:
    """Ask all questions of all towns, and those with other noises."""
    found = {}
    for town in TOWNS:
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "town", town) as database:
            found[town] = {text: aspects(database, text, max_error=WIDE[town]) for text in QUESTIONS}
    with tempfile.TemporaryDirectory() as folder:
        found["noises"] = {name: noise_aspects(Path(folder) / str(at), name) for at, name in enumerate(NOISES)}
    return found


if __name__ == "__main__":
    KEPT.write_text(json.dumps(record(), indent=1) + "\n")
