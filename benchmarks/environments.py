"""Peers live in environments of their own, made when they are first measured."""

import os
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE, INSTALLING = 120.0, 600.0  # seconds to answer, and to be installed


def python_for(package: str, wanted: tuple[str, ...]) -> str:
    """Make a peer's environment, or find it; a half-made one is removed."""
    home = ROOT / f".venv-peers-{package}"
    python = str(home / "bin" / "python")
    if not home.exists():
        free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        try:
            venv.create(home, with_pip=True)
            (home / ".gitignore").write_text("*\n")
            run([python, "-m", "pip", "install", "--quiet", *wanted], free, INSTALLING)
        except BaseException:
            shutil.rmtree(home)
            raise
    return python


def run(command: list[str], environment: dict[str, str] | None = None, patience: float = PATIENCE) -> str:
    """Run a command in an empty folder and give what it printed; some peers leave tables where they were started."""
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment, timeout=patience, cwd=elsewhere
        )
    return done.stdout


def reason(problem: subprocess.CalledProcessError | subprocess.TimeoutExpired) -> str:
    """Say in a line why a peer could not be measured."""
    if isinstance(problem, subprocess.CalledProcessError):
        return (problem.stderr.strip().splitlines() or ["failed"])[-1]
    return f"not finished after {problem.timeout:.0f} s"
