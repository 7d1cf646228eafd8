"""Run the blocks of a documentation page as a reader would: in order, in one folder, and compare what is printed.

What a fence says decides what is done with its block:

======================================  ================================================================================
``sh``                                  run by bash; the first command that fails ends it
``sh title="…second terminal…"``        started, and left running until the end of the page: a server
``python``                              run as a program; with ``>>>`` it is left to doctest
``toml title="NAME"``, ``python …``     written to that file, whole
``text`` after one of them              compared with what was printed, if no heading is between: numbers and
                                        identifiers may differ, … stands for anything
======================================  ================================================================================

Anything else (``text`` elsewhere, ``json``, ``toml`` without a title) is only shown. A page runs in processes of its
own if ``apart``; otherwise commands of errorfloor and programs run in this one, which saves their starting.
"""

import contextlib
import io
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

READY = "stop with Ctrl+C"
FENCE = re.compile(r"^```(?P<kind>\w*)(?P<rest>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
PORT = "8470"  # the one that pages name; each run takes a free one in its place


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title, its lines, and whether a heading is between it and the one before."""

    kind: str
    title: str
    text: str
    begins: bool

    @property
    def is_session(self) -> bool:
        """Whether it is for doctest."""
        return self.kind == "pycon" or (self.kind == "python" and ">>> " in self.text)

    @property
    def runs(self) -> bool:
        """Whether it is run here."""
        return self.kind == "sh" or (self.kind == "python" and not self.is_session)


def blocks_of(page: Path) -> list[Block]:
    """Give the blocks of a page in their order."""
    found, page_text, end = [], page.read_text(), 0
    for match in FENCE.finditer(page_text):
        title = re.search(r'title="([^"]*)"', match["rest"])
        begins = re.search(r"^#", page_text[end : match.start()], re.M) is not None
        found.append(Block(match["kind"], title[1] if title else "", match["text"], begins))
        end = match.end()
    return found


def run_page(page: Path, folder: Path, *, apart: bool, instead: Mapping[str, str]) -> None:
    """Run every block of a page in a folder; fail with what was printed where one fails or prints something else.

    ``instead`` has words of the page, such as the address of a database, and what to put in their place.
    """
    running = _Running(folder, apart, {PORT: free_port(), **instead})
    try:
        for block in blocks_of(page):
            running.take(block)
    finally:
        running.stop()


def shape(text: str) -> str:
    """Give a text without what differs from run to run: numbers, identifiers, the widths of tables.

    >>> shape("care  507  2930.3 ± 50 EUR, key 7ab4f752de85cc88")
    'care # # ± # EUR, key #'
    """
    text = re.sub(r"ef_[\w-]+|\b(?=\w*\d)[0-9a-f]{12,}\b", "#", text)
    text = re.sub(r"[─━]+", "─", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:+.]+", "#", text)
    text = re.sub(r"(?<![\w#])-?\d[\d,]*(\.\d+)?(e[+-]?\d+)?", "#", text)
    return " ".join(text.split())


def same_shape(shown: str, printed: str) -> bool:
    """Tell whether a text is what was printed, but for what differs from run to run; … stands for anything."""
    pattern = ".*?".join(re.escape(part.strip()).replace("\\ ", r"\s*") for part in shape(shown).split("…"))
    return re.fullmatch(pattern, shape(printed), re.S) is not None


def free_port() -> str:
    """Give a port on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


class _Running:
    def __init__(self, folder: Path, apart: bool, instead: Mapping[str, str]) -> None:
        self.folder = folder
        self.apart = apart
        self.instead = instead
        self.state = folder / ".exported"
        self.servers: list[subprocess.Popen[str]] = []
        self.printed: str | None = None
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},  # as a user has it
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "120",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PYTHONWARNINGS": "error",
        }

    def take(self, block: Block) -> None:
        text = block.text
        for word, other in self.instead.items():
            text = text.replace(word, other)
        if block.kind in ("toml", "python") and block.title:
            (self.folder / block.title).write_text(text)
        elif block.kind == "sh" and "second terminal" in block.title:
            self.printed = self._started(text)
        elif block.kind == "sh":
            commands = None if self.apart else errorfloor_commands(text)
            self.printed = self._by_bash(text) if commands is None else self._by_calls(commands)
        elif block.runs:
            self.printed = self._in_process([sys.executable, "-c", text], text) if self.apart else self._here(text)
        elif block.kind == "text" and self.printed is not None and not block.begins:
            shown = f"the page shows\n{block.text}\nand this was printed\n{self.printed}"
            assert same_shape(block.text, self.printed), shown
        if not block.runs:
            self.printed = None  # another text after it is only shown

    def _by_bash(self, text: str) -> str:
        """Let what one block exports, or sets, be known to the next."""
        before = f"set +u; [ -f {self.state} ] && . {self.state}; set -u\n"
        script = f"{before}set -a\n{text}\nset +a; export -p > {self.state}"
        return self._in_process(["bash", "-eu", "-o", "pipefail", "-c", script], text)

    def _in_process(self, command: list[str], text: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **self._exported()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{text}\nended with {done.returncode} and printed\n{done.stdout}"
        return done.stdout

    def _by_calls(self, commands: list[list[str]]) -> str:
        from errorfloor.cli.app import run

        printed = ""
        for words in commands:
            ended, text = 0, ""
            with self._as_if_alone(words) as written:
                try:
                    run()
                except SystemExit as end:
                    ended = end.code
            text = written.getvalue()
            assert ended in (0, None), f"{shlex.join(words)}\nended with {ended} and printed\n{text}"
            printed += text
        return printed

    def _here(self, text: str) -> str:
        failed = ""
        with self._as_if_alone(["python"]) as written:
            try:
                exec(compile(text, "a block of the page", "exec"), {"__name__": "__main__"})
            except Exception:
                failed = traceback.format_exc()
        assert not failed, f"{text}\nfailed with\n{failed}"
        return written.getvalue()

    @contextlib.contextmanager
    def _as_if_alone(self, words: list[str]) -> Iterator[io.StringIO]:
        before, written, ended = sys.argv, io.StringIO(), signal.getsignal(signal.SIGTERM)
        exported = self._exported()
        sys.argv = words
        os.environ.update(exported)
        try:
            with (
                contextlib.chdir(self.folder),
                contextlib.redirect_stdout(written),
                contextlib.redirect_stderr(written),
            ):
                yield written
        finally:
            sys.argv = before
            signal.signal(signal.SIGTERM, ended)
            for name in exported:
                del os.environ[name]

    def _exported(self) -> dict[str, str]:
        """Give the tokens that blocks of the shell have put into variables, for programs."""
        if not self.state.exists():
            return {}
        return dict(re.findall(r'^declare -x ([A-Z_]+)="(ef_[\w-]+)"$', self.state.read_text(), re.M))

    def _started(self, text: str) -> str:
        log = self.folder / ".server.log"
        log.touch()
        screen, terminal = pty.openpty()  # it prints a token to a terminal only
        server = subprocess.Popen(
            ["bash", "-c", f"exec {text.strip()}"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
            text=True,
        )
        os.close(terminal)
        threading.Thread(target=_copy, args=(screen, log)).start()
        self.servers.append(server)
        for _ in range(600):
            if READY in log.read_text():
                break
            assert server.poll() is None, f"{text}\nended and printed\n{log.read_text()}"
            time.sleep(0.1)
        return log.read_text()

    def stop(self) -> None:
        for server in self.servers:
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0


def _copy(screen: int, log: Path) -> None:
    """Write to a file what comes to a screen, until nobody writes to it any more."""
    suppressed = contextlib.suppress(OSError)  # how the system says that it ended
    with log.open("w") as written, open(screen, "rb", buffering=0) as shown, suppressed:
        while more := shown.read(65536):
            written.write(more.decode(errors="replace").replace("\r\n", "\n"))
            written.flush()


def errorfloor_commands(text: str) -> list[list[str]] | None:
    """Give the words of each command if all of them are plain calls of errorfloor; None if a shell is needed.

    >>> errorfloor_commands("errorfloor ask 'SELECT 1' \\\\\\n  --json  # once\\n")
    [['errorfloor', 'ask', 'SELECT 1', '--json']]
    >>> errorfloor_commands("errorfloor ledger export > ledger.jsonl") is None
    True
    """
    commands = []
    for line in text.replace("\\\n", " ").splitlines():
        reader = shlex.shlex(line, posix=True, punctuation_chars=True)
        reader.whitespace_split = True
        words = list(reader)
        if not words:
            continue
        if words[0] != "errorfloor" or any(set(word) <= set("();<>|&") for word in words) or "$" in line:
            return None
        commands.append(words)
    return commands
