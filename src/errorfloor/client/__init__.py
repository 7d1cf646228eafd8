"""The client: the same methods as ``errorfloor.open`` gives, over HTTP (extra ``client``).

``database`` has the methods, ``answer``, ``standing`` and ``following`` what they give, ``connection`` the requests,
and ``failures`` turns a server's refusals into our own errors. ``dbapi`` and ``dialect`` are for tools that know
Python's database interface or SQLAlchemy; ``superset`` has what Superset needs besides.

A new method: in ``database`` and in ``service.database``, with one name and one meaning; a test compares the two.
"""

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
