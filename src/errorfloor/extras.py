"""Optional packages: a room that needs some says so before it is loaded, with the command that installs them."""

from importlib.util import find_spec

from errorfloor.errors import MissingExtraError


def require(extra: str, *packages: str) -> None:
    """Raise MissingExtraError if one of the packages of an extra is not installed.

    >>> require("cli", "typer", "rich")
    >>> require("plots", "tapestry")
    Traceback (most recent call last):
    errorfloor.errors.MissingExtraError: this needs tapestry, which is not installed: pip install 'errorfloor[plots]'
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(extra, package)
