"""An audit: every attack that applies to a catalogue, played against servers that hold generated rows."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.best_play import BestPlay
from errorfloor.attacks.collisions import Collisions
from errorfloor.attacks.estimation import PosteriorMean
from errorfloor.attacks.groups import Differencing, Reconstruction
from errorfloor.attacks.judgement import FALSE_ALARM, Finding, judge, runs_needed
from errorfloor.attacks.question_search import QuestionSearch
from errorfloor.attacks.repetition import (
    AdaptiveStopping,
    Collusion,
    Extremes,
    MaximumLikelihood,
    OwnerRows,
    OwnerTotal,
    Repetition,
    Rephrasing,
)
from errorfloor.attacks.silence import Evaluation, Oracles
from errorfloor.attacks.smoothing import MOST_STEPS, Smoothing, Trips, too_long
from errorfloor.attacks.world import Population, World
from errorfloor.catalogue import Catalogue
from errorfloor.checks import whole
from errorfloor.errors import InputError

Progress = Callable[[str, float], None]
Game = Callable[..., Finding]  # takes how many attacks are played in all


def attacks() -> tuple[Attack, ...]:
    """Give every adversary who chooses between two values of an entry.

    >>> len(attacks())
    14
    """
    return (
        Repetition(),
        Rephrasing(),
        Collusion(),
        MaximumLikelihood(),
        AdaptiveStopping(),
        BestPlay(),
        Extremes(),
        Differencing(),
        Reconstruction(prior=False),
        Reconstruction(prior=True),
        Evaluation(),
        Collisions(),
        Oracles(),
        QuestionSearch(),
    )


def owner_attacks() -> tuple[Attack, ...]:
    """Give every adversary who chooses between two histories of an owner.

    >>> [one.name for one in owner_attacks()]
    ["an owner's total", "an owner's rows", 'adaptive stopping', 'best play']
    """
    return OwnerTotal(), OwnerRows(), AdaptiveStopping(), BestPlay()


def estimators() -> tuple[PosteriorMean, ...]:
    """Give every adversary who estimates an entry under a prior.

    >>> [one.name for one in estimators()]
    ['prior alone', 'posterior mean']
    """
    return PosteriorMean(answers=False), PosteriorMean()


def names() -> tuple[str, ...]:
    """Give the names of all adversaries, those of streams last.

    >>> names()[-1]
    'smoothing'
    """
    players: tuple[Attack | PosteriorMean, ...] = (*attacks(), *owner_attacks(), *estimators())
    return *(one.name for one in players), Smoothing.name


@dataclass(frozen=True)
class Audit:
    """What every attack found, column by column, and which were not played, with the reason.

    ``seed`` is what coins, drawn numbers and keys followed from.

    >>> Audit({}).beaten
    []
    """

    findings: dict[str, tuple[Finding, ...]]
    skipped: tuple[tuple[str, str], ...] = ()
    seed: int | None = None

    @property
    def beaten(self) -> list[tuple[str, Finding]]:
        """The attacks that were right more often than a floor allows, with the column they were played for."""
        return [(column, one) for column, found in self.findings.items() for one in found if one.beaten]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        columns = {column: [one.to_dict() for one in found] for column, found in self.findings.items()}
        skipped = [{"attack": attack, "why": why} for attack, why in self.skipped]
        counted = {"beaten": len(self.beaten), "false_alarm": FALSE_ALARM, "seed": self.seed}
        return {"columns": columns, "skipped": skipped, **counted}

    def explain(self) -> str:
        """Say it in sentences."""
        played = sum(len(found) for found in self.findings.values())
        if self.beaten:
            won = ", ".join(f"{one.attack} against {column}" for column, one in self.beaten)
            return f"{len(self.beaten)} of {played} attacks beat a floor: {won}. Do not publish from this set-up."
        found = [one for here in self.findings.values() for one in here]
        hopeless = [one for one in found if not one.could_win]
        if hopeless:
            needed = max(runs_needed(one.promised, one.doubt) for one in hopeless)
            return (
                f"No floor was beaten, but {len(hopeless)} of {played} attacks could not have beaten one: so few runs "
                f"show nothing. Play {needed} or more."
            )
        return (
            f"No floor was beaten in {played} attack{'' if played == 1 else 's'}. Each was on one entry or one owner, "
            f"with all others known and the whole allowance to spend, on generated rows. If every promise is kept, an "
            f"audit finds otherwise less than once in {1 / FALSE_ALARM:,.0f} times."
        )


def audit(
    catalogue: Catalogue,
    *,
    runs: int = 200,
    seed: int | None = None,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> Audit:
    """Attack every private column and every private state of a stream that a catalogue declares.

    Rows are generated from the declarations, in a temporary place: no source, vault, key or ledger of the catalogue is
    touched and nothing is spent.

    Guarantee: if every promise holds, the probability that any attack is said to have won is at most 10⁻⁶.

    Parameters
    ----------
    catalogue
        What is declared.
    runs
        How often each attack is played, each time against a fresh server.
    seed
        Of the coins, the drawn numbers and the noise: with the same seed the same is found again. One is drawn if none
        is given. It has no part in anything but generated rows.
    only
        Names of attacks; all of them without it.
    progress
        Called with words and the share of the work that is done.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> audit(Catalogue(tables={"meters": meters}), runs=2, only=["differencing"]).beaten
    []
    """
    whole("runs", runs, least=1)
    seed = secrets.randbelow(2**32) if seed is None else whole("seed", seed, least=0)
    if unknown := sorted(set(only) - set(names())):
        raise InputError(f"there is no attack {unknown[0]!r}; there are: {', '.join(names())}")
    if all(table.is_public for table in catalogue.tables.values()) and not catalogue.streams:
        raise InputError("the catalogue declares no private column: there is nothing to attack")
    chosen, found = set(only or names()), dict[str, list[Finding]]()
    long = too_long(catalogue) if Smoothing.name in chosen else list(catalogue.streams)
    with ExitStack() as stack:
        games = [game for game in _games(catalogue, runs, seed, long, stack) if game[1] in chosen]
        for number, (place, name, game) in enumerate(games):
            if progress is not None:
                progress(f"{place}: {name}", number / len(games))
            found.setdefault(place, []).append(game(attacks=len(games)))
    skipped = tuple((name, why) for name, why in _skipped(catalogue, long) if name in chosen)
    return Audit({place: tuple(here) for place, here in found.items()}, skipped, seed)


def _skipped(catalogue: Catalogue, long: list[str]) -> Iterator[tuple[str, str]]:
    """Give the attacks that do not apply, and why."""
    if all(table.owner is None for table in catalogue.tables.values()):
        for attack in owner_attacks():
            yield attack.name, "no owner is declared"
    if not catalogue.streams:
        yield Smoothing.name, "no stream is declared"
    for stream in long:
        yield Smoothing.name, f"trips of {stream} have more than {MOST_STEPS} steps"


def _games(
    catalogue: Catalogue, runs: int, seed: int, long: list[str], stack: ExitStack
) -> Iterator[tuple[str, str, Game]]:
    """Give where each attack is played, its name, and how; nothing is opened before the first is played there."""
    for table, declared in catalogue.tables.items():
        for column in declared.private:
            world = stack.enter_context(World(catalogue, table, column, seed=seed))
            people = stack.enter_context(Population(catalogue, table, column, seed=seed))
            for attack in attacks():
                yield f"{table}.{column}", attack.name, partial(judge, attack, world, runs=runs, seed=seed)
            for estimator in estimators():
                yield f"{table}.{column}", estimator.name, partial(estimator.play, people, runs=runs)
        if declared.owner is not None:
            world = stack.enter_context(World(catalogue, table, None, seed=seed))
            for attack in owner_attacks():
                yield f"owners of {table}", attack.name, partial(judge, attack, world, runs=runs, seed=seed)
    for stream in [name for name in catalogue.streams if name not in long]:
        for state in catalogue.streams[stream].private:
            trips = Trips(catalogue, stream, state, seed=seed)
            yield f"{stream}.{state}", Smoothing.name, partial(Smoothing().play, trips, runs=runs)
