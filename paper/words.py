"""Sentences and numbers that both forms of the report share."""

import re

from paper.model import Claim, Shown

TITLE = "The source paper, recomputed claim by claim"
INTRODUCTION = (
    "F. Farokhi and H. Sandberg, “Ensuring Privacy with Constrained Additive Noise by Minimizing Fisher Information”, "
    "is where this library's theory starts. Every theorem, corollary, proposition, example, figure and checkable "
    "remark of it is listed here in the paper's order and numbering, with what it prints, what is right, and numbers "
    "that show it. Each number was computed twice when this report was written: with the library, and by the "
    "independent route named beside it."
)
NOTATION = (
    "I is Fisher information, I_w that of the noise alone, F or C the query's Jacobian, K = CCᵀ, J = Tr(K I_w) what "
    "the noise reveals, Q the mean square of the noise, ϱ the weight on Q, ϑ a bound on Q, Δ the width of an "
    "interval of noise. An oblivious policy does not look at the data. “Floor” is a lower bound on a mean-square "
    "error; all those in the paper are for unbiased estimators."
)
COLUMNS = ("number", "library", "independent route", "stated", "as printed or implied")


def summary(claims: list[Claim]) -> str:
    """Count the verdicts.

    >>> shown = (Shown("1 + 1", 2.0, 2.0, "fingers"),)
    >>> summary([Claim("Theorem 0", "sums", "1 + 1 = 2", "the same", "holds", shown)])
    '1 statement: 1 holds, 0 are corrected; 0 errors were first found by this recomputation.'
    """
    held = sum(claim.verdict == "holds" for claim in claims)
    corrected, further = len(claims) - held, sum(claim.further for claim in claims)
    return (
        f"{len(claims)} statement{_plural(len(claims))}: {held} hold{'s' if held == 1 else ''}, "
        f"{corrected} {'is' if corrected == 1 else 'are'} corrected; "
        f"{further} error{_plural(further)} {'was' if further == 1 else 'were'} first found by this recomputation."
    )


def cells(shown: Shown) -> tuple[str, str, str, str, str]:
    """A row of a claim's table, in the order of ``COLUMNS``.

    >>> cells(Shown("1/3", 1 / 3, 1 / 3, "long division", stated="0.333", printed=0.5))
    ('1/3', '0.333333', '0.333333 (long division)', '0.333', '0.5')
    """
    return (
        shown.what,
        number(shown.library),
        f"{number(shown.independent)} ({shown.route})",
        shown.stated or "",
        "" if shown.printed is None else number(shown.printed),
    )


def number(value: float) -> str:
    """Six significant digits.

    >>> number(0.1 + 0.2), number(648189.0219867)
    ('0.3', '648189')
    """
    return f"{value:.6g}"


def anchor(claim: Claim) -> str:
    """The name of a claim's section in links.

    >>> shown = (Shown("1 + 1", 2.0, 2.0, "fingers"),)
    >>> anchor(Claim("Corollary 2 (ii)", "quality", "", "", "holds", shown))
    'corollary-2-ii'
    """
    return re.sub(r"[^a-z0-9]+", "-", claim.where.lower()).strip("-")


def _plural(count: int) -> str:
    return "" if count == 1 else "s"
