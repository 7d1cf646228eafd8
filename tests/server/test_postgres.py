"""The PostgreSQL door: who comes in, what is free, what is charged, what a session can say."""

import csv
import datetime
import io
import threading
import time
from decimal import Decimal

import psycopg
import pytest
from psycopg.generators import execute

from errorfloor.access.token import Terms
from errorfloor.server import Role, TokenFile
from serving import holds_canary, self_signed, served

MEAN = "SELECT avg(wage) AS mean FROM pay"


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("postgres"), postgres=0) as here:
        yield here


def connect(server, role="analyst", **options):
    place = {"host": "127.0.0.1", "port": server.postgres, "dbname": "errorfloor", "autocommit": True}
    who = {"user": f"{role}-1", "password": server.tokens.get(role)}
    return psycopg.connect(**{**place, **who, **options})


@pytest.fixture
def line(server):
    with connect(server) as here:
        yield here


def sent(line, how, *what):
    """The last result of a call of libpq; its own calls that wait would stop this process, and so the server."""
    getattr(line.pgconn, how)(*what)
    return line.wait(execute(line.pgconn))[-1]


def bound():
    """A bound narrower than any other test has asked with: a wider one would follow from what was released."""
    bound.last += 1
    return 1e6 - bound.last


bound.last = 0


def spent(database):
    return [one.spent for one in database.left()]


def test_a_value_that_no_row_has_is_a_notice(line):
    heard = []
    line.add_notice_handler(lambda one: heard.append(one.message_primary))
    assert line.execute("SELECT count(*) AS n FROM pay WHERE team = 'Zeppelin'").fetchall() == [(0,)]
    assert any("No row of pay has team = 'Zeppelin': there are " in text for text in heard)


def test_bounds_that_a_session_sets_for_other_questions_go_without_saying(line):
    heard = []
    line.add_notice_handler(lambda one: heard.append(one.message_primary))
    line.execute("SET charge = on")
    line.execute(f"SET max_error = 'mean={bound()}, other=5'")
    for statement in (MEAN, f"PRICE {MEAN}"):
        line.execute(statement)
        assert "mean is certainly within" in heard[-1] and "no output" not in heard[-1]


# -- who comes in


@pytest.mark.parametrize(
    "who",
    [{"password": "ef_0_wrong"}, {"user": "nobody"}, {"user": "reader-1"}, {"user": ""}, {"user": "x" * 5000}],
    ids=["password", "user", "another's name", "no name", "a long name"],
)
def test_who_is_not_known_is_told_the_same_whatever_is_wrong(server, who):
    with pytest.raises(psycopg.OperationalError, match="the server does not know this token"):
        connect(server, **who)


def test_token_counts_by_its_name_or_id_and_the_newest_of_a_name(database, tmp_path):
    tokens = TokenFile(None)
    (old, old_text), (new, new_text) = (tokens.create("anna", Role.ANALYST) for _ in range(2))
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        connect(server, user="anna", password=new_text).close()
        connect(server, user=old.id, password=old_text).close()
        with pytest.raises(psycopg.OperationalError, match="does not know"):
            connect(server, user="anna", password=old_text)
        with connect(server, user="anna", password=new_text) as line:
            assert line.execute("SHOW charge").fetchone() == ("off",)
            tokens.revoke(new.id)
            with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification, match="was revoked"):
                line.execute("SELECT 1")


def test_terms_of_a_token_hold(database, tmp_path):
    tokens = TokenFile(None)
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    _, late = tokens.create("late", Role.ANALYST, Terms(expires=past))
    _, far = tokens.create("far", Role.ANALYST, Terms(addresses=("10.0.0.0/8",)))
    _, poor = tokens.create("poor", Role.ANALYST, Terms(question=1e-9))
    _, blind = tokens.create("blind", Role.ANALYST, Terms(tables=("others",)))
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        with pytest.raises(psycopg.OperationalError, match="has expired"):
            connect(server, user="late", password=late)
        with pytest.raises(psycopg.OperationalError, match=r"may not be used from 127\.0\.0\.1"):
            connect(server, user="far", password=far)
        with (
            connect(server, user="poor", password=poor) as line,
            pytest.raises(psycopg.Error, match="exceed the quota"),
        ):
            line.execute("SET charge = on")
            line.execute(f"{MEAN} WITHIN {bound()}")
        with connect(server, user="blind", password=blind) as line:
            assert line.execute("SELECT * FROM pg_tables").fetchall() == []
            with pytest.raises(psycopg.errors.UndefinedTable, match="not a declared table"):
                line.execute(f"{MEAN} WITHIN {bound()}")


