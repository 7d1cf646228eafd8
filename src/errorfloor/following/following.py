"""Standing questions: a sum or an average for every month to come, with running totals, priced once for all of them.

The noises of all periods of a group are one draw of the joint noise of running totals: each period's figure and each
running total is within the bound that was asked for. ``following.proof.md`` says what one charge covers.

*Guarantee*: what was released for a period is kept, and never changes; no correction shows under the same noise. The
noise goes by a number that is drawn at random with the charge, and kept in the ledger with it: no other ledger has it.
A ledger that was accepted since, and may lack what was released, releases no new period under the old noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from errorfloor.accounts import share
from errorfloor.answering.asking import attendant
from errorfloor.charging.standing import Standing, allowances_of
from errorfloor.checks import positive
from errorfloor.errors import InputError, RefusedError
from errorfloor.following.block import Block, Offer, check_charged, offered
from errorfloor.following.horizon import Horizon
from errorfloor.following.period import ReleasedPeriod, gone, kept_periods, release_periods
from errorfloor.following.price import FollowPrice, certain
from errorfloor.following.question import FollowedQuestion, FollowWish
from errorfloor.following.table import Figures, FollowedShape
from errorfloor.ledger import Entry
from errorfloor.ledger.entry import account_name

if TYPE_CHECKING:
    from errorfloor.service.database import Database

CANCELLED = "cancelled"
MOST_APART = 1000  # times that the step of one block may be that of another


@dataclass(frozen=True, eq=False)
class Following:
    """A standing question that is paid for: ``release`` gives what is known up to a period.

    ``standings`` say how accounts stood after the charge; ``fresh`` whether it was made now. ``facts`` are what is kept
    of it, ``analyst`` is who looks at it, in words of their own if these are ``known``.
    """

    database: "Database"
    wish: FollowWish
    facts: Mapping[str, Any]
    shape: FollowedShape
    blocks: tuple[Block, ...]
    analyst: str | None
    standings: tuple[Standing, ...] = ()
    fresh: bool = False
    known: bool = False
    _periods: dict[str, ReleasedPeriod] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """By what name it is found again."""
        return self.blocks[0].name

    @property
    def max_error(self) -> float:
        """The bound of every period's figure and of every running total; the widest, where it was extended."""
        return max(block.bound for block in self.blocks)

    @property
    def mine(self) -> bool:
        """Whether who looks at it may release, extend and cancel: who followed it, or the custodian."""
        return self.analyst is None or self.analyst == self.facts["analyst"]

    @property
    def is_seen(self) -> bool:
        """Whether its words may be seen by who looks at it: the same rule as for the history."""
        return self.mine or self.known or bool(self.facts["shared"])

    @property
    def names(self) -> tuple[str, ...]:
        """All its periods, in order."""
        return tuple(name for _, name in self._of)

    @property
    def released(self) -> tuple[str, ...]:
        """The periods that were released so far."""
        labels = {name: block.part(name) for block, name in self._of}
        known = self.database.ledger.known(labels.values())
        return tuple(name for name, label in labels.items() if label in known)

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        own = self.blocks[0].id(CANCELLED)
        return own in self.database.ledger.known({own})

    @property
    def outlived(self) -> bool:
        """Whether the ledger was accepted since: then what it released may be missing, and nothing new is released."""
        return self.blocks[-1].accepted < self.database.ledger.acceptances()

    def outputs(self) -> list[dict[str, Any]]:
        """Say of each column of numbers how far it may be off at most, as plain JSON types."""
        output, unit, scale = self._output, self.facts["outputs"][0]["unit"], self.shape.least_rows or 1
        each = [block.added.high / scale for block in self.blocks]
        bounds = {output: max(each), f"{output}_total": sum(each), f"{output}_moving": 2 * sum(each)}
        said: dict[str, Any] = {"exact": False, "unit": unit}
        if len(self.blocks) == 1 and self.shape.least_rows is None:
            said["step"] = self.blocks[0].added.lattice.step
        return [{"name": name, "low": -bound, "high": bound, **said} for name, bound in bounds.items()]

    def explain(self) -> str:
        """Say what was charged, and what is certain."""
        bounds = [block.bound for block in self.blocks]
        said = [
            certain(self.shape, self._unit, block.horizon, block.bound, bounds[:place])
            for place, block in enumerate(self.blocks)
        ]
        return " ".join([*said, *(one.explain() for one in self.standings)])

    def release(self, through: str, *, moving: int | None = None) -> pa.Table:
        """Give the figures and the running totals up to a period, whose rows are all there; nothing is charged.

        A period that was never released is read now, in the version that is registered now, and kept; all others are
        read from what is kept. With ``moving``, totals of so many periods come along, from where there are so many;
        they are within twice the bound. Of averages, totals are averages over all rows so far.

        Raises InputError for a period outside of the horizon, CatalogueError where a version that was released is gone
        and nothing was kept, RefusedError where somebody has more rows in a period than was priced, where it was
        cancelled, or the ledger was accepted since. Then no period is released.
        """
        names = self.names
        if through not in names:
            raise InputError(
                f"through names a {self.shape.part} from {names[0]} to {names[-1]}, got {str(through)[:40]!r}"
            )
        self._check_moving(moving)
        wanted = self._of[: names.index(through) + 1]
        self._fetch(wanted)
        missing = [(block, name) for block, name in wanted if name not in self._periods]
        if missing:
            self._release(missing)
        else:
            self._check_shown(wanted)
        return self._table(wanted, moving)

    def figures(self, *, moving: int | None = None) -> pa.Table:
        """Give what was released so far, up to the first period that was not; nothing is read."""
        self._check_moving(moving)
        so_far = self._so_far
        if so_far:
            self._check_shown(so_far)
        return self._table(so_far, moving)

    def wider(self) -> list[str]:
        """Say which periods so far have averages over fewer rows than the bound is for."""
        return Figures(self.shape, self._so_far, self._periods).wider() if self._so_far else []

    def price_extension(self, until: str, *, max_error: float | None = None) -> FollowPrice:
        """Say what it would cost to go on up to a later period, and by how much bounds add up; nothing is charged."""
        before = self._before(until, max_error)
        return FollowPrice.of(self._offer(until, max_error, before), before)

    def extend(self, until: str, *, max_error: float | None = None) -> "Following":
        """Go on up to a later period: a new block with a charge, a noise and a bound of its own, by default the same.

        Running totals go on from the last one; their bounds add up. Give the question with both. Said again it is free.
        """
        before = self._before(until, max_error)
        block, standings, fresh = self._offer(until, max_error, before).settle()
        return replace(self, blocks=(*before, block), standings=standings, fresh=fresh, _periods={})

    def cancel(self) -> None:
        """Release nothing more; what was charged stays charged, and what was released stays free.

        Other processes see it at their next release.
        """
        self._check_mine()
        note = {**self._note, "event": CANCELLED}
        self.database.ledger.charge([Entry(self.blocks[0].id(CANCELLED), {}, note)], {}, {})

    def to_dict(self) -> dict[str, Any]:
        """Give what may be seen of it, as plain JSON types."""
        said, seen = self.facts, self.is_seen
        return {
            "id": self.name,
            "table": said["table"],
            "time": said["time"],
            "question": said["sql"] if seen else None,
            "output": self._output if seen else None,
            "unit": self._unit if seen else None,
            "keys": list(self.shape.keys) if seen else None,
            "part": self.shape.part,
            "since": self.names[0],
            "until": self.names[-1],
            "least_rows": self.shape.least_rows,
            "blocks": [
                {"since": one.horizon.names[0], "until": one.horizon.names[-1], "max_error": one.bound}
                for one in self.blocks
            ],
            "released": list(self.released),
            "cancelled": self.cancelled,
            "outlived": self.outlived,
            "mine": self.mine,
            "analyst": said["analyst"] if self.mine else None,
            "shared": bool(said["shared"]),
            "charged": self._charged() if self.mine else None,
        }

    @property
    def _output(self) -> str:
        return self.shape.output

    @property
    def _unit(self) -> str:
        return str(self.facts["outputs"][0]["unit"] or "")

    @property
    def _of(self) -> list[tuple[Block, str]]:
        """Each period with its block: one ends where the next begins, and may have been cut short."""
        found: list[tuple[Block, str]] = []
        for block in self.blocks:
            found = [(of, name) for of, name in found if of.horizon.days[name][0] < block.horizon.first]
            found += [(block, name) for name in block.horizon.names]
        return found

    @property
    def _so_far(self) -> list[tuple[Block, str]]:
        """The periods from the first that were released and are kept."""
        self._fetch(self._of)
        return list(takewhile(lambda one: one[1] in self._periods, self._of))

    @property
    def _note(self) -> dict[str, Any]:
        first = self.blocks[0]
        names = first.horizon.names
        about = {"table": self.facts["table"], "key": first.key.id, "event": "followed"}
        return about | {"follow": f"{names[0]} … {names[-1]}"}

    def _charged(self) -> list[dict[str, Any]]:
        """Say what each block took of which allowance, as far as accounts are declared still."""
        records = self.database.ledger.found({block.charge for block in self.blocks})
        table = self.database.catalogue.tables.get(self.facts["table"])
        found: list[dict[str, Any]] = []
        for place, block in enumerate(self.blocks):
            charges = {} if block.charge not in records else records[block.charge].charges
            for account in sorted(charges):
                is_declared = table is not None and (not account.column or account.column in table.private)
                if table is not None and is_declared and not account.holder:
                    (allowance,) = allowances_of(table, [account]).values()
                    took = share(charges[account].rounded_up(), allowance)
                    found.append({"block": place, "name": account_name(account), "share": took})
        return found

    def _fetch(self, wanted: list[tuple[Block, str]]) -> None:
        """Read what is kept of some periods."""
        missing = [(block, name) for block, name in wanted if name not in self._periods]
        self._periods.update(kept_periods(self.database, missing))

    def _release(self, missing: list[tuple[Block, str]]) -> None:
        """Release periods, and read what is then kept of them."""
        self._check_mine()
        labels = {block.part(name): (block, name) for block, name in missing}
        known = self.database.ledger.known(labels)
        for label, (block, name) in labels.items():
            if label not in known:
                self._check_may_release(block, name)
        followed = self._as_charged()
        said = {name: self.facts[name] for name in ("sql", "analyst", "shared", "table")}
        release_periods(self.database, followed, missing, self._note, said, self._periods.values(), self.blocks)
        self._fetch(missing)
        for _, name in missing:
            if name not in self._periods:  # it was erased meanwhile
                raise gone(self.facts["table"], name)

    def _as_charged(self) -> FollowedQuestion:
        """Read the question; refuse it where its words mean something else by now than what was charged."""
        followed = FollowedQuestion.of(self.database, self.wish)
        check_charged(followed, self.blocks)
        return followed

    def _check_may_release(self, block: Block, name: str) -> None:
        """Refuse to release a period for the first time; all of it is public."""
        if self.cancelled:
            raise RefusedError(f"this question was cancelled, and {name} was not released before", reason="follow")
        if block.accepted < self.database.ledger.acceptances():
            raise RefusedError(
                f"the ledger was accepted since this question was charged, for a backup may have been put back, and "
                f"{name} may have been released from other rows under the same noise: what is kept can be read, and "
                f"nothing new is released. Extend it, or follow a new one, for the periods that are still to come",
                reason="follow",
            )

    def _check_mine(self) -> None:
        if not self.mine:
            raise RefusedError(
                "this question is followed by somebody else: what was released can be read (figures); they, or the "
                "custodian, release more, extend and cancel it",
                reason="follow",
            )

    def _check_shown(self, wanted: list[tuple[Block, str]]) -> None:
        figures = Figures(self.shape, wanted, self._periods)
        attendant().showing(figures.rows, figures.seconds)

    def _check_moving(self, moving: Any) -> None:
        most = len(self.names)
        if moving is not None and (not isinstance(moving, int) or isinstance(moving, bool) or not 1 <= moving <= most):
            raise InputError(f"moving is a number of periods from 1 to {most}, got {moving!r}")

    def _before(self, until: str, max_error: float | None) -> tuple[Block, ...]:
        """Give the blocks that an extension goes on from: all, or all but the last if it is that one, said again."""
        *before, last = self.blocks
        is_same = until == last.horizon.names[-1] and max_error in (None, last.bound) and not self.outlived
        return tuple(before) if before and is_same else self.blocks

    def _offer(self, until: str, max_error: float | None, before: tuple[Block, ...]) -> Offer:
        """Price the block that goes on from the last period; from the last released one where no more are released."""
        self._check_mine()
        if self.cancelled:
            raise RefusedError("this question was cancelled: follow a new one", reason="follow")
        last = self.blocks[-1]
        followed = self._as_charged()
        if before != self.blocks:
            return offered(
                self.database, followed, last.horizon, last.bound, self.analyst, reach=last.reach, after=before[-1]
            )
        end = last.horizon.names[-1]
        if self.outlived:
            so_far = self._so_far
            if not so_far:
                raise RefusedError("nothing of this question was released: follow a new one", reason="follow")
            end = so_far[-1][1]
        bound = positive("max_error", last.bound if max_error is None else max_error)
        horizon = Horizon.after(followed.column, followed.part, end, until)
        offer = offered(self.database, followed, horizon, bound, self.analyst, after=last)
        sizes = [one.lattice.size for one in (*(block.added for block in self.blocks), offer.added)]
        if max(sizes) > MOST_APART * min(sizes):
            raise InputError(
                f"max_error {bound:g} is too far from {last.bound:g} for running totals to go on: follow a new question"
            )
        return offer

    def _table(self, wanted: list[tuple[Block, str]], moving: int | None) -> pa.Table:
        if not wanted:
            return pa.table({self.shape.part: pa.array([], pa.string())})
        return Figures(self.shape, wanted, self._periods).table(moving)
