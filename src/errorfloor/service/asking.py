"""One question on its way: prepared from public facts, priced, charged, and only then looked up."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from errorfloor.charging import Charging
from errorfloor.charging.settling import Grant
from errorfloor.engines import Engine
from errorfloor.engines.allotment import UNLIMITED, Allotment, allotted
from errorfloor.identity import Key
from errorfloor.ledger import Entry, Ledger, Quotas, Settlement
from errorfloor.ledger.decision import asked_of
from errorfloor.service.advice import advice
from errorfloor.service.answer import Answer, Price
from errorfloor.service.preparation import Known, Prepared
from errorfloor.service.releasing import look_and_release
from errorfloor.service.simulation import Simulation, rooms


class Attendant:
    """Lets everything pass; a door overrides what it cares about. The calls come in this order.

    ``allotment`` is what the question may take, and how it is stopped. ``question`` is the share of an allowance that
    it may take at most.

    Guarantee: up to and including ``charging`` no private column has been read and nothing has been charged, so that
    either may raise; ``looking`` comes once the charge is durable, right before private columns are read.

    >>> Attendant().charging()
    """

    allotment: Allotment = UNLIMITED
    question: float | None = None

    def priced(self, prepared: Prepared) -> None:
        """Hear what a question takes; may refuse it."""

    def charging(self) -> None:
        """Hear that the charge comes next: the last moment to give the question up."""

    def looking(self, stated: Price, fresh: Sequence[bool], labels: Sequence[str]) -> None:
        """Hear that private columns are read from here on.

        ``fresh`` says which outputs were charged now, ``labels`` by which names the ledger knows them.
        """


NOBODY = Attendant()
_PRESENT: ContextVar[Attendant] = ContextVar("attendant", default=NOBODY)


def attendant() -> Attendant:
    """Give who attends to the questions of this thread.

    >>> attendant() is NOBODY
    True
    """
    return _PRESENT.get()


@contextmanager
def attended_by(one: Attendant) -> Iterator[None]:
    """Let somebody attend to the questions that this thread asks in the block.

    >>> with attended_by(Attendant()):
    ...     attendant() is NOBODY
    False
    """
    before = _PRESENT.set(one)
    try:
        with allotted(one.allotment):
            yield
    finally:
        _PRESENT.reset(before)


@dataclass(frozen=True)
class Asking:
    """A prepared question and its charge; in a dry run it is priced alike, and free.

    Guarantee: ``answer`` reads private columns only once the charge is durable, and gives nothing before it is
    anchored.
    """

    prepared: Prepared
    charging: Charging
    is_dry: bool

    @classmethod
    def of(
        cls, prepared: Prepared, ledger: Ledger, key: Key, grant: Grant, quotas: Quotas, *, is_dry: bool
    ) -> "Asking":
        """Price a prepared question for one who asks, as the ledger will know it under a key."""
        question = prepared.question
        note = {"table": question.table, "version": question.version, "key": key.id}
        if quotas.analyst is not None:
            note["analyst"] = quotas.analyst
        labels = {key.release_id(one.label): one for one in prepared.charged if one.label is not None}

        def entry(chosen: Sequence[str]) -> Entry:
            outputs = [labels[label] for label in chosen]
            names = {"output": ", ".join(one.output.name for one in outputs)}
            whole = len(chosen) == len(labels)
            cost = prepared.charges if whole else prepared.charges_of(outputs)
            return Entry(chosen[0], cost, {**names, **note}, tuple(chosen[1:]), entry)

        entries = [entry(tuple(labels))] if labels else []
        charging = Charging(
            ledger,
            prepared.table,
            entries,
            prepared.plan.allowances,
            prepared.terms,
            lambda stand, fresh: advice(prepared, stand.accounts, stand.quotas, fresh),
            quotas,
            grant,
        )
        return cls(prepared, charging, is_dry)

    def price(self) -> Price:
        """Say what the answer would state and cost; nothing is charged."""
        return self._stated(self.charging.preview())

    def simulation(self) -> Simulation:
        """Say how many more answers of this price could be given; nothing is charged."""
        now = self.charging.preview()
        entries = self.charging.entries
        priced = self._stated(replace(now, asked=asked_of(entries, entries)))
        return Simulation(self.prepared, rooms(priced.standings, priced.quotas, now.spent), free=not any(now.fresh))

    def answer(self, engine: Engine, key: Key, known: Known, *, spend: bool) -> Answer:
        """Charge, look, draw and answer; with ``spend`` off anything that is not free is refused."""
        if self.is_dry or not self.charging.entries:
            return self._answer(self.charging.preview(), engine, key, known)
        attending = attendant()
        self.charging.check_question(attending.question if spend else None)
        attending.charging()
        with self.charging.settling(spend=spend) as settled:
            stated = self._stated(settled, charged=True)
            attending.looking(stated, settled.fresh, self.charging.entries[0].labels)
            return self._answer(settled, engine, key, known, stated)

    def _answer(
        self, settled: Settlement, engine: Engine, key: Key, known: Known, stated: Price | None = None
    ) -> Answer:
        price = self._stated(settled) if stated is None else stated
        table, places = known.answer(self.prepared, lambda kept: look_and_release(self.prepared, engine, key, kept))
        return Answer(self.prepared, price.standings, price.quotas, self.is_dry, table, places, self._fresh(settled))

    def _fresh(self, settled: Settlement) -> tuple[bool, ...]:
        """Say for each output with noise whether it was charged now; of those that are the same, the first one is."""
        new = [one for one, fresh in zip(self.prepared.charged, settled.fresh, strict=True) if fresh]
        return tuple(any(one is other for other in new) for one in self.prepared.outputs if one.added is not None)

    def _stated(self, settled: Settlement, *, charged: bool = False) -> Price:
        return Price(self.prepared, *self.charging.stand(settled, charged=charged), self.is_dry)
