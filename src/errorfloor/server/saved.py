"""Questions saved by name, for the pages and for everybody who may see them: the same rule as for kept questions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from errorfloor.access.auth import visitor_of
from errorfloor.access.door import POSTED, ServerDoor, analyst_of, replies
from errorfloor.access.models import SQL, Bound, Spend, Sql, Wanted
from errorfloor.access.replies import as_json
from errorfloor.access.store import Store
from errorfloor.access.tokens import Role, Token
from errorfloor.catalogue import Catalogue
from errorfloor.errors import InputError

MOST = 200  # of one analyst
TABLES = """
CREATE TABLE IF NOT EXISTS saved (
    analyst TEXT NOT NULL, name TEXT NOT NULL, kept TEXT NOT NULL, PRIMARY KEY (analyst, name)
) WITHOUT ROWID;
"""
Name = Annotated[str, Field(min_length=1, max_length=80, description="What it is called; yours are told by name.")]


class SavedQuestion(Wanted, json_schema_extra={"examples": [{"name": "by tariff", "sql": SQL, "max_error": 0.5}]}):
    """A question to be saved: one of the same name that was yours is replaced."""

    name: Name
    sql: Sql
    max_error: Annotated[Bound | dict[str, Bound] | None, Field(description="How far off an answer may be.")] = None
    spend: Spend = None


class RemovedQuestion(Wanted, json_schema_extra={"examples": [{"name": "by tariff"}]}):
    """A saved question to be removed."""

    name: Name
    analyst: Annotated[str | None, Field(max_length=200, description="For an owner: whose it is.")] = None


class SavedReply(BaseModel):
    """Saved questions that the caller may see; ``mine`` are the caller's, ``analyst`` is for owners only."""

    questions: list[dict[str, Any]]


class SavedQuestions:
    """The saved questions, in a file that only its owner can read; ``path`` None keeps them in memory.

    >>> saved = SavedQuestions(None)
    >>> saved.keep("ada", {"name": "all", "sql": "SELECT avg(kwh) FROM meters", "tables": ["meters"]})
    >>> [one["name"] for _, one in saved.every()], saved.remove("ada", "all"), saved.remove("ada", "all")
    (['all'], True, False)
    """

    def __init__(self, path: Path | None) -> None:
        self._store = Store(path, tables=TABLES, what="the file of saved questions")

    def keep(self, analyst: str, question: dict[str, Any]) -> None:
        """Save a question of an analyst; raises InputError if there are too many."""
        mine = self._store.rows("SELECT name FROM saved WHERE analyst = ?", (analyst,))
        if len(mine) >= MOST and (question["name"],) not in mine:
            raise InputError(f"you have saved {MOST} questions, which is the most: remove one first")
        values = (analyst, question["name"], json.dumps(question))
        self._store.change("INSERT OR REPLACE INTO saved VALUES (?, ?, ?)", values)

    def has(self, analyst: str, name: str) -> bool:
        """Say whether there is such a question."""
        return bool(self._store.rows("SELECT 1 FROM saved WHERE analyst = ? AND name = ?", (analyst, name)))

    def remove(self, analyst: str, name: str) -> bool:
        """Forget a question; say whether there was one."""
        return self._store.change("DELETE FROM saved WHERE analyst = ? AND name = ?", (analyst, name)) > 0

    def every(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give all questions with whose they are, by name."""
        for analyst, kept in self._store.rows("SELECT analyst, kept FROM saved ORDER BY name, analyst"):
            yield analyst, json.loads(kept)

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()


def seen(saved: SavedQuestions, catalogue: Catalogue, analyst: str | None) -> list[dict[str, Any]]:
    """Give the questions that one may see: one's own, those of tables that share theirs; an owner, None, sees all."""
    found = []
    for whose, one in saved.every():
        tables = [catalogue.tables.get(name) for name in one["tables"]]  # those that the token's terms reach
        first = tables[0]
        if first is not None and None not in tables and (analyst is None or whose == analyst or first.shared):
            mine = whose == (analyst or "")
            found.append({**one, "mine": mine, **({"analyst": whose or None} if analyst is None else {})})
    return found


def saved_questions(door: ServerDoor, saved: SavedQuestions) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix="/v1/questions", tags=["questions"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]
    Poster = Annotated[Token, Depends(door.authentication.require(Role.READER, posted=True))]

    @routes.get("", responses=replies(SavedReply), summary="Saved questions")
    async def listed(token: Reader) -> Response:
        """Questions saved by name: yours, and those about tables that declare `questions = "shared"`."""
        return await door.looked_up(
            token,
            lambda: as_json({"questions": seen(saved, door.tables(False, token).catalogue, analyst_of(token))}),
        )

    @routes.post("", responses=replies(SavedReply, *POSTED, 403), summary="Save a question")
    async def save(request: Request, token: Poster, question: SavedQuestion) -> Response:
        """Save a question under a name. One that cannot be asked is refused; nothing is charged."""
        door.check_length(question.sql)
        if not question.name.isprintable():
            raise InputError("the name of a question must not contain line breaks or other unprintable characters")
        analyst = analyst_of(token)

        def work() -> Response:
            tables = door.tables(False, token)
            priced = tables.price(question.sql, max_error=question.max_error, spend=question.spend, analyst=analyst)
            read = priced.prepared.question
            named = [read.table, *(join.table for join in read.joins)]
            whose = analyst or ""
            if _is_hidden(question.name, whose, tables.catalogue, token) and saved.has(whose, question.name):
                raise InputError(f"there is a question {question.name!r} already: choose another name")
            saved.keep(whose, {**question.model_dump(exclude_none=True), "tables": named})
            return as_json({"questions": seen(saved, tables.catalogue, analyst)})

        return await door.attended(visitor_of(request), token, work)

    @routes.post("/remove", responses=replies(SavedReply, *POSTED, 403), summary="Remove a saved question")
    async def remove(token: Poster, removed: RemovedQuestion) -> Response:
        """Remove a question that you saved; an owner may remove anybody's."""
        analyst = analyst_of(token)
        if removed.analyst is not None and analyst is not None:
            raise InputError("analyst is for an owner: leave it out to remove a question of your own")

        def work() -> Response:
            catalogue, whose = door.tables(False, token).catalogue, removed.analyst or analyst or ""
            if _is_hidden(removed.name, whose, catalogue, token) or not saved.remove(whose, removed.name):
                raise InputError(f"there is no saved question {removed.name!r} of yours")
            return as_json({"questions": seen(saved, catalogue, analyst)})

        return await door.looked_up(token, work)

    def _is_hidden(name: str, whose: str, catalogue: Catalogue, token: Token) -> bool:
        """Say whether an owner who is limited to some tables does not see a question."""
        if analyst_of(token) is not None or not token.terms.tables:
            return False
        listed = seen(saved, catalogue, None)
        return not any(one["name"] == name and (one["analyst"] or "") == whose for one in listed)

    return routes
