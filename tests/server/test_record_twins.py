"""To whoever has a token a table with one patient and one without say the same, released numbers apart."""

import json
import re
import shutil

import psycopg
import pytest

from errorfloor.service import open_database
from joined import write_joined
from patients import visits, write_patients
from serving import served
from twins import RELEASED

ASKED = (
    "SELECT count(*) AS n FROM patients WHERE age = 43",
    "SELECT region, count(*) AS n, sum(cost) AS s FROM patients WHERE sex = 'f' GROUP BY region ORDER BY region",
    "SELECT age, count(*) AS n FROM patients GROUP BY age",
    "SELECT count(*) FILTER (WHERE 1 / (age - 43) > 0) AS n FROM patients",
    "SELECT sum(CASE WHEN age = 43 THEN 1e30 ELSE 0 END) AS n FROM patients",
    "SELECT sum(cost * cost * cost * cost * cost * cost) AS n FROM patients",
    "SELECT sex, count(*) AS n FROM patients WHERE sex = 'F' GROUP BY sex",
    "SELECT sex, count(*) AS n FROM patients GROUP BY sex HAVING count(*) > 0",
    "SELECT DISTINCT age FROM patients",
    "SELECT max(age) FROM patients",
    "SELECT count(*) AS n FROM patients WHERE patient = 'P7'",
    "SELECT count(*) AS n FROM patients a JOIN patients b ON a.age = b.age",
    "SELECT count(*) AS n FROM patients LIMIT 0",
)
SAID = re.compile(r"\"(id|label|labels|hash|request|time|identity|key)\": ?(\"[^\"]*\"|\[[^]]*\])")


def plain(body):
    """Give a reply without what is drawn at random, and without released numbers."""
    said = json.loads(body)
    for cell in said.get("cells", []) if isinstance(said, dict) else []:
        for output in cell["outputs"].values():
            output.update({name: 0 for name in RELEASED if name in output})
    if isinstance(said, dict) and "cells" in said:
        said["rows"] = [len(row) for row in said["rows"]]
    return SAID.sub("", json.dumps(said, sort_keys=True))


def outside(path, folder):
    """Everything that an analyst's token obtains."""
    seen = []
    folder.mkdir()
    with open_database(path) as database, served(database, folder) as here, here.client("analyst") as client:
        for sql in ASKED:
            for wish in ({"max_error": 5000}, {"spend": 0.002}, {"max_error": 2}, {"max_error": 100, "dry": True}):
                for door in ("price", "simulate", "ask"):
                    if door == "ask" and wish.get("max_error") == 2:
                        continue
                    reply = client.post(f"/v1/{door}", json={"sql": sql, **wish})
                    size = sorted(set(reply.headers) - {"content-length"})
                    seen.append((door, sql, reply.status_code, size, plain(reply.content)))
        for place in (
            "/v1/tables",
            "/v1/ledger",
            "/v1/ledger/entries",
            "/v1/ledger/known",
            "/v1/streams",
            "/v1/openapi.json",
        ):
            reply = client.get(place)
            body = re.sub(r"\"bytes\": ?\d+", "", plain(reply.content)) if reply.status_code == 200 else ""
            seen.append((place, reply.status_code, body))
    return seen


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_but_released_numbers_tells_whether_a_patient_is_there(tmp_path):
    everybody = visits()
    assert any(row["patient"] == "P7" for row in everybody)
    with_them = write_patients(tmp_path / "with" / "here", everybody)
    without = write_patients(tmp_path / "less" / "here", [row for row in everybody if row["patient"] != "P7"])
    first, second = (outside(path, tmp_path / name) for path, name in ((with_them, "one"), (without, "two")))
    for one, two in zip(first, second, strict=True):
        assert one == two
    assert sum(one[2] == 200 for one in first) > 20


JOINS = (
    "SELECT r.district, count(*) AS n, sum(r.income) AS s FROM patients p JOIN regions r USING (region) GROUP BY 1",
    "SELECT b.band, avg(b.weight) AS w FROM patients p LEFT JOIN bands b ON p.age = b.age GROUP BY b.band",
    "SELECT count(*) AS n FROM patients p JOIN bands b ON p.age = b.age WHERE b.age = 43 AND p.sex = 'f'",
    "SELECT count(*) FROM regions r JOIN patients p ON p.region = r.region",
)
TIMES = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
CLOCKED = re.compile(rb"^(# HELP |# TYPE )?errorfloor_http_request_duration.*\n|^[^\n]*_created.*\n", re.M)
OWN_HEADERS = ("date", "x-request-id", "content-security-policy", "set-cookie")  # another time, and a nonce, each time
NONCE = re.compile(rb"nonce=\"[^\"]*\"")
SEALED = re.compile(rb"\"bytes\": ?\d+")  # of a kept answer: its numbers are compressed
REPLY_FORMS = ("application/json", "text/csv", "application/vnd.apache.arrow.stream")


