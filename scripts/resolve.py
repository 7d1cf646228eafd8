"""Resolve the pins for every Python that is promised: ``make pins``.

The oldest release of each Python of the classifiers gets the ``dev`` environment, resolved under ``constraints.txt``
from the index that pip is set to. Nothing is installed. It fails where a pin does not fit a Python or lacks a wheel for
it, and where a package that would be installed has no pin.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE_ONLY = "pyspark"  # pure Python, published without a wheel


def promised() -> list[str]:
    """Give the Pythons of the classifiers, such as 3.11."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    return [
        match[1] for text in classifiers if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
    ]


def canonical(name: str) -> str:
    """Give the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pip_index() -> dict[str, str]:
    """Give pip's index, if one is set, as uv's variable: uv does not read pip's settings."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = os.environ.get("PIP_INDEX_URL") or subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return {"UV_DEFAULT_INDEX": index} if index else {}


def resolve(python: str) -> set[str]:
    """Give the names of what a Python would install."""
    wheels = ("--only-binary", ":all:", "--no-binary", SOURCE_ONLY)
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", *wheels]
    command += [
        "--python-version",
        f"{python}.0",
        "--extra",
        "dev",
        "--constraints",
        "constraints.txt",
        "pyproject.toml",
    ]
    found = subprocess.run(command, cwd=ROOT, env=os.environ | pip_index(), capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"Python {python}.0: {found.stderr}")
    return {canonical(line.split("==")[0].split("[")[0]) for line in found.stdout.splitlines() if "==" in line}


def main() -> None:
    """Resolve for each Python and say how many packages it takes."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonical(line.split("==")[0]) for line in lines if not line.startswith("#")}
    for python in promised():
        names = resolve(python)
        if loose := names - pinned - {"errorfloor"}:
            sys.exit(f"Python {python}.0 would install what constraints.txt does not pin: {', '.join(sorted(loose))}")
        print(f"Python {python}.0: {len(names)} packages, all pinned")


if __name__ == "__main__":
    main()
