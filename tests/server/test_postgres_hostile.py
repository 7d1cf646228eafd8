"""Whatever is sent to the PostgreSQL door, it neither crashes nor hangs, and nothing private gets out."""

import json
import random
import socket
import struct
import threading
from pathlib import Path

import psycopg
import pytest

from errorfloor.postgres import session, session_questions
from fuzzing import QUESTIONS
from repeated import rounds
from serving import CANARY, holds_canary, served

PATIENCE = 20.0
KEPT = json.loads(Path(__file__).with_name("tool_queries.json").read_text(encoding="utf-8"))
SENT = [one["sql"] for tool in KEPT["look-ups"].values() for one in tool.values()] + [*KEPT["questions of Superset"]]
ASKED = [one for one in QUESTIONS if CANARY not in one]  # a refusal repeats what it refuses


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("postgres"), postgres=0, postgres_lines=300) as here:
        yield here


def connect(server, **options):
    who = {"user": "analyst-1", "password": server.tokens["analyst"], "dbname": "errorfloor", "autocommit": True}
    return psycopg.connect(host="127.0.0.1", port=server.postgres, connect_timeout=60, **{**who, **options})


def raw(server):
    return socket.create_connection(("127.0.0.1", server.postgres), timeout=PATIENCE)


def rest_of(line):
    """All that comes until the server closes the line; it must not take long."""
    found = b""
    try:
        while part := line.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def serves(server):
    with connect(server) as line:
        assert line.execute("SELECT count(*) FROM pay").fetchone() == (120,)


def start(**wanted):
    body = b"".join(f"{name}\0{value}\0".encode() for name, value in wanted.items()) + b"\0"
    return struct.pack("!II", len(body) + 8, 196608) + body


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!II", 2**31, 196608),
        struct.pack("!II", 7, 196608),
        struct.pack("!II", 8, 2 << 16),
        struct.pack("!II", 8, 196608),
        start(user="analyst-1") + message(b"Q", b"SELECT 1\0"),
        start(user="analyst-1") + message(b"p", b"SCRAM-SHA-256\0\0\0\0\x04n,,n"),
        start(user="analyst-1") + message(b"p", b"SCRAM-SHA-1\0\xff\xff\xff\xff"),
        start(user="analyst-1") + b"p" + struct.pack("!I", 2**31),
        start(user="\udcff".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), options="-c max_error=x"),
        struct.pack("!III", 16, 80877102, 1) + b"1234",
        struct.pack("!II", 8, 80877102),
        struct.pack("!II", 8, 80877103) * 500,
        start(user="a") * 50,
    ],
)
def test_line_that_does_not_start_as_it_should_is_ended(server, sent):
    with raw(server) as line:
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        found = rest_of(line)
    assert not holds_canary(found.decode("latin1"))
    serves(server)


class Recorder:
    """A client's line on which every message is seen, and may be spoilt."""

    def __init__(self, server):
        self.line = connect(server)
        self.socket = socket.socket(fileno=self.line.pgconn.socket)

    def close(self):
        self.socket.detach()
        self.line.close()


