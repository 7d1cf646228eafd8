"""How much more noise tells that is drawn anew for every answer of a trajectory."""

import numpy as np

from errorfloor.dynamics.system import LinearSystem


def excess(system: LinearSystem) -> float:
    """How many times as much as one carried draw independent noise tells about the initial state, at equal quality.

    Independent noise of mean square Q/((T + 1)m) on every number tells G(T + 1)m/Q, one draw Σ⁻¹: the ratio is
    (T + 1) m Tr G/(Tr G^½)², in Tr I, whatever the quality.

    >>> round(excess(LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20)), 2)
    19.3
    """
    numbers = (system.horizon + 1) * system.outputs
    return float(np.trace(system.gramian)) * numbers / system.protect(max_loss=1.0).certificate.value
