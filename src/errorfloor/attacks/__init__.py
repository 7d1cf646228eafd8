"""Attacks: adversaries who see what an analyst sees and try to beat a floor.

Each plays for one entry that has one of two values, all other entries known, with the whole allowance to spend, and
guesses which. If it is right significantly more often than the two-point bound allows, a promise is broken.
"""

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.audit import Audit, attacks, audit
from errorfloor.attacks.evaluation import Evaluation
from errorfloor.attacks.groups import Differencing, Reconstruction
from errorfloor.attacks.history import ChangedData, NewVersions, RestoredLedger
from errorfloor.attacks.judgement import Finding, judge
from errorfloor.attacks.repetition import Collusion, MaximumLikelihood, Repetition, Rephrasing
from errorfloor.attacks.secret import Secret
from errorfloor.attacks.silence import Oracles, Timing
from errorfloor.attacks.world import World

__all__ = [
    "Attack",
    "Audit",
    "ChangedData",
    "Collusion",
    "Differencing",
    "Evaluation",
    "Finding",
    "MaximumLikelihood",
    "NewVersions",
    "Oracles",
    "Reconstruction",
    "Repetition",
    "Rephrasing",
    "RestoredLedger",
    "Secret",
    "Timing",
    "World",
    "attacks",
    "audit",
    "judge",
]
