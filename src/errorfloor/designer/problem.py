"""The design problem, validated once: where noise may live, what the query is, what quality is asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, as_jacobian, positive, rank_of, scaled_rank, symmetric
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss, Noise
from errorfloor.support import Support


@dataclass(frozen=True)
class Problem:
    """Minimise Tr(K I_w) + ϱ E ℓ(w), or Tr(K I_w) subject to E ℓ(w) ≤ ϑ, over noises on a support.

    ``sensitivity`` is K = E[F Fᵀ], F the query's Jacobian; ``loss_weight`` is ϱ and ``max_loss`` is ϑ; without either
    ``loss`` is None.
    """

    support: Support
    sensitivity: Array
    loss: Loss | None = None
    loss_weight: float | None = None
    max_loss: float | None = None

    @classmethod
    def parse(
        cls, support: Any, jacobian: Any, sensitivity: Any, loss: Any, loss_weight: Any, max_loss: Any
    ) -> "Problem":
        """Check every argument of ``design`` and put the problem together."""
        if not isinstance(support, Support):
            raise InputError(f"support must be a support such as Interval(-0.5, 0.5), got {type(support).__name__}")
        if loss_weight is not None and max_loss is not None:
            raise IllPosedError(
                f"both loss_weight {loss_weight} and max_loss {max_loss} are given: the weight decides the loss, "
                f"so give one of them"
            )
        weight = None if loss_weight is None else positive("loss_weight", loss_weight)
        bound = None if max_loss is None else positive("max_loss", max_loss)
        if weight is None and bound is None:
            if loss is not None:
                raise InputError("loss has no effect alone: set max_loss or loss_weight with it")
            parsed = None
        else:
            parsed = Loss.parse("squared" if loss is None else loss, support.dimension)
        return cls(support, query_sensitivity(jacobian, sensitivity, support.dimension), parsed, weight, bound)

    def to_dict(self) -> dict[str, Any]:
        """Give what decides the solution as plain JSON types: it is found on disk by them."""
        loss: Any = None
        if self.loss is not None:
            loss = "absolute" if self.loss.weight is None else self.loss.weight.tolist()
        return {
            "support": self.support.to_dict(),
            "sensitivity": self.sensitivity.tolist(),
            "loss": loss,
            "loss_weight": self.loss_weight,
            "max_loss": self.max_loss,
        }

    def value_of(self, noise: Noise) -> float:
        """The objective of a noise: Tr(K I_w), plus ϱ E ℓ(w) where a weight is given."""
        J = float(np.trace(self.sensitivity @ noise.information))
        return J if self.loss_weight is None else J + self.loss_weight * noise.expected_loss(self.loss)


def query_sensitivity(jacobian: Any, sensitivity: Any, dimension: int) -> Array:
    """Give K from a Jacobian C (K = CCᵀ), from K itself, or the identity; refuse answers that depend on each other.

    >>> query_sensitivity([[1.0, 2.0]], None, 1)
    array([[5.]])
    """
    if jacobian is not None and sensitivity is not None:
        raise InputError("jacobian and sensitivity both state the query: give one of them")
    if sensitivity is not None:
        K = symmetric("sensitivity", sensitivity, dimension)
        rank = rank_of(K)
    elif jacobian is not None:
        C = as_jacobian(jacobian, dimension)
        K, rank = C @ C.T, scaled_rank(C) if C.any() else 0
    else:
        K, rank = np.eye(dimension), dimension
    if rank == 0:
        raise IllPosedError("the query does not depend on the data (K = 0): there is nothing to protect, add no noise")
    if rank < dimension:
        raise IllPosedError(
            f"the answers depend on each other (K has rank {rank} of {dimension}), so that no noise with a density is "
            f"best: ask for {rank} independent answer{'s' if rank > 1 else ''} and compute the others from "
            f"{'them' if rank > 1 else 'it'}, or bound all of them together with design_joint"
        )
    return K
