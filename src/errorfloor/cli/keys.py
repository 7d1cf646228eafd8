"""``errorfloor keys``: make, rotate and list the keys that sticky noise follows from."""

from pathlib import Path
from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, app, messages, print_json
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
    _show(ring.current.id, f"made {file} with key {ring.current.id}; back it up, and keep it secret", as_json)
    if used is not None:
        messages.print(
            f"if {used} was used with another key, what was answered with that one is now drawn, and charged, again: "
            f"put the backup of that key file in place of this one",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


@keys.command()
def rotate(
    file: File,
    discard: Annotated[
        bool,
        typer.Option(
            "--discard", help="Somebody has seen the older keys: remove them, and give nothing they drew again."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a fresh key and use it from now on; what older keys drew is still given again, free of charge."""
    fresh = KeyRing(file).rotate(discard=discard)
    gone = "older keys are gone, and what they drew is charged again" if discard else "earlier answers stay free"
    _show(fresh.id, f"{file} now uses key {fresh.id} for new questions; {gone}", as_json)
    waits = "servers refuse questions until then" if discard else "they use the older key until then"
    messages.print(f"restart the processes that answer questions: {waits}", highlight=False, soft_wrap=True)


@keys.command("list")
def list_keys(file: File, as_json: AsJson = False) -> None:
    """List the ids of the keys in a file and when they were made; the last one is in use."""
    ring = KeyRing(file)
    if as_json:
        print_json([{"id": key.id, "created": key.created, "in_use": key is ring.current} for key in ring.keys])
        return
    for key in ring.keys:
        print(f"{key.id}  {key.created}{'  in use' if key is ring.current else ''}")


def _show(identity: str, text: str, as_json: bool) -> None:
    if as_json:
        print_json({"id": identity})
    else:
        print(text)
