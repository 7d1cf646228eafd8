"""Write docs/reference/cli.md from the commands' own help, so that the two cannot differ."""

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    (),
    ("demo",),
    ("init",),
    ("register",),
    ("price",),
    ("ask",),
    ("ledger",),
    ("ledger", "show"),
    ("ledger", "export"),
    ("ledger", "verify"),
    ("ledger", "checkpoint"),
    ("ledger", "restore"),
    ("design",),
    ("counts",),
    ("release",),
    ("keys",),
    ("keys", "create"),
    ("keys", "rotate"),
    ("keys", "list"),
    ("serve",),
    ("tokens",),
    ("tokens", "create"),
    ("tokens", "list"),
    ("tokens", "revoke"),
    ("audit",),
    ("paper",),
)
TARGET = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def help_of(command: tuple[str, ...]) -> str:
    """Give the help text of a command, a hundred columns wide and without colours."""
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    shown = subprocess.run(
        [sys.executable, "-m", "errorfloor", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return "\n".join(line.rstrip() for line in shown.stdout.strip("\n").splitlines())


def reference() -> str:
    """Give the whole page."""
    parts = [
        "# Command line",
        "Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failure, 2 usage, 3 refused because a floor "
        "would be broken. This page is written by `scripts/write_cli_reference.py`.",
    ]
    for command in COMMANDS:
        parts += [f"## {' '.join(('errorfloor', *command))}", f"```text\n{help_of(command)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
