"""``errorfloor paper``: the theory's source recomputed, claim by claim."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from errorfloor.cli.app import AsJson, Output, app, messages, print_json


@app.command()
def paper(
    output: Output = Path("paper-report"),
    style: Annotated[
        str, typer.Option("--format", help="html (one file) or markdown (with a folder of figures).")
    ] = "html",
    as_json: AsJson = False,
) -> None:
    """Recompute every theorem, example and figure of the source paper, and write a report with a verdict on each."""
    from errorfloor.paper import write_report

    with Progress(console=messages, transient=True) as bar:
        task = bar.add_task("recomputing", total=None)

        def progress(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        report = write_report(output, format=style, progress=progress)
    verdicts = [claim.verdict for claim in report.claims]
    summary = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    if as_json:
        print_json({"report": str(report.path), "claims": len(verdicts), "verdicts": summary})
    else:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in summary.items())
        print(f"{report.path}: {len(verdicts)} claims, {counts}")
