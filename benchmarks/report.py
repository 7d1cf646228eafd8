"""What a section finds: printed as it comes, and kept for the page.

Absolute times are printed and not kept: they depend on the machine and its other work. Ratios of things measured
together, alternately, do not.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[1] / "build" / "benchmarks"
SCALES = {"s": 1.0, "ms": 1e3, "ns": 1e9}


@dataclass
class Table:
    """One table of findings, with the remarks that belong to it."""

    title: str
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    picture: str = ""


@dataclass
class Report:
    """The findings of one section; ``about`` is what the section says of itself."""

    section: str
    about: str = ""
    tables: list[Table] = field(default_factory=list)
    peers: dict[str, str] = field(default_factory=dict)
    date: str = ""
    load: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def ratios(self, title: str, times: Mapping[str, float], base: str, per: int = 1, unit: str = "s") -> None:
        """Print times in ``unit`` per item, and as ratios to the ``base`` row; keep the ratios."""
        print(f"\n{title}")
        for name, seconds in times.items():
            print(f"  {name:<34} {seconds / per * SCALES[unit]:>10.3g} {unit}   {seconds / times[base]:>8.2f} × {base}")
        rows = [[name, ratio(seconds / times[base])] for name, seconds in times.items()]
        self.tables.append(Table(title, ["", f"× {base}"], rows))

    def rows(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print and keep rows of findings other than times; floats are shown as ratios are."""
        print(f"\n{title}\n  {'':<34}{''.join(f' {column:>20}' for column in columns[1:])}")
        table = Table(title, list(columns))
        self.tables.append(table)
        for row in rows:
            table.rows.append([ratio(cell) if isinstance(cell, float) else str(cell) for cell in row])
            print(f"  {table.rows[-1][0]:<34}{''.join(f' {cell:>20}' for cell in table.rows[-1][1:])}", flush=True)

    def note(self, text: str) -> None:
        """Print and keep a remark on the table before it, or on the section if there is none yet."""
        print(f"  {text}")
        if not self.tables:
            self.tables.append(Table(""))
        self.tables[-1].notes.append(text)

    def picture(self, name: str, caption: str) -> None:
        """Keep that a picture in docs/pictures belongs here."""
        print(f"\n  picture: {name}")
        self.tables.append(Table("", picture=f"![{caption}](pictures/{name})"))

    def keep(self, folder: Path = KEPT) -> None:
        """Store what was found, in place of what was found before."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.section}.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def kept(cls, section: str, folder: Path = KEPT) -> "Report | None":
        """Give what a section found when it was last run, or None."""
        file = folder / f"{section}.json"
        if not file.exists():
            return None
        plain = json.loads(file.read_text())
        return cls(**{**plain, "tables": [Table(**table) for table in plain["tables"]]})


def ratio(value: float) -> str:
    """Show a ratio to three digits or so.

    >>> ratio(1234.5), ratio(12.34), ratio(1.0), ratio(0.01234), ratio(0.000012)
    ('1,234', '12.3', '1.00', '0.012', '1.2e-05')
    """
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 or not size else f"{value:.2g}"
