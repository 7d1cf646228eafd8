"""Sessions of the PostgreSQL door that last: they end with their token, and all that is read is counted and bounded."""

import dataclasses
import datetime

import psycopg
import pytest
from psycopg.generators import execute, notifies

from errorfloor.access.token import Terms
from errorfloor.server import Role, TokenFile
from serving import served

COUNT = "SELECT count(*) FROM pay"
PAST, FUTURE = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2020, 2200))


def connect(server, user="analyst-1", password=None, **options):
    given = {"user": user, "password": password or server.tokens["analyst"], "dbname": "x", "autocommit": True}
    return psycopg.connect(host="127.0.0.1", port=server.postgres, **given, **options)


def sent(line, how, *what):
    getattr(line.pgconn, how)(*what)
    return line.wait(execute(line.pgconn))[-1]


# -- tokens that change while a session lasts


def test_session_of_a_revoked_token_ends_with_its_next_statement(database, tmp_path):
    tokens = TokenFile(None)
    for statement in (COUNT, "SELECT 1", "SHOW charge", "SET max_error = 1", "BEGIN", ""):
        token, text = tokens.create("anna", Role.ANALYST)
        with served(database, tmp_path, postgres=0, tokens=tokens) as server:
            line = connect(server, "anna", text)
            line.execute(COUNT)
            tokens.revoke(token.id)
            with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification, match="was revoked") as ended:
                line.execute(statement)
            assert ended.value.diag.severity == "FATAL" and line.closed


def test_session_of_an_expired_token_ends_and_a_prolonged_one_goes_on(database, tmp_path):
    tokens = TokenFile(None)
    token, text = tokens.create("anna", Role.ANALYST, Terms(expires=FUTURE))
    with served(database, tmp_path, postgres=0, tokens=tokens) as server, connect(server, "anna", text) as line:
        later = datetime.datetime(2300, 1, 1, tzinfo=datetime.UTC)
        tokens.accept(dataclasses.replace(token, terms=Terms(expires=later)))
        assert line.execute(COUNT).fetchone() == (120,)
        tokens.accept(dataclasses.replace(token, terms=Terms(expires=PAST)))
        with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification, match="has expired"):
            line.execute(COUNT)
        assert line.closed


def test_terms_that_change_hold_from_the_next_question_on(database, tmp_path):
    tokens = TokenFile(None)
    token, text = tokens.create("anna", Role.ANALYST)
    with served(database, tmp_path, postgres=0, tokens=tokens) as server, connect(server, "anna", text) as line:
        line.execute("SET charge = on")
        tokens.accept(dataclasses.replace(token, role=Role.READER))
        with pytest.raises(psycopg.Error, match="nothing may be charged"):
            line.execute("SELECT avg(wage) FROM pay WITHIN 1234567")
        tokens.accept(dataclasses.replace(token, terms=Terms(tables=("others",))))
        with pytest.raises(psycopg.Error, match="is not a declared table"):
            line.execute(COUNT)


def test_new_token_of_a_name_does_not_end_the_sessions_of_the_old_one(database, tmp_path):
    tokens = TokenFile(None)
    old, text = tokens.create("anna", Role.ANALYST)
    with served(database, tmp_path, postgres=0, tokens=tokens) as server, connect(server, "anna", text) as line:
        _, renewed = tokens.create("anna", Role.ANALYST)
        with connect(server, "anna", renewed) as other:
            assert line.execute(COUNT).fetchone() == other.execute(COUNT).fetchone() == (120,)
            tokens.revoke(old.id)
            with pytest.raises(psycopg.Error, match="was revoked"):
                line.execute(COUNT)
            assert other.execute(COUNT).fetchone() == (120,)


def test_idle_session_is_ended_with_its_token(database, tmp_path, monkeypatch):
    monkeypatch.setattr("errorfloor.postgres.listener.WATCH", 0.05)
    tokens = TokenFile(None)
    token, text = tokens.create("anna", Role.ANALYST)
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        line, other = connect(server, "anna", text), connect(server)
        tokens.revoke(token.id)
        with pytest.raises(psycopg.OperationalError):
            for _ in range(400):
                line.wait(notifies(line.pgconn))
        assert other.execute(COUNT).fetchone() == (120,)
        line.close()
        other.close()


# -- what is counted


@pytest.fixture
def few(database, tmp_path):
    with served(database, tmp_path, postgres=0, rate=0.001, burst=6) as server, connect(server) as line:
        yield line


def too_many(result):
    return b"requests per second" in result.error_message


@pytest.mark.parametrize(
    "again",
    [
        lambda line, turn: sent(line, "send_prepare", b"s%d" % turn, b"SELECT count(*) FROM pay WHERE age > $1"),
        lambda line, turn: sent(line, "send_prepare", b"", b"SHOW charge"),
        lambda line, turn: sent(line, "send_query", b"SHOW charge"),
        lambda line, turn: sent(line, "send_query", b""),
        lambda line, turn: sent(line, "send_query_params", COUNT.encode(), []),
    ],
    ids=["parse", "parse a command", "command", "nothing", "parse, bind, describe, execute"],
)
def test_each_statement_is_counted_once_against_the_rate(few, again):
    told = [too_many(again(few, turn)) for turn in range(8)]
    assert told == [False] * 6 + [True] * 2


def test_descriptions_and_executions_of_one_statement_are_counted_each(few):
    sent(few, "send_prepare", b"s", COUNT.encode())  # 1: with its description and execution
    assert not too_many(sent(few, "send_describe_prepared", b"s"))
    assert not too_many(sent(few, "send_query_prepared", b"s", []))
    told = [too_many(sent(few, "send_query_prepared", b"s", [])) for _ in range(3)]  # 2, 3, 4
    told += [too_many(sent(few, "send_describe_prepared", b"s")) for _ in range(4)]  # 5, 6
    assert told == [False] * 5 + [True] * 2


def test_text_of_many_statements_is_refused(database, tmp_path):
    with served(database, tmp_path, postgres=0) as server, connect(server) as line:
        with pytest.raises(psycopg.Error, match="a text may have 100 statements, but this has 101"):
            line.execute("SHOW charge;" * 101)
        line.execute("SHOW charge;" * 100)


# -- what is read within limits


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {'(' * 3000}1{')' * 3000} FROM pg_class",
        f"SELECT {'(' * 3000}1{')' * 3000}",
        f"SELECT {'NOT ' * 3000} true FROM pg_class",
        f"SELECT 1 FROM pg_class WHERE {' AND '.join(['1=1'] * 1000)}",
        f"SELECT {'CASE WHEN true THEN ' * 500}1{' END' * 500} FROM pg_class",
        f"SELECT * FROM {'(SELECT * FROM ' * 200}pg_class{')' * 200}",
        f"SELECT {'-' * 1}{' -' * 5000}1 FROM pg_class",
        f"SELECT ARRAY{'[' * 3000}1{']' * 3000} FROM pg_class",
        f"SELECT 1 FROM pg_class WHERE relname = $1 OR {'(' * 3000}1=1{')' * 3000}",
    ],
)
def test_look_ups_have_the_limits_of_questions(database, tmp_path, query):
    with served(database, tmp_path, postgres=0) as server, connect(server) as line:
        with pytest.raises(psycopg.Error, match=r"nested|at most|cannot be read"):
            line.execute(query.replace("$1", "%s"), ("x",) if "$1" in query else None)
        assert line.execute(COUNT).fetchone() == (120,)
