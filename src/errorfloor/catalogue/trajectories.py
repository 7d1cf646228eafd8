"""What is declared of a stream: its system, which states are private, and how exact its answers are."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from errorfloor.catalogue.columns import NAME, Declaration, PrivateColumn, misnamed
from errorfloor.catalogue.numbers import Double
from errorfloor.catalogue.systems import (
    Horizon,
    Matrix,
    Positives,
    mistakes_in_quality,
    mistakes_in_shapes,
    mistakes_in_states,
)


class Trajectories(Declaration):
    """A stream of trips x[k+1] = A x[k] of which C x[k] is measured, k = 0 … ``horizon``; the start is private.

    Each of the ``states`` is ``private``, with a floor under what can be learnt of it at the start of a trip, or
    ``public``: released exactly. ``max_loss`` bounds the mean of Σ|noise|² over a trip, ``loss_weight`` prices it,
    ``bound`` bounds each number's noise for certain. ``deviation`` adds noise to each answer independently. Answers
    leave in multiples of ``step``. ``plan`` names a file that ``plan_to_dict`` filled, in place of the system.

    >>> position = PrivateColumn(range=(-5000, 5000), resolution="0.1", floor=20, unit="m")
    >>> Trajectories(
    ...     A=[[1]], C=[[1]], horizon=9, states=("position",), private={"position": position}, max_loss=1e5
    ... ).method
    'product'
    """

    A: Matrix | None = None
    C: Matrix | None = None
    horizon: Horizon | None = None
    states: tuple[str, ...] = ()
    plan: str | None = Field(default=None, min_length=1)
    private: dict[str, PrivateColumn] = Field(min_length=1)
    public: tuple[str, ...] = ()
    max_loss: Double | None = Field(default=None, gt=0)
    loss_weight: Double | None = Field(default=None, gt=0)
    bound: Positives | None = None
    method: Literal["product", "best"] = "product"
    deviation: Positives | None = None
    step: Double | None = Field(default=None, gt=0)

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        yield from self._beside_a_plan() if self.plan is not None else self._without_a_plan()
        for name, column in self.private.items():
            for word in sorted({"nulls", "impute", "prior"} & column.model_fields_set):
                yield f"private.{name}.{word}", "is for columns of tables: leave it out"

    def _beside_a_plan(self) -> Iterator[tuple[str, str]]:
        for word in ("A", "C", "horizon", "states", "max_loss", "loss_weight", "bound", "method"):
            if word in self.model_fields_set:
                yield word, "is given together with plan, which already has it: leave one of them out"

    def _without_a_plan(self) -> Iterator[tuple[str, str]]:
        if self.A is None or self.C is None or self.horizon is None:
            for word, value in (("A", self.A), ("C", self.C), ("horizon", self.horizon)):
                if value is None:
                    yield word, "is missing; give A, C and horizon, or a plan in a file: plan = 'cars.json'"
            return
        for name in self.states:
            if not NAME.fullmatch(name):
                yield "states", misnamed("state", name)
        yield from mistakes_in_shapes(self.A, self.C, self.states)
        yield from mistakes_in_states(self.states, tuple(self.private), self.public)
        yield from mistakes_in_quality(self.max_loss, self.loss_weight, self.bound, self.deviation)
