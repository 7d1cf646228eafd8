"""Every exception of the package, one tree, each with its exit code and HTTP status.

::

    ErrorFloorError                 exit 1   HTTP 500   something failed
    ├── InputError (ValueError)     exit 2   HTTP 422   what was given cannot be used
    │   ├── SupportError            exit 2   HTTP 422   a set that is empty, flat, inverted or not a set
    │   ├── IllPosedError           exit 2   HTTP 422   the problem has no solution, in the words of the theory
    │   ├── NoClosedFormError       exit 2   HTTP 422   well posed, but no formula is known here
    │   ├── CatalogueError          exit 2   HTTP 422   what the custodian declares is missing, wrong or has changed
    │   └── RefusedError            exit 2   HTTP 422   a question that is refused, with the reason
    ├── AllowanceError              exit 3   HTTP 403   the answer would break a declared floor
    ├── LedgerError                 exit 1   HTTP 503   the ledger is missing, older than its anchor, or damaged
    ├── AnswerFailedError           exit 1   HTTP 500   the engine failed after the charge; nothing more is said
    ├── EngineError                 exit 1   HTTP 503   an engine cannot be reached or refuses public work
    ├── ConvergenceError            exit 1   HTTP 422   a numerical method did not reach its tolerance
    ├── KeyFileError                exit 1   HTTP 500   a key file is missing, readable by others, or damaged
    └── MissingExtraError           exit 1   HTTP 501   an optional dependency is not installed
        (ImportError)

A message names the value given, what is allowed, and what to do. ``fields`` carries the same facts as data.
Neither ever holds a private value.
"""

from typing import ClassVar


class ErrorFloorError(Exception):
    """The root of the tree.

    >>> ErrorFloorError("disk full", path="out.csv").fields
    {'path': 'out.csv'}
    """

    code: ClassVar[str] = "failure"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.fields = fields


class InputError(ErrorFloorError, ValueError):
    """What was given cannot be used.

    >>> raise InputError("max_loss must be positive, got -1.0", max_loss=-1.0)
    Traceback (most recent call last):
    errorfloor.errors.InputError: max_loss must be positive, got -1.0
    """

    code = "input"
    exit_code = 2
    http_status = 422


class SupportError(InputError):
    """A set that is empty, flat, inverted, or not a set at all.

    >>> SupportError.code
    'support'
    """

    code = "support"


class IllPosedError(InputError):
    """The design problem has no solution; the message says which hypothesis of the theory fails.

    >>> IllPosedError.code
    'ill-posed'
    """

    code = "ill-posed"


class NoClosedFormError(InputError):
    """The problem is well posed but no formula for its solution is known here.

    >>> NoClosedFormError.code
    'no-closed-form'
    """

    code = "no-closed-form"


class CatalogueError(InputError):
    """A declaration is missing or wrong, or differs from what was registered.

    >>> CatalogueError.code
    'catalogue'
    """

    code = "catalogue"


class RefusedError(InputError):
    """A question that is refused; ``fields["reason"]`` is a stable word for why, the message says what to ask.

    >>> RefusedError("no median here: ask for a curve of above(…)", reason="aggregate").fields
    {'reason': 'aggregate'}
    """

    code = "refused"


class AllowanceError(ErrorFloorError):
    """The answer would let a declared floor be broken; nothing was charged.

    >>> AllowanceError.exit_code
    3
    """

    code = "allowance"
    exit_code = 3
    http_status = 403


class LedgerError(ErrorFloorError):
    """The ledger is missing, older than its anchor, forked or damaged; the message says how to restore it.

    >>> LedgerError.code
    'ledger'
    """

    code = "ledger"
    http_status = 503


class AnswerFailedError(ErrorFloorError):
    """The engine failed after the charge. The message is always the same, whatever the reason.

    >>> str(AnswerFailedError())
    'the answer could not be computed; it stays charged, and asking again is free'
    """

    code = "answer-failed"

    def __init__(self) -> None:
        super().__init__("the answer could not be computed; it stays charged, and asking again is free")


class EngineError(ErrorFloorError):
    """An engine cannot be reached, or fails at work on public columns; the message never holds a private value.

    >>> EngineError.code
    'engine'
    """

    code = "engine"
    http_status = 503


class ConvergenceError(ErrorFloorError):
    """A numerical method stopped before it reached its tolerance; no result is given.

    >>> ConvergenceError.code
    'no-convergence'
    """

    code = "no-convergence"
    http_status = 422


class KeyFileError(ErrorFloorError):
    """A key file is missing, readable by others, or damaged; the message never quotes it.

    >>> KeyFileError.code
    'key-file'
    """

    code = "key-file"


class MissingExtraError(ErrorFloorError, ImportError):
    """An optional dependency is not installed; the message is the command that installs it.

    >>> str(MissingExtraError("plots", "matplotlib"))
    "this needs matplotlib, which is not installed: pip install 'errorfloor[plots]'"
    """

    code = "missing-extra"
    http_status = 501

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(
            f"this needs {package}, which is not installed: pip install 'errorfloor[{extra}]'",
            extra=extra,
            package=package,
        )
