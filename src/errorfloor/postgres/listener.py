"""All lines of a process: who may open one, who is where, and how they end."""

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errorfloor.access.audit import VisitorsBook
from errorfloor.access.door import ServerDoor
from errorfloor.access.failures import DoorError, said_of, unexpected
from errorfloor.access.visit import Visit, Visitor
from errorfloor.errors import ErrorFloorError
from errorfloor.postgres import wire
from errorfloor.postgres.declared import SystemCatalogues
from errorfloor.postgres.line import ClientLine, LineProtocol
from errorfloor.postgres.proof import digest_of
from errorfloor.postgres.session import Session
from errorfloor.postgres.session_questions import ROUTE

START_TIME = 10.0  # seconds within which a client must be known
WATCH = 10.0  # seconds after which, at most, a line ends whose token was revoked or has expired
OPTION = "-c"


class PostgresListener:
    """Listens on a socket, in the event loop of the server.

    *Guarantee*: a process has at most ``postgres_lines`` lines, and none of a client that is not known for longer than
    ``START_TIME``; of those that are not known, the one that came first makes room. A line ends with its token, within
    ``WATCH`` seconds. Processes that share a ``folder``
    pass cancellations on to each other.
    """

    def __init__(self, door: ServerDoor, book: VisitorsBook, folder: Path | None) -> None:
        self._door, self._book, self._folder = door, book, folder
        self._systems = SystemCatalogues()
        self._sessions: dict[int, Session] = {}  # by their secret
        self._lines: dict[asyncio.Task[None], Session | None] = {}
        self._server: asyncio.Server | None = None
        self._mail: asyncio.DatagramTransport | None = None
        self._watching: asyncio.Task[None] | None = None
        settings = door.settings
        self._context: ssl.SSLContext | None = None
        self._certificate = b""
        if settings.cert is not None and settings.key is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(settings.cert, settings.key)
            self._certificate = digest_of(settings.cert)

    async def open(self, taken: socket.socket) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: LineProtocol(self._came), sock=taken, backlog=1024)
        self._watching = asyncio.create_task(self._watch())
        if self._folder is not None:
            with _letter_box(self._folder, os.getpid()) as place:
                self._mail, _ = await loop.create_datagram_endpoint(
                    lambda: _Mail(self._cancel_here), local_addr=place, family=socket.AF_UNIX
                )

    async def close(self) -> None:
        """Stop listening; a question under way is answered first, then its line ends."""
        if self._server is not None:
            self._server.close()
        if self._mail is not None:
            self._mail.close()
        if self._watching is not None:
            self._watching.cancel()
        for task, session in list(self._lines.items()):
            if session is not None and session.is_busy:
                session.is_ending = True
            else:
                task.cancel()
        if self._lines:
            await asyncio.wait(self._lines)

    async def _watch(self) -> None:
        """End the lines on which nothing is asked, once their tokens are good no longer; others end when they ask."""
        while True:
            await asyncio.sleep(WATCH)
            for task, session in list(self._lines.items()):
                if session is not None and not session.is_busy:
                    try:
                        self._door.authentication.still_good(session.line.address, session.token)
                    except DoorError as problem:
                        session.ended_by = problem
                        task.cancel()
                    except ErrorFloorError:  # a token file that cannot be read is said to those who ask
                        pass

    def _came(self, protocol: LineProtocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_full = len(self._lines) >= self._door.settings.postgres_lines
        waiting = next((task for task, session in self._lines.items() if session is None), None) if is_full else None
        if waiting is not None:
            self._lines.pop(waiting)
            waiting.cancel()
        task = asyncio.create_task(self._serve(ClientLine(reader, writer, protocol), is_full and waiting is None))
        self._lines[task] = None

        def left(_: object) -> None:
            self._lines.pop(task, None)
            writer.close()

        task.add_done_callback(left)

    async def _serve(self, line: ClientLine, is_full: bool) -> None:
        """Serve a client to its end; whatever it sends, nothing is left behind."""
        session: Session | None = None
        try:
            async with asyncio.timeout(START_TIME):
                session = await self._known(line, is_full)
            if session is not None:
                self._sessions[session.secret] = session
                self._lines[asyncio.current_task()] = session  # type: ignore[index]  # one is running this
                await session.serve()
        except ErrorFloorError as problem:
            _, code, text, fields, _ = said_of(problem)
            await _last_words(line, wire.failure_message(code, text, fields, severity="FATAL"))
        except asyncio.CancelledError:
            if session is not None:
                why = session.ended_by or DoorError(503, "stopping", "the server is being stopped")
                await _last_words(line, wire.failure_message(said_of(why)[1], str(why), {}, severity="FATAL"))
        except (TimeoutError, OSError, EOFError, ssl.SSLError):
            pass  # it is gone, or not coming
        except Exception as problem:
            unexpected(problem)
        finally:
            if session is not None:
                self._sessions.pop(session.secret, None)

    async def _known(self, line: ClientLine, is_full: bool) -> Session | None:
        """Start a line, and find out who is there; what became of that is written down."""
        wanted = await line.start(self._context, self._cancel)
        if wanted is None:
            return None
        visit = Visit.fresh()
        visitor = Visitor(visit, line.address, line.protocol.stop.wait)
        status, visit.facts = 200, {"sign_in": "refused", "address": line.address}
        settings, door = self._door.settings, self._door
        try:
            if is_full:
                raise DoorError(503, "connections", "too many connections: try again later")
            user = wanted.pop("user", "")
            token = await line.sign_in(
                door.authentication, visitor, user, self._certificate, open_air=settings.insecure
            )
            mine = [one for one in self._sessions.values() if one.token.id == token.id]
            if 2 * len(mine) >= settings.postgres_lines:
                raise DoorError(
                    503, "connections", f"this token has {len(mine)} connections: close some, or use a pool"
                )
            session = Session(line, door, self._book, token, self._systems)
            _begin(session, wanted)
            visit.facts["sign_in"] = "done"
            return session
        except ErrorFloorError as problem:
            status, visit.code = said_of(problem)[:2]
            raise
        except BaseException:
            visit.code = "gone"
            raise
        finally:
            self._book.write(visit, ROUTE, "START", status, line.address)

    def _cancel(self, process: int, secret: int) -> None:
        if process == os.getpid():
            self._cancel_here(secret)
        elif self._folder is not None:
            with (
                suppress(OSError),
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mail,
                _letter_box(self._folder, process) as place,
            ):
                mail.setblocking(False)
                mail.sendto(struct.pack("!I", secret), place)

    def _cancel_here(self, secret: int) -> None:
        session = self._sessions.get(secret)
        if session is not None:
            session.cancel()


class _Mail(asyncio.DatagramProtocol):
    """Cancellations that came to another process."""

    def __init__(self, cancel: Callable[[int], None]) -> None:
        self._cancel = cancel

    def datagram_received(self, data: bytes, addr: object) -> None:
        if len(data) == 4:
            self._cancel(struct.unpack("!I", data)[0])


@contextmanager
def _letter_box(folder: Path, process: int) -> Iterator[str]:
    """Give where a process finds its mail, by a short name where the system has one: long ones are not allowed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        short = Path(f"/proc/self/fd/{descriptor}")
        yield str((short if short.exists() else folder) / f"cancel-{process}")
    finally:
        os.close(descriptor)


def _begin(session: Session, wanted: dict[str, str]) -> None:
    """Set what the token says, then what a client wants from the start: by name, or as -c name=value in its options."""
    if session.token.terms.silently:
        session.settings.set("charge", "on")
    for name, value in wanted.items():
        if name == "options":
            parts = value.replace("\\ ", "\0").split()
            for part in parts:
                plain = part.removeprefix(OPTION).removeprefix("-").replace("\0", " ")
                if "=" in plain:
                    session.settings.set(*plain.split("=", 1))
        elif name not in ("database", "replication"):
            session.settings.set(name, value)
    session.settings = session.settings.started()


async def _last_words(line: ClientLine, message: bytes) -> None:
    with suppress(OSError, asyncio.TimeoutError):
        async with asyncio.timeout(1.0):
            await line.send(message)
