"""``errorfloor tokens``: who may ask a server."""

from pathlib import Path
from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, app, messages, print_json
from errorfloor.server.settings import Settings
from errorfloor.server.tokens import Role, TokenFile

tokens = typer.Typer(help="Make, list and revoke the tokens of a server; only hashes are kept.", no_args_is_help=True)
app.add_typer(tokens, name="tokens")

File = Annotated[Path, typer.Option("--file", help="The token file of the server; only its owner may read it.")]
FILE = Path("tokens.json")


@tokens.command()
def create(
    name: Annotated[str, typer.Option("--name", help="Whose it is; quotas count by this name.")],
    role: Annotated[
        Role,
        typer.Option("--role", help="reader: what is free; analyst: may spend; owner: sees also who asked what."),
    ] = Role.ANALYST,
    file: File = FILE,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it; it is shown this once. A running server knows it from the next request on."""
    known = TokenFile(file)
    others = [one for one in known.all() if one.name == name]
    token, text = known.create(name, role)
    if as_json:
        print_json({**token.to_dict(), "token": text})
        return
    print(text)
    lines = [
        f"token {token.id} of {token.name}, {token.role.value}; it is kept nowhere else",
        f"sign in with it at /login of the server ({Settings().url}/login if it runs here with its defaults)",
    ]
    lines += [
        f"{name} has another token, {one.id} ({one.role.value}, made {one.created}), which stays good; to revoke it: "
        f"errorfloor tokens revoke --file {file} --id {one.id}"
        for one in others
    ]
    messages.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


@tokens.command("list")
def list_tokens(file: File = FILE, as_json: AsJson = False) -> None:
    """List the tokens: id, name, role, and when they were made."""
    found = TokenFile(file).all()
    if as_json:
        print_json([token.to_dict() for token in found])
        return
    for token in found:
        print(f"{token.id}  {token.role.value:<7}  {token.created}  {token.name}")


@tokens.command()
def revoke(
    identity: Annotated[str, typer.Option("--id", help="The id that errorfloor tokens list shows.")],
    file: File = FILE,
    as_json: AsJson = False,
) -> None:
    """Revoke a token; a running server refuses it from the next request on."""
    token = TokenFile(file).revoke(identity)
    if as_json:
        print_json(token.to_dict())
    else:
        print(f"revoked {token.id} of {token.name}")
