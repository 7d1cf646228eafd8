"""What stays true while a database is open, found once: how questions are read, planned, priced, and were answered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

from errorfloor.answering.asking import Piece
from errorfloor.answering.by_part import are_alike, beside, groups_by_part, key_of_part, of_kept, reading_part
from errorfloor.answering.keeping import Keeper
from errorfloor.answering.kept import KeptColumn
from errorfloor.answering.origins import OriginFinder
from errorfloor.answering.releasing import laid_out
from errorfloor.answering.unions import from_parts
from errorfloor.catalogue import Catalogue
from errorfloor.charging.refusal import check_none_is_lost
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.preparing.choosing import plan, prepare, prepared_for, read_question
from errorfloor.preparing.derived import check_not_always_null
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import PlannedQuestion, Prepared, ReadQuestion
from errorfloor.pricing import FactsCache, bounds
from errorfloor.sql.question import Derived, Question, QuestionOutput, by_parts, is_made_of_parts
from errorfloor.sql.record_ranges import Domains
from errorfloor.sql.records import weighed
from errorfloor.vault import Snapshot, snapshot

MOST_DOUBTFUL = 3  # outputs of which all combinations are looked for; of more, all made of parts, or none


@dataclass(frozen=True)
class Known:
    """Snapshots never change, nor do facts about them, nor what was released.

    Many threads may use it; two that look for the same at once both find it. All that is held shares one cache and its
    bound, and counts whatever it holds on to. Answers in it are those on the ledger's shelf. ``losing`` says which
    parts of a snapshot are lost; no question reads them.
    """

    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    facts: FactsCache = field(default_factory=FactsCache)
    losing: Callable[[Snapshot], Sequence[str]] = lambda found: ()
    lost: dict[str, Sequence[str]] = field(default_factory=dict)

    def snapshot(self, catalogue: Catalogue, name: str, engine: Engine) -> Snapshot:
        """Give the snapshot of a declared table."""
        if name not in self.snapshots:
            self.snapshots[name] = snapshot(catalogue, name, engine)
        return self.snapshots[name]

    def read(
        self,
        text: str,
        catalogue: Catalogue,
        engine: Engine,
        *,
        later: bool = False,
        asked: tuple[Keeper, QuestionWish] | None = None,
    ) -> ReadQuestion:
        """Read a question; raises CatalogueError where it reads parts that are lost, unless rows are read ``later``.

        Where it is ``asked`` with a wish for which it was released before, it is read as it was then, without a look at
        any row.
        """
        key = ("question", text, later)
        own = key if asked is None else (*key, *asked[1].key)
        found: ReadQuestion | None = None
        if isinstance(text, str):
            found = self.facts.find(key) or (None if asked is None else self.facts.find(own))
        if found is None or any(one.table_name not in catalogue.tables for one in found.snapshots):
            question = read_question(text, catalogue)
            names = (question.table, *(join.table for join in question.joins))
            snapshots = tuple(self.snapshot(catalogue, name, engine) for name in names)
            if snapshots[0].parts:
                if names[0] not in self.lost:
                    self.lost[names[0]] = self.losing(snapshots[0])
                lost = () if later else self.lost[names[0]]
                snapshots = (part_of_it(snapshots[0], question, lost), *snapshots[1:])
            table = catalogue.tables[question.table]
            if table.hides_records:
                question = weighed(question, Domains.of(table, snapshots))
            whole = ReadQuestion(text, question, table, snapshots)
            found = None if asked is None else self._as_released(whole, *asked)
            key = key if found is None else own  # another wish may find it answered in another way
            found = found or self._by_parts(whole, catalogue, engine)
            self.facts.keep(key, found, len(text))
        return found

    def _as_released(self, read: ReadQuestion, keeper: Keeper, wish: QuestionWish) -> ReadQuestion | None:
        """Give a question as all of it was released for a wish, some outputs made of parts, or none; or None.

        Whether they have to be was found from public facts then, of the same snapshots.
        """
        doubtful = _doubtful(read)
        sizes = range(len(doubtful), -1, -1) if len(doubtful) <= MOST_DOUBTFUL else (len(doubtful), 0)
        for places in (places for size in sizes for places in combinations(doubtful, size) if doubtful):
            one = replace(read, question=by_parts(read.question, places)) if places else read
            own = wish.by_column(one.question.families)
            if None not in keeper.find(one, own) or (
                key_of_part(one, own) is not None and self._kept_parts(one, own, keeper)
            ):
                return one
        return None

    def _by_parts(self, read: ReadQuestion, catalogue: Catalogue, engine: Engine) -> ReadQuestion:
        """Derive what has no bounded derivative from released parts; public columns only are read."""
        question = read.question

        def is_bounded(output: QuestionOutput) -> bool:
            alone = replace(question, outputs=(output,), sets=(), running=())
            try:
                bounds(alone, catalogue, read.snapshots, engine, self.facts)
            except RefusedError as refused:
                return refused.fields["reason"] != "unbounded"  # what else is wrong is said of the whole question
            return True

        unbounded = [place for place in _doubtful(read) if not is_bounded(question.outputs[place])]
        return replace(read, question=by_parts(question, unbounded)) if unbounded else read

    def plan(self, read: ReadQuestion, catalogue: Catalogue, engine: Engine) -> PlannedQuestion:
        """Give the plan of a question."""
        key = ("plan", id(read))
        found: PlannedQuestion | None = self.facts.find(key)
        if found is None or not _is_of(found, read):
            found = plan(read, catalogue, engine, self.facts)
            self.facts.keep(key, found, found.size + len(read.text))
        return found

    def prepare(
        self,
        read: ReadQuestion,
        wish: QuestionWish,
        catalogue: Catalogue,
        engine: Engine,
        keeper: Keeper,
        *,
        alone: bool = False,
    ) -> Prepared:
        """Find what was released before; for the rest bound, choose noises, and price. Public columns only are read.

        Nothing follows from other answers if it is wanted ``alone``, or for a share, which bounds follow.
        """
        key = ("prepared", id(read), *wish.key)
        found: Prepared | None = self.facts.find(key)
        if found is not None and not _is_of(found.plan, read):
            found = None
        if found is not None and found.is_kept:
            return found
        kept = keeper.find(read, wish)
        whole = [one for one in kept if one is not None]
        if len(whole) == len(kept):
            return self._given_again(read, wish, whole, engine, keeper)
        if found is None:
            found = prepare(self.plan(read, catalogue, engine), wish, engine)
            self.hold(found, read, wish)
        found = _with_kept(found, kept, engine)
        if alone or found.is_kept or wish.spend is not None:
            return found
        origins = self._origins(catalogue, engine, keeper)
        parts = [part.name for part in read.snapshots[0].parts]
        if not origins.is_any(read, parts if len(parts) > 1 else ()):
            return found
        return from_parts(found, read, keeper, engine, partial(origins.of, read))

    def _origins(self, catalogue: Catalogue, engine: Engine, keeper: Keeper) -> OriginFinder:
        """Look for what numbers may follow from."""

        def reading(read: ReadQuestion, question: Question) -> ReadQuestion:
            snapshots = read.snapshots
            if snapshots[0].parts:  # it may read more of them
                whole = self.snapshot(catalogue, question.table, engine)
                snapshots = (part_of_it(whole, question, self.lost.get(question.table, ())), *snapshots[1:])
            return replace(read, question=question, snapshots=snapshots)

        return OriginFinder(keeper, engine, self.facts, reading, self._part)

    def pieces(
        self,
        read: ReadQuestion,
        wish: QuestionWish,
        catalogue: Catalogue,
        engine: Engine,
        keeper: Keeper,
        *,
        alone: bool = False,
    ) -> tuple[Prepared, list[Piece]]:
        """Prepare a question, and give what is looked up for it: all at once, or each part whose groups it asks for.

        Nothing follows from other answers if it is wanted ``alone``, or for a share of the allowance.
        """
        key = None if read.table.grows_by is None else key_of_part(read, wish)  # most tables do not grow
        if key is not None:
            whole: Prepared | None = self.facts.find(("prepared", id(read), *wish.key))
            if whole is None or not _is_of(whole.plan, read):
                whole = self._of_kept_parts(read, wish, engine, keeper)
                whole = whole or prepare(self.plan(read, catalogue, engine), wish, engine)
                self.hold(whole, read, wish)
            found, there = [], groups_by_part(whole, key)
            for name, groups in there.items():
                part = self._part(read, name)
                prepared = self.prepare(part, wish, catalogue, engine, keeper, alone=True)
                found.append(Piece(part, prepared if prepared.is_kept else beside(prepared, read, there), groups))
            if whole.recorded is None and all(one.prepared.recorded is not None for one in found):
                whole = replace(whole, recorded=dict(pair for one in found for pair in one.prepared.charges.items()))
            if found and are_alike(whole, [piece.prepared for piece in found]):
                together = None
                if not alone:
                    together = self._together(whole, read, wish, found, self._origins(catalogue, engine, keeper))
                if together is not None:
                    return together, [Piece(read, together)]
                self._check_numbers(whole)
                return replace(whole, pieces=len(found)), found
        prepared = self.prepare(read, wish, catalogue, engine, keeper, alone=alone)
        self._check_numbers(prepared)
        return prepared, [Piece(read, prepared)]

    def _given_again(
        self, read: ReadQuestion, wish: QuestionWish, kept: Sequence[KeptColumn], engine: Engine, keeper: Keeper
    ) -> Prepared:
        """Give a question all of whose outputs are kept."""
        found = keeper.prepared(read, kept, engine)
        found = replace(found, shown=laid_out(found))
        self.hold(found, read, wish)
        return found

    def _of_kept_parts(self, read: ReadQuestion, wish: QuestionWish, engine: Engine, keeper: Keeper) -> Prepared | None:
        """Give a question as a whole from what is kept of all parts that have rows of it; None where any lacks."""
        kept = self._kept_parts(read, wish, keeper)
        each = [self._given_again(part, wish, one, engine, keeper) for part, one in kept]
        return of_kept(read, each) if each else None

    def _kept_parts(
        self, read: ReadQuestion, wish: QuestionWish, keeper: Keeper
    ) -> list[tuple[ReadQuestion, list[KeptColumn]]]:
        """Give what is kept of each part that has rows of a question; nothing where any lacks."""
        parts = [self._part(read, one.name) for one in read.snapshots[0].parts]
        found = zip(parts, keeper.find_each(parts, wish), strict=True)
        each = [(part, [column for column in one if column is not None], len(one)) for part, one in found]
        kept = [(part, columns) for part, columns, outputs in each if len(columns) == outputs]
        empty = {
            tuple(one) for _, columns in kept for column in columns for one in column.answer.facts.get("empty", ())
        }
        lacking = {part.snapshots[0].parts[0].whose for part, columns, outputs in each if len(columns) < outputs}
        return kept if lacking <= empty else []

    def _together(
        self, whole: Prepared, read: ReadQuestion, wish: QuestionWish, pieces: Sequence[Piece], origins: OriginFinder
    ) -> Prepared | None:
        """Give a question that is asked part by part from what was released of each part; None where that lacks any.

        What was charged of a part is never replaced: if it is not kept, it is drawn again, and the parts stay apart.
        """
        outputs = [one for piece in pieces for one in piece.prepared.outputs if one.kept is None]
        fresh = [one.label for one in outputs if one.label is not None]
        names = [part.name for piece in pieces for part in piece.read.snapshots[0].parts]
        if not fresh or not origins.is_any(read, names) or origins.keeper.charged(fresh):
            return None
        looked = partial(origins.by_part, read, parts=names, wish=wish)
        found = from_parts(whole, read, origins.keeper, origins.engine, looked, apart=True)
        return None if found is whole else found

    def _check_numbers(self, prepared: Prepared) -> None:
        """Refuse what would be charged for nothing but nulls."""
        if not prepared.is_kept and any(isinstance(one.output.part_of, Derived) for one in prepared.outputs):
            check_not_always_null(prepared)

    def _part(self, read: ReadQuestion, name: str) -> ReadQuestion:
        """Give a question of one part alone, always the same."""
        key = ("part", id(read), name)
        found: ReadQuestion | None = self.facts.find(key)
        if found is None or found.question is not read.question:
            found = reading_part(read, name)
            self.facts.keep(key, found, len(read.text))
        return found

    def hold(self, prepared: Prepared, read: ReadQuestion, wish: QuestionWish) -> None:
        """Hold on to a question with what was released for it; its plan stays longer than the facts of the plan."""
        for used in (("question", read.text, False), ("plan", id(read))):
            self.facts.find(used)
        size = prepared.plan.size + len(prepared.outputs)
        if prepared.shown is not None:
            table = prepared.shown[0]
            size += table.num_rows * table.num_columns
        if prepared.is_kept:
            size += len(prepared.outputs) * len(prepared.bounds.groups)
        self.facts.keep(("prepared", id(read), *wish.key), prepared, size)


def _is_of(plan: PlannedQuestion, read: ReadQuestion) -> bool:
    """Say whether a plan that is held belongs to a question: what was read before and is forgotten may have had its id.

    Questions of single parts have one question and differ in their snapshots.
    """
    return plan.question is read.question and plan.snapshots is read.snapshots


def _doubtful(read: ReadQuestion) -> list[int]:
    """Give the places of the outputs that may have to be made of released parts, which follows from public facts."""
    if read.table.hides_records:
        return []
    return [place for place, one in enumerate(read.question.outputs) if is_made_of_parts(one.formula)]


def part_of_it(whole: Snapshot, question: Question, lost: Sequence[str] = ()) -> Snapshot:
    """Give those parts of a table that grows which a question reads: its answer stays the same while others come.

    Raises CatalogueError where it reads some that are ``lost``.
    """
    from errorfloor.sql.parts_read import parts_read  # most tables do not grow, and do without

    growth = whole.table.grows_by
    assert growth is not None
    names = [*(part.name for part in whole.parts), *lost]
    read = parts_read(question.where, growth, whole.table.public[growth.column], names)
    check_none_is_lost(whole.table_name, [name for name in lost if name in read])
    return whole.reading(read)


def _with_kept(prepared: Prepared, kept: tuple[KeptColumn | None, ...], engine: Engine) -> Prepared:
    """Take those outputs that were released before from what is kept; the others are charged and drawn."""
    if not any(one is not None and one.fits(prepared) for one in kept):
        return prepared
    outputs = tuple(
        replace(output, kept=one.numbers, paid=one.label, drawn=one.facts["drawn"])
        if one is not None and one.fits(prepared)
        else output
        for output, one in zip(prepared.outputs, kept, strict=True)
    )
    return replace(prepared_for(prepared.plan, outputs, engine), spend=prepared.spend)
