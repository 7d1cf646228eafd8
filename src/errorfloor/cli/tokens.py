"""``errorfloor tokens``: who may ask a server."""

import datetime
from pathlib import Path
from typing import Annotated

import typer

from errorfloor.access.settings import Settings
from errorfloor.access.token import Terms
from errorfloor.access.tokens import Role, TokenFile
from errorfloor.cli.app import AsJson, app, messages, print_json, show

tokens = typer.Typer(help="Make, list and revoke the tokens of a server; only hashes are kept.", no_args_is_help=True)
app.add_typer(tokens, name="tokens")

File = Annotated[Path, typer.Option("--file", help="The token file of the server; only its owner may read it.")]
FILE = Path("tokens.json")


@tokens.command()
def create(
    name: Annotated[str, typer.Option(help="The person it is for; quotas count by this name.")],
    role: Annotated[
        Role, typer.Option(help="reader: what is free; analyst: may also spend; owner: also sees who asked what.")
    ] = Role.ANALYST,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until it expires.")] = 365,
    address: Annotated[
        list[str] | None, typer.Option(help="An address or network (10.0.0.0/8) it may be used from; default: any.")
    ] = None,
    table: Annotated[list[str] | None, typer.Option(help="A table or stream it may be used for; default: all.")] = None,
    question: Annotated[
        float | None, typer.Option(help="The share of any allowance that one question may take.")
    ] = None,
    day: Annotated[float | None, typer.Option(help="The share that all its questions in one day may take.")] = None,
    silently: Annotated[
        bool,
        typer.Option(
            "--silently", help="Let SQL tools be charged within --question and --day, without SET charge = on."
        ),
    ] = False,
    file: File = FILE,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, only this once. A running server accepts it from the next request on.

    Example: errorfloor tokens create --name ada --table meters --question 0.01 --day 0.05 --days 90
    """
    known = TokenFile(file)
    others = [one for one in known.all() if one.name == name]
    terms = Terms(
        expires=datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(days=days),
        addresses=tuple(address or ()),
        tables=tuple(table or ()),
        question=question,
        day=day,
        silently=silently,
    )
    token, text = known.create(name, role, terms)
    if as_json:
        print_json({**token.to_dict(), "token": text})
        return
    print(text)
    lines = [
        f"token {token.id} of {token.name}, {token.role.value}, {_terms(terms)}; it is kept nowhere else",
        f"sign in with it at /login of the server ({Settings().url}/login if it runs here with its defaults)",
    ]
    lines += [
        f"{name} has another token, {one.id} ({one.role.value}, made {one.created}), which stays valid; to revoke it: "
        f"errorfloor tokens revoke --file {file} --id {one.id}"
        for one in others
    ]
    messages.say("\n".join(lines))


@tokens.command("list")
def list_tokens(
    file: File = FILE,
    sessions: Annotated[
        Path | None, typer.Option(help="The server's file of sessions, if it is not next to the tokens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the tokens: id, role, when they were made and last used, name, and what they are limited to."""
    found, used = TokenFile(file).all(), _last_uses(sessions or file.with_name("sessions.sqlite"))
    if as_json:
        print_json([{**token.to_dict(), "used": used.get(token.id)} for token in found])
        return
    for token in found:
        last = used.get(token.id, "never used")
        print(f"{token.id}  {token.role.value:<7}  {token.created}  {last:<25}  {token.name}  {_terms(token.terms)}")


@tokens.command()
def revoke(
    identity: Annotated[str, typer.Option("--id", help="The id that errorfloor tokens list shows.")],
    file: File = FILE,
    as_json: AsJson = False,
) -> None:
    """Revoke a token; a running server refuses it from the next request on."""
    token = TokenFile(file).revoke(identity)
    show(token.to_dict(), f"revoked {token.id} of {token.name}", as_json)


def _terms(terms: Terms) -> str:
    """Say what a token is limited to.

    >>> _terms(Terms(tables=("meters",), question=0.01, day=0.05))
    'never expires, for meters, 1 % of the allowance per question, 5 % per day'
    """
    words = ["never expires" if terms.expires is None else f"expires {terms.expires:%Y-%m-%d}"]
    words += [f"from {', '.join(terms.addresses)}"] if terms.addresses else []
    words += [f"for {', '.join(terms.tables)}"] if terms.tables else []
    words += [f"{100 * terms.question:g} % of the allowance per question"] if terms.question is not None else []
    share = "" if terms.question is not None else " of the allowance"
    words += [f"{100 * terms.day:g} %{share} per day"] if terms.day is not None else []
    words += ["silently through SQL tools"] if terms.silently else []
    return ", ".join(words)


def _last_uses(path: Path) -> dict[str, str]:
    """Give when tokens were last used, as far as a server has noted it."""
    if not path.exists():
        return {}
    from errorfloor.access.store import Store, Uses  # needs the server's extra, which wrote that file

    store = Store(path)
    try:
        return {token: used.isoformat(timespec="seconds") for token, used in Uses(store).last().items()}
    finally:
        store.close()
