"""Run commands in this process, as ``python -m errorfloor`` runs them in its own: that would cost a second each."""

import contextlib
import io
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from errorfloor.cli import run as run_here


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path | None = None, text: str = "") -> Done:
    """Run a command in a folder, with a text on its standard input."""
    before, ended, code = (sys.argv, sys.stdin), signal.getsignal(signal.SIGTERM), 0
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.argv, sys.stdin = ["errorfloor", *map(str, arguments)], io.StringIO(text)
    try:
        with contextlib.chdir(cwd or Path()), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_here()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        (sys.argv, sys.stdin), _ = before, signal.signal(signal.SIGTERM, ended)
    return Done(code, *(one.buffer.getvalue().decode() for one in (out, err)))
