"""Write docs/reference/cli.md from the commands' own help, so that the two cannot differ."""

from pathlib import Path

from typer.testing import CliRunner

from errorfloor.cli.app import COMMANDS, app, loaded

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def commands() -> list[tuple[str, ...]]:
    """Give all commands in the order of the help, each followed by those that it has."""
    found: list[tuple[str, ...]] = [()]
    for name in COMMANDS:
        found += [(name,), *((name, part) for part in getattr(loaded(name), "commands", ()))]
    return found


def help_of(command: tuple[str, ...]) -> str:
    """Give the help text of a command, a hundred columns wide and without colours."""
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, [*command, "--help"], prog_name="errorfloor", env=environment)
    assert shown.exit_code == 0, shown.output
    return "\n".join(line.rstrip() for line in shown.output.strip("\n").splitlines())


def reference() -> str:
    """Give the whole page."""
    parts = [
        "# Command line",
        "Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failure, 2 usage, 3 refused because a floor "
        "would break. `scripts/write_cli_reference.py` writes this page.",
    ]
    for command in commands():
        parts += [f"## {' '.join(('errorfloor', *command))}", f"```text\n{help_of(command)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
