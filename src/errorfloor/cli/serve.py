"""``errorfloor serve``: questions and pages over HTTP, on a catalogue or on the demo's table."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.access.settings import Settings
from errorfloor.access.tokens import Role, Token, TokenFile
from errorfloor.catalogue import load
from errorfloor.cli.app import AsJson, app, command, messages, print_json, with_options
from errorfloor.cli.demo import prepare_demo
from errorfloor.errors import InputError
from errorfloor.server import create_app as _needs_the_extra  # noqa: F401  (said before anything is made)
from errorfloor.server.running import ServingPlan, listen, listen_for_postgres
from errorfloor.server.running import serve as run

HERE = Path("errorfloor.toml")
Catalogue = Annotated[
    Path | None,
    typer.Argument(
        metavar="[CATALOGUE]",
        help="The catalogue of the tables; default: errorfloor.toml if it is here, else the demo's generated table.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Without a catalogue: the folder in which to keep the demo's table for next time."
    ),
]


@app.command()
@with_options(Settings, before="output")
def serve(catalogue: Catalogue = None, output: Folder = None, as_json: AsJson = False, **chosen: Any) -> None:
    """Serve questions and pages over HTTP until Ctrl+C; it finishes requests in progress first.

    Without a catalogue it serves a generated table of meter readings, to try it out. If there is no token yet, one for
    the owner is made for this run, and the address that is printed signs in with it; but only if it is printed to a
    terminal (or as --json) and the server listens on this machine alone, so that no log keeps it.

    Example: errorfloor serve errorfloor.toml --host 0.0.0.0 --cert host.pem --key host.key
    """
    settings = Settings(**chosen)
    with _tables(catalogue, output) as file:
        settings = replace(settings, tokens=settings.tokens or file.parent / "tokens.json")
        assert settings.tokens is not None
        known = TokenFile(settings.tokens)
        temporary, text = ((), None) if known.all() else _owner(known, file, settings, as_json)
        taken, settings = listen(settings)
        postgres, settings = listen_for_postgres(settings)
        assert settings.tokens is not None
        plan = ServingPlan(file, settings, settings.tokens, temporary, postgres)
        has_owner = text is not None or any(one.role is Role.OWNER for one in known.all())
        run(plan, taken, lambda: _announce(file, settings, text, has_owner, as_json))
    messages.say("stopped")


def _owner(
    known: TokenFile, catalogue: Path, settings: Settings, as_json: bool
) -> tuple[tuple[Token, ...], str | None]:
    """Make a token for the owner for this run, where nobody but its reader will see it; refuse to serve nobody."""
    if settings.loopback and (as_json or sys.stderr.isatty()):
        token, text = known.create("owner", Role.OWNER, temporary=True)
        return (token,), text
    if load(catalogue).sign_in is not None:
        return (), None  # people sign in through their provider
    raise InputError(
        f"there is no token in {settings.tokens}, and one for this run is made only where the server listens on this "
        f"machine alone and prints it to a terminal or as --json, since a log would keep it: make one first, with "
        f"{command()} tokens create --file {settings.tokens} --name NAME --role owner"
    )


@contextmanager
def _tables(catalogue: Path | None, output: Path | None) -> Iterator[Path]:
    """Give the catalogue, the one that lies here, or that of the demo, made if need be."""
    if catalogue is not None:
        yield catalogue
    elif output is None and HERE.is_file():
        yield HERE
    elif output is not None:
        yield prepare_demo(output)
    else:
        with tempfile.TemporaryDirectory(prefix="errorfloor-") as folder:
            yield prepare_demo(Path(folder))


def _announce(catalogue: Path, settings: Settings, token: str | None, has_owner: bool, as_json: bool) -> None:
    address = f"{settings.url}/login" if token is None else f"{settings.url}/?token={token}"
    create = f"{command()} tokens create --file {settings.tokens} --name NAME --role"
    if as_json:
        print_json({"url": settings.url, "token": token, "catalogue": str(catalogue), "postgres": settings.postgres})
        sys.stdout.flush()  # whoever started it reads on while it runs
        return
    lines = [f"serving {catalogue} at", f"  {address}"]
    if token is None:
        lines += [f"  sign in there with a token listed in {settings.tokens}; to make one for somebody,"]
        lines += [f"  {create} analyst"]
        if not has_owner:
            lines += [
                "  none of them belongs to an owner, who also sees who asked what; to make one,",
                f"  {create} owner",
            ]
    else:
        lines += [
            "  this address signs in as the owner, for this run only; make tokens that last, one for each person, with",
            f"  {create} analyst",
            f'  from Python: ef.connect("{settings.url}", token="{token}")',
        ]
    if settings.postgres is not None:
        who = "NAME" if token is None else "owner"
        where = f"host={settings.host} port={settings.postgres} dbname=errorfloor user={who}"
        lines += [f'  with PostgreSQL\'s protocol: psql "{where}"; the password is the token']
    lines += ["stop with Ctrl+C"]
    messages.say("\n".join(lines))
