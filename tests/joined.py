"""Public tables that patients are joined to: some keys are missing, some values too, and names are those of others."""

import csv
from fractions import Fraction

from patients import CATALOGUE, open_patients, write_patients

PUBLIC = {
    "regions": [
        {"region": "north", "district": "D1", "age": 300, "income": Fraction(63, 2), "coast": True},
        {"region": "south", "district": None, "age": None, "income": Fraction(-4), "coast": False},
        {"region": "abroad", "district": "D2", "age": 7, "income": Fraction(2), "coast": True},
    ],
    "bands": [
        {"age": age, "band": ("young", "middle", "old")[age // 30], "weight": None if age % 10 == 3 else age % 9 - 3}
        for age in range(90)
    ],
    "districts": [{"district": "D1", "budget": 12}, {"district": "D3", "budget": -5}],
}
JOINED = (
    CATALOGUE
    + """
[tables.regions]
source = "regions.csv"
version = "1"
row_key = ["region"]
[tables.regions.public]
region = "text"
district = "text"
age = "whole"
income = { type = "number", resolution = 0.5 }
coast = "flag"

[tables.bands]
source = "bands.csv"
version = "1"
row_key = ["age"]
[tables.bands.public]
age = "whole"
band = "text"
weight = "whole"

[tables.districts]
source = "districts.csv"
version = "1"
row_key = ["district"]
[tables.districts.public]
district = "text"
budget = "whole"
"""
)
STEPS = {"income": Fraction(1, 2)}
FROM = {  # what follows FROM, with the public columns that can be asked for, by what they are
    "patients p JOIN regions r ON p.region = r.region": "r",
    "patients p LEFT JOIN regions r ON p.region = r.region": "r",
    "patients p LEFT JOIN bands b ON p.age = b.age": "b",
    "patients p JOIN bands b ON p.age = b.age LEFT JOIN regions r ON r.region = p.region": "rb",
    "patients p LEFT JOIN regions r ON p.region = r.region JOIN districts d ON d.district = r.district": "rd",
}
KEYS = {
    "": ("p.sex", "floor(p.age / 20)", "p.region", "CASE WHEN p.cost < 300 THEN 'low' ELSE 'high' END"),
    "r": ("r.district", "r.coast", "r.age", "floor(r.income / 10)", "coalesce(r.district, 'none')"),
    "b": ("b.band", "b.weight", "CASE WHEN b.weight > 0 THEN 'up' ELSE 'down' END"),
    "d": ("d.budget", "d.district"),
}
NUMBERS = {
    "": ("count(*)", "sum(p.cost)", "count(*) FILTER (WHERE p.age < 50)"),
    "r": (
        "sum(r.income)",
        "count(r.age)",
        "sum(r.age - 40)",
        "count(*) FILTER (WHERE r.age <= 20 OR p.age > 60)",
        "sum(CASE WHEN r.age < p.age THEN 0 ELSE p.age END)",
        "sum(CASE WHEN NOT (r.income > 3) THEN 1 ELSE 2 * p.cost END)",
        "sum(least(r.income, 10) * p.age)",
        "sum(abs(r.income - p.cost))",
        "count(DISTINCT r.district)",
        "sum(CASE WHEN r.coast THEN 1 ELSE -1 END)",
        "sum(greatest(r.age, p.age))",
    ),
    "b": (
        "sum(b.weight)",
        "sum(b.weight * p.cost)",
        "count(*) FILTER (WHERE b.weight IS NULL)",
        "sum(exp(b.weight / 4))",
        "sum(CASE WHEN b.weight < p.age THEN 0 ELSE p.age END)",
        "sum(floor(b.weight / 2) * p.age)",
        "sum(CASE WHEN b.weight > 1 AND p.cost > 3 THEN p.age ELSE p.cost END)",
    ),
    "d": ("sum(d.budget)", "sum(d.budget * r.income)", "count(*) FILTER (WHERE d.budget < 3)"),
}
WHERE = {
    "": ("", "p.age >= 18", "p.cost > 100 OR p.sex = 'f'", "p.region <> 'north'"),
    "r": ("r.age > 100", "r.district = 'D1'", "NOT r.coast", "r.district IS NULL", "r.income < p.age"),
    "b": ("b.band <> 'old'", "b.weight IN (1, 2)", "b.weight > 0 OR p.sex = 'm'"),
    "d": ("d.budget > 0",),
}


def asked(chance, outputs=1, keys=True):
    """A random question: its text, the names of its keys, and what is computed."""
    tables = chance.choice(sorted(FROM))
    known = ["", *FROM[tables]]

    def some(of):
        return chance.choice(of[chance.choice(known)])

    chosen = [some(KEYS) for _ in range(chance.randrange(3))] if keys else []
    chosen = list(dict.fromkeys(chosen))
    what, where = [some(NUMBERS) for _ in range(outputs)], some(WHERE)
    names = [f"k{place}" for place in range(len(chosen))]
    shown = [f"{key} AS {name}" for key, name in zip(chosen, names, strict=True)]
    shown += [f"{one} AS x{place}" for place, one in enumerate(what)]
    sql = f"SELECT {', '.join(shown)} FROM {tables}{f' WHERE {where}' if where else ''}"
    return sql + (f" GROUP BY {', '.join(names)}" if names else ""), names, what


def write_public(folder):
    """Write the public tables as sources."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in PUBLIC.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0].keys())
            table.writeheader()
            table.writerows({key: _written(value) for key, value in row.items()} for row in rows)


def _written(value):
    if value is None:
        return ""
    return (
        str(value).lower() if isinstance(value, bool) else str(float(value) if isinstance(value, Fraction) else value)
    )


def write_joined(folder, rows, catalogue=JOINED):
    """Declare and register patients, and what they are joined to; give their catalogue."""
    write_public(folder)
    return write_patients(folder, rows, catalogue)


def open_joined(folder, rows=None, ledger=None, *, free=False, catalogue=JOINED):
    """Open a database of both."""
    write_public(folder)
    return open_patients(folder, rows, ledger, free=free, catalogue=catalogue)


def extents(question):
    """Give the least and the greatest stored number of each column of the tables that are joined, in their order."""
    found = []
    for join in question.joins:
        numbers = {}
        for row in PUBLIC[join.table]:
            for name, value in row.items():
                if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
                    numbers.setdefault(name, []).append(int(value / STEPS.get(name, 1)))
        found.append({name: (min(values), max(values)) for name, values in numbers.items()})
    return tuple(found)


def looked_up(rows, question):
    """Put to each row what is found for it in the tables that are joined, NULL where nothing is."""
    found = []
    for row in rows:
        whole = dict(row)
        for place, join in enumerate(question.joins, start=1):
            wanted = {two.name: whole[one.place, one.name] for one, two in join.on}
            match = next((one for one in PUBLIC[join.table] if all(one[k] == v for k, v in wanted.items())), {})
            for name in PUBLIC[join.table][0]:
                value = match.get(name)
                is_number = isinstance(value, int) and not isinstance(value, bool)
                whole[place, name] = Fraction(value) if is_number else value
        found.append(whole)
    return found
