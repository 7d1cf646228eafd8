"""Servers for tests: one in a thread of this process, or processes as a user starts them."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn
import uvicorn.server

from errorfloor.catalogue import load
from errorfloor.server import Role, Settings, TokenFile, create_app
from errorfloor.server.protocol import line_settings
from errorfloor.server.running import listen, listen_for_postgres
from houses import register_house

CANARY = "987654321.123"  # a private value that must be seen nowhere
PEOPLE = 120
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # for plain HTTP; reading all certificates costs a client 15 ms
LIMIT = "[limit]\nquestion = 1.0\n"  # tests spend what they like
CATALOGUE = """
[tables.pay]
source = "pay.parquet"
version = "1"
row_key = ["person"]

[tables.pay.private.wage]
unit = "EUR"
range = [0, 1000000000]
resolution = 0.001
floor = {floor}
distance = 1000000
{nulls}
[tables.pay.public]
person = "whole"
team = "text"
hired = "date"
age = "whole"
"""


def write_pay(folder, *, ledger=None, quota="", floor=1000.0, wages=None, people=PEOPLE):
    """Declare and register a table of wages, one of which is the canary; give its catalogue."""
    import datetime

    folder.mkdir(parents=True, exist_ok=True)
    paid = [float(CANARY) if i == 17 else 30000.0 + 137.25 * i for i in range(people)] if wages is None else wages
    table = {
        "person": list(range(people)),
        "team": [["north", "süd", "a'b"][i % 3] for i in range(people)],
        "hired": [datetime.date(2001, 1, 1) + datetime.timedelta(days=31 * (i % 40)) for i in range(people)],
        "age": [20 + i % 45 for i in range(people)],
        "wage": paid,
    }
    pq.write_table(pa.table(table), folder / "pay.parquet")
    place = "" if ledger is None else f'[place]\nledger = "{ledger}"\n'
    (folder / "errorfloor.toml").write_text(place + quota + LIMIT + CATALOGUE.format(floor=floor, nulls=""))
    secret = {"format": 1, "keys": [{"id": "feedfacefeedface", "created": "2026-01-01", "secret": "07" * 32}]}
    keys = folder / "keys.json"
    keys.write_text(json.dumps(secret))
    keys.chmod(0o600)
    declared = load(folder / "errorfloor.toml")
    register_house(declared)
    return folder / "errorfloor.toml"


def holds_canary(text):
    """Whether a text has the digits of the canary, however they are pointed."""
    return CANARY.replace(".", "") in text.replace(".", "").replace(",", "").replace("_", "")


@dataclass
class Served:
    """A server: where it is, its tokens, and its audit log."""

    url: str
    tokens: dict
    audit: Path
    clients: list = field(default_factory=list)
    postgres: int | None = None

    def client(self, role="analyst", **options):
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role else {}
        options = {"verify": NO_TLS} | options
        made = httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, **options)
        self.clients.append(made)
        return made

    def audited(self):
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def line_of(self, reply):
        """The audit log's line of a request, which is written once its reply has left."""
        while True:
            found = [line for line in self.audited() if line["request"] == reply.headers["x-request-id"]]
            if found:
                return found[0]
            time.sleep(0.01)


class _Sooner:
    """Asyncio for uvicorn, which looks ten times a second whether it shall end, and then waits a tenth of a second."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Sooner()


@contextmanager
def served(database, folder, *, tokens=None, app=None, following=None, **settings):
    """Serve a database in a thread of this process; it is ``following`` a catalogue if one is given."""
    known = TokenFile(None) if tokens is None else tokens
    texts = {role.value: known.create(f"{role.value}-1", role)[1] for role in Role}
    audit = folder / "audit.log"
    taken, chosen = listen(Settings(**{"port": 0, "rate": 0.0, "failures": 0, "audit_log": audit, **settings}))
    postgres, chosen = listen_for_postgres(chosen)
    if app is None:
        made = create_app(database, tokens=known, settings=chosen, catalogue=following, postgres=postgres)
    else:
        made = app
    config = uvicorn.Config(
        made,
        log_config=None,
        access_log=False,
        server_header=False,
        **line_settings(),
        lifespan="on",
        proxy_headers=chosen.behind_proxy,
        forwarded_allow_ips=chosen.proxies,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    here = Served(chosen.url, texts, audit, postgres=chosen.postgres)
    try:
        yield here
    finally:
        for client in here.clients:
            client.close()
        server.should_exit = True
        thread.join()
        taken.close()


@dataclass
class ServerProcess:
    """A server that was started by command."""

    process: subprocess.Popen
    url: str
    token: str
    log: Path
    postgres: int | None = None

    def client(self, token=None, **options):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        options = {"verify": NO_TLS} | options
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, **options)

    def stop(self, how=signal.SIGTERM):
        """Send a signal and give the exit code; what it wrote is in ``log``."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


def start_server(catalogue, *options, log=None):
    """Start ``errorfloor serve`` and wait until it is ready."""
    log = log or Path(catalogue).parent / "server.log"
    command = [sys.executable, "-W", "error", "-m", "errorfloor", "serve", str(catalogue), "--port", "0", "--json"]
    if "--workers" not in options:
        command += ["--workers", "1"]  # one process starts sooner than one for each core
    with log.open("a") as errors:
        process = subprocess.Popen(
            [*command, *map(str, options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("}"):
            break
    assert said, log.read_text()
    told = json.loads(said)
    return ServerProcess(process, told["url"], told["token"], log, told["postgres"])


def self_signed():
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key
