"""What a claim of the source is, and what settles it."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from errorfloor.errors import InputError

Verdict = Literal["holds", "corrected"]


@dataclass(frozen=True)
class Shown:
    """A number that settles a claim, found twice: with this library and by a route that does not use it.

    ``stated`` is the rounded number that the corrected theory quotes, ``printed`` what the source's own formula gives
    in the same case. ``tolerance`` is the relative difference allowed between the two routes, also taken as the
    difference below which the printed number counts as right.

    >>> kappa = Shown("κ", 1 / (4 * math.pi**2), 0.025330295910584444, "by hand", stated="0.0253")
    >>> kappa.agrees, kappa.contradicts_print
    (True, False)
    """

    what: str
    library: float
    independent: float
    route: str
    stated: str | None = None
    printed: float | None = None
    tolerance: float = 1e-9

    @property
    def agrees(self) -> bool:
        """Whether both routes meet, and meet the stated number in every digit that it has."""
        both = math.isclose(self.library, self.independent, rel_tol=self.tolerance, abs_tol=self.tolerance * 1e-3)
        return both and (
            self.stated is None or abs(self.library - float(self.stated)) <= 0.5001 * _last_place(self.stated)
        )

    @property
    def contradicts_print(self) -> bool:
        """Whether the source's formula gives another number."""
        return self.printed is not None and not self._close(self.printed)

    def _close(self, other: float) -> bool:
        return math.isclose(self.library, other, rel_tol=self.tolerance, abs_tol=self.tolerance * 1e-3)


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn when it is asked for; ``name`` is also its file name without an ending.

    >>> Drawing("raised_cosine", "Bounded noise.").draw().axes[0].get_xlabel()
    'noise w'
    """

    name: str
    caption: str

    def draw(self) -> Any:
        """Give the Matplotlib figure (extra ``plots``)."""
        from paper import bounded_pictures, unbounded_pictures

        return {**bounded_pictures.PICTURES, **unbounded_pictures.PICTURES}[self.name]()


@dataclass(frozen=True)
class Claim:
    """One statement of the source: what it prints, what is right, and the numbers that show it.

    ``where`` is the source's own number for the statement; ``further`` marks an error that was first found by
    this recomputation.

    >>> shown = Shown("2 + 2", library=4.0, independent=4.0, route="fingers", printed=5.0)
    >>> Claim("Section 0", "a sum", "2 + 2 = 5", "2 + 2 = 4", "corrected", (shown,)).settled
    True
    """

    where: str
    subject: str
    printed: str
    correct: str
    verdict: Verdict
    shown: tuple[Shown, ...]
    why: str = ""
    drawings: tuple[Drawing, ...] = ()
    further: bool = False

    def __post_init__(self) -> None:
        if self.verdict not in ("holds", "corrected"):
            raise InputError(f"verdict must be 'holds' or 'corrected', got {self.verdict!r}")
        if not self.shown:
            raise InputError(f"the claim {self.where!r} shows no number: give at least one")

    @property
    def settled(self) -> bool:
        """Whether every number agrees with itself, and none contradicts a verdict of "holds"."""
        wrong = any(number.contradicts_print for number in self.shown)
        return all(number.agrees for number in self.shown) and not (wrong and self.verdict == "holds")


def _last_place(text: str) -> float:
    """One unit in the last digit of a decimal number: 0.01 for "37.39"."""
    return 10.0 ** -len(text.partition(".")[2])
