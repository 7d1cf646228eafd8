"""A column released by a policy: its numbers stay in a set of their own, whatever the true ones are."""

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors import Floor, floor_of_any_noise
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.identity import Part
from errorfloor.policies import Cells, Policy
from errorfloor.random import RowBits

SAMPLER = 1  # the version of how answers follow from bits; a change of it is a change of every draw
OFF_ONE = 1e-9  # how far a policy's laws may be from adding up to 1: it costs an angle this share of itself, or less
ROOTS = 1e-14  # and the roundings of their roots this much


@dataclass(frozen=True)
class AnsweredColumn(RuledColumn):
    """One column, each number of which is a draw of ``policy`` at the true one.

    Where the policy's answers are cells with a width, the middle of the drawn cell is released: the place inside it
    would tell nothing, and the error is less without it. So the released numbers are a finite set, and not rounded.

    Guarantee: every released number is one of ``outputs``; what is said of bias, error and information holds for every
    true value in the range, and does not depend on it.

    >>> policy = Policy([0.0, 1.0], Cells.of_interval(0, 1, 2), [[0.8, 0.2], [0.2, 0.8]])
    >>> column = AnsweredColumn.plan("share", policy, out_of_range="refuse", nulls="keep")
    >>> column.describe()["outputs"], column.range
    ([0.25, 0.75], (0.0, 1.0))
    """

    policy: Policy

    @classmethod
    def plan(
        cls,
        name: str,
        policy: Policy,
        *,
        step: str | None = None,
        range: tuple[float, float] | None = None,  # named as the field is
        out_of_range: str,
        nulls: str,
        **rest: Any,
    ) -> "AnsweredColumn":
        """Check that the policy has an answer for every value of the range, which is the policy's own if not given."""
        if step is not None:
            raise InputError(
                f"a step is given for {name}, which a policy answers: its numbers are not rounded, since they might "
                f"leave the policy's outputs; leave the step out, or design the policy for a list of outputs"
            )
        values = policy.values
        low, high = range or (values.low, values.high)
        if not values.low <= low <= high <= values.high:
            raise InputError(
                f"the policy of {name} answers for values in {values.low:g} … {values.high:g}, and the declared range "
                f"is {low:g} … {high:g}: design the policy for the whole range"
            )
        return cls(name, policy, range=(low, high), out_of_range=out_of_range, nulls=nulls, **rest)

    @cached_property
    def released(self) -> Policy:
        """The policy of the numbers that are released: points, with the squared loss."""
        middle = self.policy.cells.middle
        return replace(self.policy, cells=Cells(middle, middle), loss="squared", certificate=None)

    @property
    def law(self) -> dict[str, Any]:
        """What decides the draws, as plain JSON types."""
        return {name: value for name, value in self.policy.to_dict().items() if name != "certificate"}

    @property
    def identity(self) -> tuple[Part, ...]:
        """What decides the released numbers, besides key, batch and row; one function of the data for each."""
        law = json.dumps(self.law, sort_keys=True)
        return self.name, law, "answer", self.range, self.out_of_range, self.nulls, SAMPLER

    @property
    def outputs(self) -> tuple[float, ...]:
        """All numbers that may be released, in increasing order."""
        used = (self.policy.laws > 0).any(axis=0)
        return tuple(self.released.cells.low[used].tolist())

    @cached_property
    def information(self) -> float:
        """The supremum of the information over all values, with what roundings may have taken from it.

        Inside a step h of the policy it is 4(θ/h)²; see charging.proof.md for how far the angle θ may be off.
        """
        h = np.diff(self.policy.nodes)
        angles = np.sqrt(self.policy.information(self.policy.nodes[:-1] + h / 2)) * h / 2
        return float(((2 * (angles * (1 + OFF_ONE) + ROOTS) / h) ** 2).max())

    @property
    def floor(self) -> Floor:
        """What nobody can learn about one value of the column from its released number.

        By the supremum of the information: along the values the law of the answer moves no faster than that allows.
        """
        return floor_of_any_noise(
            self.information,
            [[1.0]],
            ranges=self.range,
            spacing=self.spacing,
            evaluation_error=self.evaluation_error,
        )

    @property
    def certain_interval(self) -> tuple[float, float] | None:
        """What the released number minus the true one never leaves, where that is more than outputs and values say."""
        used, answers, nodes = self.policy.laws > 0, self.released.cells.low, self.policy.nodes
        either = used[:-1] | used[1:]  # between two nodes, what one of them uses
        least, most = answers[either.argmax(axis=1)], answers[-1 - either[:, ::-1].argmax(axis=1)]
        low, high = (least - nodes[1:]).min(), (most - nodes[:-1]).max()
        if low <= self.outputs[0] - nodes[-1] and high >= self.outputs[-1] - nodes[0]:
            return None
        return float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))

    def perturb(self, column: pa.Array, tags: Array) -> pa.Array:
        """Give the released numbers: for each value a draw of the policy."""
        values, missing = self.clamped(column)
        released = self.released.sample(values, rng=RowBits(self.derived, tags))
        if missing is not None:
            released[missing] = 0.0  # nothing is left under the mask
        return pa.array(released, mask=missing)

    def describe(self) -> dict[str, Any]:
        """Give what may be said of the column in public, as plain data; of the true values, suprema only."""
        certain, error = self.certain_interval, math.sqrt(self.released.largest_loss)
        return {
            "column": self.name,
            "unit": self.unit,
            "policy": self.law,
            "outputs": list(self.outputs),
            "certain_interval": None if certain is None else list(certain),
            "largest_bias": self.released.largest_bias,
            "largest_error": error,
            **self.promised(error),
        }

    def explain(self) -> str:
        """Say it in a paragraph."""
        unit, facts = self.suffix, self.describe()
        certain = facts["certain_interval"]
        near = ""
        if certain is not None:
            low, high = rounded_down(certain[0], 6), rounded_up(certain[1], 6)
            near = f"; minus that it lies certainly in {low} … {high}{unit}"
        return (
            f"{self.name}: each released number is certainly one of {len(self.outputs)} numbers in "
            f"{self.outputs[0]:g} … {self.outputs[-1]:g}{unit}, chosen by chance given "
            f"{self.true_one.removesuffix(',')}{near}; whatever the true one is, bias at most "
            f"{rounded_up(facts['largest_bias'], 4)}{unit}, root-mean-square error at most "
            f"{rounded_up(facts['largest_error'], 4)}{unit}. {facts['explanation']}"
        )
