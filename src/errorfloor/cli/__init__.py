"""The command line. Data goes to stdout, messages to stderr; exit codes are those of the errors."""

import sys

from errorfloor.cli.terminal import prepare
from errorfloor.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say how to install it."""
    prepare(sys.stdout, sys.stderr)
    try:
        import typer  # noqa: F401  (only to see whether the extra is there)
    except ModuleNotFoundError:
        problem = MissingExtraError("cli", "typer")
        print(f"errorfloor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    from errorfloor.cli.app import run

    run()
