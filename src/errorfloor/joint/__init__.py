"""Joint answers: many sums at once, each within its bound, which add up as the truth does.

=====================  ==================================================================================
``design_joint``         answers + bounds → the noise on the cells that tells least about any of them
``JointNoise``           that noise: draw it, and what may be stated about it
``Margins``              which margins of a full table are asked for
=====================  ==================================================================================

A law has one of three forms: ``tree`` (totals and parts, to any depth), ``table`` (all margins of several keys), and
``one_block`` (any answers about a few hundred cells, and running totals). ``taper`` is what they share.
"""

from errorfloor.joint.design import design_joint
from errorfloor.joint.noise import JointNoise
from errorfloor.joint.table import Margins

__all__ = ["JointNoise", "Margins", "design_joint"]
