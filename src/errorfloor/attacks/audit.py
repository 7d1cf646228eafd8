"""An audit: every attack that applies to a catalogue, played against servers that hold generated rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.evaluation import Evaluation
from errorfloor.attacks.groups import Differencing, Reconstruction
from errorfloor.attacks.history import ChangedData, NewVersions, RestoredLedger
from errorfloor.attacks.judgement import FALSE_ALARM, Finding, judge
from errorfloor.attacks.repetition import Collusion, MaximumLikelihood, Repetition, Rephrasing
from errorfloor.attacks.silence import Oracles, Timing
from errorfloor.attacks.world import World
from errorfloor.catalogue import Catalogue
from errorfloor.checks import whole
from errorfloor.errors import InputError

Progress = Callable[[str, float], None]


def attacks() -> tuple[Attack, ...]:
    """Give every adversary.

    >>> len(attacks())
    13
    """
    return (
        Repetition(),
        Rephrasing(),
        Collusion(),
        MaximumLikelihood(),
        Differencing(),
        Reconstruction(prior=False),
        Reconstruction(prior=True),
        Evaluation(),
        Oracles(),
        Timing(),
        RestoredLedger(),
        NewVersions(),
        ChangedData(),
    )


@dataclass(frozen=True)
class Audit:
    """What every attack found, column by column.

    >>> Audit({}).beaten
    []
    """

    findings: dict[str, tuple[Finding, ...]]

    @property
    def beaten(self) -> list[tuple[str, Finding]]:
        """The attacks that were right more often than a floor allows, with the column they were played for."""
        return [(column, one) for column, found in self.findings.items() for one in found if one.beaten]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        columns = {column: [one.to_dict() for one in found] for column, found in self.findings.items()}
        return {"columns": columns, "beaten": len(self.beaten), "false_alarm": FALSE_ALARM}

    def explain(self) -> str:
        """Say it in sentences."""
        played = sum(len(found) for found in self.findings.values())
        if self.beaten:
            won = ", ".join(f"{one.attack} against {column}" for column, one in self.beaten)
            return f"{len(self.beaten)} of {played} attacks beat a floor: {won}. Do not publish from this set-up."
        return (
            f"None of {played} attacks beat a floor. Each played for one entry with one of two values, all others "
            f"known and the whole allowance to spend, on generated rows; were every promise kept, an audit would find "
            f"otherwise less than once in {1 / FALSE_ALARM:,.0f} times."
        )


def audit(
    catalogue: Catalogue,
    *,
    runs: int = 200,
    seed: int = 1,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> Audit:
    """Attack every private column that a catalogue declares.

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
        Of the coins; the servers' noise is always secret.
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
    known = [one.name for one in attacks()]
    if unknown := sorted(set(only) - set(known)):
        raise InputError(f"there is no attack {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = [one for one in attacks() if not only or one.name in only]
    columns = [(table, column) for table, declared in catalogue.tables.items() for column in declared.private]
    if not columns:
        raise InputError("the catalogue declares no private column: there is nothing to attack")
    found: dict[str, tuple[Finding, ...]] = {}
    for place, (table, column) in enumerate(columns):
        with World(catalogue, table, column) as world:
            here = []
            for number, one in enumerate(chosen):
                if progress is not None:
                    progress(f"{table}.{column}: {one.name}", (place + number / len(chosen)) / len(columns))
                here.append(judge(one, world, runs=runs, seed=seed, attacks=len(chosen) * len(columns)))
            found[f"{table}.{column}"] = tuple(here)
    return Audit(found)
