"""Beginning a standing question, finding it again, and listing those that there are.

What a question asks is kept on the shelf of kept answers, sealed, under its charge; the ledger knows the rest: what was
charged, what goes on from it, which periods were released, and whether it was cancelled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from errorfloor.answering.kept import KeptAnswer
from errorfloor.checks import positive
from errorfloor.errors import InputError, KeyFileError
from errorfloor.following.block import Block, Offer, blocks_after, key_of, name_of, noise_of, offered
from errorfloor.following.following import Following
from errorfloor.following.horizon import Horizon
from errorfloor.following.price import FollowPrice
from errorfloor.following.question import FollowedQuestion, FollowWish, wish_of
from errorfloor.following.table import FollowedShape
from errorfloor.ledger.shelf import FOLLOWED
from errorfloor.wishes import FollowWords

if TYPE_CHECKING:
    from errorfloor.service.database import Database

MOST = 1000  # standing questions that are listed, the newest
EVERY = 2**62


def follow(database: "Database", sql: str, words: FollowWords, *, analyst: str | None) -> Following:
    """Charge a standing question for its whole horizon, once; asked again it is free."""
    wish = FollowWish(sql, **words)
    offer, kept = _offered(database, wish, analyst)
    block, standings, fresh = offer.settle()
    facts = _keep(offer, block, wish, analyst) if kept is None else kept.facts
    return _following(
        database, _in_words(facts, offer, wish), block, analyst, standings=standings, fresh=fresh, known=True
    )


def follow_price(database: "Database", sql: str, words: FollowWords, *, analyst: str | None) -> FollowPrice:
    """Say what a standing question would cost; nothing is charged."""
    return FollowPrice.of(_offered(database, FollowWish(sql, **words), analyst)[0])


def following(database: "Database", *, analyst: str | None) -> list[dict[str, Any]]:
    """Give the standing questions about tables that are granted, oldest first; words as the history shows them."""
    return [one.to_dict() for one in _every(database, analyst)]


def followed(database: "Database", name: str, *, analyst: str | None) -> Following:
    """Give a standing question by its name; raises InputError if there is none, or its table is not granted."""
    for one in _every(database, analyst, name):
        return one
    raise InputError(
        f"there is no standing question {str(name)[:40]!r}: following lists those that there are. One whose words were "
        f"forgotten is there again once it is followed in the same words, which is free"
    )


def _offered(database: "Database", wish: FollowWish, analyst: str | None) -> tuple[Offer, KeptAnswer | None]:
    """Price a question; with the noise that it was charged with, if it was."""
    if database.is_dry:
        raise InputError("a dry run has no months to come: open the catalogue without dry")
    question = FollowedQuestion.of(database, wish)
    horizon = Horizon.of(question.column, question.part, wish.since, wish.until)
    bound = positive("max_error", wish.max_error)
    keeper, (first, *_, last) = database._keeper, horizon.names
    found = keeper.found([question.words(first, last, bound, key.id) for key in keeper.keys])
    kept = next(iter(found.values()), None)
    reach = None if kept is None else kept.facts["follow"]["reach"]
    return offered(database, question, horizon, bound, analyst, reach=reach), kept


def _in_words(facts: Mapping[str, Any], offer: Offer, wish: FollowWish) -> dict[str, Any]:
    """Give what is kept of a question in the words of who asks it now: names are layout."""
    question = offer.followed
    output = {**facts["outputs"][0], "name": question.output.name, "unit": question.output.unit}
    keys = [key.name for key in question.read.question.keys]
    follow = {**facts["follow"], "keys": keys}
    return {**facts, "sql": wish.sql, "wish": _plain(wish), "outputs": [output], "follow": follow}


def _keep(offer: Offer, block: Block, wish: FollowWish, analyst: str | None) -> Mapping[str, Any]:
    """Keep what a question asks, so that it can be listed, and read whatever becomes of the catalogue."""
    question, database = offer.followed, offer.database
    record = database.ledger.found({block.charge})[block.charge]
    output: dict[str, Any] = {
        "asked": question.words(offer.horizon.names[0], offer.horizon.names[-1], offer.bound, block.key.id),
        "over": FOLLOWED,
        "name": question.output.name,
        "unit": question.output.unit,
        "label": block.charge,
        "drawn": block.key.id,
        "added": offer.added.to_dict(),
        "constant": None,
        "columns": [],
    }
    said = {
        "time": record.time,
        "sql": wish.sql,
        "wish": _plain(wish),
        "analyst": record.note.get("analyst"),
        "shared": question.read.table.shared,
        "table": question.read.question.table,
        "version": question.read.question.version,
        "snapshots": [],
        "cells": 0,
        "left_out": 0,
        "units": [],
        "keys": [],
        "outputs": [output],
        "outlives": not question.names_somebody,
        "follow": {
            "label": block.encoded.hex(),
            "column": question.column,
            "part": question.part,
            "since": offer.horizon.names[0],
            "until": offer.horizon.names[-1],
            "bound": offer.bound,
            "reach": record.note.get("reach", offer.reach),
            "least_rows": question.least_rows,
            "possible": question.possible,
            "keys": [key.name for key in question.read.question.keys],
        },
    }
    database._keeper.put(said, b"")
    return said


def _every(database: "Database", analyst: str | None, name: str | None = None) -> Iterator[Following]:
    """Give the standing questions that are granted, or one by name, oldest first; without those whose key is gone."""
    keeper = database._keeper
    found = keeper.followed(MOST) if name is None else keeper.followed(EVERY, lambda charge: name_of(charge) == name)
    for kept in reversed(found):
        facts = kept.facts
        if database._grant.covers(facts["table"]):
            try:
                yield _following(database, facts, _block_of(database, facts), analyst)
            except KeyFileError:
                continue


def _block_of(database: "Database", facts: Mapping[str, Any]) -> Block:
    """Give the first block of a question from what is kept of it."""
    said, output = facts["follow"], facts["outputs"][0]
    horizon = Horizon.of(said["column"], said["part"], said["since"], said["until"])
    added = noise_of(horizon, said["bound"] * (said["least_rows"] or 1), said["reach"])
    key = key_of(output["drawn"], database._keeper.keys)
    record = database.ledger.found({output["label"]})[output["label"]]
    return Block.charged(horizon, added, said["bound"], bytes.fromhex(said["label"]), key, said["reach"], record)


def _following(
    database: "Database", facts: Mapping[str, Any], first: Block, analyst: str | None, **charged: Any
) -> Following:
    said = facts["follow"]
    possible = None if said["possible"] is None else (said["possible"][0], said["possible"][1])
    shape = FollowedShape(said["part"], tuple(said["keys"]), facts["outputs"][0]["name"], said["least_rows"], possible)
    rest = blocks_after(first, said["column"], said["part"], said["least_rows"] or 1, database)
    return Following(database, wish_of(facts), facts, shape, (first, *rest), analyst, **charged)


def _plain(wish: FollowWish) -> dict[str, Any]:
    return {name: value for name, value in asdict(wish).items() if name != "sql"}
