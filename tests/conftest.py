"""Every run tries the same examples; one suite runs on every engine, and the engines are real.

``engine_place`` gives a test a fresh place on DuckDB, PostgreSQL and Spark in turn::

    def test_sums_are_exact(engine_place):
        with engines.open_engine(engine_place.place, engine_place.folder, read_only=False) as engine:
            ...

``duckdb_place``, ``postgresql_place`` and ``spark_place`` give one of them, ``every_place`` all of them at once.
PostgreSQL and Spark are each started by one worker of ``pytest -n`` at most (``workers.py``). An engine that
is not installed is not tested, and the last lines of the run say so; one that is installed and does not start fails.

``LEFT_OUT`` lists what ``make quick`` leaves out and why; every other test is quick.
"""

import gc
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded: workers would fight over the cores
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # half of Spark's time would go into compiling it

import pytest
from hypothesis import settings

import houses
import temporary
from chance import chance, install
from errorfloor.catalogue.model import Place
from repeated import rounds
from workers import SharedWork, group_of

settings.register_profile("errorfloor", derandomize=True, deadline=None, max_examples=rounds(30))
settings.load_profile("errorfloor")
install()
temporary.install()
os.environ["ERRORFLOOR_CACHE"] = "off"  # designs are computed; nothing is left on the disk of whoever runs the tests


def postgresql_programs() -> Path | None:
    """Give the folder of the newest initdb and pg_ctl; Debian keeps them off the search path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = str(debian[-1]) if debian else shutil.which("initdb")
    return Path(found).parent if found else None


NEEDS = {"duckdb": "", "postgresql": "PostgreSQL (apt-get install postgresql)", "spark": "Java 17 or newer"}
HERE = {
    "duckdb": True,
    "postgresql": postgresql_programs() is not None,
    "spark": shutil.which("java") is not None or "JAVA_HOME" in os.environ,
}
PARAMETERS = [pytest.param(name, id=name) for name, here in HERE.items() if here]


def files(folder: str, names: str) -> list[str]:
    """Give files of tests by the words after ``test_`` in their names."""
    return [f"{folder}/test_{name}.py" for name in names.split()]


LEFT_OUT = {  # by mark, folders and files that wear it; tests on PostgreSQL, on Spark and in the browser are found
    "clients": (*files("server", "postgres_clients"),),
    "kills": (
        *files("bulk", "kills"),
        *files("ledger", "crashes processes"),
        *files("server", "live_registration postgres_processes processes"),
        *files("service", "following_kept kept"),
        *files("vault", "part_kills"),
    ),
    "long": (
        *("attacks", "designer", "documentation", "examples", "finite_elements", "joint", "paper", "performance"),
        *("plots", "policies"),
        *files("bulk", "charged_release order register release release_by_part"),
        *files("catalogue", "allowance"),
        *files("cli", "commands demo encodings init"),
        *files("client", "same_face"),
        *files("dp", "hockey_stick properties several_dimensions"),
        *files("dynamics", "bounded car_example theorem_four"),
        *files("engines", "awkward_files"),
        *files("floors", "adversary any_estimator privacy_loss"),
        *files("noise", "information_from_samples jumps lattice samples samples_of_vectors scaling_laws"),
        *files("pricing", "soundness"),
        *files("repo", "extras packages"),
        *files("server", "columns grid identity_provider openapi operations postgres_catalogue postgres_hostile"),
        *files("server", "postgres_sessions record_twins serve_command streams tool_habits twins workshop"),
        *files("service", "asked_after_restart bound_of_each_cell by_parts cost_per_cell custody engines_agree"),
        *files("service", "five_years growing"),
        *files("service", "loss_so_far owners_apart owners_by_joining owners_per_period plan public_cost"),
        *files("service", "public_facts_only public_operations quantiles record_twins records registers"),
        *files("service", "runbook"),
        *files("streams", "streams"),
        *files("vault", "registration"),
    ),
}
HERE_ARE_TESTS = Path(__file__).parent
MARKS = {"spark": "engines", "postgresql": "engines", "browser": "browser"}  # of what tests share


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is left out whole need not be read."""
    marks = [mark for mark in marks_of(collection_path) if f"not {mark}" in config.option.markexpr]
    return True if marks else None


def marks_of(path: Path) -> list[str]:
    """Give the marks that LEFT_OUT declares for a file, or for a folder as a whole."""
    if not path.is_relative_to(HERE_ARE_TESTS):
        return []
    place = path.relative_to(HERE_ARE_TESTS).as_posix()
    return [mark for mark, places in LEFT_OUT.items() if place.startswith(places)]


