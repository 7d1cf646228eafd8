"""The app: routes, failures and the gate, put together."""

import asyncio
import multiprocessing
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fastapi import FastAPI

from errorfloor.access.audit import AuditLog, VisitorsBook
from errorfloor.access.auth import Authentication, Origins
from errorfloor.access.current import GLANCE, Current
from errorfloor.access.door import ServerDoor
from errorfloor.access.failures import install
from errorfloor.access.limits import Keys, Rates, UnderWay
from errorfloor.access.metrics import SHARED, Metrics
from errorfloor.access.provider import Provider
from errorfloor.access.settings import Settings
from errorfloor.access.store import Store
from errorfloor.access.threads import SharedProbe, Threads
from errorfloor.access.token import digest
from errorfloor.access.tokens import TokenFile
from errorfloor.access.workshop import Workshop
from errorfloor.charging.standing import Standing
from errorfloor.display import Accounts
from errorfloor.postgres.listener import PostgresListener
from errorfloor.server.accounts import accounts
from errorfloor.server.designs import designs
from errorfloor.server.following import following
from errorfloor.server.gate import Gate
from errorfloor.server.health import health
from errorfloor.server.pages import login_page
from errorfloor.server.pages import router as pages
from errorfloor.server.planning import planning
from errorfloor.server.questions import questions
from errorfloor.server.saved import SavedQuestions, saved_questions
from errorfloor.server.signin import Link, signing_in, signing_in_elsewhere
from errorfloor.server.streams import streams
from errorfloor.service import Database
from errorfloor.service.listing import left_where_terms_hold
from errorfloor.service.opening import readiness
from errorfloor.version import __version__

ABOUT = (
    "Questions about private numbers, answered with noise that never leaves its bounds, and with a statement of what "
    "nobody can learn from the answers. Every failure has the shape {error: {code, message, fields}}."
)

PROBE = 2.0  # seconds within which the ledger has to answer whoever asks how it is
KEPT = 1.0  # seconds for which everybody is told the same about that


def _standings(database: Database) -> Accounts[Standing]:
    return left_where_terms_hold(database.catalogue, database.ledger)


async def _end_with_parent() -> None:
    """Stop a worker whose parent is gone, as on a signal: nobody could stop it any more."""
    parent = multiprocessing.parent_process()
    while parent is not None:
        await asyncio.sleep(1.0)
        if not parent.is_alive():
            signal.raise_signal(signal.SIGTERM)
            return


async def _look_around(current: Current) -> None:
    """Look at the catalogue and the snapshots also while nobody asks: what was erased must not stay open."""
    while True:
        await asyncio.sleep(GLANCE)
        await asyncio.to_thread(current.look)


def create_app(
    database: Database,
    *,
    tokens: TokenFile,
    settings: Settings,
    catalogue: Path | None = None,
    close_database: bool = False,
    postgres: socket.socket | None = None,
) -> FastAPI:
    """Give the app that serves a database.

    ``catalogue`` is the file to follow when it changes; ``close_database`` closes the database when the app stops;
    ``postgres`` is the socket on which it speaks PostgreSQL's protocol as well.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     app = create_app(db, tokens=TokenFile(None), settings=Settings())
    ...     sorted(app.openapi()["paths"])[:4]
    ['/healthz', '/metrics', '/readyz', '/v1/ask']
    """
    counts = Path(os.environ[SHARED]) if settings.processes > 1 and SHARED in os.environ else None
    rates = Rates(settings.rate, settings.burst, counts)
    beside = None if tokens.path is None else tokens.path.with_name("sessions.sqlite")
    store = Store(settings.sessions or beside)
    saved = SavedQuestions(None if tokens.path is None else tokens.path.with_name("questions.sqlite"))
    declared = database.catalogue.sign_in
    authentication = Authentication(
        tokens,
        rates,
        store=store,
        idle=settings.session_idle,
        life=settings.session_life,
        failures=settings.failures,
        vouched_by=digest(declared.model_dump_json()) if declared is not None else "",
    )
    metrics = Metrics()
    current = Current(database, catalogue)
    door = ServerDoor(
        current,
        authentication,
        settings,
        Threads(settings.threads, waiting=settings.waiting, time_limit=settings.time_limit, changed=metrics.threads),
        Threads(1, waiting=settings.waiting, time_limit=settings.time_limit, name="designs"),
        Workshop(time_limit=settings.time_limit),
        metrics,
        Keys(),
        database.declared_streams,
        UnderWay(database.catalogue.limit.running_per_token, counts),
        SharedProbe(lambda: readiness(current()), time_limit=PROBE, kept=KEPT, name="ready"),
        SharedProbe(lambda: _standings(current.look()), time_limit=PROBE, kept=0.0, name="shares"),
    )
    audit = AuditLog(settings.audit_log)
    book = VisitorsBook(metrics, audit)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        watching = [asyncio.create_task(_end_with_parent()), asyncio.create_task(_look_around(current))]
        with suppress(ValueError, RuntimeError, NotImplementedError):  # signals are for the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, audit.reopen)
        listener = None if postgres is None else PostgresListener(door, book, counts)
        if listener is not None and postgres is not None:
            await listener.open(postgres)
        yield
        for one in watching:
            one.cancel()
        if listener is not None:
            await listener.close()
        for part in (door.threads, door.ready, door.shares, door.designing, door.workshop):
            part.close()
        for kept in (audit, authentication, saved, rates):
            kept.close()
        if close_database:
            database.close()

    app = FastAPI(
        title="errorfloor",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # its page loads scripts from elsewhere, and this server works offline
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    for routes in (questions, planning, health, accounts, designs, streams, following):  # looked through in this order
        app.include_router(routes(door))
    app.include_router(saved_questions(door, saved))
    app.include_router(signing_in(authentication, login_page))
    app.state.sign_in = declared
    if declared is not None:
        provider = Provider(declared, database.catalogue.folder, store)
        app.include_router(signing_in_elsewhere(authentication, provider, login_page))
    app.include_router(pages(lambda: current.look().catalogue, authentication.caller))
    install(app)
    app.add_middleware(Link, authentication=authentication, page=login_page)
    app.add_middleware(Origins)
    app.add_middleware(Gate, settings=settings, book=book)
    return app
