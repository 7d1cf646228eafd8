"""Joint answers: many sums at once, each within its bound, which add up as the truth does.

=====================  ==================================================================================
``design_joint``         answers + bounds → the noise on the cells that tells least about any of them
``JointNoise``           that noise: draw it, and what may be stated about it
``Margins``              which margins of a full table are asked for
=====================  ==================================================================================

``design`` tries the forms that ``structure`` finds in the answers: ``tree`` (totals and parts, to any depth; designed
in ``design_tree``, measured in ``tree_exposure``), ``table`` (all margins of several keys) and
``one_block`` (any answers about a few hundred cells, and running totals; ``solver``). ``taper`` is what they share.
``normal`` is the noise that questions in SQL get. A new form: a module for the noise, one for its design, and a case
in ``design``.
"""

from errorfloor.joint.design import design_joint
from errorfloor.joint.noise import JointNoise
from errorfloor.joint.table import Margins

__all__ = ["JointNoise", "Margins", "design_joint"]
