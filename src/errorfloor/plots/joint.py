"""Pictures of joint noise: how far the noise of each answer goes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.errors import InputError
from errorfloor.plots.canvas import COLOURS, canvas

if TYPE_CHECKING:
    from errorfloor.joint import JointNoise

MOST = 400
DRAWS = 4000


def joint_noise(noise: "JointNoise", answers: Any = None, *, max_error: Any = None) -> Any:
    """Draw the middle 90 % and the extremes of 4,000 draws of each answer's noise; of the cells without ``answers``.

    >>> from errorfloor.joint import design_joint
    >>> figure = joint_noise(design_joint([[1, 1], [1, 0], [0, 1]], max_error=1.0), [[1, 1], [1, 0], [0, 1]])
    >>> figure.axes[0].get_xlabel()
    'answer'
    """
    drawn = noise.sample(DRAWS, rng=1)
    shown = (
        drawn
        if answers is None
        else (answers @ drawn.T if hasattr(answers, "tocsr") else np.asarray(answers) @ drawn.T).T
    )
    if shown.shape[1] > MOST:
        raise InputError(f"at most {MOST} answers can be drawn, got {shown.shape[1]}: name some of them")
    figure, panel = canvas(width=7.2, height=3.8)
    x = np.arange(1, shown.shape[1] + 1)
    panel.vlines(x, shown.min(axis=0), shown.max(axis=0), color=COLOURS[1], linewidth=1, label="all draws")
    low, high = np.quantile(shown, [0.05, 0.95], axis=0)
    panel.vlines(x, low, high, color=COLOURS[0], linewidth=4, label="9 of 10 draws")
    if max_error is not None:
        bound = np.broadcast_to(np.asarray(max_error, dtype=float), x.shape)
        panel.plot(x, bound, "k--", x, -bound, "k--", linewidth=1)
    panel.set_xlabel("answer" if answers is not None else "cell")
    panel.set_ylabel("noise")
    panel.legend(frameon=False)
    return figure
