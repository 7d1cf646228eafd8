"""The designer: from where noise may live, what is asked and what quality is wanted, to the best noise.

``designing`` is the call from beginning to end: ``problem`` checks what is asked, ``well_posed`` and ``feasibility``
refuse what has no solution, ``closed_forms`` has the answers that are known, ``cache`` those that were computed, and
``numerical`` computes the others, with ``quality`` for a bound on the loss.

Numerical methods have a sub-room each: ``boxes`` (products of intervals, by polynomials of high degree), ``elements``
(polygons, polytopes and ellipsoids, on ``meshes``) and ``largest_error`` (the objective ``error``). ``bounds`` proves
how low any noise can go. A new method: a sub-room, a case in ``solvers``, and a lower bound with its proof.
"""

from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState

__all__ = ["GroundState", "design", "smallest_loss"]
