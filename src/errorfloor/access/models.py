"""What requests and replies look like: the source of the OpenAPI description.

Requests are validated by these models. Replies are described by them, and tests compare what is sent with them; they
are not built from them, since an answer would be checked twice.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from errorfloor.access.supports import AnswerShape

SQL = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"
Sql = Annotated[str, Field(min_length=1, description="SELECT … FROM … [WHERE …] [GROUP BY …]")]
Bound = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]  # neither true nor "50" is a bound
Share = Annotated[float, Field(gt=0, le=1)]  # of every allowance
Spend = Annotated[float | None, Field(gt=0, le=1, description="Instead: the share of the allowance to spend.")]
OverLimit = Annotated[
    bool, Field(description="For an owner: let it take more of the allowance than the limit for one question.")
]


class Wanted(BaseModel, extra="forbid"):
    """The body of a request, which has no other fields."""


class WantedAnswer(Wanted, json_schema_extra={"examples": [{"sql": SQL, "max_error": 0.5}]}):
    """A question, and how exact its answer should be: one of ``max_error``, ``spend`` and ``support``."""

    sql: Sql
    max_error: Annotated[
        Bound | dict[str, Bound] | None,
        Field(description="No answer is off by more than this; one number, or one for each output by name."),
    ] = None
    spend: Annotated[
        float | None, Field(gt=0, le=1, description="Instead: the share of the whole allowance to spend.")
    ] = None
    support: Annotated[
        AnswerShape | None, Field(description="Instead: the set of the released number minus the true one.")
    ] = None
    max_loss: Annotated[Bound | None, Field(description="With a half-line: the mean square of the noise.")] = None

    dry: Annotated[bool, Field(description="Use dummy rows made from the catalogue alone, free of charge.")] = False

    def wish(self) -> dict[str, Any]:
        """Give what ``price``, ``ask`` and ``simulate`` take."""
        return {
            "max_error": self.max_error,
            "spend": self.spend,
            "support": None if self.support is None else self.support.support(),
            "max_loss": self.max_loss,
        }


class Asked(WantedAnswer):
    """A question to be answered."""

    charge: Annotated[
        bool | Share,
        Field(
            description="False: answer only if it was charged before, as for a reader. A number: the most that it may "
            "take of any allowance."
        ),
    ] = True
    charge_per_day: Annotated[
        Share | None,
        Field(description="The most that all questions of the token with such a limit may take in one day (UTC)."),
    ] = None
    over_limit: OverLimit = False

    @property
    def most(self) -> float | None:
        """What it may take of any allowance, if it says so."""
        return None if isinstance(self.charge, bool) else self.charge


class DescribedQuestion(Wanted, json_schema_extra={"examples": [{"sql": SQL}]}):
    """A question whose columns are looked up."""

    sql: Sql


class Open(BaseModel, extra="allow"):
    """A reply, which may gain fields in later versions."""


class FailureModel(BaseModel):
    """What went wrong."""

    code: Annotated[str, Field(description="A stable word.")]
    message: Annotated[str, Field(description="A sentence: what was given, what is allowed, what to do.")]
    fields: Annotated[dict[str, Any], Field(description="The same facts as data.")]


class Failure(BaseModel):
    """Every failure has this shape."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "code": "input",
                        "message": "dry must be true or false, got 5",
                        "fields": {"problems": [{"where": "dry", "problem": "dry must be true or false, got 5"}]},
                    }
                }
            ]
        }
    )

    error: FailureModel


class Output(Open):
    """One output: its noise and its certain interval around the truth."""

    name: str
    unit: str | None
    exact: bool
    family: Annotated[str | None, Field(description="What asked for several columns, such as histogram().")] = None
    low: float | None = None
    high: Annotated[float | None, Field(description="null: no bound above")] = None
    least: Annotated[
        float | None,
        Field(description="Where bounds differ from group to group: the smallest. All else is for the largest."),
    ] = None
    bias: float | None = None
    standard_error: float | None = None
    information: float | None = None
    way: Annotated[
        str | None,
        Field(description="Of what can be computed from parts: direct (with noise of its own), or parts (released)."),
    ] = None
    why: Annotated[str | None, Field(description="Why that is the way.")] = None
    may_be_null: Annotated[
        bool | None, Field(description="By parts: whether a group that has rows may have no number.")
    ] = None
    why_apart: Annotated[
        str | None, Field(description="Why totals are as far off as all their cells together, where they have to be.")
    ] = None


