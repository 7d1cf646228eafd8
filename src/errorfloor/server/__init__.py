"""The HTTP door: the same questions over the network, with tokens, limits and pages (extra ``server``).

``app`` puts the routes together and ``gate`` stands before them. Routes: ``questions``, ``planning``, ``following``,
``streams``, ``accounts``, ``designs``, ``saved``, ``signin``, ``health``, and ``pages``. ``statements`` writes large
answers; ``protocol`` reads HTTP; ``messages`` writes the log without waiting; ``running`` starts and stops the
processes. What the doors share, such as tokens and limits, is in ``access``.

A new route: in the module of its subject, with its request and reply (those that doors share are in ``access.models``),
the same method in ``client.database`` and ``service.database``, and ``python scripts/write_http_reference.py``. A new
module also has its line in ``app.create_app``. The app is loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from errorfloor.access.settings import Settings
from errorfloor.access.tokens import Role, Token, TokenFile
from errorfloor.extras import require

if TYPE_CHECKING:
    from errorfloor.server.app import create_app

__all__ = ["Role", "Settings", "Token", "TokenFile", "create_app"]


def __getattr__(name: str) -> Any:
    if name != "create_app":
        raise AttributeError(f"module 'errorfloor.server' has no attribute {name!r}")
    require("server", "fastapi", "uvicorn", "jinja2", "prometheus_client")
    return import_module("errorfloor.server.app").create_app
