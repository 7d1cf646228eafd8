"""What stands in a field that cannot be read: shown on the custodian's own terminal, and nowhere else."""

from collections.abc import Sequence
from pathlib import Path

from errorfloor.catalogue.reading import Reading
from errorfloor.cli.app import messages
from errorfloor.engines.sources import find_files
from errorfloor.engines.text_tables import value_at
from errorfloor.errors import ErrorFloorError


def show_value(problem: ErrorFloorError, source: Sequence[str], how: Reading, folder: Path) -> None:
    """Show the field that a problem names by file, line and column, if messages go to a terminal.

    Errors never hold it, so it reaches no log, no file and no other program.
    """
    path, line, column = (problem.fields.get(word) for word in ("path", "line", "column"))
    if not messages.is_terminal or not isinstance(line, int):
        return
    files = find_files(source, folder)
    if files is not None:
        value = value_at(files, how, str(path), line, str(column), folder)
        messages.say(f"  what stands there, shown only on this terminal: {value!r}")
