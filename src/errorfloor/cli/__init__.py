"""The command line. Data goes to stdout, messages to stderr; exit codes are those of the errors."""

import sys

from errorfloor.cli.terminal import prepare
from errorfloor.errors import MissingExtraError
from errorfloor.extras import require


def main() -> None:
    """Run the command line, or say how to install it."""
    prepare(sys.stdout, sys.stderr)
    try:
        require("cli", "typer", "rich")
    except MissingExtraError as problem:
        print(f"errorfloor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    from errorfloor.cli.app import run

    run()
