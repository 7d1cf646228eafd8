"""The report: every claim, its verdict, its numbers and its figures, in one folder."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errorfloor.errors import InputError
from paper import markdown, page
from paper.model import Claim
from paper.order import Progress, claims


@dataclass(frozen=True)
class Report:
    """What was written: the ``path`` of the report and the ``claims`` in it.

    >>> Report(Path("report.html"), ()).path.name
    'report.html'
    """

    path: Path
    claims: tuple[Claim, ...]


def write_report(folder: str | Path, format: str = "html", *, progress: Progress | None = None) -> Report:
    """Recompute the source and write what was found into ``folder``.

    "html" writes one file, report.html, with its figures inside; "markdown" writes report.md with figures/ beside it.
    ``progress(done, total, name)`` is called after each claim.

    Raises InputError for another format, MissingExtraError without Matplotlib (extra ``plots``).

    >>> write_report("somewhere", format="pdf")
    Traceback (most recent call last):
    errorfloor.errors.InputError: format must be 'html' or 'markdown', got 'pdf'
    """
    if format not in ("html", "markdown"):
        raise InputError(f"format must be 'html' or 'markdown', got {format!r}")
    return write_claims(claims(progress), folder, format)


def write_claims(found: list[Claim], folder: str | Path, format: str) -> Report:
    """Write a report of claims that are computed already."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    pictures = {drawing.name: _as_png(drawing.draw()) for claim in found for drawing in claim.drawings}
    if format == "html":
        report = target / "report.html"
        report.write_text(page.render(found, pictures), encoding="utf-8")
        return Report(report, tuple(found))
    figures = target / "figures"
    figures.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (figures / f"{name}.png").write_bytes(picture)
    report = target / "report.md"
    report.write_text(markdown.render(found), encoding="utf-8")
    return Report(report, tuple(found))


def _as_png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
