"""Progress is told to whoever asks, and drawn where somebody looks."""

import io

from rich.console import Console

import errorfloor as ef
from errorfloor.designer.designing import progress_bar


def test_a_design_tells_what_it_does():
    told = []
    ef.design(
        ef.Box([0, 0], [1, 1]),
        sensitivity=[[1.0, 0.6], [0.6, 1.0]],
        max_loss=0.4,
        progress=lambda *step: told.append(step),
    )
    assert {what for what, _ in told} >= {"eigen-solver", "weight of the loss", "lower bound"}
    assert all(0 <= share <= 1 for _, share in told)


def test_nothing_is_drawn_within_the_first_two_seconds():
    screen = io.StringIO()
    with progress_bar(Console(file=screen, force_terminal=True)) as bar:
        bar("eigen-solver", 0.5)
    assert screen.getvalue() == ""


def test_after_that_a_bar_is_drawn_and_cleared():
    screen = io.StringIO()
    with progress_bar(Console(file=screen, force_terminal=True, width=80), patience=0.0) as bar:
        bar("eigen-solver", 0.25)
        bar("lower bound", 0.5)
    assert "eigen-solver" in screen.getvalue()
    assert "lower bound" in screen.getvalue()


def test_nothing_is_drawn_where_nobody_looks(capsys):
    with progress_bar(patience=0.0) as bar:
        bar("eigen-solver", 0.25)
    assert capsys.readouterr().err == ""
