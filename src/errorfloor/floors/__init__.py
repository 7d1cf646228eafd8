"""Floors: what an adversary cannot beat, given the noise and how strongly a record moves the answer.

=====================  =======================================================================  ====================
``floor(…)``             all of these for one or more answers                                     ↓
``floor_of_any_noise``   the same where only the largest information is known                     ↓
``.distinguish(h)``      best probability of telling two values h apart                           nothing: any test
``.owner(entries)``      the same for all that belongs to one owner                               nothing: any test
``.epsilon(δ, h)``       ε of values h apart at δ, for questions fixed in advance                 nothing: any test
``.any_estimator``       root-mean-square error, worst case over the declared range               any estimator
``.bayes(…)``            root-mean-square error over the record, average under a prior            any estimator
``.per_entry``           root-mean-square error even if every other entry is known                unbiased
``.worst_entry``         the least of them                                                        unbiased
``.total``               root-mean-square error over the whole record                             unbiased
``.biased(G, bias)``     the same for an estimator whose bias is known                            that bias
``bayes_error(…)``       exact error of the best estimator of one entry, average under a prior    any estimator
``pair(…)``              an entry that can only be one of two values                              stated by each
=====================  =======================================================================  ====================

``build`` makes a floor, ``bounds`` is what it can say, ``words`` says it in sentences. Each bound has a module with its
proof: ``two_point``, ``worst_case``, ``prior``, ``bayes``, ``pairs``; ``privacy_loss`` and ``tapered`` state (ε, δ).
``adversary`` has the table of the best adversary. A new bound: a module, its proof, a method in ``bounds``.
"""

from errorfloor.floors.bayes import BayesError, bayes_error
from errorfloor.floors.bounds import Floor
from errorfloor.floors.build import combine, floor, floor_of_any_noise
from errorfloor.floors.pairs import Pair, pair
from errorfloor.floors.worst_case import minimax, van_trees, ziv_zakai, ziv_zakai_lattice

__all__ = [
    "BayesError",
    "Floor",
    "Pair",
    "bayes_error",
    "combine",
    "floor",
    "floor_of_any_noise",
    "minimax",
    "pair",
    "van_trees",
    "ziv_zakai",
    "ziv_zakai_lattice",
]