def byte_for_byte(path, folder):
    """Everything that a token obtains, as bytes; of answers what is beside their numbers."""
    seen = []

    def keep(what, reply, *, released=False):
        headers = {name: value for name, value in reply.headers.items() if name not in OWN_HEADERS}
        body = SEALED.sub(b"", NONCE.sub(b"", TIMES.sub(b"", CLOCKED.sub(b"", reply.content))))
        if body != reply.content or released:
            headers.pop("content-length", None)
        if released:
            body = plain(body) if "json" in headers["content-type"] else b""
        seen.append((what, reply.status_code, headers, body))

    folder.mkdir()
    with open_database(path) as database, served(database, folder, postgres=0) as here:
        for role, questions in (("analyst", (*ASKED, *JOINS)), ("reader", (ASKED[3], JOINS[0]))):
            with here.client(role) as client:
                for sql in questions:
                    keep((role, "columns", sql), client.post("/v1/columns", json={"sql": sql}))
                    for wish in (
                        {"max_error": 4000},
                        {"spend": 0.001},
                        {"max_error": 3},
                        {"max_error": 99, "dry": True},
                    ):
                        given = {"sql": sql, **wish}
                        for door in ("price", "simulate"):
                            keep((role, door, sql, wish), client.post(f"/v1/{door}", json=given))
                        if wish.get("max_error") != 3:
                            for form in REPLY_FORMS:
                                reply = client.post("/v1/ask", json=given, headers={"accept": form})
                                keep((role, "ask", sql, wish, form), reply, released=reply.status_code == 200)
                asked = [{"sql": sql, "max_error": 4000} for sql in (ASKED[1], JOINS[0])]
                keep((role, "plan"), client.post("/v1/plan", json={"questions": asked}))
                paths = client.get("/openapi.json").json()["paths"]
                found = [place for place, ways in paths.items() if "get" in ways and "{" not in place]
                found += [
                    "/v1/tables/patients",
                    "/v1/tables/regions",
                    "/v1/tables/nobody",
                    "/v1/streams/x",
                    "/openapi.json",
                ]
                found += ["/v1/ledger?dry=true", "/v1/ledger/entries?limit=3&after=2", "/v1/tables?dry=true"]
                for place in (*found, "/", "/ask", "/ledger", "/about", "/plan", "/nowhere"):
                    keep((role, place), client.get(place))
        seen.extend(on_the_line(here))
    return seen


def on_the_line(here):
    """What a tool sees that speaks PostgreSQL: prices, refusals, names and types; of answers how many rows."""
    place = {"host": "127.0.0.1", "port": here.postgres, "dbname": "errorfloor", "autocommit": True}
    notices = []
    with psycopg.connect(**place, user="analyst-1", password=here.tokens["analyst"]) as line:
        line.add_notice_handler(lambda one: notices.append(one.message_primary))
        for sql in (*ASKED, *JOINS, "SELECT table_name FROM information_schema.tables ORDER BY 1"):
            for text in (f"PRICE {sql} WITHIN 4000", f"{sql} WITHIN 4000", sql):
                try:
                    cursor = line.execute(text)
                    rows = cursor.fetchall()
                    shown = rows if text.startswith("PRICE") or "information" in sql else len(rows)
                    yield text, [(one.name, one.type_code) for one in cursor.description], shown
                except psycopg.Error as problem:
                    yield text, problem.sqlstate, str(problem)
    yield notices


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_all_that_a_token_obtains_is_the_same_to_the_byte(tmp_path, monkeypatch):
    """The two houses have one key and one identity each, so that labels agree: nothing else is taken out."""
    everybody, paths = visits(80), []
    for name, rows in (("with", everybody), ("less", [row for row in everybody if row["patient"] != "P7"])):
        folder = tmp_path / name / "here"
        folder.mkdir(parents=True)
        if paths:
            shutil.copy(paths[0].parent / "keys.json", folder / "keys.json")
        with monkeypatch.context() as here:
            here.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
            paths.append(write_joined(folder, rows))
    first, second = (byte_for_byte(path, tmp_path / path.parent.parent.name[0]) for path in paths)
    for one, two in zip(first, second, strict=True):
        assert one == two
    assert sum(one[1] == 200 for one in first) > 200 and sum(one[1] == 422 for one in first) > 50
