"""An adversary without ideas: it searches for questions by itself, and learns what their answers say.

The search is that of QuerySnout (Cretu, Houssiau, Cully, de Montjoye, 2022) and QueryCheetah (Stevanoski, Cretu, de
Montjoye, 2024), which found attacks on Diffix that nobody had thought of.
"""

from bisect import insort
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from errorfloor.attacks.attack import Attack, Door, Shadows, outcome
from errorfloor.attacks.learned_rule import LearnedRule, held_out_loss, loss
from errorfloor.attacks.probes import Probe, changed_probe, random_probe
from errorfloor.attacks.secret import Secret
from errorfloor.attacks.world import World
from errorfloor.checks import Array
from errorfloor.closing import Closing
from errorfloor.errors import AllowanceError
from errorfloor.identity import Key

Candidate = tuple[Probe, ...]
AFFORDED = 0.99  # of the allowance, by all questions of a candidate together
ELITE = 12  # candidates that the next ones are bred from
BEGINNERS = 12  # questions that the search begins with
FRESH = 0.05  # how often a change brings in a question that was never asked
CROSSED = 0.3  # how often two parents have a child
NEARBY = 0.7  # how often such a question is a change of one that was
EACH_QUESTION = 0.01  # loss that a further question must save, or it has only learnt the shadows by heart
FINALISTS = 3  # which are tried again on shadows that the search has not seen
SPENT = AllowanceError.__name__


@final
class Home(Closing):
    """Shadows of the attacked server, half with the first value and half with the second, each with a key of its own.

    Nobody keeps an account of them: where one has nothing left to spend it is opened again, with the same key. Even
    shadows have the first value, odd ones the second.
    """

    def __init__(self, world: World, *, pairs: int) -> None:
        self.kinds = np.arange(2 * pairs) % 2
        self._world = world
        self._keys: list[Key] = [world.fresh_key() for _ in self.kinds]
        self._kept: dict[Probe, Array] = {}
        self._doors: dict[int, Door] = {}
        self._stack = ExitStack()

    def all_seen(self, probes: Sequence[Probe]) -> Array:
        """Give what every shadow answers to some questions: a row for each, two features a question."""
        return np.hstack([self.seen(probe) for probe in probes])

    def seen(self, probe: Probe) -> Array:
        """Give what every shadow answers to a question; it is kept, for a shadow answers the same again."""
        if probe not in self._kept:
            self._kept[probe] = np.array([self._seen(shadow, probe) for shadow in range(len(self.kinds))])
        return self._kept[probe]

    def _seen(self, shadow: int, probe: Probe) -> tuple[float, float]:
        sql = probe.asked_of(self._world.secret.table)
        answer = asked(self._doors[shadow], sql, probe.share) if shadow in self._doors else SPENT
        if isinstance(answer, str) and answer.startswith(SPENT):
            server = self._world.server(int(self.kinds[shadow]), key=self._keys[shadow])
            self._doors[shadow] = self._stack.enter_context(server)
            answer = asked(self._doors[shadow], sql, probe.share)
        return features(answer)

    def close(self) -> None:
        """Close every shadow."""
        self._stack.close()


def asked(door: Door, sql: str, share: float) -> Any:
    """Ask a question; give the answer, or the error that a user would read."""
    return outcome(partial(door.ask, sql, spend=share))


def features(answer: Any) -> tuple[float, float]:
    """Give the number that came back, and whether none did: a refusal, or NULL."""
    number = None if isinstance(answer, str) else answer.to_arrow()["answer"][0].as_py()
    return (0.0, 1.0) if number is None else (float(number), 0.0)


def all_features(door: Door, table: str, probes: Sequence[Probe]) -> Array:
    """Ask one question after the other; give the features of all in a row."""
    answers = [asked(door, probe.asked_of(table), probe.share) for probe in probes]
    return np.array([feature for answer in answers for feature in features(answer)])


class Found(NamedTuple):
    """The best set of questions, the rule that reads its answers, and the loss of that rule on new shadows."""

    candidate: Candidate
    rule: LearnedRule
    loss: float