def spoilt(rng):
    """A message as a client might send it, or nearly."""
    question = rng.choice([*ASKED, "SET max_error = 1e6", "SHOW ALL", "BEGIN", "PRICE SELECT avg(wage) FROM pay", ""])
    question = question.encode() + rng.choice([b" WITHIN 1e6", b"", b";" * rng.randrange(9), b"/*", b"'", b"\xff"])
    name = rng.choice([b"", b"one", b"x" * rng.randrange(300)])
    parse = name + b"\0" + question + b"\0" + struct.pack("!H", rng.choice([0, 1, 65535]))
    bind = (
        name
        + b"\0"
        + name
        + b"\0"
        + struct.pack("!HHiH", rng.choice([0, 1]), rng.choice([0, 1]), rng.choice([-1, 0, 2**30]), 0)
    )
    bodies = {
        b"Q": question + b"\0",
        b"P": parse,
        b"B": bind,
        b"D": rng.choice([b"S", b"P", b"Z"]) + name + b"\0",
        b"E": name + b"\0" + struct.pack("!i", rng.choice([0, 1, -1, 2**31 - 1])),
        b"C": rng.choice([b"S", b"P"]) + name + b"\0",
        b"H": b"",
        b"S": b"",
        b"F": rng.randbytes(12),
        b"d": rng.randbytes(12),
        rng.randbytes(1): rng.randbytes(rng.randrange(40)),
    }
    kind = rng.choice(list(bodies))
    body = bodies[kind]
    match rng.randrange(6):
        case 0:
            body = body[: rng.randrange(len(body) + 1)]
        case 1:
            place = rng.randrange(len(body) + 1)
            body = body[:place] + rng.randbytes(rng.randrange(5)) + body[place:]
    whole = message(kind, body)
    if rng.randrange(25) == 0:
        whole = kind + struct.pack("!I", rng.choice([0, 3, 2**31, 2**32 - 1, 70000])) + body
    return whole


@pytest.mark.parametrize("seed", range(rounds(12)))
def test_messages_at_random_end_in_a_failure_or_in_order(server, seed):
    rng = random.Random(seed)
    here = Recorder(server)
    try:
        here.socket.settimeout(PATIENCE)
        for _ in range(rng.randrange(1, 25)):
            here.socket.sendall(spoilt(rng))
        here.socket.sendall(message(b"S", b"") + message(b"X", b""))
        found = rest_of(here.socket)
    except ConnectionError:
        found = b""
    finally:
        here.close()
    assert not holds_canary(found.decode("latin1"))
    serves(server)


def test_message_is_cut_anywhere_and_nothing_hangs(server):
    whole = message(b"P", b"\0SELECT avg(wage) FROM pay WITHIN 1e6\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0")
    for end in range(1, len(whole), 5):
        here = Recorder(server)
        here.socket.settimeout(PATIENCE)
        here.socket.sendall(whole[:end])
        here.socket.shutdown(socket.SHUT_WR)
        rest_of(here.socket)
        here.close()
    serves(server)


def test_huge_parameters_and_statements_are_refused_and_the_limits_hold(server):
    here = Recorder(server)
    here.socket.settimeout(PATIENCE)
    here.socket.sendall(b"B" + struct.pack("!I", 10_000_000))
    assert b"4 to 65536 are allowed" in rest_of(here.socket)
    here.close()
    with connect(server) as line:
        with pytest.raises(psycopg.Error, match=r"10000 are allowed|may have 20000"):
            line.execute(f"SELECT count(*) FROM pay WHERE team IN ({', '.join(['1'] * 15000)})")
        many = ", ".join(["%s"] * 5000)
        with pytest.raises(psycopg.Error, match=r"allowed|at most|may have"):
            line.execute(f"SELECT count(*) FROM pay WHERE age IN ({many})", list(range(5000)))
        assert line.execute("SELECT 1").fetchone() == (1,)
    here = Recorder(server)
    here.socket.settimeout(PATIENCE)
    for number in range(1200):
        here.socket.sendall(message(b"P", f"s{number}".encode() + b"\0SELECT 1\0\0\0"))
    here.socket.sendall(message(b"S", b"") + message(b"X", b""))
    assert b"a session may hold 1000 prepared statements" in rest_of(here.socket)
    here.close()


def test_prepared_statements_and_portals_hold_no_more_than_is_allowed(server):
    with connect(server) as line:
        long = b"SELECT " + b"1," * 9900 + b"1"
        for make in (
            lambda number: line.pgconn.prepare(b"long%d" % number, long),
            lambda number: line.pgconn.prepare(b"many%d" % number, b"SELECT 1", [23] * 16000),
            lambda number: line.pgconn.prepare(b"far%d" % number, b"SELECT $9999"),
        ):
            refused = next(one for one in map(make, range(1000)) if one.error_message)
            assert b"characters together: close some" in refused.error_message
            line.execute("DISCARD ALL")
        assert line.execute("SELECT count(*) FROM pay").fetchone() == (120,)