def test_failed_attempts_are_limited_by_address(database, tmp_path):
    with served(database, tmp_path, postgres=0, failures=3) as server:
        for _ in range(3):
            with pytest.raises(psycopg.OperationalError, match="does not know"):
                connect(server, password="wrong")
        with pytest.raises(psycopg.OperationalError, match="too many failed attempts"):
            connect(server, password="wrong")
        connect(server).close()  # one stale tool behind a shared address must not stop everybody


def test_tls_is_offered_and_the_proof_is_bound_to_it(database, tmp_path):
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    certificate, key = self_signed()
    (tmp_path / "host.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (tmp_path / "host.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    files = {"cert": tmp_path / "host.pem", "key": tmp_path / "host.key"}
    with served(database, tmp_path, postgres=0, **files) as server:
        options = {"sslmode": "verify-ca", "sslrootcert": str(files["cert"]), "channel_binding": "require"}
        with connect(server, **options) as line:
            assert line.pgconn.ssl_in_use
            assert line.execute("SELECT 1").fetchone() == (1,)
        connect(server, sslmode="disable").close()  # on this machine nobody listens


# -- what is free, and what is charged


def test_what_was_not_released_is_refused_with_its_price_and_nothing_is_charged(line, database):
    before = spent(database)
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as refused:
        line.execute(f"{MEAN} WITHIN {bound()}")
    said = refused.value.diag
    assert "it would take less than 0.1 % of the allowance of pay.wage" in said.message_primary
    assert "SET charge = on" in said.message_hint and '"code": "allowance"' in said.message_detail
    assert spent(database) == before


def test_refreshing_a_dashboard_is_free(server, database):
    exact = bound()
    with connect(server) as first:
        first.execute("SET charge = on")
        row = first.execute(f"{MEAN} WITHIN {exact}").fetchone()
    before = spent(database)
    with connect(server, "reader") as other:
        assert other.execute(f"select AVG(wage) as mean from pay within {exact}").fetchone() == row
    assert spent(database) == before


def test_public_answers_are_free_for_everybody(server):
    with connect(server, "reader") as line:
        assert line.execute("SELECT team, count(*) FROM pay GROUP BY team").fetchall()[0] == ("a'b", 40)


def test_reader_cannot_spend_whatever_the_session_says(server, database):
    before = spent(database)
    with connect(server, "reader") as line:
        line.execute("SET charge = on")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="nothing may be charged for it here"):
            line.execute(f"{MEAN} WITHIN {bound()}")
    assert spent(database) == before


def test_session_limits_what_a_question_and_a_day_may_take(server, database):
    with connect(server, options="-c charge=1e-9") as line:
        before = spent(database)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="in one question"):
            line.execute(f"{MEAN} WITHIN {bound()}")
        line.execute("SET charge = 0.5")
        line.execute("SET charge_per_day = 0.0000015")
        line.execute(f"{MEAN} WITHIN {bound()}")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="exceed the quota"):
            line.execute(f"{MEAN} WITHIN {bound()}")
        assert spent(database) != before


def test_describing_a_question_charges_nothing_and_names_its_columns(line, database):
    before = spent(database)
    line.execute("SET charge = on")
    keys = "team, age, hired"
    query = f"SELECT {keys}, avg(wage) AS mean, count(*) AS n FROM pay WHERE age > $1 GROUP BY {keys} WITHIN {bound()}"
    sent(line, "send_prepare", b"asked", query.encode())
    found = sent(line, "send_describe_prepared", b"asked")
    names = [found.fname(place).decode() for place in range(found.nfields)]
    kinds = [found.ftype(place) for place in range(found.nfields)]
    assert names == ["team", "age", "hired", "mean", "n", "mean_low", "mean_high"]
    assert kinds == [25, 20, 1082, 701, 20, 701, 701]
    assert [found.param_type(0)] == [20]
    assert spent(database) == before


