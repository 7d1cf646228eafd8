"""Running a server: one process, or several over one ledger; requests under way are finished before it stops."""

import logging
import math
import os
import resource
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from errorfloor.access.metrics import SHARED
from errorfloor.access.settings import Settings
from errorfloor.access.shared import SharedListener
from errorfloor.access.tokens import Token, TokenFile
from errorfloor.errors import InputError
from errorfloor.postgres.line import LineProtocol
from errorfloor.server.app import create_app
from errorfloor.server.messages import Messages
from errorfloor.server.protocol import StrictProtocol, line_settings
from errorfloor.service import Database, open_database

BACKLOG = 1024  # connections that wait while every process is busy
SWITCH = 0.001  # seconds after which a thread that computes lets the others go on: small questions beside large ones
PATIENCE = 30  # seconds within which a process must show that it lives


@dataclass(frozen=True)
class ServingPlan:
    """What to serve, and how; called, it gives the app, in whichever process that happens.

    ``temporary`` are tokens that count for this run only; ``postgres`` is the socket of that door.
    """

    catalogue: Path
    settings: Settings
    tokens: Path
    temporary: tuple[Token, ...] = ()
    postgres: socket.socket | None = None

    def __call__(self) -> FastAPI:
        """Open the tables and give the app that serves them."""
        sys.setswitchinterval(SWITCH)
        logging.getLogger().addHandler(Messages())
        known = TokenFile(self.tokens)
        for token in self.temporary:
            known.accept(token)
        database = _opened(self.catalogue)
        followed = self.catalogue.resolve()
        return create_app(
            database,
            tokens=known,
            settings=self.settings,
            catalogue=followed,
            close_database=True,
            postgres=self.postgres,
        )


def _opened(catalogue: Path) -> Database:
    """Open the tables; refuse a ledger that they were not registered with."""
    database = open_database(catalogue)
    try:
        database.check_ledger()
    except BaseException:
        database.close()
        raise
    return database


class Workers(Multiprocess):
    """Several processes; a hang-up is passed on to them, and each reopens its log."""

    def keep_subprocess_alive(self) -> None:
        """Close the processes' ends of the lines to them, which they have: so one that dies is missed at once.

        Else the death of a process that is just being asked whether it lives would hold up all others that are to be
        started again, for as long as an answer may take.
        """
        for one in self.processes:
            one.child_conn.close()
        super().keep_subprocess_alive()

    def handle_hup(self) -> None:
        """Pass it on."""
        for one in self.processes:
            if one.pid is not None:
                os.kill(one.pid, signal.SIGHUP)


def listen(settings: Settings) -> tuple[socket.socket, Settings]:
    """Take the address; give the socket, and the settings with the port that was taken.

    Raises InputError if the address is not this machine's, or the port is taken or reserved.

    >>> taken, settings = listen(Settings(port=0))
    >>> settings.port > 0
    True
    >>> listen(settings)
    Traceback (most recent call last):
    errorfloor.errors.InputError: port ... of 127.0.0.1 is in use: choose another with --port, or 0 for a free one
    >>> taken.close()
    """
    taken = _taken(settings.host, settings.port, "--port")
    return taken, replace(settings, port=taken.getsockname()[1])


def listen_for_postgres(settings: Settings) -> tuple[socket.socket | None, Settings]:
    """Take the port of the PostgreSQL door, if there is one; raises as ``listen`` does."""
    if settings.postgres is None:
        return None, settings
    taken = _taken(settings.host, settings.postgres, "--postgres")
    return taken, replace(settings, postgres=taken.getsockname()[1])


def _taken(host: str, port: int, option: str) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise InputError(f"there is no address {host!r} to listen on") from None
    family, kind, _, _, address = found[0]
    taken = socket.socket(family, kind, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise a reply in two parts waits 40 ms
    try:
        taken.bind(address)
        taken.listen(BACKLOG)
    except OSError as problem:
        taken.close()
        reason = {98: "is in use", 48: "is in use", 13: "is reserved for the administrator"}.get(problem.errno or 0)
        if reason is None:
            raise InputError(f"cannot listen on {host} port {port}: {problem.strerror}") from None
        raise InputError(f"port {port} of {host} {reason}: choose another with {option}, or 0 for a free one") from None
    return taken


def serve(plan: ServingPlan, taken: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal says stop; requests under way are finished first. ``ready`` is called once all is open.

    Raises InputError if the certificate cannot be used, and whatever is wrong with the tables, ledger or keys.
    """
    settings = plan.settings
    _allow_connections()
    with taken, ExitStack() as stack:
        if settings.processes > 1:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="errorfloor-counts-"))
            os.environ[SHARED] = shared
            stack.callback(os.environ.pop, SHARED, None)
            taken = stack.enter_context(SharedListener(taken, Path(shared) / "lines", StrictProtocol.count))
            if plan.postgres is not None:
                lines = SharedListener(plan.postgres, Path(shared) / "postgres-lines", LineProtocol.count)
                plan = replace(plan, postgres=stack.enter_context(lines))
        _serve(plan, taken, ready)


def _serve(plan: ServingPlan, taken: socket.socket, ready: Callable[[], None]) -> None:
    settings = plan.settings
    config = uvicorn.Config(
        plan,
        factory=True,
        lifespan="on",
        log_config=None,
        access_log=False,  # addresses could hold a token; the audit log has what is needed
        server_header=False,
        **line_settings(),
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips=settings.proxies if settings.behind_proxy else "",
        ssl_certfile=settings.cert,
        ssl_keyfile=settings.key,
        workers=settings.processes,
        timeout_graceful_shutdown=math.ceil(settings.time_limit * (1 + settings.grid_ratio)) + 1,
        timeout_worker_healthcheck=PATIENCE,
    )
    server = uvicorn.Server(config)
    with _stopped_by_signal(server):
        _check_certificate(settings)
        if settings.processes > 1:
            with _opened(plan.catalogue) as database:
                _ = database.declared_streams  # what is wrong is said here, once, and not by every process
            processes = Workers(config, [taken])  # obeys signals from here on
            ready()
            if not server.should_exit:
                processes.run()
        else:
            config.load()  # opens the tables
            ready()
            server.run([taken])


def _allow_connections() -> None:
    """Let the process open as many files as the system allows: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _check_certificate(settings: Settings) -> None:
    if settings.cert is None or settings.key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.cert, settings.key)
    except (OSError, ssl.SSLError):
        raise InputError(
            f"cannot use {settings.cert} with {settings.key}: give a certificate and its key as PEM files that this "
            f"user can read"
        ) from None


@contextmanager
def _stopped_by_signal(server: uvicorn.Server) -> Iterator[None]:
    """Make a signal that was obeyed the end of it, also one that comes early: the process then leaves with code 0."""

    def stop(*_: object) -> None:
        server.should_exit = True

    names = (signal.SIGINT, signal.SIGTERM)
    before = {name: signal.signal(name, stop) for name in names}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # once it serves, it reopens its log
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
