"""Mistakes in a request, in words: which field, what is allowed there, what was given, what was perhaps meant."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from errorfloor.access import supports
from errorfloor.catalogue.near import near

Place = tuple[str | int, ...]
MOST = 10  # mistakes that are told at once
PRIVATE = "measurement"  # what stands there is never repeated
UNKNOWN = "extra_forbidden"
NUMBER = "a number above 0"
KINDS = {list: "a list", str: "text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
ALLOWED = {
    "sql": 'a question as text, such as "SELECT avg(kwh) FROM meters"',
    "max_error": f'{NUMBER}, such as 0.5, or one for each output by name, such as {{"mean": 0.5}}',
    "spend": "a share of the whole allowance, above 0 and at most 1, such as 0.05",
    "max_loss": f"{NUMBER}, the mean square of the noise",
    "support": '{"kind": "Interval", "low": -0.5, "high": 0.5} or another with its kind',
    PRIVATE: "a list of at most 100 numbers",
}


def mistakes(errors: Iterable[Mapping[str, Any]], document: Any, model: type[BaseModel] | None) -> list[dict[str, str]]:
    """Say every mistake in a request once: ``where`` it is and the ``problem``, a whole sentence.

    ``errors`` are pydantic's, ``document`` the body as it was sent, and ``model`` what it should look like. Where one
    of several forms would do, pydantic complains once for each of them; here that is one mistake.

    >>> from errorfloor.access.models import Asked
    >>> wrong = [{"loc": ("body", "max_error", "float"), "type": "greater_than", "input": -1, "ctx": {"gt": 0}}]
    >>> mistakes(wrong, {"sql": "SELECT …", "max_error": -1}, Asked)[0]["problem"]
    'max_error must be a number above 0, such as 0.5, or one for each output by name, such as {"mean": 0.5}, got -1'
    """
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for error in errors:
        found.setdefault(_place(tuple(error["loc"]), error["type"], document), []).append(error)
    deepest = [place for place in found if not any(other != place and other[: len(place)] == place for other in found)]
    return [
        {"where": _name(place) or "body", "problem": _problem(place, found[place], model)} for place in deepest[:MOST]
    ]


def _name(place: Place) -> str:
    return ".".join(str(part)[:100] for part in place)


def _place(location: Place, kind: str, document: Any) -> Place:
    """Give where a mistake is in the document, without the names of the forms that were tried."""
    if location[:1] != ("body",):
        return location[1:]  # a parameter or a header
    if kind == "json_invalid":
        return ()
    place: list[str | int] = []
    here = document
    for number, part in enumerate(location[1:], start=2):
        if (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int)):
            here = here[part]  # type: ignore[index]  # a name of a dictionary, or the number of an item
        elif not (kind == "missing" and number == len(location)):
            continue
        place.append(part)
    return tuple(place)


def _problem(place: Place, errors: list[Mapping[str, Any]], model: type[BaseModel] | None) -> str:
    error = errors[0]
    name = _name(place)
    match error["type"]:
        case "json_invalid":
            where = f" (sign {error['loc'][-1]})" if isinstance(error["loc"][-1], int) else ""
            return f'the body is not JSON{where}: send an object such as {{"sql": "SELECT …", "max_error": 0.5}}'
        case "missing" if not place:
            return "the body is empty: send a JSON object"
        case "missing":
            what = ALLOWED.get(str(place[-1]))
            return f"{name} is missing" + (f": give {what}" if what else "")
        case "extra_forbidden":
            names = _names(error["loc"], model)
            return f"{name} is not a known field{near(str(place[-1]), names) or '; there are ' + ', '.join(names)}"
    if not place:
        return f"the body must be a JSON object, got {KINDS.get(type(error['input']), 'something else')}"
    given = "something else" if PRIVATE in place else _shown(error["input"])
    return f"{name} must be {_allowed(place, error)}, got {given}"


def _names(location: Place, model: type[BaseModel] | None) -> list[str]:
    """Name the fields that can stand beside a misspelt one: those of the body, or those of a kind of support."""
    kinds = {kind.__name__.removesuffix("Shape"): kind for kind in supports.Shape.__subclasses__()}
    found = next((kinds[str(part)] for part in location[1:-1] if str(part) in kinds), model)
    return [] if found is None else list(found.model_fields)


def _allowed(place: Place, error: Mapping[str, Any]) -> str:
    word, context = str(place[-1]), error.get("ctx", {})
    if word in ALLOWED and error["type"] not in ("union_tag_invalid", "string_too_long"):
        return ALLOWED[word]
    if place[0] == "max_error":
        return f"{NUMBER}, such as 0.5"
    rules = {
        "greater_than": f"above {context.get('gt', 0):g}",
        "greater_than_equal": f"at least {context.get('ge', 0):g}",
        "less_than": f"below {context.get('lt', 0):g}",
        "less_than_equal": f"at most {context.get('le', 0):g}",
        "float_type": "a number",
        "float_parsing": "a number",
        "finite_number": "a finite number",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "int_from_float": "a whole number",
        "int_parsing_size": "a smaller whole number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "string_type": "text",
        "string_too_short": "text that is not empty",
        "string_too_long": f"of at most {context.get('max_length')} characters",
        "list_type": "a list",
        "too_short": f"a list of at least {context.get('min_length')}",
        "too_long": f"a list of at most {context.get('max_length')}",
        "dict_type": "an object",
        "model_type": "an object",
        "model_attributes_type": "an object",
        "literal_error": str(context.get("expected")),
        "union_tag_invalid": f"of a kind among {context.get('expected_tags')}",
    }
    return rules.get(error["type"], f"something else ({str(error['type']).replace('_', ' ')})")


def _shown(given: Any) -> str:
    """Write a value as JSON does, and not all of a long one."""
    try:
        text = json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(given).__name__}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else f"{text[:57]}…"