def test_price_is_given_as_rows(line, database):
    before = spent(database)
    found = line.execute(f"PRICE {MEAN.replace('wage', 'wage + 8')} WITHIN 1000000").fetchall()
    assert found[0][:4] == ("output", "mean", 1e6, "EUR")
    assert found[1][:2] == ("account", "pay.wage") and 0 < found[1][4] < 1e-3 and found[1][6] is True
    assert spent(database) == before


def test_a_median_comes_with_its_certain_interval(line):
    line.execute("SET charge = on")
    middle = "percentile_cont(0.5) WITHIN GROUP (ORDER BY wage)"
    found = line.execute(f"SELECT {middle} AS middle FROM pay WITHIN 100000000")
    assert [column.name for column in found.description] == ["middle", "middle_low", "middle_high"]
    middle, low, high = found.fetchone()
    assert low <= middle <= high


def test_guarantee_comes_as_a_notice_unless_notices_are_off(line):
    said = []
    line.add_notice_handler(lambda notice: said.append(notice.message_primary))
    line.execute("SET charge = on")
    line.execute(f"{MEAN} WITHIN {bound()}")
    assert len(said) == 1 and "mean is certainly within ±" in said[0] and "times in 100" in said[0]
    line.execute("SET client_min_messages = warning")
    line.execute(f"{MEAN} WITHIN {bound()}")
    assert len(said) == 1


# -- what a session can say


def test_exactness_is_set_for_the_session_and_said_in_a_statement(line):
    mean = MEAN.replace("wage", "wage + 7")  # which nobody else has asked
    line.execute("SET charge = on")
    line.execute("SET max_error = 2000000")
    low, high = line.execute(f"{mean}").fetchone()[1:]
    assert high - low == pytest.approx(4e6)
    low, high = line.execute(f"/*+ max_error=1000000 */ {mean} -- as told").fetchone()[1:]
    assert high - low == pytest.approx(2e6)
    line.execute("SET spend = 0.0001")
    assert line.execute("SHOW max_error").fetchone() == ("",)
    low, high = line.execute(mean).fetchone()[1:]
    assert 0 < high - low < 2e6
    line.execute("SET bounds = off")
    assert [column.name for column in line.execute(mean).description] == ["mean"]
    line.execute("RESET ALL")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="give one of max_error, spend and support"):
        line.execute(MEAN)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("SET max_eror = 0.5", "there is no setting 'max_eror': did you mean max_error?"),
        ("SET max_error = -1", "max_error must be a number above 0"),
        ("SET max_error = nan", "max_error must be a number above 0"),
        ("SET spend = 2", "spend is a share of the whole allowance"),
        ("SET bounds = perhaps", "bounds is on or off"),
        ("SET charge = 7", "charge is on, off, or a share"),
        ("SET client_encoding = latin1", "client_encoding is UTF8"),
        ("SHOW nothing", "there is no setting 'nothing'"),
        (f"/*+ max_eror=1 */ {MEAN}", "cannot be read"),
        ("INSERT INTO pay VALUES (1)", "a question begins with SELECT or WITH"),
        ("SELECT pg_read_file('/etc/passwd')", "is not in the system catalogue"),
        ("SELECT * FROM pg_class, read_text('/etc/passwd')", "is not in the system catalogue"),
        ("SELECT repeat('x', 1000000000)", "is not in the system catalogue"),
        ("WITH RECURSIVE t AS (SELECT 1) SELECT * FROM t, pg_class", "is not in the system catalogue"),
    ],
)
def test_what_cannot_be_is_refused_in_words(line, told, said):
    with pytest.raises(psycopg.Error, match=said.replace("?", r"\?").replace("(", r"\(")):
        line.execute(told)
    assert line.execute("SELECT 1").fetchone() == (1,)


