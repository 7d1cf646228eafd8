"""One look for every picture: a canvas with our colours, drawn without a screen."""

import io
from functools import cache
from typing import Any

from errorfloor.errors import MissingExtraError

COLOURS = ("#0b5394", "#cc4125", "#38761d", "#b45f06", "#674ea7", "#45818e", "#7f6000", "#741b47")
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "errorfloor",
}


def canvas(rows: int = 1, columns: int = 1, *, width: float = 6.4, height: float = 4.0, **options: Any) -> Any:
    """Give a figure and its axes (an array of them where there are several).

    The figure belongs to nobody but the caller: no window opens and no global state changes.

    >>> figure, axes = canvas()
    >>> axes.get_xlabel()
    ''
    """
    try:
        import matplotlib
        from cycler import cycler
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ModuleNotFoundError:
        raise MissingExtraError("plots", "matplotlib") from None

    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = _picture()(figsize=(width * columns, height * rows), layout="constrained", dpi=150)
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, **options)
    return figure, axes


@cache
def _picture() -> Any:
    """Give the class of figures that show themselves in a notebook, whatever its settings."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            content = io.BytesIO()
            self.savefig(content, format="png", dpi=110)
            return content.getvalue()

    return Picture


def with_unit(label: str, unit: str) -> str:
    """Put a unit behind an axis label.

    >>> with_unit("noise", "kWh"), with_unit("noise", "")
    ('noise (kWh)', 'noise')
    """
    return f"{label} ({unit})" if unit else label
