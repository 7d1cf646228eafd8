"""``errorfloor paper``: the theory's source recomputed, claim by claim, by the folder ``paper`` of a clone."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from rich.progress import Progress

from errorfloor.cli.app import AsJson, Output, app, messages, show
from errorfloor.errors import InputError

CLONE = Path(__file__).parents[3]


@app.command()
def paper(
    output: Output = Path("paper-report"),
    style: Annotated[
        str, typer.Option("--format", help="html (one file) or markdown (with a folder of figures).")
    ] = "html",
    as_json: AsJson = False,
) -> None:
    """Recompute every theorem, example and figure of the source paper, with a verdict on each; needs a clone."""
    recomputation = _from_clone(CLONE)
    with Progress(console=messages, transient=True) as bar:
        task = bar.add_task("recomputing", total=None)

        def progress(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        report = recomputation.write_report(output, format=style, progress=progress)
    verdicts = [claim.verdict for claim in report.claims]
    summary = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary.items())
    plain = {"report": str(report.path), "claims": len(verdicts), "verdicts": summary}
    show(plain, f"{report.path}: {len(verdicts)} claims, {counts}", as_json)


def _from_clone(clone: Path) -> ModuleType:
    """Load the folder ``paper`` of this clone, and no other package of that name.

    >>> _from_clone(Path("/nowhere"))
    Traceback (most recent call last):
    errorfloor.errors.InputError: errorfloor paper needs a clone: ... run `make paper` there
    """
    found = PathFinder.find_spec("paper", [str(clone)])
    if found is None or found.loader is None or not (clone / "paper" / "order.py").exists():
        raise InputError(
            f"errorfloor paper needs a clone: the recomputation is the folder paper/ of the repository, which an "
            f"installed package does not contain (there is none in {clone}); get a clone of the repository or its "
            f"source "
            f"distribution (errorfloor-*.tar.gz), and run `make paper` there"
        )
    if "paper" not in sys.modules:
        sys.modules["paper"] = module = module_from_spec(found)
        found.loader.exec_module(module)
    return sys.modules["paper"]