def test_transactions_end_and_take_settings_back(server):
    with connect(server, autocommit=False) as line:
        line.execute("SET max_error = 5")
        line.rollback()
        assert line.execute("SHOW max_error").fetchone() == ("",)
        line.execute("SET max_error = 6")
        line.commit()
        assert line.execute("SHOW max_error").fetchone() == ("6",)
        with pytest.raises(psycopg.Error):
            line.execute("SELECT nothing FROM pay")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction, match="ROLLBACK ends it"):
            line.execute("SELECT 1")
        line.rollback()
        with pytest.raises(psycopg.Error), line.transaction():
            line.execute("SELECT nothing FROM pay")
        assert line.execute("SELECT 1").fetchone() == (1,)


def test_what_is_set_locally_ends_with_its_transaction(server):
    with connect(server) as line:

        def shown(name="charge"):
            return line.execute(f"SHOW {name}").fetchone()[0]

        for ending in ("COMMIT", "ROLLBACK", "END"):
            line.execute("BEGIN")
            line.execute("SET LOCAL charge = on")
            line.execute("set local max_error = 7")
            assert (shown(), shown("max_error")) == ("on", "7")
            line.execute("SET bounds = off")
            line.execute(ending)
            assert (shown(), shown("max_error")) == ("off", "")
            assert shown("bounds") == ("on" if ending == "ROLLBACK" else "off")
            line.execute("RESET ALL")
        with pytest.raises(psycopg.Error, match="SET LOCAL charge lasts until the end of a transaction"):
            line.execute("SET LOCAL charge = on")
        line.execute("SET LOCAL statement_timeout = 5000")  # means nothing here, as tools may say it
        assert (shown(), shown("statement_timeout")) == ("off", "0")


def test_several_statements_in_one_text_stop_at_the_first_failure(line):
    found = sent(line, "send_query", b"SELECT 1; SELECT 'a;b' AS x; SELECT nothing FROM pay; SELECT 2")
    assert found.status == psycopg.pq.ExecStatus.FATAL_ERROR
    assert sent(line, "send_query", b" ; -- nothing\n").status == psycopg.pq.ExecStatus.EMPTY_QUERY


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_values_and_never_sql(line, binary):
    count = "SELECT count(*) FROM pay WHERE"
    form = "%b" if binary else "%t"
    assert line.execute(f"{count} age > {form}", (40,)).fetchone() == (57,)
    assert line.execute(f"{count} age > {form} AND age < {form}", (-5, 2**40)).fetchone() == (120,)
    assert line.execute(f"{count} age > {form}", (40.5,)).fetchone() == (57,)
    assert line.execute(f"{count} team = {form}", ("a'b",)).fetchone() == (40,)
    assert line.execute(f"{count} team = {form}", ("x' OR 'a' = 'a",)).fetchone() == (0,)
    assert line.execute(f"{count} hired < {form}", (datetime.date(2002, 3, 4),)).fetchone() == (42,)
    assert line.execute(f"{count} team IN ({form}, {form})", ("north", "süd")).fetchone() == (80,)
    assert line.execute(f"{count} age > {form}", (Decimal("40.5"),)).fetchone() == (57,)
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match=r"parameter \$1 is not a value of type int8"):
        line.execute(f"{count} age > %t", ("forty",))


COPIED = (
    "SELECT team, hired, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY team, hired ORDER BY team, hired LIMIT 7"
)


def test_rows_are_copied_as_they_are_selected(line):
    line.execute("SET charge = on")
    asked = f"{COPIED} WITHIN {bound()}"
    found = line.execute(asked).fetchall()
    kinds = ["text", "date", "float8", "int8", "float8", "float8"]
    for form in ("binary", "text"):
        with line.cursor().copy(f"COPY ({asked}) TO STDOUT (FORMAT {form})") as copy:
            copy.set_types(kinds)
            assert list(copy.rows()) == found
    with line.cursor().copy(f"copy ({asked}) to stdout with (format csv, header)") as copy:
        names, *rows = csv.reader(io.StringIO(b"".join(copy).decode()))
    assert names == ["team", "hired", "mean", "n", "mean_low", "mean_high"]
    assert [(row[0], row[1], float(row[2])) for row in rows] == [(row[0], str(row[1]), row[2]) for row in found]
    with line.cursor().copy("COPY (SELECT count(*) FROM pay) TO STDOUT") as copy:
        assert b"".join(copy) == b"120\n"
    assert line.execute("SELECT 1").fetchone() == (1,)