AT_SPENT = " at the amount spent: it holds if the questions so far had been fixed in advance, and is not promised."


class AccountState(Open):
    """How an account stands, and what that means."""

    name: str
    table: str
    column: str | None
    cell: str | None
    used: Annotated[float, Field(description="The share of the allowance that is used, this charge included.")]
    used_by_this: float
    promised_in_100: Annotated[
        float,
        Field(
            description="Whatever is asked, nobody can tell two values (or two histories of an owner) apart more "
            "often than this: the figure at the allowance."
        ),
    ]
    promised_floor: Annotated[
        float | None, Field(description="Whatever is asked, any estimate of an entry is off by at least this.")
    ]
    promised_against_prior: Annotated[
        float | None, Field(description="The same, averaged under the declared prior; null if none is declared.")
    ] = None
    floor: Annotated[float | None, Field(description="`promised_floor`" + AT_SPENT)]
    told_apart_in_100: Annotated[float, Field(description="`promised_in_100`" + AT_SPENT)]
    explain: str


class FloorState(BaseModel):
    """A floor under what can be learnt of an entry of each private column."""

    columns: list[str]
    information: Annotated[list[float], Field(description="Fisher information about an entry of each column.")]
    low: list[float]
    high: list[float]
    root: Annotated[list[float], Field(description="The square roots of it, to the last bit.")]
    spacing: list[float]
    evaluation: float
    raised_cosine: (
        Annotated[list[float], Field(description="The part from answers with raised-cosine noise.")] | None
    ) = None


class ColumnState(Open):
    """A column of an answer."""

    name: str
    type: Annotated[str, Field(description="whole, number, text, date, moment or flag")]
    private: Annotated[bool, Field(description="Whether it has noise, and an interval.")]


class ColumnsReply(BaseModel):
    """The columns of an answer, in order."""

    columns: list[ColumnState]


class PriceReply(Open):
    """What an answer would state and cost."""

    table: str
    version: str
    groups: int
    left_out: Annotated[int, Field(description="Groups that have too few rows.")]
    set_by: Annotated[
        dict[str, Any] | None,
        Field(description="The group that sets the price, its rows, and the price without small groups."),
    ]
    outputs: list[Output]
    accounts: list[AccountState]
    affordable: bool
    max_error: Annotated[dict[str, float | None], Field(description="null: no bound")]
    promised: Annotated[FloorState, Field(description="What holds whatever is asked: the floor at the allowance.")]
    floor: Annotated[FloorState, Field(description="The same" + AT_SPENT)]
    explain: Annotated[str, Field(description="All that is stated, in sentences.")]
    summary: Annotated[str, Field(description="The same in two short sentences, and a line of what was used.")]
    remarks: Annotated[
        list[str],
        Field(
            description="Those that may have been overlooked: values that no row has, bounds of no output, bounds that "
            "promise nothing."
        ),
    ]


class AnswerReply(PriceReply):
    """Released numbers, and what is stated of them."""

    fresh: Annotated[list[bool], Field(description="Which outputs were charged now; the others were charged before.")]
    columns: list[str]
    rows: list[list[Any]]
    cells: list[dict[str, Any]]


class ReconciledReply(BaseModel):
    """Numbers that agree with other answers, and the ends that are left of their certain intervals."""

    columns: list[str]
    rows: list[list[Any]]


class TableState(Open):
    """What is declared of a table; public things only."""

    name: str
    version: str
    rows: Annotated[int | None, Field(description="null: not registered yet")]
    row_key: list[str]


class TablesReply(BaseModel):
    """Every declared table."""

    tables: list[TableState]


class SimulationReply(Open):
    """What can still be asked."""

    explain: str


class QuotaState(Open):
    """How a quota stands."""

    name: str
    used: float
    share: float
    explain: str
