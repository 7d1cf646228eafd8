"""Attacks: adversaries who see what an analyst sees and try to beat a floor.

=====================  =====================================================================================
``Attack``             chooses between two values of one entry, or two histories of one owner, in a ``World``
``attacks``            the adversaries themselves; ``owner_attacks`` and ``estimators`` the others
``judge``, ``Finding``   plays many times; says how often it was right, and how often it may be
``audit``, ``Audit``     all of them, for everything that a catalogue declares
``audit_server``       what can be tried on a server that already runs, without knowing its rows
=====================  =====================================================================================

Each has the whole allowance to spend. If it is right significantly more often than the promise allows, that is broken.

A new adversary: a subclass of ``attack.Attack`` in the module of its idea (``repetition``, ``groups``, ``collisions``,
``likelihood``, ``silence``, …) and a line in ``audit.attacks``. Its test builds a weak server on which it wins.
``secret`` and ``owner_secret`` are what can be at stake; ``generated`` and ``world`` make the servers; ``judgement``
plays and ``least_errors`` says what luck can do.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.audit import Audit, attacks, audit, estimators, owner_attacks
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.judgement import Finding, judge, judge_estimates
from errorfloor.attacks.running_server import Check, ServerAudit, audit_server
from errorfloor.attacks.world import Population, World

__all__ = [
    "Attack",
    "Audit",
    "Belief",
    "Check",
    "Finding",
    "Population",
    "ServerAudit",
    "World",
    "attacks",
    "audit",
    "audit_server",
    "estimators",
    "judge",
    "judge_estimates",
    "owner_attacks",
]