def test_a_thousand_connections_of_nobody_make_room_for_somebody(server):
    lines = [raw(server) for _ in range(1000)]
    try:
        serves(server)
    finally:
        for line in lines:
            line.close()
    serves(server)


def test_somebody_who_is_known_is_not_sent_away_for_others(database, tmp_path):
    owner = {"user": "owner-1"}
    with served(database, tmp_path, postgres=0, postgres_lines=2) as server, connect(server) as one:
        with pytest.raises(psycopg.OperationalError, match="this token has 1 connections"):
            connect(server)
        with connect(server, **owner, password=server.tokens["owner"]):
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                connect(server)
            assert one.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system does not list its timers")
def test_machine_that_vanished_is_noticed(server):
    def timers():
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {row[5][:2] for row in rows if row[1].endswith(f":{server.postgres:04X}") and row[3] == "01"}

    with connect(server):
        assert timers() == {"02"}  # the system will ask whether the other side is still there


def test_storm_of_cancellations_cancels_nobody_else(server):
    with connect(server) as line:
        process = line.pgconn.backend_pid
        stop = threading.Event()

        def storm(seed):
            rng = random.Random(seed)
            while not stop.is_set():
                with raw(server) as other:
                    other.sendall(struct.pack("!IIII", 16, 80877102, process, rng.getrandbits(32)))

        storms = [threading.Thread(target=storm, args=(seed,)) for seed in range(4)]
        for one in storms:
            one.start()
        try:
            for _ in range(8):
                assert line.execute("SELECT count(*) FROM pay").fetchone() == (120,)
        finally:
            stop.set()
            for one in storms:
                one.join()


def test_client_that_goes_away_leaves_nothing_under_way(server, database):
    for _ in range(10):  # more than one token may have under way
        here = Recorder(server)
        here.socket.sendall(message(b"Q", b"SELECT team, avg(wage) FROM pay GROUP BY team WITHIN 1e6\0"))
        here.close()
    serves(server)


def test_look_up_that_takes_long_is_ended(server, monkeypatch):
    monkeypatch.setattr("errorfloor.postgres.declared.PATIENCE", 0.5)
    many = ", ".join(f"pg_type t{number}" for number in range(9))
    with connect(server) as line, pytest.raises(psycopg.errors.QueryCanceled, match="system catalogue within"):
        line.execute(f"SELECT count(*) FROM {many}")
    serves(server)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT n FROM generate_series(1, 1000000) AS t(n), pg_class", "a look-up may find 100000 rows"),
        ("SELECT a.* FROM pg_type a, pg_type b, pg_type c, pg_type d", "a look-up may find 100000 rows"),
        ("SELECT string_agg(a.typname, '') OVER () FROM pg_type a, pg_type b, pg_type c", "33554432 bytes"),
        ("SELECT replace(replace('aaaa', 'a', 'bbbb'), 'b', 'cccc') AS x FROM pg_type", "with a longer text"),
        ("SELECT replace(typname, '', 'cccc') AS x FROM pg_type", "with a longer text"),
        ("SELECT replace(typname, typname, typname || typname) AS x FROM pg_type", "with a longer text"),
        ("SELECT regexp_replace(typname, 'a|', 'b', 'g') AS x FROM pg_type", "with a longer text"),
    ],
)
def test_look_up_that_finds_too_much_is_refused_before_it_takes_memory(server, query, said):
    with connect(server) as line:
        with pytest.raises(psycopg.Error, match=said):
            line.execute(query)
        assert line.execute("SELECT replace('a\"b', '\"', '') AS x").fetchone() == ("ab",)
        assert line.execute("SELECT regexp_replace('a\"b', '\"', '') AS x").fetchone() == ("ab",)


