"""Bounded noise with a stated floor under any adversary's error.

The map of the package, from the ground up (each room imports only from the rooms above it in this list):

============  ====================================================================================
``errors``      one exception tree; ``extras``: what is optional; ``closing``: what must be closed
``accounts``    the units of a price; ``wishes``: the keywords of a question; ``display``: a released table, shown
``sql_text``    SQL as tools send it
``support``     where noise must stay: ``Interval``, ``Box``, ``Ball``, …
``random``      secure bits, and reproducible ones for tests
``noise``       densities that evaluate, sample, and know their own information
``designer``    support + query + quality → the best noise, with a certificate: ``design``
``floors``      noise + how strongly a record moves the answer → what an adversary cannot beat: ``floor``
``joint``       many sums at once, each within its bound, which add up: ``design_joint``
``policies``    noise that depends on the true value, where the answer itself is constrained: ``design_answer``
``dp``          the same noise in differential-privacy terms
``dynamics``    the same for trajectories: one draw that protects a whole path
``plots``       pictures
``catalogue``   what the custodian declares: tables, private and public columns, ranges, floors, owners, versions
``identity``    keys, and labels that say when two draws are the same draw
``engines``     DuckDB, PostgreSQL and Spark: run a compiled plan, give Arrow
``vault``       registered, immutable snapshots on an engine, private columns in fixed point
``arithmetic``  exact polynomials, whole sums and double words, the same on every machine
``sql``         a question in SQL → a typed plan → what an engine runs
``pricing``     plan + public facts → bounds on derivatives and evaluation errors, and the charge
``ledger``      what has been spent, durably
``charging``    how accounts stand, and the one path to a charge: answers, releases and trips take it
``bulk``        the release of whole columns: ``release``
``streams``     trajectories released step by step, one draw and one charge per trip
``preparing``   a question before it is charged, from public facts alone: its noises, labels and price
``answering``   charge → draw → look → answer, and what is kept of answers
``planning``    what a list of questions would use up together
``following``   standing questions: a figure for every period to come, charged once
``service``     tables, questions, releases and streams behind one door: ``open``
``client``      a server elsewhere, with the same methods: ``connect``
``access``      what the doors of a server share: who asks, in which turn, within which limits
``postgres``    the door for whatever speaks PostgreSQL's protocol
``server``      HTTP and the pages, and running all of it
``attacks``     adversaries that try to beat the floor
``cli``         the command line
============  ====================================================================================

Each room's docstring says what its files are for, and where a new engine, noise, function, command or page goes. Prices
are in ``pricing``. Refusals are worded where they are raised, or beside it: in ``sql`` for what cannot be asked (its
docstring says where), ``pricing.words`` for what has no price, ``charging.refusal`` for what would exceed an
allowance or a quota. Sentences about answers are in ``answering.words``, and those about floors in ``floors.words``.

Beside the package, in a clone, ``paper`` recomputes the theory's source claim by claim: ``make paper``.

>>> import errorfloor as ef
>>> noise = ef.design(ef.Interval(-0.5, 0.5))
>>> floor = ef.floor(noise, [[0.01, 0.02]], ranges=(0, 50))
>>> round(float(floor.distinguish(5.0)), 3)
0.628

Everything public is loaded when it is first used, so ``import errorfloor`` costs next to nothing.
"""

import gc
from importlib import import_module
from typing import Any

from errorfloor.version import __version__

_ROOMS = (
    "attacks",
    "dp",
    "dynamics",
    "errors",
    "floors",
    "joint",
    "noise",
    "plots",
    "policies",
    "random",
    "streams",
    "support",
)
_NAMES = {
    "Column": "errorfloor.bulk",
    "connect": "errorfloor.client",
    "design": "errorfloor.designer",
    "design_answer": "errorfloor.policies",
    "design_counts": "errorfloor.policies",
    "design_joint": "errorfloor.joint",
    "floor": "errorfloor.floors",
    "open": "errorfloor.service:open_database",
    "release": "errorfloor.bulk",
    **dict.fromkeys(
        ("Ball", "Box", "Ellipsoid", "HalfLine", "Interval", "Orthant", "Polygon", "Polytope", "Reals"),
        "errorfloor.support",
    ),
}

__all__ = ["__version__", *_ROOMS, *_NAMES]


def _loaded(module: str) -> Any:
    """Load a module; nothing is looked through for garbage meanwhile, for what modules make is there to stay."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collects:
            gc.enable()


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return _loaded(f"errorfloor.{name}")
    if name in _NAMES:
        module, _, found = _NAMES[name].partition(":")
        value = getattr(_loaded(module), found or name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'errorfloor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