@final
class QuestionSearch(Attack):
    """Breeds sets of questions on shadows at home; asks the best set, and guesses by the rule that it learnt there.

    ``candidates`` sets are tried, each on ``pairs`` shadows with either value. What an adversary finds for one server
    it uses for all servers of the same world: these are the targets that it has never seen.
    """

    name = "searched questions"
    tries: ClassVar[str] = "breeds sets of questions on servers at home, learns to read the answers, and asks the best"

    def __init__(self, *, candidates: int = 200, pairs: int = 6) -> None:
        self.candidates, self.pairs = candidates, pairs
        self._found: dict[World, Found] = {}

    def play(self, world: World, coin: int) -> float:
        """Search once for each world, then attack a fresh server with what was found."""
        if world not in self._found:
            self._found[world] = self.search(world)
        with world.stage(coin) as (door, secret):
            return self._odds(self._found[world], door, secret)

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say nothing: without a world to search in, there is no set of questions."""
        return 0.0

    def search(self, world: World) -> Found:
        """Find a set of questions whose answers tell the two values apart on shadows."""
        chance = np.random.default_rng(self.candidates)
        with Home(world, pairs=self.pairs) as home, Home(world, pairs=self.pairs) as other:
            finalists = _Breeding(home, world.secret, chance).best(self.candidates)
            return min((_trained(one, home, other) for one in finalists), key=lambda found: found.loss)

    @staticmethod
    def _odds(found: Found, door: Door, secret: Secret) -> float:
        seen = all_features(door, secret.table, found.candidate)
        return float(found.rule.odds(seen[None, :])[0])


def _trained(candidate: Candidate, home: Home, other: Home) -> Found:
    """Learn from the shadows of the search, measure on others, and learn from both."""
    first, second = home.all_seen(candidate), other.all_seen(candidate)
    measured = loss(LearnedRule.of(first, home.kinds).odds(second), other.kinds)
    together = LearnedRule.of(np.vstack([first, second]), np.concatenate([home.kinds, other.kinds]))
    return Found(candidate, together, measured)


class _Breeding:
    """A population of candidates, the better half of which breeds the next."""

    def __init__(self, home: Home, secret: Secret, chance: np.random.Generator) -> None:
        self._home, self._secret, self._chance = home, secret, chance
        self._probes: list[Probe] = []
        self._losses: dict[Candidate, float] = {}
        self._ranked: list[Candidate] = []

    def best(self, candidates: int) -> list[Candidate]:
        """Try so many candidates and give those with the least loss."""
        while len(self._losses) < candidates:
            child = self._child() if len(self._losses) >= BEGINNERS else (self._fresh(None),)
            if child not in self._losses:
                self._losses[child] = self._loss(child)
                insort(self._ranked, child, key=self._losses.__getitem__)
        return self._ranked[:FINALISTS]

    def _loss(self, candidate: Candidate) -> float:
        return held_out_loss(self._home.all_seen(candidate), self._home.kinds) + EACH_QUESTION * len(candidate)

    def _child(self) -> Candidate:
        """Put two parents together or take one; then add, drop or change a question; then drop what is too dear."""
        elite, chance = self._ranked[:ELITE], self._chance
        one, two = (elite[place] for place in chance.integers(len(elite), size=2))
        genes = list(dict.fromkeys(one + two if chance.random() < CROSSED else one))
        place = int(chance.integers(len(genes)))
        match chance.choice(["add", "drop", "change"]):
            case "add":
                genes.append(self._another(genes[place]))
            case "drop" if len(genes) > 1:
                del genes[place]
            case _:
                genes[place] = self._another(genes[place])
        genes = [genes[place] for place in chance.permutation(len(genes))]
        while sum(gene.share for gene in genes) > AFFORDED:
            genes.pop()
        return tuple(sorted(set(genes), key=str))

    def _another(self, probe: Probe) -> Probe:
        """Give a question that was asked before, or now and then one that was not."""
        if self._chance.random() < FRESH:
            return self._fresh(probe)
        return self._probes[self._chance.integers(len(self._probes))]

    def _fresh(self, probe: Probe | None) -> Probe:
        if probe is not None and self._chance.random() < NEARBY:
            made = changed_probe(probe, self._secret, self._chance)
        else:
            made = random_probe(self._secret, self._chance)
        self._probes.append(made)
        return made
