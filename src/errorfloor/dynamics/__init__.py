"""Dynamics: one draw that protects a whole trajectory.

====================  =====================================================================================
``LinearSystem``        x[k+1] = A x[k], answers C x[k]; ``protect`` gives a plan, ``per_step`` a comparison
``Plan``                the draw on the initial state, what it hides, and what that costs
``NonlinearSystem``     the same for any step and output; ``NonlinearPlan`` its plan
``Robust``              independent noise on every answer besides, for when the model does not hold
``smooth``              the adversary: Kalman's filter and Rauch, Tung and Striebel's smoother
``recovered_start``     … and the one who knows nothing beforehand
``plan_to_dict``        a plan as plain JSON types, so that every server has the same; ``plan_from_dict`` back
``IndependentNoise``    noise drawn anew for every answer; ``excess`` says how much more it tells
====================  =====================================================================================
"""

from errorfloor.dynamics.nonlinear import NonlinearPlan, NonlinearSystem
from errorfloor.dynamics.per_step import IndependentNoise, excess
from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.robust import Robust
from errorfloor.dynamics.saving import plan_from_dict, plan_to_dict
from errorfloor.dynamics.smoother import Smoothed, recovered_start, smooth
from errorfloor.dynamics.system import LinearSystem

__all__ = [
    "IndependentNoise",
    "LinearSystem",
    "NonlinearPlan",
    "NonlinearSystem",
    "Plan",
    "Robust",
    "Smoothed",
    "excess",
    "plan_from_dict",
    "plan_to_dict",
    "recovered_start",
    "smooth",
]
