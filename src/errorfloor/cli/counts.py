"""``errorfloor counts``: a noise table for counts, as text for the cell-key method."""

from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.cli.app import AsJson, app, messages, print_json
from errorfloor.errors import InputError
from errorfloor.plots import FORMATS, save
from errorfloor.policies.counts import design_counts


@app.command()
def counts(
    max_noise: Annotated[int, typer.Option(help="A published count is never further than this from the true one.")],
    variance: Annotated[float, typer.Option(help="Bound on the variance of the noise.")],
    keep_zero: Annotated[bool, typer.Option("--keep-zero/--move-zero", help="Whether a true 0 stays 0.")],
    unbiased: Annotated[bool, typer.Option(help="Whether the noise has mean zero.")] = True,
    least_positive: Annotated[int, typer.Option(help="Positive counts below this are never published.")] = 1,
    objective: Annotated[str, typer.Option(help="average, worst, distinguish or entropy.")] = "average",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the table to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture: table.png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Design a noise table for counts: whole numbers, never below 0, never off by more than a bound.

    Example: errorfloor counts --max-noise 5 --variance 3 --keep-zero -o table.csv
    """
    if plot is not None and plot.suffix.lower() not in FORMATS:
        raise InputError(f"--plot must end in {', '.join(FORMATS)}, got {plot}")
    table = design_counts(
        max_noise=max_noise,
        variance=variance,
        keep_zero=keep_zero,
        unbiased=unbiased,
        least_positive=least_positive,
        objective=objective,
    )
    if output is not None:
        output.write_text(table.to_text(), encoding="utf-8")
        messages.say(f"wrote {output}")
    if plot is not None:
        save(table.plot(), plot)
        messages.say(f"wrote {plot}")
    if as_json:
        facts: dict[str, Any] = {
            "table": table.to_dict(),
            "information": table.information(),
            "information_of_large_counts": float(table.information(table.last)),
            "right_at_even_odds": table.floor().distinguish(),
            "explanation": table.explain(),
        }
        print_json(facts)
        return
    if output is None:
        print(table.to_text(), end="")
        messages.say(table.explain())
        return
    print(table.explain())
