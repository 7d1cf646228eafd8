"""``errorfloor demo``: the main job on generated data, in a few seconds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from errorfloor.cli.app import AsJson, Output, app, messages, print_json
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.noise.lattice import Lattice

RANGE = (0.0, 50.0)
UNIT = "kWh"
LATTICE = Lattice("0.1")  # where answers leave
ROUNDING = 1e-9  # far above what double precision can be off by in an average of numbers up to 50
TARIFFS = {"standard": 3200, "time-of-use": 1300, "economy": 500}


@dataclass(frozen=True)
class Answer:
    """A noisy average with all that may be said about it; nothing here depends on a private value but ``answer``."""

    tariff: str
    households: int
    answer: float
    max_error: float
    told_apart: float
    any_estimator: float


def generate_readings(seed: int = 2013) -> dict[str, Any]:
    """Give one day's consumption of 5,000 households by tariff, in kWh.

    Lognormal with mean 10.1 and standard deviation 8.2 before clamping to 0 … 50: the spread that daily readings of
    British households have. The economy tariff is taken up by heavier users.

    >>> {tariff: len(readings) for tariff, readings in generate_readings().items()}
    {'standard': 3200, 'time-of-use': 1300, 'economy': 500}
    """
    generator = np.random.default_rng(seed)
    spread = np.sqrt(np.log1p((8.2 / 10.1) ** 2))
    level = np.log(10.1) - spread**2 / 2
    shift = {"standard": 0.0, "time-of-use": -0.1, "economy": 0.35}
    return {
        tariff: np.clip(generator.lognormal(level + shift[tariff], spread, count), *RANGE)
        for tariff, count in TARIFFS.items()
    }


@app.command()
def demo(
    output: Output = Path("demo-output"),
    max_error: Annotated[float, typer.Option(help="No answer is ever further from the truth than this, in kWh.")] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Answer a question about generated meter readings, and say what nobody can learn from the answers.

    SELECT tariff, avg(kwh) FROM meters GROUP BY tariff, with noise confined to ±max-error.
    """
    import errorfloor as ef

    # the answer is rounded after the noise is added, so the noise leaves room for half a step
    noise = ef.design(ef.Interval(*LATTICE.inside(-max_error, max_error)))
    answers, floors = [], {}
    for tariff, readings in generate_readings().items():
        weights = np.full((1, readings.size), 1 / readings.size)
        floors[tariff] = floor = ef.floor(noise, weights, ranges=RANGE, evaluation_error=ROUNDING)
        answers.append(
            Answer(
                tariff=tariff,
                households=int(readings.size),
                answer=float(LATTICE.round(readings.mean() + noise.sample(1)[0])),
                max_error=max_error,
                told_apart=float(floor.distinguish(5.0)),
                any_estimator=float(floor.any_estimator.min()),
            )
        )
    smallest = min(floors, key=lambda tariff: TARIFFS[tariff])
    pictures = _draw(output, noise, floors[smallest], max_error)
    if as_json:
        print_json({"answers": [vars(answer) for answer in answers], "pictures": [str(path) for path in pictures]})
        return
    _print(answers, floors[smallest], smallest)
    for path in pictures:
        messages.print(f"wrote {path}")


def _print(answers: list[Answer], floor: Any, smallest: str) -> None:
    console = Console()
    console.print("\n[bold]SELECT tariff, avg(kwh) FROM meters GROUP BY tariff[/bold]   5,000 generated households\n")
    table = Table("tariff", "households", "average", "certainly within", "5 or 10 kWh?", "error floor")
    for answer in answers:
        table.add_row(
            answer.tariff,
            f"{answer.households:,}",
            f"{answer.answer:.1f} {UNIT}",
            f"±{answer.max_error:g} {UNIT}",
            f"{times_in_hundred(answer.told_apart)} in 100",
            f"{rounded_down(answer.any_estimator)} {UNIT}",
        )
    console.print(table)
    console.print(
        "[bold]5 or 10 kWh?[/bold] How often anybody can be right about which of the two a household used, at even "
        "odds, even knowing every other reading. [bold]Error floor[/bold]: the least root-mean-square error of any "
        "estimator of one reading, in the worst case over 0 … 50 kWh (readings outside are clamped); 14.4 kWh would "
        "mean that the answer tells nothing.\n"
    )
    more = Table("independent answers", "5 or 10 kWh?", "error floor", title=f"The smallest group, {smallest}, again")
    for count in (1, 10, 100, 1000):
        after = floor.after(count)
        told, least = times_in_hundred(after.distinguish(5.0)), rounded_down(float(after.any_estimator.min()))
        more.add_row(f"{count:,}", f"{told} in 100", f"{least} {UNIT}")
    console.print(more)


def _draw(output: Path, noise: Any, floor: Any, max_error: float) -> list[Path]:
    from errorfloor import plots

    output.mkdir(parents=True, exist_ok=True)
    title = f"Noises that never leave ±{max_error:g} {UNIT}"
    return [
        plots.save(plots.compare(plots.at_equal_width(2 * max_error), unit=UNIT, title=title), output / "noises.png"),
        plots.save(plots.floor_against_answers(floor, unit=UNIT), output / "floor.png"),
        plots.save(plots.distinguishability(floor, widest=50.0, unit=UNIT), output / "distinguish.png"),
    ]
