"""Generated smart-meter tables that behave like real ones; no reading in them is anybody's.

The model, for household i on day t, in logarithms of kWh a day::

    level_i + season_i·cos(2π(t − peak)/365) + weekend_i·[Saturday or Sunday] + weather_t + spread_i·noise_it

- ``level`` is normal, with mean and deviation by class of neighbourhood; a time-of-use tariff goes with a lower one.
- ``season`` is skewed: few households heat with electricity, and those swing widely. It peaks late in January.
- ``weather`` is shared by all, an autoregression from day to day.
- ``noise`` is partly a slow autoregression, partly new each day; its ``spread`` differs between households.
- Away from home, in spells of about four days, a household uses a quarter of its level, or nothing at all.

What comes out (5,000 households, 2013, the default seed) beside 1,000 households of the Low Carbon London trial, which
UK Power Networks published, over the same 365 days:

============================================  ================  ================
                                              generated         London
============================================  ================  ================
mean of all readings, kWh a day               10.4              10.4
standard deviation                            9.8               9.2
quantiles 5, 25, 50 %                         2.2, 4.8, 7.8     2.2, 4.9, 8.2
quantiles 75, 95, 99 %                        12.7, 26.9, 47.2  12.8, 26.1, 46.7
above 50 kWh, in 1,000                        8.3               8.0
zeros, in 1,000                               3.4               3.8
household means: 5, 50, 95 %                  2.9, 8.4, 24.6    3.0, 8.8, 23.2
deviation of their logarithm                  0.64              0.68
share of the variance between households      0.61              0.67
January over July                             1.57              1.58
weekend over weekday                          1.053             1.052
correlation with the day before, week before  0.53, 0.33        0.51, 0.40
means: affluent, comfortable, adversity       11.5, 10.7, 8.8   11.7, 10.6, 8.6
means: Std, ToU                               10.7, 9.1         10.8, 8.9
share with ToU                                0.20              0.22
============================================  ================  ================
"""

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.checks import Array, whole
from errorfloor.errors import InputError

FIRST_DAY = datetime.date(2013, 1, 1)
PEAK = 21  # the day of the year, counted from 0, on which consumption is highest
TARIFFS = np.array(["Std", "ToU"])


@dataclass(frozen=True)
class Neighbourhood:
    """A class of neighbourhoods: its share of households, the law of their levels, their tariffs and homes."""

    name: str
    share: float
    level: float
    deviation: float
    time_of_use: float
    rooms: float


NEIGHBOURHOODS = (
    Neighbourhood("affluent", 0.40, level=2.18, deviation=0.67, time_of_use=0.224, rooms=4.6),
    Neighbourhood("comfortable", 0.27, level=2.13, deviation=0.59, time_of_use=0.214, rooms=4.2),
    Neighbourhood("adversity", 0.33, level=1.93, deviation=0.57, time_of_use=0.164, rooms=3.6),
)


@dataclass(frozen=True)
class Households:
    """The households that were drawn, an array entry for each; what the daily model needs to know of them."""

    neighbourhood: Array
    time_of_use: Array
    rooms: Array
    level: Array
    season: Array
    weekend: Array
    spread: Array
    away_level: Array

    @classmethod
    def draw(cls, count: int, generator: np.random.Generator) -> "Households":
        """Draw them independently of each other."""
        kind = generator.choice(len(NEIGHBOURHOODS), count, p=[group.share for group in NEIGHBOURHOODS])

        def of_kind(word: str) -> Array:
            return np.array([getattr(group, word) for group in NEIGHBOURHOODS])[kind]

        time_of_use = generator.random(count) < of_kind("time_of_use")
        size, heating, weekend, habits, home = generator.standard_normal((5, count))
        level = of_kind("level") + of_kind("deviation") * size - 0.14 * time_of_use
        rooms = of_kind("rooms") + 1.2 * (0.5 * size + np.sqrt(0.75) * home)
        return cls(
            neighbourhood=kind,
            time_of_use=time_of_use,
            rooms=np.clip(np.rint(rooms), 1, 9).astype(np.int32),
            level=level,
            season=0.24 * np.exp(0.6 * (0.3 * size + np.sqrt(1 - 0.3**2) * heating)) - 0.1,
            weekend=0.045 + 0.13 * weekend,
            spread=0.235 * np.exp(0.45 * habits),
            away_level=np.exp(level) * np.where(generator.random(count) < 0.15, 0.0, 0.24),
        )

    def consume(self, days: int, generator: np.random.Generator) -> Array:
        """Draw the kWh of each day (rows) and household (columns), to the watt-hour."""
        shape = days, self.level.size
        day = np.arange(days)
        at_weekend = (day + FIRST_DAY.weekday()) % 7 >= 5
        logarithm = _autoregression(generator.standard_normal(shape), 0.9)
        logarithm *= np.sqrt(0.42)
        logarithm += np.sqrt(0.58) * generator.standard_normal(shape)
        logarithm *= self.spread
        logarithm += self.level
        logarithm += 0.055 * _autoregression(generator.standard_normal((days, 1)), 0.77)
        logarithm += np.cos(2 * np.pi * (day - PEAK) / 365)[:, None] * self.season
        logarithm += at_weekend[:, None] * self.weekend
        away = _spells(generator.random(shape, dtype=np.float32), begins=0.0052, ends=0.23)
        kwh = np.where(away, self.away_level, np.exp(logarithm))
        rounded: Array = np.rint(kwh * 1000) / 1000
        return rounded


