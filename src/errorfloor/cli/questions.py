"""``errorfloor price`` and ``errorfloor ask``: questions in SQL."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.answering.answer import stated
from errorfloor.answering.asking import Attendant, attended_by
from errorfloor.answering.releasing import for_spreadsheets
from errorfloor.cli.app import AsJson, app, messages, print_json, show, with_options
from errorfloor.cli.supports import parse_side
from errorfloor.errors import InputError
from errorfloor.service import Answer, Database, Price, open_database
from errorfloor.support import HalfLine, Interval

CatalogueFile = Annotated[Path, typer.Option("--catalogue", "-c", help="The catalogue that declares the tables.")]
Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="SELECT … FROM …, in quotes; - reads it from standard input.")
]
Analyst = Annotated[
    str | None, typer.Option("--analyst", help="Whose quotas apply; without it the custodian asks, who has none.")
]
Dry = Annotated[
    bool, typer.Option("--dry", help="Use dummy rows made from the catalogue alone: free, and nothing else is touched.")
]
OverLimit = Annotated[
    bool,
    typer.Option("--over-limit", help="Let it take more of the allowance than the declared limit for one question."),
]


@dataclass(frozen=True)
class QuestionOptions:
    """What is said of a question besides its words: the options that ``price``, ``ask`` and ``table`` have alike."""

    catalogue: CatalogueFile = Path("errorfloor.toml")
    max_error: Annotated[
        list[str] | None,
        typer.Option(
            "--max-error",
            help="No answer is off by more than this: 0.5, or avg_kwh=0.5 for one output (repeat for others).",
        ),
    ] = None
    spend: Annotated[
        float | None, typer.Option("--spend", help="Instead: the share of the whole allowance to spend, such as 0.05.")
    ] = None
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise", help="Instead: the interval of the released number minus the true one, such as 0..0.5 or 0.."
        ),
    ] = None
    max_loss: Annotated[
        float | None, typer.Option("--max-loss", help="With --noise 0..: the mean square of the noise.")
    ] = None
    analyst: Analyst = None
    key: Annotated[
        str | None, typer.Option("--key", help="The id of an older key: repeat what was answered with it.")
    ] = None
    dry: Dry = False
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say all that is certain, what nobody can learn, and how each account stands."),
    ] = False
    as_json: AsJson = False

    @contextmanager
    def opened(self) -> Iterator[Database]:
        """Open the tables; of a question without any bound it is said which options there are."""
        with open_database(self.catalogue, dry=self.dry, key=self.key) as database:
            try:
                yield database
            except InputError as problem:
                if problem.fields.get("given") != []:  # counts alone need none
                    raise
                raise InputError(
                    "give one of --max-error, --spend and --noise, got none: say how far off an answer may be, such as "
                    "--max-error 0.5"
                ) from None

    def wish(self) -> dict[str, Any]:
        """Read how exact an answer shall be, or how much it may take, and whose quotas apply."""
        return wish_of(self.max_error, self.spend, self.noise, self.max_loss) | {"analyst": self.analyst}

    def show_price(self, price: Price) -> None:
        """Print what an answer would state and cost."""
        if self.as_json:
            print_json(stated(price))
        else:
            print(price.explain() if self.explain else price.summary())


@app.command()
@with_options(QuestionOptions, before="left")
def price(
    question: Question,
    left: Annotated[
        bool,
        typer.Option("--left", help="Say instead how many more such answers fit, and how exact the next one can be."),
    ] = False,
    **options: Any,
) -> None:
    """Say what an answer would state and cost; nothing is charged, and no private column is read."""
    wanted = QuestionOptions(**options)
    with wanted.opened() as database:
        if not left:
            wanted.show_price(database.price(_text(question), **wanted.wish()))
            return
        found = database.simulate(_text(question), **wanted.wish())
    show(found.to_dict(), found.explain(), wanted.as_json)


@app.command()
@with_options(QuestionOptions, before="output")
def ask(
    question: Question,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the table to this file: .csv, .parquet or .arrow.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing --output.")] = False,
    over_limit: OverLimit = False,
    **options: Any,
) -> None:
    """Answer a question: the table on standard output, what is certain and what it costs on standard error.

    The charge is made first, durably; the same question again gets the same answer and is free. Exit code 3 means that
    the answer would break a declared floor or exceed a quota: nothing was charged.
    """
    if output is not None:
        _check_output(output, overwrite)  # a wrong name is refused before anything is charged
    wanted = QuestionOptions(**options)
    with wanted.opened() as database, within_limit(database, over_limit):
        answer = database.ask(_text(question), **wanted.wish())
    if output is not None:
        _write(answer, output)
    if wanted.as_json:
        print_json(stated(answer))
        return
    print(answer.text() if sys.stdout.isatty() else answer.text(None))
    say_of(answer, wanted.explain)


def say_of(answer: Answer, explain: bool) -> None:
    """Say on stderr what is certain of an answer, and what it costs."""
    said = answer.explain() if explain else answer.summary() + (" --explain says more." if answer.standings else "")
    messages.say(f"\n{said}")


@contextmanager
def within_limit(database: Database, over_limit: bool) -> Iterator[None]:
    """Keep a question within the declared limit for one of them, unless more is allowed here."""
    limited, limit = Attendant(), database.catalogue.limit
    if not over_limit and "question" in limit.model_fields_set:
        limited.question = limit.question
    with attended_by(limited):
        yield


def _text(question: str) -> str:
    return sys.stdin.read() if question == "-" else question


def wish_of(
    max_error: list[str] | None, spend: float | None, noise: str | None, max_loss: float | None
) -> dict[str, Any]:
    """Read how exact an answer shall be, or how much it may take."""
    wish: dict[str, Any] = {"max_error": None, "spend": spend, "support": None, "max_loss": max_loss}
    options = {"--max-error": max_error or None, "--spend": spend, "--noise": noise}
    given = [option for option, value in options.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"give one of --max-error, --spend and --noise, got {' and '.join(given)}")
    if spend is not None and not 0 < spend <= 1:
        raise InputError(
            f"--spend is a share of the whole allowance, above 0 and at most 1, such as 0.05 for 5 %; got {spend:g}"
        )
    wish["support"] = _noise(noise, max_loss)
    if max_error:
        if len(max_error) == 1 and "=" not in max_error[0]:
            wish["max_error"] = _number(max_error[0])
        else:
            parts = [text.partition("=") for text in max_error]
            if any(not middle for _, middle, _ in parts):
                raise InputError(
                    f"with several --max-error each needs its output, such as avg_kwh=0.5; got {max_error}"
                )
            wish["max_error"] = {name.strip(): _number(value) for name, _, value in parts}
    return wish


def _noise(text: str | None, max_loss: float | None) -> Interval | HalfLine | None:
    """Read where released minus true may lie: an interval, or the half-line from 0 with a quality."""
    side = None if text is None else parse_side(text)
    if text is not None and not isinstance(side, Interval) and side != HalfLine(0.0):
        raise InputError(
            f"--noise must be an interval such as -0.5..0.5, or 0.. for answers that are never too small; got {text!r}"
        )
    if isinstance(side, HalfLine) and max_loss is None:
        raise InputError("--noise 0.. has no bound above: give the mean square of the noise, such as --max-loss 0.3")
    if max_loss is not None and not isinstance(side, HalfLine):
        raise InputError("--max-loss goes with --noise 0.. only; --max-error bounds every answer")
    return side if isinstance(side, (Interval, HalfLine)) else None


def _number(text: str) -> float:
    try:
        bound = float(text)
    except ValueError:
        bound = 0.0
    if not 0 < bound < math.inf:
        raise InputError(f"--max-error must be a number above 0, such as 0.5, or output=number, got {text!r}")
    return bound


def _check_output(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already: name another file with --output, or allow it with --overwrite")
    if path.suffix not in (".csv", ".parquet", ".arrow"):
        raise InputError(f"--output must end in .csv, .parquet or .arrow, got {str(path)!r}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for --output")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} for --output cannot be written to")


def _write(answer: Answer, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = answer.to_arrow()
    match path.suffix:
        case ".csv":
            csv.write_csv(for_spreadsheets(table), path)
        case ".parquet":
            parquet.write_table(table, path)
        case _:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
