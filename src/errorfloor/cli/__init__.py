"""The command line. Data goes to stdout, messages to stderr; exit codes are those of the errors.

``app`` has the list of commands and what they share. Each command has a module of its name, except ``price`` and
``ask``, which are in ``questions``, and ``ledger known`` and ``ledger forget``, in ``kept``. ``init`` asks with
``choosing`` on the terminal and with ``form`` and ``page`` in the browser.

A new command: a module, a line in ``app.COMMANDS`` with the first sentence of its docstring, and then ``python
scripts/write_cli_reference.py``.
"""

import atexit
import gc
import os
import sys
import threading

from errorfloor.cli.terminal import prepare
from errorfloor.errors import MissingExtraError
from errorfloor.extras import require


def main() -> None:
    """Run the command line as a process of its own, which begins and ends with no more work than it must.

    Collecting garbage among the imported modules, and taking them apart at exit, would take a third of the time of a
    short command.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # they are looked for in every installed package
    gc.disable()
    atexit.register(gc.unfreeze)
    try:
        run()
        sys.exit()
    except SystemExit as end:
        if not isinstance(end.code, int | None) or any(not one.daemon for one in threading.enumerate()[1:]):
            raise
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            raise end from None  # Python says that it failed
        os._exit(end.code or 0)


def run() -> None:
    """Run the command line, or say how to install it."""
    prepare(sys.stdout, sys.stderr)
    try:
        require("cli", "typer", "rich")
    except MissingExtraError as problem:
        print(f"errorfloor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    from errorfloor.cli.app import run as run_command

    run_command()
