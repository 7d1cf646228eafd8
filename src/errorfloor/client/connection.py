"""One connection to a server: requests, patience, and failures in our own errors."""

import ipaddress
import json
import re
import ssl
import time
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from errorfloor.client.failures import RemoteError, error_of
from errorfloor.errors import InputError

ATTEMPTS = 4  # every request may be sent again: a question is charged once
WAIT = 0.2  # seconds before the second attempt, then twice and four times that
ARROW = "application/vnd.apache.arrow.stream"
METADATA = b"errorfloor"  # the key of the schema's metadata that holds everything but the table
LATER = ("busy", "rate", "stopping")  # the door's words for: come back


class Connection:
    """Sends requests with a token; safe to be used by many threads.

    A request that got no answer is sent again: asking twice is charged once. Raises InputError for an address that is
    none or would send the token unprotected over a network, RemoteError if the server cannot be reached.

    >>> Connection("http://example.org", "token", verify=True, timeout=60.0, insecure=False)
    Traceback (most recent call last):
    errorfloor.errors.InputError: http://example.org would send the token unprotected over the network: use https, ...
    """

    def __init__(self, url: str, token: str, *, verify: bool | str | Path, timeout: float, insecure: bool) -> None:
        try:
            address = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            address = httpx.URL("")
        if address.scheme not in ("http", "https") or not address.host:
            raise InputError(f"the address of a server looks like https://host:8470, got {_shown(address, url)}")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            raise InputError("token must be the text that errorfloor tokens create printed")
        near = is_loopback(address.host)
        if address.scheme == "http" and not (near or insecure):
            raise InputError(
                f"{_shown(address, url)} would send the token unprotected over the network: use https, or give "
                f"insecure=True",
                host=address.host,
            )
        self.url = str(address.copy_with(query=None, fragment=None)).rstrip("/")
        self._client = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            verify=_trusted(verify) if address.scheme == "https" else False,
            trust_env=not near,  # a proxy of the environment leads away from this machine
        )

    def get(self, path: str, **query: Any) -> Any:
        """Read something; gives its JSON."""
        return self._send("GET", path, params=query).json()

    def listed(self, path: str, name: str, **query: Any) -> list[dict[str, Any]]:
        """Read the list that has a name in what is read."""
        return list(self.get(path, **query)[name])

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a question; gives the JSON of the reply."""
        return self._send("POST", path, json=body).json()

    def table(
        self, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None, **query: Any
    ) -> tuple[pa.Table, dict[str, Any]]:
        """Read a table, and what is stated of it; with a body, as the answer to that."""
        how = {"headers": {"Accept": ARROW, **(headers or {})}, "params": query}
        method = "GET" if body is None else "POST"
        with pa.ipc.open_stream(self._send(method, path, **how, json=body).content) as reader:
            table = reader.read_all()
        metadata = dict(table.schema.metadata or {})
        facts = json.loads(metadata.pop(METADATA))
        return table.replace_schema_metadata(metadata or None), facts

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        for attempt in range(ATTEMPTS):
            problem: Exception
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as failed:
                problem = RemoteError(
                    f"the server at {self.url} cannot be reached ({type(failed).__name__}): check that it is running, "
                    f"and ask again; a question is charged once, however often it is sent",
                    url=self.url,
                )
            else:
                if response.is_success:
                    return response
                problem = error_of(response.status_code, _json(response))
                if getattr(problem, "code", "") not in LATER:
                    raise problem
            if attempt + 1 < ATTEMPTS:
                time.sleep(WAIT * 2**attempt)
        raise problem


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trusted(verify: bool | str | Path) -> ssl.SSLContext | bool:
    if isinstance(verify, bool):
        return verify
    try:
        return ssl.create_default_context(cafile=str(verify))
    except OSError:
        raise InputError(f"verify must be a file with certificates (PEM), got {verify}") from None


def _shown(address: httpx.URL, given: object) -> str:
    """Name a server in a message without the passwords and tokens that an address may hold."""
    if address.host:
        return f"{address.scheme}://{address.host}"
    if not isinstance(given, str):
        return f"the type {type(given).__name__}"
    host = re.fullmatch(r"(?:[^@/]*@)?([\w.-]+:\d+|[\w.-]+)(?:/.*)?", given)
    return f"one without http:// or https:// before {host[1]}" if host else "something else"
