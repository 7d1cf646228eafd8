"""A house of homes whose readings come month by month, for tests of standing questions."""

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from houses import register_house

CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "{version}"
row_key = ["home", "day"]
public = {{ home = "whole", day = "date", region = "text" }}
private.kwh = {{ range = [0, 10], resolution = 0.1, floor = 0.5, unit = "kWh" }}
{owner}
"""
OWNER = 'owner = { column = "home", floor = 0.1 }'
SUM = "SELECT region, sum(kwh) AS used FROM meters GROUP BY region"
HORIZON = {"since": "2024-01", "until": "2025-12", "max_error": 400.0}


class House:
    """Homes with a reading on the fifth of every month; those of the third region come later."""

    def __init__(self, folder, owner=""):
        folder.mkdir(exist_ok=True)
        self.folder, self.owner = folder, owner
        KeyRing.create(folder / "keys.json")
        self.truth = {}

    def register(self, version, months, *, shift=lambda month: 0.0, more=()):
        rows, self.truth = [], {}
        for number in range(1, months + 1):
            for home in range(90):
                region = "abc"[home % 3]
                if region == "c" and number < 3:
                    continue
                kwh = round((home * 7 + number * 3 + shift(number)) % 10, 1)
                month = f"2024-{number:02}"
                rows.append(f"{home},{month}-05,{region},{kwh}")
                self.truth[month, region] = self.truth.get((month, region), 0.0) + kwh
        text = "\n".join(["home,day,region,kwh", *rows, *more])
        (self.folder / "meters.csv").write_text(text + "\n")
        (self.folder / "errorfloor.toml").write_text(CATALOGUE.format(version=version, owner=self.owner))
        register_house(load(self.folder / "errorfloor.toml"), corrections=True)

    def open(self):
        return ef.open(self.folder / "errorfloor.toml")
