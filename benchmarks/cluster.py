"""A temporary PostgreSQL server that keeps its promises: every commit is on disk before it is reported."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Give the folder of the newest initdb; Debian keeps it off the search path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = str(debian[-1]) if debian else shutil.which("initdb")
    return Path(found).parent if found else None


@contextmanager
def cluster(*, options: Sequence[str] = (), under: Sequence[str] = ()) -> Iterator[str]:
    """Start a server in a folder of its own and give its URL; ``under`` is a command to run it under."""
    found = programs()
    assert found is not None, "PostgreSQL is not installed"
    folder = Path(tempfile.mkdtemp(prefix="errorfloor-bench-"))
    user = None
    if os.getuid() == 0:  # the server refuses to run as root
        user = "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"
        shutil.chown(folder, user)
    data = folder / "data"
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made = ["initdb", "-D", str(data), "-U", "errorfloor", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]
    subprocess.run([found / made[0], *made[1:]], user=user, cwd=folder, check=True, **quiet)
    flags = ["-D", str(data), "-k", str(folder), "-c", "listen_addresses=", *(f"-c{option}" for option in options)]
    server = subprocess.Popen([*under, found / "postgres", *flags], user=user, cwd=folder, **quiet)
    try:
        check = [found / "pg_isready", "-q", "-t", "60", "-h", str(folder)]
        while subprocess.run(check, **quiet).returncode != 0:
            assert server.poll() is None, "PostgreSQL did not start"
        yield f"postgresql:///postgres?host={folder}&user=errorfloor"
    finally:
        if (data / "postmaster.pid").exists():
            os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        server.wait(60)
        shutil.rmtree(folder)
