"""``errorfloor design``: the best noise for a support, and what it promises."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import errorfloor as ef
from errorfloor.cli.app import AsJson, app, messages, parse_json, print_json
from errorfloor.cli.supports import GRAMMAR, parse_range, parse_support
from errorfloor.designer.designing import progress_bar
from errorfloor.errors import InputError


@app.command()
def design(
    support: Annotated[str, typer.Option(help=f"Where the noise must stay: {GRAMMAR}.")],
    jacobian: Annotated[str | None, typer.Option(help="Derivatives of the answers, as JSON: [[0.1, 0.1]].")] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="Instead of --jacobian: the matrix K = E[F Fᵀ] of a query, as JSON.")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="squared (default), absolute, or a matrix as JSON.")] = None,
    max_loss: Annotated[float | None, typer.Option(help="Bound on the expected loss.")] = None,
    loss_weight: Annotated[float | None, typer.Option(help="Weight of the expected loss in the objective.")] = None,
    objective: Annotated[
        str, typer.Option(help="information (least of it), or error (largest Tr I⁻¹; needs one of the caps).")
    ] = "information",
    information_cap: Annotated[
        float | None, typer.Option(help="With --objective error: the most information about any entry.")
    ] = None,
    condition_cap: Annotated[
        float | None, typer.Option(help="With --objective error: the largest condition number of the information.")
    ] = None,
    ranges: Annotated[str | None, typer.Option("--range", help="Declared range of every entry: 0..50.")] = None,
    unit: Annotated[str, typer.Option(help="Unit of the data, for the text and the picture.")] = "",
    distance: Annotated[float | None, typer.Option(help="Distance between the two values in the headline.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the density: noise.png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the noise that reveals least, and say what nobody can learn from an answer that carries it.

    Example: errorfloor design --support=-0.5..0.5 --jacobian "[[0.01, 0.01]]" --range 0..50 --unit kWh
    """
    if plot is not None and plot.suffix.lower() not in ef.plots.FORMATS:
        raise InputError(f"--plot must end in {', '.join(ef.plots.FORMATS)}, got {plot}")
    chosen = parse_support(support)
    parsed_loss = loss if loss in (None, "squared", "absolute") else parse_json("--loss", loss)
    C = parse_json("--jacobian", jacobian)
    with progress_bar(messages if messages.is_terminal else None) as bar:
        noise = ef.design(
            chosen,
            jacobian=C,
            sensitivity=parse_json("--sensitivity", sensitivity),
            loss=parsed_loss,
            max_loss=max_loss,
            loss_weight=loss_weight,
            objective=objective,
            information_cap=information_cap,
            condition_cap=condition_cap,
            progress=bar,
        )
    entries: Any = np.eye(noise.dimension) if C is None else C
    floor = ef.floor(noise, entries, ranges=None if ranges is None else parse_range(ranges))
    if plot is not None:
        ef.plots.save(noise.plot(unit=unit), plot)
        messages.say(f"wrote {plot}")
    words = floor.explain(unit=unit, distance=distance)
    facts: dict[str, Any] = {
        "noise": noise.to_dict(),
        "information": noise.information.tolist(),
        "mean": noise.mean.tolist(),
        "covariance": noise.covariance.tolist(),
        "entropy": noise.entropy,
        "worst_entry": float(floor.worst_entry),
        "any_estimator": None if ranges is None else floor.any_estimator.tolist(),
        "explanation": words,
    }
    if as_json:
        print_json(facts)
        return
    certificate = noise.certificate
    print(f"noise         {noise}")
    print(f"support       {noise.support}")
    print(f"information   {_matrix(noise.information)}")
    print(f"mean          {_matrix(noise.mean)}   r.m.s. {noise.expected_loss() ** 0.5:.4g} {unit}".rstrip())
    print(f"optimality    {certificate.explain() if certificate else ''}")
    print(f"promise       {words}")


def _matrix(array: Any) -> str:
    return np.array2string(np.squeeze(array), precision=6, separator=", ").replace("\n", "")
