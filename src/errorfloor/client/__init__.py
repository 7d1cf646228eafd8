"""The client: the same face as ``errorfloor.open``, over HTTP (extra ``client``)."""

from errorfloor.errors import MissingExtraError

try:
    import httpx as _httpx  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
except ModuleNotFoundError as _missing:
    raise MissingExtraError("client", str(_missing.name)) from None

from errorfloor.client.answer import RemoteAnswer, RemotePrice
from errorfloor.client.database import RemoteDatabase, connect
from errorfloor.client.failures import RemoteError
from errorfloor.client.standing import Account, Charge, RemoteQuota, RemoteSimulation, RemoteStanding
from errorfloor.client.steps import RemoteStep

__all__ = [
    "Account",
    "Charge",
    "RemoteAnswer",
    "RemoteDatabase",
    "RemoteError",
    "RemotePrice",
    "RemoteQuota",
    "RemoteSimulation",
    "RemoteStanding",
    "RemoteStep",
    "connect",
]
