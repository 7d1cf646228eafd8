"""``errorfloor init --page``: the form on a page that this command serves, to this machine alone, until it is written.

The command reads the custodian's files, so no server for others offers the page. Its address works once: whoever opens
it first is led to another, secret one, and the command ends with the catalogue written. Values are on neither.
"""

import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qsl

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from errorfloor.catalogue import Schema
from errorfloor.cli.form import proposed, read
from errorfloor.errors import ErrorFloorError
from errorfloor.server.gate import HEADERS
from errorfloor.server.pages.routes import drawn, static_file

LARGEST = 2**20  # bytes of a filled form
USED = "This address has been used. Stop the command with Ctrl+C and run it again to get another."


class DeclaringPage:
    """The page: filled in, checked, and written once.

    ``text_of`` gives the catalogue for what was chosen; ``write`` writes it, and says what to do next, with commands.
    """

    def __init__(
        self,
        schemas: Sequence[Schema],
        target: str,
        text_of: Callable[[Sequence[Schema]], str],
        write: Callable[[str], Sequence[tuple[str, str]]],
    ) -> None:
        self._schemas, self._target, self._text_of, self._write = schemas, target, text_of, write
        self._secret = secrets.token_urlsafe(24)
        self._once: str | None = secrets.token_urlsafe(24)
        self._checked: str | None = None
        self.written = False
        self.stop: Callable[[], None] = lambda: None
        self.app = FastAPI(openapi_url=None)
        self.app.add_api_route("/", self._enter)
        self.app.add_api_route("/static/{wanted}/{name}", static_file)
        self.app.add_api_route(f"/{self._secret}", self._form)
        self.app.add_api_route(f"/{self._secret}", self._check, methods=["POST"])
        self.app.add_api_route(f"/{self._secret}/write", self._finish, methods=["POST"])
        self.app.middleware("http")(_dressed)

    @property
    def way_in(self) -> str:
        """The path that works once."""
        return f"/?token={self._once}"

    def _enter(self, token: str = "") -> Response:
        if self._once is None or not secrets.compare_digest(token.encode(), self._once.encode()):
            return PlainTextResponse(USED, status_code=403)
        self._once = None
        return RedirectResponse(f"/{self._secret}", status_code=303)

    def _form(self, request: Request) -> Response:
        return self._drawn(request, tables=proposed(self._schemas))

    async def _check(self, request: Request) -> Response:
        filled = read(self._schemas, await _filled(request))
        if not filled.is_whole:
            return self._drawn(request, 422, tables=filled.tables, mistaken=True)
        self._checked = self._text_of(filled.schemas)
        return self._drawn(request, tables=filled.tables, text=self._checked, promises=filled.promises)

    async def _finish(self, request: Request) -> Response:
        """Write what was shown last, and nothing else."""
        shown = (await _filled(request)).get("text", "").replace("\r\n", "\n")
        if self.written or self._checked is None or shown != self._checked:
            return PlainTextResponse("This is not what was checked last. Go back and check it again.", status_code=409)
        try:
            steps = self._write(self._checked)
        except (ErrorFloorError, OSError) as problem:
            return self._drawn(request, 409, problem=str(problem))
        self.written = True
        page = self._drawn(request, steps=steps)
        page.background = BackgroundTask(self.stop)
        return page

    def _drawn(self, request: Request, status: int = 200, **facts: object) -> Response:
        known = {"here_path": f"/{self._secret}", "target": self._target, **facts}
        return drawn(request, "init", "Declare a table", status, **known)


def serve_once(page: DeclaringPage, say: Callable[[str], None]) -> None:
    """Serve the page to this machine until it is written, or until Ctrl+C."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = uvicorn.Config(page.app, log_level="error", access_log=False, ws="none", server_header=False)
        server = uvicorn.Server(config)

        def stop() -> None:
            server.should_exit = True

        page.stop = stop
        say(f"http://127.0.0.1:{taken.getsockname()[1]}{page.way_in}")
        server.run(sockets=[taken])


async def _filled(request: Request) -> dict[str, str]:
    """Read the fields of a form; one that is too large is empty, and then nothing is chosen."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST:
            return {}
    return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))


async def _dressed(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
