"""``errorfloor demo``: the main job on a generated town, from a table to answers, in under a minute."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from errorfloor import plots
from errorfloor.catalogue import load
from errorfloor.cli.app import AsJson, Output, app, command, messages, print_json
from errorfloor.errors import ErrorFloorError, MissingExtraError
from errorfloor.identity import KeyRing
from errorfloor.service import Answer, Database, open_database
from errorfloor.service.demo_table import demo_catalogue, make_demo_tables
from errorfloor.service.registering import registering


@dataclass(frozen=True)
class Example:
    """A question of the demo, with the bound that is asked for and why it is interesting."""

    about: str
    sql: str
    max_error: float | dict[str, float]


EXAMPLES = (
    Example(
        "an average by tariff",
        "SELECT tariff, count(*) AS readings, avg(kwh) AS mean FROM meters GROUP BY tariff",
        0.5,
    ),
    Example(
        "the year's course: averages and variances by month",
        "SELECT date_trunc('month', day) AS month, avg(kwh) AS mean, var_samp(kwh) AS variance FROM meters "
        "GROUP BY month ORDER BY month",
        {"mean": 1.0, "variance": 50.0},
    ),
    Example(
        "a public table joined, and a weighted average",
        "SELECT h.class, avg(m.kwh) AS mean, sum(m.kwh * h.rooms) / sum(h.rooms) AS mean_by_rooms FROM meters m "
        "JOIN households h ON m.household = h.household GROUP BY h.class",
        0.5,
    ),
    Example(
        "shares of private values: a curve of smooth indicators in place of quantiles",
        "SELECT avg(above(kwh, 5, 2)) AS above_5, avg(above(kwh, 10, 2)) AS above_10, "
        "avg(above(kwh, 20, 2)) AS above_20, avg(above(kwh, 30, 2)) AS above_30 FROM meters",
        0.05,
    ),
    Example(
        "a regression: kWh a day per additional room",
        "SELECT regr_slope(m.kwh, h.rooms) AS kwh_per_room FROM meters m JOIN households h USING (household)",
        0.2,
    ),
)
TELLING = 25.0  # kWh: within half the range a bound says more than the range does
REFUSED = (
    ("a private value must not select rows", "SELECT avg(kwh) FROM meters WHERE kwh > 20", 0.5),
    ("an extreme is one household's value", "SELECT max(kwh) FROM meters", 0.5),
    (
        "a bound so tight that a declared floor would break",
        "SELECT household, avg(kwh) FROM meters GROUP BY household",
        0.5,
    ),
)


@app.command()
def demo(
    output: Output = Path("demo-output"),
    as_json: AsJson = False,
) -> None:
    """Generate a year of meter readings, register it, and answer five questions with bounded noise.

    Shows each answer with the interval in which the truth certainly lies, what nobody can learn from it, what it costs,
    what is refused and why, and what can still be asked. A second run finds the same answers, free of charge.
    """
    catalogue = prepare_demo(output)
    console = Console(quiet=as_json)
    report: dict[str, Any] = {"catalogue": str(catalogue), "answers": [], "refusals": []}
    with open_database(catalogue) as database:
        answers = []
        for number, example in enumerate(EXAMPLES, start=1):
            console.print(f"\n[bold]{number}. {escape(example.about)}[/bold]")
            _say(console, example.sql, "cyan")
            answer = database.ask(example.sql, max_error=example.max_error)
            answers.append(answer)
            _show(console, answer)
            report["answers"].append({"question": example.sql} | answer.to_dict())
        again = database.ask(EXAMPLES[0].sql, max_error=EXAMPLES[0].max_error)
        same = again.to_arrow().equals(answers[0].to_arrow())
        console.print(
            f"\n[bold]The first question again:[/bold] the same answer ({'to the last digit' if same else 'no!'}), "
            f"and nothing is charged."
        )
        for why, sql, bound in REFUSED:
            console.print(f"\n[bold]Refused, since {escape(why)}[/bold]")
            _say(console, sql, "cyan")
            message = _refusal(database, sql, bound)
            _say(console, message)
            report["refusals"].append({"question": sql, "message": message})
        report["left"] = [standing.to_dict() for standing in database.left()]
        _still(console, database)
        try:
            pictures = _draw(output, answers, database)
        except MissingExtraError as problem:
            pictures = []
            messages.say(f"no pictures were drawn: {problem}")
    report["pictures"] = [str(path) for path in pictures]
    if as_json:
        print_json(json.loads(json.dumps(report, default=str)))
        return
    for path in pictures:
        messages.say(f"wrote {path}")
    messages.say(f"ask more: {command()} ask --catalogue {catalogue} --max-error 0.5 'SELECT avg(kwh) FROM meters'")


def prepare_demo(output: Path) -> Path:
    """Generate, declare and register, where this has not been done before."""
    output.mkdir(parents=True, exist_ok=True)
    catalogue = output / "errorfloor.toml"
    if not catalogue.exists():
        with _step("generating 5,000 households × 365 days"):
            make_demo_tables(output)
        catalogue.write_text(demo_catalogue(output), encoding="utf-8")
    declared = load(catalogue)
    if not (declared.folder / declared.place.keys).exists():
        KeyRing.create(declared.folder / declared.place.keys)
    work = registering(declared)
    for name in declared.tables:
        with _step(f"registering {name}: private values clamped, in fixed point, row keys checked"):
            next(work)
    work.close()
    return catalogue


@contextmanager
def _step(text: str) -> Iterator[None]:
    with messages.status(f"{text} …"):
        yield
    messages.say(f"✓ {text}")


def _show(console: Console, answer: Answer) -> None:

    console.print()
    _say(console, answer.text())
    console.print()
    for line in answer.summary().split("\n"):
        _say(console, line, "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print a text as it is, indented."""
    console.print(Padding(Text(text, style=style), (0, 0, 0, 3)))


def _refusal(database: Database, sql: str, bound: float) -> str:
    try:
        database.ask(sql, max_error=bound)
    except ErrorFloorError as problem:
        return str(problem)
    return "answered"


def _still(console: Console, database: Database) -> None:
    """Say what can still be asked: how tight a bound the rest of the allowance would pay for."""
    console.print("\n[bold]What is left[/bold]")
    for standing in database.left():
        _say(console, f"{standing.name}: {100 * (1 - standing.used):.3g} % of the allowance")
    rest = 0.99 * (1 - max(standing.used for standing in database.left()))
    _say(console, "all of it would buy one of these, at the given bound:")
    for sql in (
        "SELECT avg(kwh) FROM meters WHERE tariff = 'ToU'",
        "SELECT day, avg(kwh) FROM meters GROUP BY day",
        "SELECT household, avg(kwh) FROM meters GROUP BY household",
    ):
        if rest > 0:
            bound = next(iter(database.price(sql, spend=rest).max_error.values()))
            told = f"±{bound:g} kWh" if bound < TELLING else "nothing that tells more than the range:"
            _say(console, f"{told}  {sql}", "cyan")


def _draw(output: Path, answers: list[Answer], database: Database) -> list[Path]:
    months = answers[1].to_arrow().to_pydict()
    labels = [month.strftime("%b") for month in months["month"]]
    series = {"mean": (months["mean"], months["mean_low"], months["mean_high"])}
    figure = plots.certain_intervals(
        labels, series, unit="kWh a day", title="Average consumption; the truth certainly lies within the bars"
    )
    used = {standing.name: standing.used for standing in database.left()}
    return [
        plots.save(figure, output / "months.png"),
        plots.save(plots.allowances(used), output / "allowances.png"),
    ]