def pytest_collection() -> None:
    """What is collected stays until the end: the collector of garbage need not look through it again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # modules find nothing leaked when Python ends


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as LEFT_OUT says; those that take longest begin, so that no worker waits for another in the end."""
    begin = dict.fromkeys(items, 3)
    for item in items:
        group = group_of(item.nodeid)
        if group in MARKS:
            item.add_marker(MARKS[group])
            begin[item] = list(MARKS).index(group) // 2
        for mark in marks_of(item.path):
            item.add_marker(mark)
            begin[item] = min(begin[item], 2)
        if item.path.is_relative_to(HERE_ARE_TESTS) and isinstance(item, pytest.Function) and repeats(item.function):
            item.add_marker("soak")
    items.sort(key=begin.__getitem__)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every test draws its own keys, whatever ran before it."""
    chance.begin(item.nodeid)
    houses.begin(item)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Iterator[None]:
    """What tests share draws the same keys, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with chance.aside(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> SharedWork:
    """Keep together what shares something."""
    return SharedWork(config, log)


def repeats(function: Callable[..., object]) -> bool:
    """Tell whether a test tries at random, as often as ``rounds`` says or as Hypothesis is told to above."""
    return hasattr(function, "hypothesis") or "rounds" in function.__code__.co_names


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name, here in HERE.items():
        if not here:
            terminalreporter.write_line(f"NOT TESTED on {name}: {NEEDS[name]} is not installed", yellow=True)


@dataclass(frozen=True)
class EnginePlace:
    """Where a test may keep snapshots: ``place`` is declared relative to ``folder``, both new and empty."""

    place: Place
    folder: Path

    @property
    def name(self) -> str:
        return self.place.engine


@pytest.fixture(params=PARAMETERS)
def engine_place(request: pytest.FixtureRequest, tmp_path: Path) -> EnginePlace:
    """A fresh place on each installed engine in turn."""
    return _place(request.param, request, tmp_path)


@pytest.fixture
def duckdb_place(tmp_path: Path) -> EnginePlace:
    """A fresh place on DuckDB, which needs no server."""
    return EnginePlace(Place(), tmp_path)


@pytest.fixture(params=[parameter for parameter in PARAMETERS if parameter.id == "postgresql"])
def postgresql_place(request: pytest.FixtureRequest, tmp_path: Path) -> EnginePlace:
    """A fresh database on PostgreSQL."""
    return _place("postgresql", request, tmp_path)


@pytest.fixture(params=[parameter for parameter in PARAMETERS if parameter.id == "spark"])
def spark_place(request: pytest.FixtureRequest, tmp_path: Path) -> EnginePlace:
    """A fresh folder for Spark."""
    return _place("spark", request, tmp_path)


@pytest.fixture(params=[pytest.param(tuple(name for name in HERE if HERE[name]), id="every-engine")])
def every_place(request: pytest.FixtureRequest, tmp_path: Path) -> list[EnginePlace]:
    """A fresh place on every installed engine at once, DuckDB first, all with the same folder for sources."""
    return [_place(name, request, tmp_path) for name in request.param]


def _place(name: str, request: pytest.FixtureRequest, folder: Path) -> EnginePlace:
    if name == "postgresql":
        return EnginePlace(Place(engine="postgresql", snapshots=request.getfixturevalue("postgresql_database")), folder)
    if name == "spark":
        return EnginePlace(Place(engine="spark", snapshots="vault"), folder)
    return EnginePlace(Place(), folder)


@pytest.fixture
def postgresql_database(postgresql_server: str) -> Iterator[str]:
    """The URL of a new, empty database; it is gone after the test."""
    import psycopg

    database = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {database}")
        yield postgresql_server.replace("/postgres?", f"/{database}?")
        server.execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a real cluster in a temporary folder, on a socket there, sorting texts by English rules.

    English rules differ from the order of bytes, so a comparison that leaves the collation to the server shows itself.
    """
    programs = postgresql_programs()
    if programs is None:
        pytest.skip(f"{NEEDS['postgresql']} is not installed")
    folder = Path(tempfile.mkdtemp(prefix="errorfloor-pg-", dir="/tmp"))  # TMPDIR may be too long for a socket's name
    user: str | None = None
    if os.getuid() == 0:  # the server refuses to run as root
        known = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in known else "nobody"
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> str:
        output = folder / program
        with output.open("w") as written:  # a pipe would stay open in the server that pg_ctl leaves behind
            command = [programs / program, *arguments]
            done = subprocess.run(
                command, user=user, cwd=folder, stdin=subprocess.DEVNULL, stdout=written, stderr=written
            )
        assert done.returncode == 0, f"{program} failed: {output.read_text()}"
        return output.read_text()

    data, log = str(folder / "data"), str(folder / "log")
    collation = ["--locale=C.UTF-8"]
    if "--locale-provider" in run("initdb", "--help"):  # since PostgreSQL 15
        collation += ["--locale-provider=icu", "--icu-locale=en"]
    run("initdb", "-D", data, "-U", "errorfloor", "-A", "trust", "-E", "UTF8", "--no-sync", *collation)
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off -c full_page_writes=off"
    try:
        run("pg_ctl", "start", "-w", "-t", "60", "-D", data, "-l", log, "-o", options)
        yield f"postgresql:///postgres?host={folder}&user=errorfloor"
    finally:
        run("pg_ctl", "stop", "-m", "immediate", "-D", data)
        shutil.rmtree(folder)