def mutated(rng, text):
    """A query of a tool with words left out, doubled, exchanged, or taken from others."""
    parts = text.split(" ")
    for _ in range(rng.randint(1, 5)):
        place, other = rng.randrange(len(parts)), rng.choice(SENT).split(" ")
        start = rng.randrange(len(other))
        match rng.randrange(4):
            case 0:
                parts[place : place + 1] = []
            case 1:
                parts.insert(
                    place, rng.choice([*other, "(", ")", ",", "'", "||", "::text", "[1]", "/*", "$1", "WITHIN 1e6"])
                )
            case 2:
                parts[place:place] = other[start : start + rng.randint(1, 8)]
            case 3:
                parts[place] = rng.choice(parts)
        parts = parts or [""]
    return " ".join(parts)


@pytest.mark.parametrize("seed", range(rounds(4)))
def test_queries_of_tools_that_are_spoilt_fail_in_words(server, seed):
    rng = random.Random(seed)
    with connect(server, options="-c max_error=1000000 -c charge=0.0001") as line, psycopg.RawCursor(line) as cursor:
        for _ in range(50):
            sql = mutated(rng, rng.choice([*SENT, *ASKED]))
            try:
                cursor.execute(sql.encode())
                said = repr(cursor.fetchall() if cursor.description else "")
            except psycopg.Error as problem:
                said = str(problem)
                assert problem.sqlstate not in (None, "XX000"), (sql, said)
            assert not holds_canary(said), sql


def chain(step, levels=26):
    """A query that joins a text with itself again and again."""
    tables = [f"a{one} AS (SELECT {step} AS x FROM a{one - 1})" for one in range(1, levels)]
    whole = ", ".join(["a0 AS (SELECT 'xxxxxxxxxxxxxxxx' AS x)", *tables])
    return f"WITH {whole} SELECT length(x) FROM a{levels - 1}, pg_class"


@pytest.mark.parametrize(
    "step",
    [
        "x || x",
        "concat(x, x)",
        "x || '' || x",
        "array_to_string(ARRAY[x, x], '')",
        "'' || (SELECT x || x)",
        "replace(x, 'x', 'xx')",
    ],
)
def test_text_that_is_joined_with_itself_stays_short(server, step):
    with connect(server) as line:
        assert line.execute(chain(step)).fetchall()[0] == (10000,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT generate_series(1, 1000000000)",
        "SELECT generate_series(1, 1000 * 1000000) FROM pg_class",
        "SELECT n FROM unnest(generate_series(1, 1000000000)) AS t(n), pg_class",
        "SELECT count(*) FROM pg_class WHERE 1 = ANY(generate_series(1, 1000000000))",
    ],
)
def test_series_that_would_fill_the_memory_is_refused(server, query):
    with connect(server) as line, pytest.raises(psycopg.Error, match=r"is not in the system catalogue|cannot be read"):
        line.execute(query)
    serves(server)


def test_long_texts_are_read_outside_of_the_event_loop(server, monkeypatch):
    """Reading twenty thousand signs takes a tenth of a second, in which nobody else would be heard."""
    where = []

    def noted(read):
        def reading(*arguments):
            where.append(threading.current_thread().name)
            return read(*arguments)

        return reading

    monkeypatch.setattr(session, "statements", noted(session.statements))
    monkeypatch.setattr(session_questions, "asked", noted(session_questions.asked))
    with connect(server) as line:
        for prepare in (False, True):
            where.clear()
            long = f"SELECT a FROM (SELECT count(*) AS a FROM pay) AS t WHERE a IN ({'1, ' * 3000}120)"
            assert line.execute(long, prepare=prepare).fetchone() == (120,)
            assert len(where) > 1 and all(one.startswith("errorfloor-questions") for one in where)
            assert line.execute("SELECT count(*) AS a FROM pay", prepare=prepare).fetchone() == (120,)
            assert not where[-1].startswith("errorfloor-questions")  # what is short waits for nobody
    serves(server)
