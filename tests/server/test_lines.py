"""What comes over a line: heads arrive in time and have one meaning, proxies are named, and idle lines make room."""

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from errorfloor.errors import InputError
from errorfloor.server import Settings, protocol
from errorfloor.server.protocol import BARE, StrictProtocol

ROOT = Path(__file__).parents[2]
ASK = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 1e6}


def line_to(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def said(server, content):
    with line_to(server) as line:
        line.sendall(content)
        return line.recv(4000)


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nHost: x\r\n" + 2 * b"Transfer-Encoding: chunked\r\n" + b"\r\n0\r\n\r\n",
        b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/ask HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET /healthz HTTP/1.1\nHost: x\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\rc\r\n\r\n",
    ],
)
def test_heads_that_can_be_read_in_two_ways_are_refused(server, head):
    reply = said(server, head)
    assert reply.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501")), reply[:100]
    assert b"connection: close" in reply.lower()


def test_plain_heads_pass_however_they_are_cut(server):
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with line_to(server) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(head)):
            line.sendall(head[place : place + 1])
        assert line.recv(100).startswith(b"HTTP/1.1 200")
    assert BARE.search(b"GET / HTTP/1.1\r\nA: b") is None


def test_half_a_head_is_given_up_in_time(server, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_TIME", 0.3)
    with line_to(server) as silent, line_to(server) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHos")
        assert closed(silent)
        assert closed(slow)
    with line_to(server) as kept:  # one that is kept open after a reply has the same time for its next head
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert kept.recv(4000).startswith(b"HTTP/1.1 200")
        kept.sendall(b"GET ")
        assert closed(kept)


def closed(line):
    """Whether a line is closed once what was sent has been read; one that stays open runs out of time."""
    try:
        while line.recv(1000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_lines_that_are_left_alone_make_room_and_questions_are_answered(server, analyst, monkeypatch):
    """The slow loris in small; the benchmark opens 2,000."""
    monkeypatch.setattr(protocol, "MOST_WAITING", 20)
    lines = []
    try:
        for _ in range(60):
            lines.append(line_to(server))
            lines[-1].sendall(b"POST /v1/ask HTTP/1.1\r\n")
        assert analyst.post("/v1/ask", json=ASK).status_code == 200
        deadline = time.monotonic() + 20
        while len(StrictProtocol.waiting) > 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(StrictProtocol.waiting) <= 20
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize("proxies", ["*", "not-an-ip", "10.0.0.1,", "10.0.0.0/40"])
def test_proxies_are_addresses_or_networks(proxies):
    with pytest.raises(InputError, match="proxies must be addresses or networks"):
        Settings(proxies=proxies)
    assert Settings(proxies="10.0.0.7, 192.168.4.0/24,::1").proxies


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_unit_leaves_little_open():
    command = ["systemd-analyze", "security", "--offline=true", ROOT / "examples" / "errorfloor.service"]
    told = subprocess.run(command, capture_output=True, text=True).stdout
    level = re.search(r"Overall exposure level for errorfloor.service: ([0-9.]+)", told)
    assert float(level[1]) <= 3