def make_demo_tables(folder: str | Path, households: int = 5000, days: int = 365, seed: int = 2013) -> dict[str, Path]:
    """Generate a table of readings and a public table of households in a folder, which is made if need be.

    ``meters.parquet`` has household, day, tariff, class and kwh; ``households.parquet`` household, class, tariff and
    rooms. The same arguments give the same tables.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = make_demo_tables(folder, households=10, days=7)
    ...     pq.read_table(paths["meters"]).shape
    (70, 5)
    """
    count, length = whole("households", households), whole("days", days)
    if count > 10**6 or length > 3660:
        raise InputError(f"at most a million households and ten years are generated, got {count} and {length} days")
    generator = np.random.default_rng(whole("seed", seed, least=0))
    drawn = Households.draw(count, generator)
    kwh = drawn.consume(length, generator)

    names = pa.array([f"H{number:06d}" for number in range(1, count + 1)])
    kinds = pa.array([group.name for group in NEIGHBOURHOODS]).take(pa.array(drawn.neighbourhood))
    tariffs = pa.array(TARIFFS).take(pa.array(drawn.time_of_use.astype(np.int8)))
    each = pa.array(np.repeat(np.arange(count), length))
    dates = np.datetime64(FIRST_DAY) + np.arange(length)
    meters = pa.table(
        {
            "household": names.take(each),
            "day": pa.array(np.tile(dates, count)),
            "tariff": tariffs.take(each),
            "class": kinds.take(each),
            "kwh": pa.array(kwh.T.ravel()),
        }
    )
    public = pa.table({"household": names, "class": kinds, "tariff": tariffs, "rooms": pa.array(drawn.rooms)})
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths = {"meters": place / "meters.parquet", "households": place / "households.parquet"}
    pq.write_table(meters, paths["meters"], compression="snappy")
    pq.write_table(public, paths["households"], compression="snappy")
    return paths


CATALOGUE = """\
# What is declared about the generated tables; errorfloor init writes such a file, with every word explained.

[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]

# A household has many readings. Whoever tries to tell two histories of it apart is right at most 80 times in 100.
[tables.meters.owner]
column = "household"
floor = 0.2

[tables.meters.public]
household = "text"
day = "date"
tariff = "text"
class = "text"

# 0 … 50 kWh a day holds all but 8 in 1,000 readings of British households; the others are clamped. Nobody's estimate of
# a reading may be off by less than 2 kWh (root-mean-square) in the worst case over that range.
[tables.meters.private.kwh]
range = [0, 50]
resolution = 0.001
floor = 2.0
unit = "kWh"
distance = 5
prior = { mean = 10, deviation = 8 }

[tables.households]
source = "households.parquet"
version = "2013"
row_key = ["household"]

[tables.households.public]
household = "text"
class = "text"
tariff = "text"
rooms = "whole"
"""


def demo_catalogue(folder: str | Path) -> str:
    """Give the text of a catalogue for the generated tables, to be kept in their folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = make_demo_tables(folder, households=10, days=7)
    ...     "floor = 2.0" in demo_catalogue(folder)
    True
    """
    for name in ("meters.parquet", "households.parquet"):
        if not (Path(folder) / name).is_file():
            raise InputError(f"there is no {name} in {folder}: make_demo_tables({str(folder)!r}) generates it")
    return CATALOGUE


def _autoregression(fresh: Array, persistence: float) -> Array:
    """Turn independent normal numbers, day by day, into a stationary autoregression of unit variance, in place."""
    fresh[1:] *= np.sqrt(1 - persistence**2)
    for day in range(1, len(fresh)):
        fresh[day] += persistence * fresh[day - 1]
    return fresh


def _spells(uniform: Array, begins: float, ends: float) -> Array:
    """Turn uniform numbers into spells that begin and end with these probabilities each day."""
    inside = np.empty(uniform.shape, bool)
    inside[0] = uniform[0] < begins / (begins + ends)
    for day in range(1, len(uniform)):
        inside[day] = uniform[day] < np.where(inside[day - 1], 1 - ends, begins)
    return inside
