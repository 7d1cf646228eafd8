"""Registered, immutable snapshots on an engine: private columns clamped and stored in fixed point.

=====================  =====================================================================================
make                   ``registration`` (``growing`` and ``parts`` for tables that grow, ``records`` for
                       protected records); ``conversion`` and ``fixed_point`` are what is done to each value,
                       ``tallies`` counts rows by public values
check                  ``row_keys``, ``continuity`` of accounts; ``report`` for the custodian
read                   ``snapshot``
copy, erase            ``copying``; ``erasure`` of a ``person``
=====================  =====================================================================================

A question only reads snapshots: what makes, copies and erases them is loaded by whoever does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from errorfloor.extras import require

require("sql", "pyarrow", "pydantic")

from errorfloor.vault.snapshot import Snapshot, is_current, snapshot

if TYPE_CHECKING:
    from errorfloor.vault.copying import copy
    from errorfloor.vault.erasure import Erasure, erase, plan_erasure
    from errorfloor.vault.registration import Registration, register

__all__ = [
    "Erasure",
    "Registration",
    "Snapshot",
    "copy",
    "erase",
    "is_current",
    "plan_erasure",
    "register",
    "snapshot",
]
_MODULES = {
    **{"copy": "copying", "Registration": "registration", "register": "registration"},
    **dict.fromkeys(("Erasure", "erase", "plan_erasure"), "erasure"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'errorfloor.vault' has no attribute {name!r}")
    return getattr(import_module(f"errorfloor.vault.{_MODULES[name]}"), name)
