"""Where tests keep files: in memory if there is room, since a disk would be waited for with every record of a ledger.

Who sets TMPDIR is obeyed. Tests that what is written reaches a disk watch the system calls, wherever the files are.
"""

import os
import tempfile

MEMORY, ROOM = "/dev/shm", 4 * 2**30


def has_room() -> bool:
    """Tell whether files can stay in memory, programs that tests write among them."""
    if not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC


def install() -> None:
    """Let this process, and those that it starts, keep temporary files in memory if there is room."""
    if "TMPDIR" not in os.environ and has_room():
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY
