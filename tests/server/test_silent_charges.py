"""What tools may be charged: up to a limit for one question and for one day, at every door, wherever a server runs."""

from contextlib import ExitStack

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.dialects import registry

from errorfloor.access.token import Terms
from errorfloor.client import dbapi
from errorfloor.errors import AllowanceError, InputError
from errorfloor.server import Role, TokenFile
from errorfloor.service import open_database
from serving import served, write_pay

registry.register("errorfloor", "errorfloor.client.dialect", "ErrorFloorDialect")
SPEND = 0.02  # each question takes as much of the allowance


def question(number):
    return f"SELECT avg(wage) AS mean{number} FROM pay WHERE age > {20 + number} /*+ spend={SPEND} */"


class Lines:
    """Ways to a server; each asks a question, and says whether it was answered."""

    def __init__(self, server, token, name="anna"):
        self.server, self.token, self.name = server, token, name

    def with_postgres(self, number, **settings):
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        who = {"user": self.name, "password": self.token, "dbname": "x", "autocommit": True, "options": options}
        with psycopg.connect(host="127.0.0.1", port=self.server.postgres, **who) as line:
            try:
                return len(line.execute(question(number)).fetchall()) == 1
            except psycopg.errors.ConfigurationLimitExceeded:
                return False

    def with_dbapi(self, number, charge=False, charge_per_day=None):
        with dbapi.connect(self.server.url, token=self.token, charge=charge, charge_per_day=charge_per_day) as line:
            try:
                return len(line.cursor().execute(question(number)).fetchall()) == 1
            except dbapi.OperationalError as problem:
                assert isinstance(problem.__cause__, AllowanceError)
                return False

    def over_http(self, number, **limits):
        client = self.server.client(None)
        client.headers["Authorization"] = f"Bearer {self.token}"
        asked = {"sql": question(number).partition("/*")[0], "spend": SPEND, **limits}
        reply = client.post("/v1/ask", json=asked)
        assert reply.status_code in (200, 403)
        return reply.status_code == 200


def test_limits_of_one_question_and_one_day_count_at_all_doors_together(database, tmp_path):
    tokens = TokenFile(None)
    _, text = tokens.create("anna", Role.ANALYST)
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        lines = Lines(server, text)
        for ask in (lines.with_postgres, lines.with_dbapi, lines.over_http):
            assert not ask(1, charge=0.01)  # more than one question may take
        limits = {"charge": 0.03, "charge_per_day": 0.07}
        assert lines.with_postgres(1, **limits)
        assert lines.with_dbapi(2, **limits)
        assert lines.over_http(3, **limits)
        for ask in (lines.with_postgres, lines.with_dbapi, lines.over_http):
            assert not ask(4, **limits)  # a fourth would be more than of one day
            assert ask(1, **limits)  # released, and free
        assert lines.over_http(4)  # a person who sets no limit is not held by that of tools


def test_limit_of_a_day_holds_after_a_restart(tmp_path):
    catalogue = write_pay(tmp_path / "pay", floor=10.0)
    tokens = TokenFile(tmp_path / "tokens.json")
    _, text = tokens.create("anna", Role.ANALYST)
    limits = {"charge": 0.03, "charge_per_day": 0.05}
    answered = []
    for number in range(4):
        with open_database(catalogue) as database, served(database, tmp_path, postgres=0, tokens=tokens) as server:
            lines = Lines(server, text)
            answered.append((lines.with_postgres if number % 2 else lines.with_dbapi)(number, **limits))
    assert answered == [True, True, False, False]


def test_limit_of_a_day_is_shared_by_servers_of_one_ledger(tmp_path):
    catalogue = write_pay(tmp_path / "pay", floor=10.0)
    tokens = TokenFile(tmp_path / "tokens.json")
    _, text = tokens.create("anna", Role.ANALYST)
    with ExitStack() as stack:
        both = []
        for _ in range(2):
            database = stack.enter_context(open_database(catalogue))
            server = stack.enter_context(served(database, tmp_path, postgres=0, tokens=tokens))
            both.append(Lines(server, text))
        answered = [both[number % 2].with_postgres(number, charge=0.03, charge_per_day=0.09) for number in range(8)]
    assert answered == [True] * 4 + [False] * 4


def test_token_whose_tools_are_charged_silently(database, tmp_path):
    tokens = TokenFile(None)
    terms = Terms(question=0.03, day=0.05, silently=True)
    _, text = tokens.create("board", Role.ANALYST, terms)
    _, reading = tokens.create("reading", Role.READER, terms)
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        lines = Lines(server, text, "board")
        assert not lines.with_postgres(11, charge="off")
        assert lines.with_postgres(11) and lines.with_postgres(12) and not lines.with_postgres(13)
        assert not lines.over_http(13)  # the terms of a token hold at every door
        assert not Lines(server, reading, "reading").with_postgres(14)


def test_tools_are_not_charged_silently_without_limits():
    with pytest.raises(InputError, match="within limits only: give question and day"):
        Terms(question=0.01, silently=True)
    assert Terms.read(Terms(question=0.01, day=0.1, silently=True).to_dict()).silently


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"charge": "2"}, "charge is on, off, or a share"),
        ({"charge_per_day": "on"}, "charge_per_day is a share"),
        ({"charge_per_day": "0"}, "charge_per_day is a share"),
    ],
)
def test_address_with_a_limit_that_is_none_is_refused(query, said):
    with pytest.raises(InputError, match=said):
        sqlalchemy.create_engine(sqlalchemy.URL.create("errorfloor", "a", "b", "127.0.0.1", 9, query=query)).connect()


def test_columns_of_a_question_are_given_without_saying_how_exact(database, tmp_path):
    before = [one.spent for one in database.left()]
    with served(database, tmp_path) as server, dbapi.connect(server.url, token=server.tokens["reader"]) as line:
        asked = "SELECT team, hired, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY team, hired"
        for probe in (f"SELECT * FROM ({asked}) t WHERE 1=0", f"SELECT * FROM ({asked}) t LIMIT 0", f"{asked} LIMIT 0"):
            found = line.cursor().execute(probe)
            assert found.fetchall() == []
            assert [(one[0], one[1]) for one in found.description] == [
                *(("team", "string"), ("hired", "date32[day]"), ("mean", "double"), ("n", "int64")),
                *(("mean_low", "double"), ("mean_high", "double")),
            ]
        refused = server.client("reader").post("/v1/columns", json={"sql": "SELECT wage FROM pay"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "refused")
    assert [one.spent for one in database.left()] == before
