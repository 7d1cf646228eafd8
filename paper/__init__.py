"""The paper this library's theory starts from, recomputed claim by claim.

``claims()`` gives every theorem, corollary, proposition, example, figure and checkable remark of it in its own order,
each with a verdict and the numbers that show it; ``write_report(folder)`` puts them on a page with figures.

====================  ==================================================================================
``model``               what a claim is
``information``         the Cramér–Rao bound and what follows from it; the appendix's inequality
``chord``               Problem 1 and Theorem 1
``stationarity``        Theorem 2 and the sign in it
``bounded``             the smart-meter example, Corollaries 1 and 2
``scalar_queries``      the averaging and variance examples, Corollaries 3 and 5
``weighted``            Corollary 4 and its figure, with ``chain`` for data-dependent noise on a grid
``unbounded``           Assumption 2, Problems 3 and 4, Theorem 3, Corollary 6
``dynamic``             trajectories: Theorem 4 and the traffic example
``discussion``          mutual information, other losses, Laplace against Gaussian noise
``privacy``             differential privacy and entropies: Propositions 3 and 4 and their figure
``bounded_pictures``    figures to these, with ``unbounded_pictures``
``order``               all of them in the paper's order
``report``              the report, through ``page`` (HTML), ``markdown`` and the ``words`` both share
====================  ==================================================================================
"""

from paper.model import Claim, Drawing, Shown
from paper.order import claims
from paper.report import Report, write_report

__all__ = ["Claim", "Drawing", "Report", "Shown", "claims", "write_report"]
