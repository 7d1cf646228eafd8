"""Price a list of questions under what is declared, and under what might be declared instead; nothing is charged."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from errorfloor.accounts import Account, Charge, share
from errorfloor.answering.advice import useful
from errorfloor.answering.asking import Asking, attendant
from errorfloor.answering.known import Known
from errorfloor.catalogue import Catalogue
from errorfloor.catalogue.registers import account_names
from errorfloor.charging.settling import column_terms, table_terms
from errorfloor.charging.standing import concerned
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, InputError
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.ledger import Ledger
from errorfloor.planning.floor_plan import AccountLine, CandidateLine, FloorPlan, QuestionLine, Spending
from errorfloor.planning.listed import FloorCandidate, ListedQuestion, account_name, largest_floor
from errorfloor.preparing.choosing import plan, prepare
from errorfloor.preparing.cost import setting
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import Prepared, ReadQuestion, least_share

Charges = Mapping[Account, Charge]
MOST_TRIES = 25  # of wider bounds
Found = TypeVar("Found")


@dataclass(frozen=True)
class Planner:
    """Plans questions; ``asking`` prices one as it stands with the ledger, for who plans."""

    catalogue: Catalogue
    engine: Engine
    known: Known
    ledger: Ledger
    asking: Callable[[str, QuestionWish], Asking]
    is_dry: bool

    def plan(self, questions: Sequence[ListedQuestion], candidates: Sequence[FloorCandidate]) -> FloorPlan:
        """Say what questions take, what fits together, and which floors would allow it."""
        read = [_about(one, lambda one=one: self.known.read(one.sql, self.catalogue, self.engine)) for one in questions]  # type: ignore[misc]
        declared = self._prepared(questions, read, [one.wish for one in questions], self.catalogue)
        course = _course(_fresh_charges(declared), declared)
        others = [
            tuple(
                (wish, _shares(found.charges, found.plan.allowances))
                for wish in one.others
                for found in self._prepared([one], [question], [wish], self.catalogue)
            )
            for one, question in zip(questions, read, strict=True)
        ]
        lines = tuple(_line(*each) for each in zip(questions, declared, others, strict=True))
        as_declared = self._as_declared(course, candidates)
        known = {(one.whose, one.floor) for one in as_declared}
        chosen = [*as_declared, *(one for one in candidates if (one.whose, one.floor) not in known)]
        accounts = [
            self._account(account, [one for one in chosen if one.name == account], questions, read)
            for account in dict.fromkeys(one.name for one in chosen)
        ]
        wider = None if course.first_unfit is None else self._wider(questions, read, course)
        limit = self.catalogue.limit.question
        return FloorPlan(lines, course, self._so_far(questions), tuple(accounts), wider, limit, self.is_dry)

    def _prepared(
        self,
        questions: Sequence[ListedQuestion],
        read: Sequence[ReadQuestion],
        wishes: Sequence[QuestionWish],
        catalogue: Catalogue,
    ) -> list[Prepared]:
        def one(question: ReadQuestion, wish: QuestionWish) -> Prepared:
            asked = replace(question, table=catalogue.tables[question.question.table])
            found = prepare(plan(asked, catalogue, self.engine, self.known.facts), wish, self.engine)
            attendant().priced(found)
            return found

        each = zip(questions, read, wishes, strict=True)
        return [_about(listed, lambda q=q, w=w: one(q, w)) for listed, q, w in each]  # type: ignore[misc]

    def _as_declared(self, course: Spending, candidates: Sequence[FloorCandidate]) -> list[FloorCandidate]:
        """Give the declared floors of all accounts that are used, or that something else is considered for."""
        named = {*course.used, *(one.name for one in candidates)}
        found = [
            FloorCandidate(name, column, table, declared=True)
            for name, table in self.catalogue.tables.items()
            for column in (*table.private, *(() if table.owner is None else ("",)))
        ]
        return list({one.name: one for one in reversed(found) if one.name in named}.values())[::-1]

    def _account(
        self,
        name: str,
        candidates: Sequence[FloorCandidate],
        questions: Sequence[ListedQuestion],
        read: Sequence[ReadQuestion],
    ) -> AccountLine:
        lines = []
        largest: dict[str, float | None] = {}
        wishes = [one.wish for one in questions]
        for one in candidates:
            priced = self._prepared(questions, read, wishes, one.declared_in(self.catalogue))
            charges = _fresh_charges(priced)
            course = _course(charges, priced)
            bounds = {
                place: _bounds(found)
                for place, found in enumerate(priced)
                if wishes[place].spend is not None and name in course.takes[place]
            }
            lines.append(
                CandidateLine(
                    one.what,
                    one.floor,
                    one.declared,
                    course.used.get(name, 0.0),
                    course.first_unfit_in(name),
                    tuple(takes.get(name, 0.0) for takes in course.takes),
                    bounds,
                    self._is_possible(one),
                    one.meaning,
                )
            )
            if one.whose not in largest:
                largest[one.whose] = _largest(one, charges, priced)
            fits, floor = lines[-1].first_unfit is None, float(rounded_down(one.floor, 2))
            if fits and (largest[one.whose] or 0.0) < floor:  # shares of different places stand beside each other
                largest[one.whose] = floor
        first = candidates[0]
        unit = first.table.private[first.column].unit if first.column else ""
        return AccountLine(name, unit, tuple(lines), largest)

    def _is_possible(self, one: FloorCandidate) -> bool:
        """Whether it may still be declared: what was charged under a promise keeps it."""
        columns = {one.column: one.table.private[one.column]} if one.column else {}
        try:
            self.ledger.check({**table_terms(one.table_name, one.table), **column_terms(one.table_name, columns)})
        except CatalogueError:
            return False
        return True

    def _so_far(self, questions: Sequence[ListedQuestion]) -> Spending | None:
        """Say the same with what was spent; what was released is free. None if nothing was spent."""
        versions = {name: table.version for name, table in self.catalogue.tables.items()}
        every, seen = self.ledger.accounts(versions=versions), account_names(self.catalogue.tables)
        spent = {account: total for account, total in every.items() if account.table in seen}  # not of hidden tables
        if not spent:
            return None
        paid: set[str] = set()
        charges: list[Charges] = []
        priced = []
        for one in questions:
            asking = self.asking(one.sql, one.wish)
            priced.append(asking.prepared)
            found: Charges = {}
            for entry in asking.charging.entries:
                paid |= self.ledger.known(entry.labels)
                fresh = [label for label in entry.labels if label not in paid]
                found = entry.of(fresh).charges if fresh else {}
                paid.update(fresh)
            charges.append(found)
        return _course(charges, priced, spent)

    def _wider(
        self, questions: Sequence[ListedQuestion], read: Sequence[ReadQuestion], course: Spending
    ) -> float | None:
        """Give a factor of two digits, about the least, with which all bounds are wide enough; None if none helps."""
        by_share = {
            name: sum(
                takes.get(name, 0.0)
                for one, takes in zip(questions, course.takes, strict=True)
                if one.wish.spend is not None
            )
            for name in course.used
        }
        if any(part >= 1 for part in by_share.values()):
            return None
        factor = math.sqrt(max((used - by_share[name]) / (1 - by_share[name]) for name, used in course.used.items()))
        for _ in range(MOST_TRIES):
            factor = float(rounded_up(factor, 2))
            priced = self._prepared(questions, read, [_widened(one.wish, factor) for one in questions], self.catalogue)
            if any(
                one.added is not None and one.added.widest.high > useful(found, one)
                for found, listed in zip(priced, questions, strict=True)
                if listed.wish.max_error is not None
                for one in found.outputs
            ):
                return None
            if _course(_fresh_charges(priced), priced).first_unfit is None:
                return factor
            factor *= 1.001
        return None


def _largest(one: FloorCandidate, charges: Sequence[Charges], priced: Sequence[Prepared]) -> float | None:
    """Give the largest floor at which all of it fits; infinity if all of it is asked for by share.

    A share is counted whole, and the least that outputs cost beside what they cost: then it fits whatever the other
    floors are.
    """
    fixed: list[Charges] = []
    shares = 0.0
    for each, found in zip(charges, priced, strict=True):
        named = {account: charge for account, charge in each.items() if account_name(account) == one.name}
        # those with the floor that is considered, and not with one for life beside it
        mine = {account: charge for account, charge in named.items() if concerned(one.table, account) is one.table}
        if mine and found.spend is not None:
            shares += found.spend
        elif mine:
            fixed.append(mine)
            shares += least_share(found.table) * len(found.charged)
    return largest_floor(one, add_up(fixed).values(), shares) if fixed else math.inf


def _about(one: ListedQuestion, work: Callable[[], Found]) -> Found:
    """Do what may refuse a question, and say which one it is about."""
    try:
        return work()
    except InputError as problem:
        named = f"question {one.number}" + (f" ({one.name})" if one.name else "")
        raise type(problem)(f"{named}: {problem}", **(problem.fields | {"question": one.number})) from None


def _fresh_charges(priced: Sequence[Prepared]) -> list[Charges]:
    """Give what each question costs after those before it: what was asked before is free."""
    paid: set[bytes] = set()
    found: list[Charges] = []
    for one in priced:
        new = [each for each in one.charged if each.label is not None and each.label.encoded not in paid]
        paid.update(each.label.encoded for each in new if each.label is not None)
        found.append(one.charges if len(new) == len(one.charged) else one.charges_of(new) if new else {})
    return found


def _course(charges: Sequence[Charges], priced: Sequence[Prepared], spent: Charges | None = None) -> Spending:
    """Add charges up in order, beginning with what was spent."""
    limits: dict[Account, Charge] = {}
    for one in priced:
        limits |= one.plan.allowances
    totals = {account: charge for account, charge in (spent or {}).items() if account in limits}
    takes, together = [], []
    for each in charges:
        totals = add_up([totals, each])
        takes.append(_shares(each, limits))
        together.append(_shares(totals, limits))
    return Spending(tuple(takes), tuple(together))


def add_up(charges: Iterable[Charges]) -> dict[Account, Charge]:
    """Give what accounts are charged together, rounded up."""
    totals: dict[Account, Charge] = {}
    for each in charges:
        for account, charge in each.items():
            totals[account] = totals[account] + charge if account in totals else charge
    return totals


def _shares(charges: Charges, limits: Charges) -> dict[str, float]:
    """Give the share of each account; of a divided one, that of its most used part."""
    found: dict[str, float] = {}
    for account, charge in sorted(charges.items()):
        name = account_name(account)
        found[name] = max(found.get(name, 0.0), share(charge, limits[account]))
    return found


def _line(
    listed: ListedQuestion, prepared: Prepared, others: tuple[tuple[QuestionWish, Mapping[str, float]], ...]
) -> QuestionLine:
    dearest = setting(prepared)
    return QuestionLine(
        listed.name or f"question {listed.number}",
        listed.sql,
        prepared.question.table,
        listed.wish,
        prepared.rows,
        _bounds(prepared),
        prepared.units,
        {
            one.output.asked_as: one.added.narrowest.high * prepared.scale(one)
            for one in prepared.outputs
            if one.added is not None and one.added.varies and one.output.asked_as in prepared.question.selected
        },
        any(one.added is not None and one.added.widest.high > useful(prepared, one) for one in prepared.outputs),
        None if dearest is None else dearest.explain(),
        others,
    )


def _bounds(prepared: Prepared) -> dict[str, float]:
    """Give the bound of each output with noise; the largest where groups differ."""
    return {
        one.output.asked_as: one.added.widest.high * prepared.scale(one)
        for one in prepared.outputs
        if one.added is not None and one.output.asked_as in prepared.question.selected
    }


def _widened(wish: QuestionWish, factor: float) -> QuestionWish:
    if wish.max_error is None:
        return wish
    if isinstance(wish.max_error, Mapping):
        return replace(wish, max_error={name: bound * factor for name, bound in wish.max_error.items()})
    return replace(wish, max_error=wish.max_error * factor)
