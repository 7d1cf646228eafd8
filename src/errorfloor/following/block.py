"""A block of a standing question: some periods in a row that were charged at once, and share one joint noise.

What goes on from a block is another one, with a charge and a noise of its own. The ledger knows one that goes on from
each, at most.
"""

import hashlib
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.answering.asking import attendant
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.charging import Charging
from errorfloor.charging.refusal import refusal
from errorfloor.charging.settling import Stand, charged_under, terms_of
from errorfloor.charging.standing import Standing, allowances_of
from errorfloor.checks import Array, positive
from errorfloor.engines.allotment import allotment
from errorfloor.errors import InputError, KeyFileError, RefusedError
from errorfloor.floors.words import rounded_up
from errorfloor.following.horizon import ERROR, Horizon, horizon_charges, summed_column
from errorfloor.following.question import FollowedQuestion
from errorfloor.identity import Key, Label, Part
from errorfloor.ledger import Entry, Record
from errorfloor.preparing.joint_noise import JointAdded, horizon_noise
from errorfloor.preparing.preparation import LEAST_SHARE, at_least, most_of
from errorfloor.preparing.rounding import BITS, GRAINS, in_grains
from errorfloor.pricing import Account
from errorfloor.random import RowBits

if TYPE_CHECKING:
    from errorfloor.service.database import Database

GOES_ON = "goes on"
AT_ONCE = 256  # groups whose noises are drawn at a time


