"""What is declared of a stream: its system, which states are private, how exact its answers are; what can be wrong."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from errorfloor.catalogue.columns import NAME, Declaration, Double, PrivateColumn, double, misnamed
from errorfloor.catalogue.near import near

MOST_STATES = 100
LONGEST = 100_000  # steps: a server that goes on with a trip after a restart has to go through all of them first
Rows = tuple[tuple[float, ...], ...]


def rows(value: Any) -> Rows:
    """Read a matrix: a list of rows, all of one length.

    >>> rows([[1, 0.5], [0, 1]])
    ((1.0, 0.5), (0.0, 1.0))
    """
    text = "must be a matrix, a list of rows of equal length such as [[1.0, 1.0], [0.0, 1.0]]"
    if not isinstance(value, list | tuple) or not all(isinstance(row, list | tuple) and row for row in value):
        raise ValueError(text)
    if not value or len({len(row) for row in value}) > 1:
        raise ValueError(text)
    if max(len(value), len(value[0])) > MOST_STATES:
        raise ValueError(f"must have at most {MOST_STATES} rows and columns")
    return tuple(tuple(double(entry) for entry in row) for row in value)


def horizon(value: Any) -> int:
    """Read the number of the last step.

    >>> horizon(60)
    60
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LONGEST:
        raise ValueError(f"must be a whole number from 1 to {LONGEST}")
    return value


def positives(value: Any) -> float | tuple[float, ...]:
    """Read a positive number, or a list of them.

    >>> positives(2), positives([1, 2.5])
    (2.0, (1.0, 2.5))
    """
    given = value if isinstance(value, list | tuple) else [value]
    numbers = tuple(double(one) for one in given)
    if not numbers or any(number <= 0 for number in numbers):
        raise ValueError("must be positive, or a list of positive numbers")
    return numbers if isinstance(value, list | tuple) else numbers[0]


Matrix = Annotated[Rows, BeforeValidator(rows)]


Horizon = Annotated[int, BeforeValidator(horizon)]


Positives = Annotated[float | tuple[float, ...], BeforeValidator(positives)]


def mistakes_in_shapes(A: Rows, C: Rows, states: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give what is wrong between the matrices and the names of the states.

    >>> list(mistakes_in_shapes(((1.0, 1.0), (0.0, 1.0)), ((1.0,),), ("position", "speed")))
    [('C', 'must have 2 columns, one for each state, but has 1')]
    """
    if len(A) != len(A[0]):
        yield "A", f"must be square, but is {len(A)}×{len(A[0])}"
        return
    if len(C[0]) != len(A):
        yield "C", f"must have {len(A)} columns, one for each state, but has {len(C[0])}"
    if len(states) != len(A):
        yield "states", f"must name the {len(A)} states of A in their order, but names {len(states)}"


def mistakes_in_states(
    states: Sequence[str], private: Sequence[str], public: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the names of states: each is private or public, and none is both.

    >>> list(mistakes_in_states(("position", "speed"), ("position",), ()))
    [('public', "must name 'speed' if it may be released exactly; or declare it private")]
    """
    for name in dict.fromkeys(states):
        if states.count(name) > 1:
            yield "states", f"names {name!r} twice"
    for word, names in (("private", private), ("public", public)):
        for name in names:
            if name not in states:
                yield word, f"names {name!r}, which is not among the states{near(name, states)}"
    for name in states:
        if name in private and name in public:
            yield "public", f"names {name!r}, which is declared private"
        elif name not in private and name not in public:
            yield "public", f"must name {name!r} if it may be released exactly; or declare it private"


def mistakes_in_quality(
    max_loss: float | None, loss_weight: float | None, bound: object, deviation: object
) -> Iterator[tuple[str, str]]:
    """Give what is wrong with what is asked of the noise.

    >>> [word for word, _ in mistakes_in_quality(None, None, None, None)]
    ['max_loss']
    """
    if max_loss is not None and loss_weight is not None:
        yield "loss_weight", "is given together with max_loss: the weight decides the loss, so leave one of them out"
    if max_loss is None and loss_weight is None and bound is None:
        yield "max_loss", "is missing: give it, the mean of Σ|noise|² over a trip; or loss_weight; or bound"
    if bound is not None and deviation is not None:
        yield "deviation", "is noise without a bound: leave it out, or bound"


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
