"""Dynamics: one draw that protects a whole trajectory.

====================  =====================================================================================
``LinearSystem``        x[k+1] = A x[k], answers C x[k]; ``protect`` gives a plan
``Plan``                the draw on the initial state, what it hides, and what that costs
``Robust``              independent noise on every answer besides, for when the model does not hold
``smooth``              the adversary: Kalman's filter and Rauch, Tung and Striebel's smoother
``plan_to_dict``        a plan as plain JSON types, so that every server has the same; ``plan_from_dict`` back
====================  =====================================================================================

``optimum`` finds the best Gaussian start; ``bounded`` and ``inscribed`` find starts whose noise is bounded at every
step. ``state_space`` and ``gramian`` say how a start moves the answers, ``knowledge`` what the answers tell about it.
"""

from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.robust import Robust
from errorfloor.dynamics.smoother import Smoothed, smooth
from errorfloor.dynamics.system import LinearSystem, plan_from_dict, plan_to_dict

__all__ = [
    "LinearSystem",
    "Plan",
    "Robust",
    "Smoothed",
    "plan_from_dict",
    "plan_to_dict",
    "smooth",
]
