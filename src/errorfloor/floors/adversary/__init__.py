"""The adversary's own game: how often the best one names the right one of two hypotheses.

``value``     U(A₁, A₂, π), what is stated
``noises``    which noises are counted in A₁
``table``     W(A, π) for raised-cosine answers, shipped as ``value.table``, and its proof for all real charges
"""

from errorfloor.floors.adversary.noises import counted_apart, counted_as
from errorfloor.floors.adversary.value import best_success

__all__ = ["best_success", "counted_apart", "counted_as"]
