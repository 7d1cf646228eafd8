"""One table of settings: it feeds the options of ``errorfloor serve``, their validation and the documentation."""

import ipaddress
import os
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from errorfloor.access.grid import COARSE, TimeGrid
from errorfloor.errors import InputError


def _setting(default: Any, text: str, *, least: float | None = None, most: float | None = None) -> Any:
    return field(default=default, metadata={"help": text, "least": least, "most": most})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a server listens, what it lets through, and what it writes down.

    Raises InputError for a number out of range, half of a certificate, or a public address without TLS.

    >>> Settings(port=8471).url
    'http://127.0.0.1:8471'
    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    errorfloor.errors.InputError: 0.0.0.0 can be reached from other machines, and tokens and answers would ...
    """

    host: str = _setting("127.0.0.1", "The address to listen on. Other machines reach only one that is not loopback.")
    port: int = _setting(8470, "The port to listen on; 0 takes a free one.", least=0, most=65535)
    postgres: int | None = _setting(
        None,
        "Also listen on this port for tools that speak PostgreSQL's protocol; 0 takes a free one.",
        least=0,
        most=65535,
    )
    postgres_lines: int = _setting(500, "Connections of such tools that a process has at most.", least=1, most=100000)
    cert: Path | None = _setting(None, "A certificate file (PEM, with its chain), for TLS.")
    key: Path | None = _setting(None, "The private key of the certificate (PEM).")
    behind_proxy: bool = _setting(
        False,
        "A proxy in front handles TLS: trust its X-Forwarded headers, refuse requests that did not arrive by https.",
    )
    proxies: str = _setting("127.0.0.1", "The addresses or networks of that proxy, separated by commas.")
    insecure: bool = _setting(
        False, "Listen on a public address without TLS: others can eavesdrop on tokens and answers."
    )
    workers: int = _setting(
        0,
        "How many processes to run over one ledger; limits hold for all together. 0: one for each core.",
        least=0,
        most=64,
    )
    threads: int = _setting(8, "How many questions a process works on at once.", least=1, most=256)
    waiting: int = _setting(64, "How many more may wait for their turn; others are told to try again later.", least=0)
    time_limit: float = _setting(
        30.0,
        "Seconds after which a request that has charged nothing is abandoned. A question whose answer may take "
        "longer, by a bound from public facts, is refused.",
        least=0.1,
        most=3600,
    )
    grid_ratio: float = _setting(
        COARSE.ratio,
        "Answers leave at times on a grid, each this many times the one before, so that time reveals next to nothing.",
        least=1.01,
        most=4,
    )
    max_body: int = _setting(65536, "The largest body of a request, in bytes.", least=1024, most=2**26)
    max_sql: int = _setting(10000, "The longest question, in characters.", least=100, most=2**20)
    rate: float = _setting(
        50.0, "Requests per second that one token may make over a long time; 0 sets no limit.", least=0
    )
    burst: int = _setting(200, "Requests that a token may make at once before the rate applies.", least=1)
    tokens: Path | None = _setting(None, "The token file; default: tokens.json next to the catalogue.")
    sessions: Path | None = _setting(
        None, "The file of sessions, which all workers share; default: sessions.sqlite next to the tokens."
    )
    session_idle: float = _setting(3600.0, "Seconds without use after which a session ends.", least=10, most=604800)
    session_life: float = _setting(43200.0, "Seconds after which a session ends in any case.", least=10, most=2592000)
    failures: int = _setting(
        10, "Failed attempts to sign in, in 15 minutes, from one address or with one token; 0 sets no limit.", least=0
    )
    audit_log: Path | None = _setting(
        None, "A file that gets one line of JSON per request; default: standard error. Never contains a private value."
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            _check(one, getattr(self, one.name))
        _check_proxies(self.proxies)
        if (self.cert is None) != (self.key is None):
            raise InputError("TLS takes both files: give --cert and --key, or neither")
        if not self.loopback and not (self.tls or self.behind_proxy or self.insecure):
            raise InputError(
                f"{self.host} can be reached from other machines, and tokens and answers would travel unprotected: "
                f"give --cert and --key, put a proxy with TLS in front and say --behind-proxy, or say --insecure",
                host=self.host,
            )

    @property
    def grid(self) -> TimeGrid:
        """The times at which answers leave."""
        return TimeGrid(self.grid_ratio)

    @property
    def tls(self) -> bool:
        """Whether this server itself speaks TLS."""
        return self.cert is not None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False  # a name could be anybody's address

    @property
    def processes(self) -> int:
        """How many processes there are.

        >>> Settings(workers=3).processes, 1 <= Settings().processes <= 64
        (3, True)
        """
        return self.workers or min(len(os.sched_getaffinity(0)), 64)

    @property
    def url(self) -> str:
        """Where it is found."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"{'https' if self.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"


def _check(one: "Field[Any]", value: Any) -> None:
    least, most = one.metadata["least"], one.metadata["most"]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        below, above = least is not None and not value >= least, most is not None and not value <= most
        if below or above:
            limits = " and ".join(
                text for text, there in ((f"at least {least:g}", below), (f"at most {most or 0:g}", above)) if there
            )
            raise InputError(f"{one.name} must be {limits}, got {value:g}", **{one.name: value})


def _check_proxies(proxies: str) -> None:
    for one in proxies.split(","):
        try:
            ipaddress.ip_network(one.strip())
        except ValueError:
            raise InputError(
                f"proxies must be addresses or networks with commas, such as 10.0.0.7,192.168.4.0/24, got "
                f"{one.strip()!r}; whoever is there is believed about where a request comes from",
                proxies=proxies,
            ) from None
