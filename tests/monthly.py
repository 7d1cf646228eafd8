"""A table that grows month by month: fifty homes, two days a month."""

import random

from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from houses import register_house

TABLE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = [KEY]
public = { home = "text", day = "date", batch = "whole", tariff = "text" }
owner = { column = "home", floor = 0.2 }
private.kwh = { range = [0, 20], resolution = 0.001, floor = 0.5, unit = "kWh" }
grows_by = GROWTH
"""
MONTHLY = '{ column = "day", part = "month" }'
JANUARY = "SELECT tariff, avg(kwh) AS mean FROM meters WHERE day < '2024-02-01' GROUP BY tariff"
ALL = "SELECT avg(kwh) AS mean FROM meters"


def write_months(folder, months, changed=()):
    """Write the rows of some months of 2024; those of homes that ``changed`` in a month have another number there."""
    lines = ["home,day,batch,tariff,kwh"]
    for month in months:
        chance = random.Random(month)
        for home in range(50):
            for day in (1, 15):
                kwh = 1.0 if (month, home) in changed else chance.uniform(2, 20)
                lines.append(f"H{home},2024-{month:02}-{day:02},{month},{'AB'[home % 2]},{kwh:.3f}")
    (folder / "meters.csv").write_text("\n".join(lines) + "\n")


def write_catalogue(folder, growth=MONTHLY, *, version="1", key='"home", "day"'):
    """Write the catalogue, and keys if there are none; give what is declared."""
    text = TABLE.replace("GROWTH", growth).replace("KEY", key).replace('version = "1"', f'version = "{version}"')
    (folder / "errorfloor.toml").write_text(text)
    if not (folder / "keys.json").exists():
        KeyRing.create(folder / "keys.json")
    return load(folder / "errorfloor.toml")


def corrected(**versions):
    """Write a declaration with new versions of months, named m01, m02 and so on."""
    named = ", ".join(f'"2024-{month[1:]}" = "{version}"' for month, version in versions.items())
    return f'{{ column = "day", part = "month", corrected = {{ {named} }} }}'


def grow(folder, catalogue=None, *, corrections=False):
    """Register; give which parts were found."""
    (made,) = register_house(catalogue or load(folder / "errorfloor.toml"), corrections=corrections)
    return made.parts
