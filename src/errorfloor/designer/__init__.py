"""The designer: from where noise may live, what is asked and what quality is wanted, to the best noise.

Each method has a module or a sub-room: ``closed_forms``; ``boxes`` (products of intervals, by polynomials of high
degree); ``elements`` (polygons, polytopes and ellipsoids, on ``meshes``); ``slices`` (answers that depend on each
other); ``largest_error`` (P1). ``bounds`` proves how low any noise can go.
"""

from typing import TYPE_CHECKING, Any

from errorfloor.designer.designing import design
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState

if TYPE_CHECKING:
    from errorfloor.designer.frontier import Frontier, tradeoff

__all__ = ["Frontier", "GroundState", "design", "smallest_loss", "tradeoff"]


def __getattr__(name: str) -> Any:
    if name in ("Frontier", "tradeoff"):
        from errorfloor.designer import frontier

        return getattr(frontier, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
