"""``errorfloor keys``: make, rotate and list the keys that sticky noise follows from."""

from pathlib import Path
from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, app, messages, show
from errorfloor.identity import KeyRing
from errorfloor.identity.keys import used_with

keys = typer.Typer(help="Make, rotate and list keys; secrets are never shown.", no_args_is_help=True)
app.add_typer(keys, name="keys")

File = Annotated[Path, typer.Option("--file", help="The key file; only its owner may read it.")]


@keys.command()
def create(file: File, as_json: AsJson = False) -> None:
    """Make a key file with one fresh key; an existing file is never overwritten."""
    used = used_with(file)
    ring = KeyRing.create(file)
    made = f"made {file} with key {ring.current.id}; back it up, and keep it secret"
    show({"id": ring.current.id}, made, as_json)
    if used is not None:
        messages.say(
            f"if {used} was used with another key, what was answered with that one is now drawn, and charged, again: "
            f"put the backup of that key file in place of this one"
        )


@keys.command()
def rotate(
    file: File,
    discard: Annotated[
        bool,
        typer.Option(
            "--discard", help="Somebody has seen the older keys: remove them, and repeat nothing that they drew."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a fresh key and use it from now on; what older keys drew is still given again, free of charge."""
    fresh = KeyRing(file).rotate(discard=discard)
    gone = "older keys are gone, and what they drew is charged again" if discard else "earlier answers stay free"
    show({"id": fresh.id}, f"{file} now uses key {fresh.id} for new questions; {gone}", as_json)
    waits = "servers refuse questions until then" if discard else "they use the older key until then"
    messages.say(f"restart the processes that answer questions: {waits}")


@keys.command("list")
def list_keys(file: File, as_json: AsJson = False) -> None:
    """List the ids of the keys in a file and when they were made; the last one is in use."""
    ring = KeyRing(file)
    plain = [{"id": key.id, "created": key.created, "in_use": key is ring.current} for key in ring.keys]
    lines = [f"{one['id']}  {one['created']}{'  in use' if one['in_use'] else ''}" for one in plain]
    show(plain, "\n".join(lines), as_json)