def test_names_may_have_their_schema_before_them(line):
    for table in ("public.pay", '"public"."pay"', '"errorfloor"."public"."pay"'):
        asked = f'SELECT "public"."pay"."team" AS team, count(*) AS n FROM {table} GROUP BY "public"."pay"."team"'
        assert line.execute(asked).fetchall()[0] == ("a'b", 40)
    for table in ("main.pay", "other.public.pay", "pg_temp.pay"):
        with pytest.raises(psycopg.Error):
            line.execute(f"SELECT count(*) FROM {table}")


def test_nothing_is_copied_that_would_be_refused(line, database):
    before = spent(database)
    for told, said in (
        (f"COPY ({MEAN} WHERE age > 21 WITHIN {bound()}) TO STDOUT", "nothing may be charged"),
        ("COPY (SELECT wage FROM pay) TO STDOUT (FORMAT binary)", "wage"),
        ("COPY pay TO STDOUT", "write COPY"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER '|')", "write COPY"),
        ("COPY (SELECT 1) TO '/tmp/x'", "write COPY"),
        ("COPY pay FROM STDIN", "write COPY"),
        ("COPY (SELECT 1) TO PROGRAM 'ls'", "write COPY"),
    ):
        with pytest.raises(psycopg.Error, match=said):
            sent_to(line, told)
    assert spent(database) == before
    assert line.execute("SELECT 1").fetchone() == (1,)


def sent_to(line, text):
    with line.cursor().copy(text) as copy:
        list(copy)


def test_question_is_cancelled_before_its_charge_and_not_after(server, database, monkeypatch):
    honest, entered, go_on = database.__class__._asking, threading.Event(), threading.Event()

    def slow(self, *given):
        entered.set()
        go_on.wait(20)
        return honest(self, *given)

    monkeypatch.setattr(database.__class__, "_asking", slow)
    with connect(server) as line:
        line.execute("SET charge = on")
        before = spent(database)
        timer = threading.Thread(target=lambda: (entered.wait(20), line.cancel_safe()))
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="before anything was charged"):
            line.execute(f"{MEAN} WITHIN {bound()}")
        go_on.set()
        timer.join()
        monkeypatch.undo()
        time.sleep(0.2)
        assert spent(database) == before
        assert line.execute("SELECT 1").fetchone() == (1,)


def test_audit_log_and_metrics_tell_of_questions_and_never_a_number(server, line):
    line.execute("SET charge = on")
    line.execute(f"{MEAN} WITHIN {bound()}")
    with pytest.raises(psycopg.Error):
        line.execute("SELECT wage FROM pay")
    found = [one for one in server.audited() if one["route"] == "postgresql"]
    assert any(one["method"] == "START" and one["sign_in"] == "done" and one["who"] == "analyst-1" for one in found)
    charged = [one for one in found if one["method"] == "SELECT" and one.get("fresh") == [True]]
    assert charged and charged[-1]["status"] == 200 and charged[-1]["charges"]["pay.wage"] > 0
    assert any(one["code"] == "refused" and one["status"] == 422 for one in found)
    assert not holds_canary(server.audit.read_text())
    text = server.client("owner").get("/metrics").text
    assert 'route="postgresql"' in text and not holds_canary(text)


def test_rate_of_a_token_holds_for_both_doors_together(database, tmp_path):
    with served(database, tmp_path, postgres=0, rate=0.001, burst=3) as server, connect(server) as line:
        line.execute("SELECT count(*) FROM pay")
        line.execute("SELECT count(*) FROM pay", prepare=False)
        assert server.client("analyst").get("/v1/tables").status_code == 200
        with pytest.raises(psycopg.errors.InsufficientResources, match="requests per second"):
            line.execute("SELECT count(*) FROM pay")
        assert server.client("analyst").get("/v1/tables").status_code == 429
