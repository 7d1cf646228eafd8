"""Policies: answers that depend on the true value, because they must stay in a set of their own.

=====================  ==================================================================================
``design_answer``        outputs + values + quality → the policy that reveals least
``Policy``               the law p(y|s): evaluate, sample, and what may be stated about it
``design_counts``        how far and how often counts may be moved → the table that reveals least
``CountTable``           for each true count the law of the published one, exact to 64 bits
``Integers``, ``Cells``    whole numbers as outputs; answers cut into cells
=====================  ==================================================================================

``wish`` is what is asked for and ``design`` the way to a policy: ``chain`` holds the problem on a grid and proves how
well it is solved, ``conic`` solves it on the few cells that are used. ``law`` is what is drawn from, ``policy`` what
may be stated about it. ``counts`` is a sub-room for tables of counts.
"""

from collections.abc import Mapping
from typing import Any

from errorfloor.errors import InputError
from errorfloor.policies.answers import Cells, Integers
from errorfloor.policies.counts import CountTable, design_counts
from errorfloor.policies.design import design_answer
from errorfloor.policies.policy import Policy, PolicyCertificate
from errorfloor.values import build

__all__ = [
    "Cells",
    "CountTable",
    "Integers",
    "Policy",
    "PolicyCertificate",
    "design_answer",
    "design_counts",
    "from_dict",
]

_KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (Cells, Policy, PolicyCertificate)}


def from_dict(plain: Mapping[str, Any]) -> Policy:
    """Rebuild a policy from its ``to_dict`` form: the same laws and the same draws, to the last bit.

    >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
    >>> from_dict(two.to_dict()) == two
    True
    """
    policy = build(plain, _KINDS, "policy")
    if not isinstance(policy, Policy):
        raise InputError(f"a policy is wanted, not a {type(policy).__name__}")
    return policy
