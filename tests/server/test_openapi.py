"""The OpenAPI description is true: schemathesis finds nothing, and its examples work."""

import subprocess
import sys
from pathlib import Path

import pytest

from errorfloor.service import open_database
from errorfloor.service.example import example_database
from followed_house import House
from serving import served, write_pay

# A text can fit any schema and still be no question, so 422 is a good answer to data that fits the description.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404, 409, 422]
"""


def schemathesis(server, folder, *options):
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", folder / "schemathesis.toml", "run", f"{server.url}/openapi.json"]
    headers = ["-H", f"Authorization: Bearer {server.tokens['analyst']}"]
    fixed = ["--seed", "20260724", "--generation-database", "none", "--warnings", "off"]
    done = subprocess.run([*command, *headers, *fixed, *options], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_schemathesis_finds_nothing(tmp_path):
    with open_database(write_pay(tmp_path, floor=10.0)) as database, served(database, tmp_path) as server:
        options = ["--phases", "examples,coverage,fuzzing", "--max-examples", "1"]
        code, said = schemathesis(server, tmp_path, *options)
    assert code == 0, said
    assert "30 selected / 30 total" in said
    assert "✅ 30 passed" in said, said


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    with example_database() as database, served(database, tmp_path_factory.mktemp("example")) as server:
        yield server


def test_every_example_of_a_request_is_answered(example):
    client = example.client("owner")
    description = client.get("/openapi.json").json()
    tried = []
    for path, methods in description["paths"].items():
        if path.startswith("/v1/following"):  # these need months: below
            continue
        for method, operation in methods.items():
            for kind in operation.get("requestBody", {}).get("content", {}).values():
                name = kind["schema"]["$ref"].rpartition("/")[2]
                for sample in description["components"]["schemas"][name]["examples"]:
                    reply = client.request(method, path.format(name="cars"), json=sample)
                    assert reply.status_code == 200, (path, reply.text)
                    tried.append(path)
    assert sorted(tried) == [
        "/v1/ask",
        "/v1/columns",
        "/v1/designs",
        "/v1/plan",
        "/v1/price",
        "/v1/questions",
        "/v1/questions/remove",
        "/v1/reconcile",
        "/v1/simulate",
        "/v1/streams/{name}/answers",
    ]


def test_every_example_of_following_is_answered(tmp_path):
    house = House(tmp_path)
    house.register("1", 4)
    with house.open() as database, served(database, tmp_path) as server:
        client = server.client("owner")
        description = client.get("/openapi.json").json()
        name = "none yet"
        paths = [path for path in description["paths"] if path.startswith("/v1/following")]
        assert len(paths) == 7
        for path in paths:  # in the order in which they are described: cancelled last
            for method, operation in description["paths"][path].items():
                samples = [None]
                for kind in operation.get("requestBody", {}).get("content", {}).values():
                    schema = kind["schema"]["$ref"].rpartition("/")[2]
                    samples = description["components"]["schemas"][schema]["examples"]
                for sample in samples:
                    reply = client.request(method, path.format(id=name), json=sample)
                    assert reply.status_code == 200, (path, reply.text)
                    name = reply.json().get("id", name)
        assert reply.json()["cancelled"]


def test_every_route_describes_its_failures_in_the_one_shape(example):
    description = example.client(None).get("/openapi.json").json()
    for path, methods in description["paths"].items():
        for operation in methods.values():
            if path in ("/healthz", "/readyz"):
                assert "security" not in operation
                continue
            assert operation["security"] == [{"HTTPBearer": []}]
            assert {"200", "401", "429", "503"} <= set(operation["responses"])
            for status, reply in operation["responses"].items():
                if status != "200":
                    assert reply["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Failure"}


def test_no_page_of_documentation_loads_from_elsewhere(example):
    client = example.client("owner")
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
