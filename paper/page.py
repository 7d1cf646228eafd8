"""The report as one HTML file that needs nothing else: figures inside, light or dark as the reader's system is."""

import base64
from collections.abc import Mapping
from html import escape

from paper import words
from paper.model import Claim

STYLE = """
:root { color-scheme: light dark; --text: #1d2328; --paper: #ffffff; --faint: #5b6670; --line: #d5dbe1; --card: #f4f6f8;
  --link: #0b5394; --good: #2e6b1c; --bad: #a33016; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7ea; --paper: #14181c; --faint: #9aa5af; --line: #343c44; --card: #1d2329; --link: #8ab8e6;
    --good: #8fce78; --bad: #ff9b80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; color: var(--text); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
a { color: var(--link); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
.number { font-variant-numeric: tabular-nums; }
.verdicts td:last-child { white-space: nowrap; }
.holds { color: var(--good); font-weight: 600; }
.corrected { color: var(--bad); font-weight: 600; }
dl { margin: .5rem 0 1rem; }
dt { color: var(--faint); font-size: .85rem; margin-top: .5rem; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; padding: .75rem; background: var(--card); border-radius: .5rem; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; border-radius: .25rem; }
figcaption { margin-top: .5rem; font-size: .9rem; color: var(--faint); }
"""


def render(claims: list[Claim], pictures: Mapping[str, bytes]) -> str:
    """Give the whole page; ``pictures`` maps the names of drawings to PNG files.

    >>> from paper.model import Shown
    >>> claim = Claim("Theorem 0", "sums", "1 + 1 = 2", "the same", "holds", (Shown("1 + 1", 2.0, 2.0, "fingers"),))
    >>> "<td class='holds'>holds</td>" in render([claim], {})
    True
    """
    sections = "".join(_section(claim, pictures) for claim in claims)
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(words.TITLE)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(words.TITLE)}</h1>\n<p>{escape(words.INTRODUCTION)}</p>\n<p>{escape(words.NOTATION)}</p>\n"
        f"<p><strong>{escape(words.summary(claims))}</strong></p>\n"
        f"{_verdicts(claims)}{sections}</body>\n</html>\n"
    )


def _verdicts(claims: list[Claim]) -> str:
    rows = "".join(
        f"<tr><td><a href='#{words.anchor(c)}'>{escape(c.where)}</a></td>"
        f"<td>{escape(c.subject)}</td>{_verdict(c, 'td')}</tr>\n"
        for c in claims
    )
    return (
        "<div class='scroll'><table class='verdicts'>"
        "<thead><tr><th>where</th><th>what</th><th>verdict</th></tr></thead>\n"
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def _section(claim: Claim, pictures: Mapping[str, bytes]) -> str:
    said = [("Printed", claim.printed), ("Right", claim.correct), ("Why it matters", claim.why)]
    terms = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in said if text)
    head = "".join(f"<th>{name}</th>" for name in words.COLUMNS)
    rows = "".join(
        "<tr>" + "".join(f"<td class='number'>{escape(cell)}</td>" for cell in words.cells(shown)) + "</tr>\n"
        for shown in claim.shown
    )
    figures = "".join(
        f"<figure><img alt='{escape(d.caption, quote=True)}' src='data:image/png;base64,"
        f"{base64.b64encode(pictures[d.name]).decode()}'><figcaption>{escape(d.caption)}</figcaption></figure>\n"
        for d in claim.drawings
    )
    return (
        f"<section id='{words.anchor(claim)}'>\n<h2>{escape(claim.where)}: {escape(claim.subject)}</h2>\n"
        f"<p>Verdict: {_verdict(claim, 'span')}</p>\n<dl>{terms}</dl>\n"
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n"
        f"{figures}</section>\n"
    )


def _verdict(claim: Claim, tag: str) -> str:
    found = " (found here)" if claim.further else ""
    return f"<{tag} class='{claim.verdict}'>{claim.verdict}{found}</{tag}>"
