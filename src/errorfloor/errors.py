"""Every exception of the package, one tree, each with its exit code and HTTP status.

::

    ErrorFloorError                 exit 1   HTTP 500   something failed
    ├── InputError (ValueError)     exit 2   HTTP 422   what was given cannot be used
    │   ├── SupportError            exit 2   HTTP 422   a set that is empty, flat, inverted or not a set
    │   ├── IllPosedError           exit 2   HTTP 422   the problem has no solution, in the words of the theory
    │   └── NoClosedFormError       exit 2   HTTP 422   well posed, but no formula is known here
    ├── ConvergenceError            exit 1   HTTP 500   a numerical method did not reach its tolerance
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


class ConvergenceError(ErrorFloorError):
    """A numerical method stopped before it reached its tolerance; no result is given.

    >>> ConvergenceError.code
    'no-convergence'
    """

    code = "no-convergence"


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
