"""The workshop: a process of its own that designs noise, since what is asked of it can take long and much memory.

A thread cannot be stopped; a process can, and it takes nothing from those that answer questions.
"""

import multiprocessing
import resource
import signal
import threading
from multiprocessing.connection import Connection
from typing import Any

from errorfloor.access.designing import WantedDesign, attempted
from errorfloor.access.failures import DoorError
from errorfloor.errors import ConvergenceError, ErrorFloorError

MEMORY = 2 * 2**30  # bytes that a design may take
SPAWN = multiprocessing.get_context("spawn")  # a copy of this process would have its connections and locks


class Workshop:
    """Designs noise in another process, one at a time; the process is made when first needed.

    Guarantee: ``design`` returns or raises within ``time_limit`` seconds, and its process ends with this one.
    """

    def __init__(self, *, time_limit: float) -> None:
        self._time_limit = time_limit
        self._process: Any = None
        self._line: Connection | None = None
        self._alone = threading.Lock()

    def design(self, wanted: WantedDesign) -> dict[str, Any]:
        """Design a noise; raises DoorError (503) if it takes too long, ConvergenceError if it takes too much."""
        with self._alone:
            line = self._open()
            try:
                line.send(wanted)
                if not line.poll(self._time_limit):
                    self._end()
                    raise DoorError(
                        503,
                        "time",
                        f"this design was not found within {self._time_limit:g} s: ask for a simpler one, or use "
                        f"ef.design, which has no limit",
                        time_limit=self._time_limit,
                    )
                found: dict[str, Any] | ErrorFloorError = line.recv()
            except (EOFError, OSError):
                self._end()
                raise ConvergenceError("this design takes more memory than there is: ask for a simpler one") from None
        if isinstance(found, ErrorFloorError):
            raise found
        return found

    def close(self) -> None:
        """End the process."""
        with self._alone:
            self._end()

    def _open(self) -> Connection:
        if self._line is None or not self._process.is_alive():
            self._end()
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=_work, args=(theirs,), name="errorfloor-workshop", daemon=True)
            try:
                process.start()
            except BaseException:  # such as a limit on processes: the next design tries again
                ours.close()
                raise
            finally:
                theirs.close()
            self._line, self._process = ours, process
        return self._line

    def _end(self) -> None:
        if self._line is not None:
            self._line.close()
            self._process.kill()
            self._process.join()
            self._process.close()
            self._line = self._process = None


def _work(line: Connection) -> None:
    """Design what comes until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which then closes the line
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    while True:
        try:
            wanted = line.recv()
        except (EOFError, OSError):
            return
        try:
            line.send(attempted(wanted))
        except ErrorFloorError as problem:
            line.send(_plain(problem))


def _plain(problem: ErrorFloorError) -> ErrorFloorError:
    """Give an error without what led to it, as it can be sent."""
    problem.__traceback__ = problem.__cause__ = problem.__context__ = None
    return problem
