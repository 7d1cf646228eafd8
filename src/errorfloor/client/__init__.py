"""The client: the same face as ``errorfloor.open``, over HTTP (extra ``client``)."""

from errorfloor.extras import require

require("client", "httpx", "pyarrow")

from errorfloor.accounts import Account, Charge
from errorfloor.client.answer import RemoteAnswer, RemotePrice
from errorfloor.client.database import RemoteDatabase, connect
from errorfloor.client.failures import RemoteError
from errorfloor.client.standing import RemotePlan, RemoteQuota, RemoteSimulation, RemoteStanding

__all__ = [
    "Account",
    "Charge",
    "RemoteAnswer",
    "RemoteDatabase",
    "RemoteError",
    "RemotePlan",
    "RemotePrice",
    "RemoteQuota",
    "RemoteSimulation",
    "RemoteStanding",
    "connect",
]
