"""The report as Markdown, with its figures in a folder beside it."""

from paper import words
from paper.model import Claim


def render(claims: list[Claim]) -> str:
    """Give the whole text: verdicts first, then a section a claim.

    >>> from paper.model import Shown
    >>> claim = Claim("Theorem 0", "sums", "1 + 1 = 2", "the same", "holds", (Shown("1 + 1", 2.0, 2.0, "fingers"),))
    >>> print(render([claim]).splitlines()[0])
    # The source paper, recomputed claim by claim
    """
    lines = [f"# {words.TITLE}", "", words.INTRODUCTION, "", words.NOTATION, "", f"**{words.summary(claims)}**", ""]
    lines += ["| where | what | verdict |", "|---|---|---|"]
    lines += [f"| [{c.where}](#{words.anchor(c)}) | {_cell(c.subject)} | {_verdict(c)} |" for c in claims]
    for claim in claims:
        lines += _section(claim)
    return "\n".join(lines) + "\n"


def _section(claim: Claim) -> list[str]:
    lines = [
        "",
        f'<a id="{words.anchor(claim)}"></a>',
        "",
        f"## {claim.where}: {claim.subject}",
        "",
        f"Verdict: {_verdict(claim)}.",
        "",
    ]
    lines += [f"- Printed: {claim.printed}.", f"- Right: {claim.correct}."]
    if claim.why:
        lines += [f"- Why it matters: {claim.why}"]
    lines += ["", "| " + " | ".join(words.COLUMNS) + " |", "|" + "---|" * len(words.COLUMNS)]
    lines += ["| " + " | ".join(_cell(cell) for cell in words.cells(shown)) + " |" for shown in claim.shown]
    for drawing in claim.drawings:
        lines += ["", f"![{drawing.caption}](figures/{drawing.name}.png)", "", f"*{drawing.caption}*"]
    return lines


def _verdict(claim: Claim) -> str:
    if claim.verdict == "holds":
        return "holds"
    return "**corrected** (found here)" if claim.further else "**corrected**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
