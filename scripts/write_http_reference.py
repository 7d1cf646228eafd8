"""Write docs/reference/http.md from the server's own OpenAPI description and settings, so that they cannot differ."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from errorfloor.errors import ErrorFloorError
from errorfloor.server import Settings, TokenFile, create_app
from errorfloor.service.example import example_database

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "http.md"
DOOR = {
    "token": (401, "no token, or an unknown one"),
    "refused": (401, "the sign-in was refused: an unknown token, or a person whom the provider does not vouch for"),
    "role": (403, "the token's role does not cover this"),
    "expired": (401, "the token has expired"),
    "address": (403, "the token may not be used from this address"),
    "origin": (403, "a page of another site sent this"),
    "forged": (403, "a cookie without the header `X-Errorfloor: page`"),
    "tls": (403, "behind a proxy, and the request did not arrive by https"),
    "malformed": (400, "the body is not JSON in UTF-8"),
    "not-found": (404, "nothing is at this address"),
    "method": (405, "the address does not take this method"),
    "slow": (408, "the body did not arrive in time"),
    "answered": (409, "the step was answered from another measurement"),
    "idempotency": (409, "the key was used for another question"),
    "too-large": (413, "the body is larger than allowed"),
    "media-type": (415, "the body is not declared as JSON"),
    "running": (429, "the token has too many questions in progress"),
    "rate": (429, "too many requests; `Retry-After` says how long to wait"),
    "attempts": (429, "too many failed attempts to sign in; `Retry-After` says how long to wait"),
    "provider": (503, "the identity provider cannot be reached"),
    "sessions": (503, "the file of sessions cannot be used now"),
    "gone": (499, "the client went away before anything was charged; for the log"),
    "busy": (503, "too many questions are waiting; `Retry-After` says how long to wait"),
    "time": (503, "not done in time, and abandoned; nothing was charged"),
    "key-file": (503, "keys that the server draws with were discarded; it has to be restarted"),
    "stopping": (503, "the server is being stopped"),
    "protocol": (400, "PostgreSQL's protocol: a message that cannot be read, which ends the line"),
    "proof": (401, "PostgreSQL's protocol: no proof of a known token"),
    "unknown-name": (404, "PostgreSQL's protocol: no such prepared statement or portal"),
    "transaction": (409, "PostgreSQL's protocol: a statement of the transaction has failed"),
    "setting": (422, "PostgreSQL's protocol: no such setting"),
    "parameter": (422, "PostgreSQL's protocol: a parameter that is not a value of its type"),
    "connections": (503, "PostgreSQL's protocol: too many connections"),
}


def reference() -> str:
    """Give the whole page."""
    with example_database() as database:
        described = create_app(database, tokens=TokenFile(None), settings=Settings()).openapi()
    parts = [
        "# HTTP",
        "Requests carry `Authorization: Bearer TOKEN`. Bodies are JSON. `/openapi.json` has all of this for programs. "
        "`scripts/write_http_reference.py` writes this page.",
    ]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parts += [f"## {method.upper()} {path}", *_operation(operation, described)]
    parts += ["## Failures", 'Every failure is `{"error": {"code", "message", "fields"}}`. The codes:', _codes()]
    parts += ["## Settings", "Each is an option of `errorfloor serve`.", _settings()]
    return "\n\n".join(parts) + "\n"


def _operation(operation: dict[str, Any], described: dict[str, Any]) -> list[str]:
    lines = [f"{operation['summary']}. {' '.join(operation['description'].split())}"]
    rows = [
        f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} | {one.get('description', '')} |"
        for one in operation.get("parameters", [])
    ]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        body = described["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        for name, schema in body["properties"].items():
            kind = f"{_type(schema)}{', needed' if name in body.get('required', []) else ''}"
            rows.append(f"| `{name}` | body | {kind} | {schema.get('description', '')} |")
        example = json.dumps(body["examples"][0], indent=2)
    if rows:
        lines.append("\n".join(["| name | in | type | |", "|---|---|---|---|", *rows]))
    if "requestBody" in operation:
        lines.append(f"```json\n{example}\n```")
    failing = ", ".join(sorted(status for status in operation["responses"] if status != "200"))
    lines.append(f"Gives {_reply(operation['responses']['200'])}{f'; fails with {failing}' if failing else ''}.")
    return lines


def _reply(reply: dict[str, Any]) -> str:
    kinds = []
    for kind, content in reply.get("content", {}).items():
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        kinds.append(f"`{kind}`{f' ({name})' if name else ''}")
    return " or ".join(kinds)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(_type(one) for one in options if one.get("type") != "null"))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "object":
        return "object of numbers"
    return str(schema.get("type", "anything"))


def _codes() -> str:
    rows = [f"| `{kind.code}` | {kind.http_status} | {_first_clause(kind)} |" for kind in _kinds(ErrorFloorError)]
    rows += [f"| `{code}` | {status} | {text} |" for code, (status, text) in DOOR.items()]
    return "\n".join(["| code | status | |", "|---|---|---|", *rows])


def _first_clause(kind: type[ErrorFloorError]) -> str:
    line = (kind.__doc__ or "").partition("\n")[0].partition(";")[0].rstrip(".")
    return line[:1].lower() + line[1:]


def _kinds(root: type[ErrorFloorError]) -> list[type[ErrorFloorError]]:
    found = [root] if root.__module__ == ErrorFloorError.__module__ else []
    for kind in root.__subclasses__():
        found += _kinds(kind)
    return found


def _settings() -> str:
    rows = [
        f"| `--{one.name.replace('_', '-')}` | {'' if one.default in (None, False) else f'`{one.default}`'} "
        f"| {one.metadata['help']} |"
        for one in fields(Settings)
    ]
    return "\n".join(["| option | default | |", "|---|---|---|", *rows])


if __name__ == "__main__":
    TARGET.write_text(reference())
