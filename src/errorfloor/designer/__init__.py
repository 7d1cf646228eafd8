"""The designer: from where noise may live, what is asked and what quality is wanted, to the best noise.

``designing`` is the call from beginning to end: ``problem`` checks what is asked, ``feasibility`` refuses what has no
solution, ``closed_forms`` has the answers that are known, ``cache`` those that were computed, and ``numerical``
computes the others, with the weight that meets a bound on the loss; ``largest_error`` ascends for the objective
``error``.

Numerical methods have a sub-room each: ``boxes`` (products of intervals, by polynomials of high degree) and
``elements`` (polygons, polytopes and ellipsoids, on ``meshes``). ``bounds`` proves how low any noise can go. A new
method: a sub-room, a case in ``numerical.solve``, and a lower bound with its proof.
"""

from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.problem import GroundState

__all__ = ["GroundState", "design", "smallest_loss"]
