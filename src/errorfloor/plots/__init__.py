"""Pictures, drawn when asked for (extra ``plots``). Every function gives a Matplotlib figure; ``save`` writes it.

``canvas`` has the one look of all pictures; each other module has the pictures of one room. A new picture: a function
in the module of its subject, drawn on ``canvas``, and its name here.
"""

from pathlib import Path
from typing import Any

from errorfloor.errors import InputError
from errorfloor.plots.answers import allowances, certain_intervals, findings, released
from errorfloor.plots.canvas import canvas
from errorfloor.plots.densities import compare, count_tables, density, joint_noise

__all__ = [
    "allowances",
    "canvas",
    "certain_intervals",
    "compare",
    "count_tables",
    "density",
    "findings",
    "joint_noise",
    "released",
    "save",
]

FORMATS = (".png", ".svg", ".pdf")


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure to a file, whose folder is made if need be; the ending of its name chooses PNG, SVG or PDF.

    >>> import tempfile
    >>> from errorfloor.noise import RaisedCosine
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(density(RaisedCosine(0, 1)), Path(folder) / "noise.png").name
    'noise.png'
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise InputError(f"a picture's name must end in {', '.join(FORMATS)}, got {str(path)!r}")
    target.parent.mkdir(parents=True, exist_ok=True)
    # without its date the file depends on the picture alone; PNG has no such field
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(target, metadata=undated.get(target.suffix.lower(), {}))
    return target