@dataclass(frozen=True, eq=False)
class Block:
    """Periods that are paid for, and by which names the ledger knows them.

    ``encoded`` is the label that was charged under a ``key``, ``charge`` its name in the ledger. ``drawn`` is the
    random number that was charged with it, by which its noise goes; ``accepted`` how often the ledger had been accepted
    by then; ``reach`` by how many deviations somebody moves several periods at most. ``bound`` is what was asked for:
    of every sum, or of averages over enough rows.
    """

    horizon: Horizon
    added: JointAdded
    bound: float
    encoded: bytes
    charge: str
    key: Key
    drawn: str
    accepted: int
    reach: float

    @classmethod
    def charged(
        cls, horizon: Horizon, added: JointAdded, bound: float, encoded: bytes, key: Key, reach: float, record: Record
    ) -> "Block":
        """Give a block with what the record of its charge says."""
        drawn, accepted = str(record.note["drawn"]), int(str(record.note.get("accepted", 0)))
        return cls(horizon, added, bound, encoded, record.labels[0], key, drawn, accepted, reach)

    def id(self, *what: str) -> str:
        """Give the name by which the ledger knows something about it."""
        return self.key.release_id(Label("follow", (self.encoded, *what)))

    def part(self, name: str) -> str:
        """Give the name of the release of a period."""
        return self.id("part", name)

    @cached_property
    def name(self) -> str:
        """What it is called where everybody may see it."""
        return name_of(self.charge)

    def noise(self, tags: Array, names: Sequence[str] | None = None) -> Array:
        """Draw the noise of some periods, or all, for groups, a row each: a group's follows from its own key.

        All periods are drawn, some groups at a time; in between it can be stopped, unless something is charged.
        """
        assert self.added.form is not None
        derived = self.key.derive(Label("follow", (self.encoded, self.drawn)))
        every = self.horizon.names
        places = [every.index(name) for name in (every if names is None else names)]
        found = np.zeros((len(tags), len(places)))
        for start in range(0, len(tags), AT_ONCE):
            allotment().check()
            some = tags[start : start + AT_ONCE]
            found[start : start + AT_ONCE] = self.added.form.sample(len(some), RowBits(derived, some))[:, places]
        return found * self.added.bound

    def steps(self, values: DoubleWord, noise: Array) -> Array:
        """Give value + noise in steps of the lattice, halves upwards."""
        drawn = DoubleWord(noise, np.zeros_like(noise))
        grains = in_grains(values, self.added.lattice) + in_grains(drawn, self.added.lattice)
        return np.asarray((grains + GRAINS // 2) >> BITS)

    def empty(self, noise: Array) -> Array:
        """Give what is released where a group has no rows: noise alone."""
        zeros = np.zeros(noise.size)
        return self.steps(DoubleWord(zeros, zeros), noise.ravel()).reshape(noise.shape)


@dataclass(frozen=True, eq=False)
class Offer:
    """A block that may be charged. All of it follows from declarations, public facts and the ledger."""

    database: "Database"
    followed: FollowedQuestion
    horizon: Horizon
    added: JointAdded
    bound: float
    label: Label
    key: Key
    reach: float
    charging: Charging

    def settle(self) -> tuple[Block, tuple[Standing, ...], bool]:
        """Charge it, unless it is charged already; say how accounts stand then, and whether it was new."""
        attending = attendant()
        limit = attending.question

        def instead(stand: Stand, fresh: Sequence[bool]) -> str:
            share = limit or 1.0
            most = max(one.used_by_this for one in stand.accounts) / share
            beyond = [one for one in stand.accounts if one.charge.evaluation > share * one.allowance.evaluation]
            return _shorter(beyond) or _wider(self.bound, most)

        self.charging.check_question(limit, instead)
        attending.charging()
        settled = self.charging.settle()
        stand = self.charging.stand(settled, charged=True)
        own = self.key.release_id(self.label)
        record = self.database.ledger.found({own})[own]
        block = Block.charged(self.horizon, self.added, self.bound, self.label.encoded, self.key, self.reach, record)
        return block, stand.accounts, settled.fresh[0]

    def stand(self) -> Stand:
        """Say how accounts and quotas would stand; nothing is charged."""
        return self.charging.stand(self.charging.preview(), charged=False)


def offered(
    database: "Database",
    followed: FollowedQuestion,
    horizon: Horizon,
    bound: float,
    analyst: str | None,
    *,
    reach: float | None = None,
    after: Block | None = None,
) -> Offer:
    """Price periods from declarations alone; ``after`` is the block that they go on from.

    ``reach`` is by how many deviations an owner moves several of them, where that was settled before.
    """
    read, output = followed.read, followed.output
    table, name = read.table, read.question.table
    allowances = allowances_of(table, accounts_of(followed))
    if reach is None:
        reach = reach_of(allowances)
    width = bound if followed.least_rows is None else positive("max_error × least_rows", bound * followed.least_rows)
    added = noise_of(horizon, width, reach)
    cost = {
        account: at_least(charge, allowances[account], 2 * LEAST_SHARE)
        for account, charge in horizon_charges(read, added, len(horizon.names), followed.owner_rows).items()
    }
    first, last = horizon.names[0], horizon.names[-1]
    label = label_of(followed, horizon, added) if after is None else label_after(after, horizon, added)
    keys = database._keeper.keys
    (key,) = charged_under(database.ledger, [label], keys, keys[0])
    note: dict[str, Any] = {"table": name, "version": read.question.version, "output": output.name, "key": key.id}
    note |= {"follow": f"{first} … {last}"} | ({} if analyst is None else {"analyst": analyst})
    note |= {"since": first, "until": last, "bound": bound, "reach": reach}
    note |= {"drawn": secrets.token_hex(16), "accepted": database.ledger.acceptances()}  # the first ones stay

    def words(stand: Stand, fresh: Sequence[bool]) -> str:
        again = "what was released before can be asked again"

        def instead(part: float) -> str:
            beyond = [one for one in stand.accounts if one.spent.evaluation > one.allowance.evaluation]
            return _shorter(beyond) or _wider(bound, 1 / part)

        return refusal("standing question", stand.accounts, stand.quotas, again=again, instead=instead)

    def only_once(_: Sequence[str]) -> Entry:
        assert after is not None
        last = after.horizon.names[-1]
        raise RefusedError(f"this standing question was extended beyond {last} already", reason="follow")

    more = () if after is None else (after.id(GOES_ON),)
    quotas = database._grant.quotas(database.catalogue.quota.shares, analyst)
    charging = Charging(
        database.ledger,
        table,
        [Entry(key.release_id(label), cost, note, more, only_once if more else None)],
        allowances,
        terms_of(name, table, cost, read.snapshots),
        words,
        quotas,
        database._grant,
    )
    return Offer(database, followed, horizon, added, bound, label, key, reach, charging)


def same_groups(tags: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Find equal groups by their tags: where each is first in all lists together, and for each list which is which.

    >>> first, places = same_groups([np.array([[1, 2], [3, 4]]), np.array([[3, 4]])])
    >>> len(first), bool(places[0][1] == places[1][0])
    (2, True)
    """
    together = np.ascontiguousarray(np.concatenate(tags)).astype("<u8")
    _, first, place = np.unique(together.view("V16").ravel(), return_index=True, return_inverse=True)
    ends = list(accumulate(len(one) for one in tags))
    return first, [place[end - len(one) : end] for one, end in zip(tags, ends, strict=True)]


def name_of(charge: str) -> str:
    """Give the name of a standing question by that of its charge: nothing follows from it.

    >>> len(name_of("ab" * 32))
    16
    """
    return hashlib.sha256(f"errorfloor standing question {charge}".encode()).hexdigest()[:16]


def accounts_of(followed: FollowedQuestion) -> list[Account]:
    """Give the accounts that a standing question is charged to: of the column, and of owners where there are any."""
    table, name = followed.read.table, followed.read.question.table
    of_column = Account(name, summed_column(followed.output.formula)[0], "")
    return [of_column] if table.owner is None else [of_column, Account(table.owner.accounts_of(name), "", "")]


def reach_of(allowances: Mapping[Account, Any]) -> float:
    """Give by how many deviations somebody may move several numbers: what is charged to no owner is more."""
    return float(max((most_of(limit) for one, limit in allowances.items() if not one.column), default=0.0) ** 0.5)


def noise_of(horizon: Horizon, bound: float, reach: float) -> JointAdded:
    """Give the joint noise of periods and their running totals; raises InputError where there are too many."""
    added = horizon_noise(len(horizon.names), bound, evaluation_error=bound * ERROR, together=reach)
    if added is None:
        raise InputError(f"max_error {bound:g} cannot be kept for {len(horizon.names)} running totals: ask for fewer")
    return added


def label_of(followed: FollowedQuestion, horizon: Horizon, added: JointAdded) -> Label:
    """Give the label of a standing question: the question as it is read, its periods and the law of their noise."""
    first, last = horizon.names[0], horizon.names[-1]
    about: tuple[Part, ...] = (followed.column, followed.part, first, last, followed.owner_rows, added.law)
    if followed.least_rows is not None:
        about = (*about, "average", followed.least_rows)
    return Label("follow drawn", (*followed.about, about))


def label_after(block: Block, horizon: Horizon, added: JointAdded) -> Label:
    """Give the label of what goes on from a block: whatever that asks, this asks too."""
    return Label("follow on", (block.encoded, horizon.names[0], horizon.names[-1], added.law))


def check_charged(followed: FollowedQuestion, blocks: Sequence[Block]) -> None:
    """Refuse a question that was charged when its words, or the law of its noise, were something else than now."""
    labels = [label_of(followed, blocks[0].horizon, blocks[0].added)]
    labels += [label_after(before, one.horizon, one.added) for before, one in pairwise(blocks)]
    if any(one.key.release_id(label) != one.charge for one, label in zip(blocks, labels, strict=True)):
        raise RefusedError(
            f"what {followed.read.question.table} declares has changed since this question was charged, or the program "
            f"has, so that its words ask something else now: what is kept can be read, and nothing new is released. "
            f"Declare it as it was, or follow a new one",
            reason="follow",
        )


def blocks_after(block: Block, column: str, part: str, scale: int, database: "Database") -> Iterator[Block]:
    """Give the blocks that go on from one, in order, as the ledger knows them."""
    while True:
        own = block.id(GOES_ON)
        record = database.ledger.found({own}).get(own)
        if record is None:
            return
        noted: Mapping[str, Any] = record.note
        horizon = Horizon.of(column, part, noted["since"], noted["until"])
        added = noise_of(horizon, noted["bound"] * scale, noted["reach"])
        key = key_of(noted["key"], database._keeper.keys)
        encoded = label_after(block, horizon, added).encoded
        block = Block.charged(horizon, added, noted["bound"], encoded, key, noted["reach"], record)
        yield block


def key_of(name: str, keys: Iterable[Key]) -> Key:
    """Give the key that drew a noise; raises KeyFileError if it is not there any more."""
    found = next((one for one in keys if one.id == name), None)
    if found is None:
        raise KeyFileError(f"the key {name} that drew this standing question is not in the key file: put it back")
    return found


def _shorter(beyond: Sequence[Standing]) -> str:
    """Say what helps where errors beside the noise exceed an account: they are a part of any bound, and count alike."""
    return f"a wider max_error would take as much of {beyond[0].name}: ask for less time" if beyond else ""


def _wider(bound: float, excess: float) -> str:
    return f"ask with a max_error of at least {rounded_up(bound * math.sqrt(excess) * 1.01)}, or for less time"
