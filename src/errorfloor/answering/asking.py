"""One question on its way: prepared from public facts, priced, charged, and only then looked up."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from errorfloor.answering.advice import advice, affordable
from errorfloor.answering.answer import Answer, Price
from errorfloor.answering.by_part import as_drawn, laid_out_together
from errorfloor.answering.releasing import look_and_release
from errorfloor.answering.simulation import Simulation, rooms
from errorfloor.charging import Charging, look
from errorfloor.charging.settling import Grant, charged_under, together
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import UNLIMITED, Allotment, allotted
from errorfloor.identity import Key
from errorfloor.ledger import Entry, Ledger, Quotas, Settlement
from errorfloor.ledger.decision import asked_of
from errorfloor.preparing.preparation import Prepared, PreparedOutput, ReadQuestion

Keep = Callable[[ReadQuestion, Prepared, str | None], None]


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

    def releasing(self, prepared: Sequence[Prepared], drawing: float = 0.0) -> None:
        """Hear what several periods of a standing question take, which was charged before; may refuse them.

        ``drawing`` are the seconds that noise takes which is drawn afterwards.
        """

    def showing(self, rows: int, drawing: float) -> None:
        """Hear how many rows of figures a standing question shows at most, and how many seconds their noise takes.

        May refuse them.
        """

    def charging(self) -> None:
        """Hear that the charge comes next: the last moment to give the question up."""

    def looking(self, stated: Price | None, fresh: Sequence[bool], labels: Sequence[str]) -> None:
        """Hear that private columns are read from here on; ``stated`` is None for what was charged before.

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


