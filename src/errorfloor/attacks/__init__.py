"""Attacks: adversaries who see what an analyst sees and try to beat a floor.

=====================  =====================================================================================
``Attack``             chooses between two values of one entry, or two histories of one owner, in a ``World``
``PosteriorMean``      estimates an entry that was drawn from a prior, in a ``Population``
``Smoothing``          estimates where an entity of a stream started, from all its ``Trips``
``judge``, ``Finding``   plays many times; says how often it was right, and how often it may be
``audit``, ``Audit``     all of them, for all that a catalogue declares, here or over HTTP
``audit_server``       what can be tried on a server that already runs, without knowing its rows
=====================  =====================================================================================

Each has the whole allowance to spend. If it is right significantly more often than the promise allows, that is broken.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlalchemy", "sqlglot")

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.audit import Audit, attacks, audit, estimators, owner_attacks
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.changed_meaning import ChangedMeaning
from errorfloor.attacks.clock import Clock
from errorfloor.attacks.collisions import Collisions
from errorfloor.attacks.estimation import PosteriorMean
from errorfloor.attacks.evaluation import Evaluation
from errorfloor.attacks.formula_search import FormulaSearch
from errorfloor.attacks.groups import Differencing, Reconstruction
from errorfloor.attacks.history import ChangedData, NewVersions, RestoredLedger
from errorfloor.attacks.judgement import Finding, judge, judge_estimates
from errorfloor.attacks.owner_secret import OwnerSecret
from errorfloor.attacks.owners import OwnerRows, OwnerTotal
from errorfloor.attacks.population import Population
from errorfloor.attacks.question_search import QuestionSearch
from errorfloor.attacks.repetition import Collusion, Extremes, MaximumLikelihood, Repetition, Rephrasing
from errorfloor.attacks.running_server import Check, ServerAudit, audit_server
from errorfloor.attacks.secret import Secret
from errorfloor.attacks.served import Served, ServedStreams
from errorfloor.attacks.shared_keys import SharedKeys
from errorfloor.attacks.silence import Oracles, Timing
from errorfloor.attacks.smoothing import Smoothing, Trips
from errorfloor.attacks.stopping import AdaptiveStopping
from errorfloor.attacks.world import World

__all__ = [
    "AdaptiveStopping",
    "Attack",
    "Audit",
    "Belief",
    "ChangedData",
    "ChangedMeaning",
    "Check",
    "Clock",
    "Collisions",
    "Collusion",
    "Differencing",
    "Evaluation",
    "Extremes",
    "Finding",
    "FormulaSearch",
    "MaximumLikelihood",
    "NewVersions",
    "Oracles",
    "OwnerRows",
    "OwnerSecret",
    "OwnerTotal",
    "Population",
    "PosteriorMean",
    "QuestionSearch",
    "Reconstruction",
    "Repetition",
    "Rephrasing",
    "RestoredLedger",
    "Secret",
    "Served",
    "ServedStreams",
    "ServerAudit",
    "SharedKeys",
    "Smoothing",
    "Timing",
    "Trips",
    "World",
    "attacks",
    "audit",
    "audit_server",
    "estimators",
    "judge",
    "judge_estimates",
    "owner_attacks",
]
