"""The designer: from where noise may live, what is asked and what quality is wanted, to the best noise.

Each method has a module or a sub-room: ``closed_forms``; ``boxes`` (products of intervals, by polynomials of high
degree); ``elements`` (polygons, polytopes and ellipsoids, on ``meshes``); ``slices`` (answers that depend on each
other); ``largest_error`` (P1). ``bounds`` proves how low any noise can go.
"""

from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState

__all__ = ["GroundState", "design", "smallest_loss"]
