"""A bar on the terminal for designs that take longer than two seconds."""

import sys
import time
from typing import Any

PATIENCE = 2.0  # seconds before anything is shown


class ProgressBar:
    """A progress callback that draws itself on standard error, once it has waited long enough.

    Nothing is shown where standard error is no terminal, or rich is not installed; ``console`` overrides both.

    >>> with ProgressBar() as bar:
    ...     bar("eigen-solver", 0.5)
    """

    def __init__(self, console: Any = None, patience: float = PATIENCE) -> None:
        self._console, self._patience = console, patience
        self._began = time.monotonic()
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, share: float) -> None:
        """Note that a share of something is done."""
        if self._bar is None and (time.monotonic() - self._began < self._patience or not self._opened()):
            return
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=1.0)
        self._bar.update(self._tasks[what], completed=min(max(share, 0.0), 1.0))

    def _opened(self) -> bool:
        if self._console is None and not sys.stderr.isatty():
            return False
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        except ModuleNotFoundError:
            return False
        console = self._console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._bar.start()
        return True