@dataclass(frozen=True, eq=False)
class Piece:
    """A question that is looked up by itself; of a table that grows perhaps for the groups of one part alone.

    ``keys`` draw the noise of each output: an older one if it was charged under that, and was never kept. ``groups``
    are the places of its groups among those of the whole question; None if it is that.
    """

    read: ReadQuestion
    prepared: Prepared
    groups: Array | None = None
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Asking:
    """A prepared question and its charge; in a dry run it is priced alike, and free.

    It has one piece, or one for each part where its groups are those of parts: they are charged together.

    Guarantee: ``answer`` reads private columns only once the charge is durable, and gives nothing before it is
    anchored. What was released before is read from what is kept: nothing is scanned, drawn or charged for it.
    """

    prepared: Prepared
    pieces: tuple[Piece, ...]
    charging: Charging
    is_dry: bool

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        pieces: Sequence[Piece],
        ledger: Ledger,
        keys: Sequence[Key],
        grant: Grant,
        quotas: Quotas,
        *,
        is_dry: bool,
    ) -> "Asking":
        """Price a prepared question for one who asks, as the ledger will know it; the first of ``keys`` is in use."""
        question = prepared.question
        note: dict[str, Any] = {"table": question.table, "version": question.version, "key": keys[0].id}
        if quotas.analyst is not None:
            note["analyst"] = quotas.analyst
        drawn = tuple(replace(piece, keys=_drawing(piece.prepared, ledger, keys)) for piece in pieces)
        labels = {
            _paid(one, key): (piece, one)
            for piece in drawn
            for one, key in zip(piece.prepared.outputs, piece.keys, strict=True)
            if one in piece.prepared.charged
        }

        def entry(chosen: Sequence[str]) -> Entry:
            outputs = [labels[label][1] for label in chosen]
            names = {"output": ", ".join(dict.fromkeys(one.output.asked_as for one in outputs))}
            by_piece = {id(piece): piece for piece, _ in (labels[label] for label in chosen)}.values()
            costs = []
            for piece in by_piece:
                mine = [one for one in outputs if one in piece.prepared.charged]
                whole = len(mine) == len(piece.prepared.charged)
                costs.append(piece.prepared.charges if whole else piece.prepared.charges_of(mine))
            read = [part for piece in by_piece for part in piece.prepared.plan.snapshots[0].parts]
            parts = {part.name: part.version for part in read}
            said = {**names, **note, **({"parts": parts} if parts else {})}
            cost = costs[0] if len(costs) == 1 else together(costs)
            return Entry(chosen[0], cost, said, tuple(chosen[1:]), entry)

        entries = [entry(tuple(labels))] if labels else []
        charging = Charging(
            ledger,
            prepared.table,
            entries,
            prepared.plan.allowances,
            prepared.terms,
            lambda stand, fresh: advice(
                prepared, stand.accounts, stand.quotas, _charged_of(prepared, drawn, fresh), attendant().question
            ),
            quotas,
            grant,
        )
        return cls(prepared, drawn, charging, is_dry)

    def price(self) -> Price:
        """Say what the answer would state and cost; nothing is charged."""
        return self._stated(self.charging.preview())

    def simulation(self) -> Simulation:
        """Say how many more answers of this price could be given; nothing is charged."""
        now = self.charging.preview()
        entries = self.charging.entries
        priced = self._stated(replace(now, asked=asked_of(entries, entries)))
        return Simulation(self.prepared, rooms(priced.standings, priced.quotas, now.spent), free=not any(now.fresh))

    def answer(self, engine: Engine, keep: Keep, *, spend: bool) -> Answer:
        """Charge, look, draw, keep and answer; with ``spend`` off anything that is not free is refused.

        ``keep`` is given each piece with what was released, and the time of the charge (None if nothing is charged).
        """
        if self.is_dry or not self.charging.entries:
            return self._answer(self.charging.preview(), engine, lambda read, prepared: keep(read, prepared, None))
        attending = attendant()
        self.charging.check_question(
            attending.question if spend else None,
            lambda stand, fresh: affordable(
                self.prepared, stand.accounts, _charged_of(self.prepared, self.pieces, fresh), 1.0, attending.question
            ),
        )
        attending.charging()
        are_kept = all(piece.prepared.is_kept for piece in self.pieces)
        with self.charging.settling(spend=spend and not are_kept) as settled:
            stated = self._stated(settled, charged=True)
            attending.looking(stated, settled.fresh, self.charging.entries[0].labels)
            return self._answer(settled, engine, lambda read, prepared: keep(read, prepared, settled.time), stated)

    def _answer(
        self,
        settled: Settlement,
        engine: Engine,
        keep: Callable[[ReadQuestion, Prepared], None],
        stated: Price | None = None,
    ) -> Answer:
        price = self._stated(settled) if stated is None else stated
        found = []
        for piece in self.pieces:
            answered, shown = look_and_release(piece.prepared, engine, piece.keys)
            found.append((piece.groups, answered))
            if answered is not piece.prepared and piece.prepared.recorded is None:  # nor made of what is kept already
                paid = (
                    replace(one, paid=_paid(one, key), drawn=one.drawn or key.id) if one.added is not None else one
                    for one, key in zip(answered.outputs, piece.keys, strict=True)
                )
                charges = piece.prepared.charges
                keep(piece.read, replace(answered, outputs=tuple(paid), recorded=charges, shown=shown))
        if self.pieces[0].groups is not None:
            shown = look(lambda: laid_out_together(self._stated_of, found))
        table, places = shown
        quotas, whose = price.quotas, price.analyst
        fresh = self._fresh(settled)
        return Answer(price.prepared, price.standings, quotas, self.is_dry, whose, table, places, fresh)

    def _fresh(self, settled: Settlement) -> tuple[bool, ...]:
        """Say for each output with noise whether it was charged now; of those that are the same, the first one is."""
        new = _fresh_places(self.pieces, settled.fresh)
        return tuple(place in new for place, one in enumerate(self.prepared.outputs) if one.added is not None)

    def _stated(self, settled: Settlement, *, charged: bool = False) -> Price:
        stand = self.charging.stand(settled, charged=charged)
        return Price(self._stated_of, *stand, self.is_dry, self.charging.quotas.analyst)

    @cached_property
    def _stated_of(self) -> Prepared:
        """The question with the noise that each of its cells has."""
        parts = [(piece.groups, piece.prepared) for piece in self.pieces if piece.groups is not None]
        return as_drawn(self.prepared, parts) if parts else self.prepared


def _drawing(prepared: Prepared, ledger: Ledger, keys: Sequence[Key]) -> tuple[Key, ...]:
    """Give the key that draws each output: the one that it was charged under, or else the one in use."""
    if prepared.is_kept:
        return (keys[0],) * len(prepared.outputs)
    under = iter(charged_under(ledger, [one.label for one in prepared.outputs if one.label is not None], keys, keys[0]))
    return tuple(keys[0] if one.label is None else next(under) for one in prepared.outputs)


def _paid(one: PreparedOutput, key: Key) -> str:
    """Give the name under which the ledger knows the charge of an output."""
    if one.paid is not None:
        return one.paid
    assert one.label is not None
    return key.release_id(one.label)


def _fresh_places(pieces: Sequence[Piece], fresh: Sequence[bool]) -> set[int]:
    """Give the numbers of the outputs some label of which is ``fresh``; labels come piece by piece."""
    places = [piece.prepared.outputs.index(one) for piece in pieces for one in piece.prepared.charged]
    return {place for place, is_new in zip(places, fresh, strict=True) if is_new}


def _charged_of(whole: Prepared, pieces: Sequence[Piece], fresh: Sequence[bool]) -> list[bool]:
    """Say for each output that the whole is charged for whether it is fresh in some piece; none if nothing is said."""
    if not fresh:
        return []
    new = _fresh_places(pieces, fresh)
    return [whole.outputs.index(one) in new for one in whole.charged]
