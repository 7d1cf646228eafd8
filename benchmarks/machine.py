"""The machine that measures, and the versions of what is measured."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("errorfloor", "numpy", "scipy", "cryptography", "duckdb", "pyarrow", "sqlglot"),
    *("fastapi", "uvicorn", "scikit-fem", "cvxpy", "clarabel"),
)


def machine() -> dict[str, str]:
    """Describe processor, memory, system and Python."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{gibibytes:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def processor() -> str:
    """Give the processor's name for itself, where the system tells."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def versions() -> dict[str, str]:
    """Give the version of every package that has a part in it and is installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
