"""Mistakes in a catalogue, in words: where, what was given, what is allowed, what was perhaps meant."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

from errorfloor.catalogue.columns import Declaration, MistakesError, PublicType, written
from errorfloor.catalogue.model import Catalogue, Table, mistakes_in_names, mistakes_in_table_names
from errorfloor.catalogue.near import near, nearest

Found = tuple[str, str]
PLACEHOLDER = "choose"
WRITE = {  # what a word that is missing, or still to be chosen, may look like
    "source": 'source = "meters.parquet": the file or table to read',
    "version": 'version = "2013": a name for this state of the data, a new one whenever the data change',
    "row_key": 'row_key = ["household", "day"]: public columns that together identify a row',
    "public": 'public = { household = "text" }: the columns that everybody may know, the row key among them',
    "range": "range = [0, 50]: values outside are clamped; take it from what you know about such data, not from the "
    "data",
    "resolution": "resolution = 0.001: values are kept as whole multiples of it",
    "floor": "floor = 2.0: how far off, at least, any estimate of one value must be, in the column's own unit",
    "owner.floor": "floor = 0.2: how often, at least, whoever tries to tell two histories apart must be wrong (below "
    "0.5)",
    "owner.column": 'column = "household": the public column that names the owner',
    "grows_by": 'grows_by = { column = "day", part = "month" }: each month is registered once, and stays',
    "grows_by.column": 'column = "day": the public date, or the number of a batch, that says which part a row is in',
    "owner.per": 'per = { column = "day", period = "month" }: two histories differ within one month',
    "owner.joined": 'joined = { column = "since", period = "year" }: owners who joined in one year share an account',
    "joined.column": 'column = "since": the public date, or the number of a cohort, that says when an owner joined',
    "owner.life": "life = 0.05: the floor of two histories that differ anywhere, beside that of each period",
    "per.column": 'column = "day": the public date, or the number of a batch, that says which period a row is in',
    "owner.apart": "apart = { kwh = 5 }: by how much two histories differ at most in each reading",
    "type": f"type = one of {', '.join(get_args(PublicType))}",
    "mean": "mean = 10.0",
    "deviation": "deviation = 8.0",
    "tables": "at least [tables]",
    "issuer": 'issuer = "https://id.example.org": the identity provider',
    "client_id": 'client_id = "errorfloor": the name by which it knows this server',
    "address": 'address = "https://errorfloor.example.org": where people reach this server',
    "private": "a section [streams.cars.private.position] with its range, resolution and floor",
}

REFUSED: Mapping[tuple[type[Declaration], str], str] = {  # words that somebody may expect, and why there are none
    (Table, "counts"): "is not a word allowed here: noise by cell keys follows from who is in a cell, so that two "
    "counts are equal for certain if the same people are in both, and prices would tell who is. Declare protects = "
    '"records" and ask for count(*), or publish tables outside of ask with errorfloor counts and ef.design_counts',
}

ELSEWHERE = {  # what other systems call the types of public columns
    **dict.fromkeys(("integer", "int", "bigint", "smallint", "int64", "int32", "long"), "whole"),
    **dict.fromkeys(("float", "double", "real", "decimal", "numeric", "float64"), "number"),
    **dict.fromkeys(("string", "varchar", "str", "char", "character", "category"), "text"),
    **dict.fromkeys(("datetime", "timestamp", "time", "timestamptz"), "moment"),
    **dict.fromkeys(("bool", "boolean", "bit"), "flag"),
}


def explain(errors: Iterable[Mapping[str, Any]], document: Mapping[str, Any]) -> list[Found]:
    """Give the place and the words of every mistake, in the order of the file.

    ``errors`` are pydantic's. Where part of a table is wrong pydantic no longer compares names across the table, so
    that is done here from the document itself.

    >>> explain([], {"tables": {}, "folder": "/etc"})
    [('folder', 'is not a word allowed here; allowed are place, quota, limit, tables, streams, sign_in')]
    """
    listed = list(errors)
    found: list[Found] = []
    if "folder" in document:  # known to the model, which is told where the file lies, but not for the file to say
        found.append(("folder", _unknown("folder", Catalogue)))
    misspelt = {_meant(error["loc"]) for error in listed if error["type"] == "extra_forbidden"}
    for error in listed:
        if error["type"] == "missing" and error["loc"] in misspelt:
            continue  # the word is there, and reported as the misspelt one that it is
        # a number counts the items of a list, and the list is what is to be mended
        found += _in_words(tuple(part for part in error["loc"] if isinstance(part, str)), error)
    if listed:
        found += _names(document, {".".join(map(str, error["loc"])) for error in listed})
    unique = dict.fromkeys(found)
    order = _order(document)
    return sorted(unique, key=lambda item: next((order[p] for p in _parents(item[0]) if p in order), len(order)))


def _in_words(place: tuple[str, ...], error: Mapping[str, Any]) -> list[Found]:
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    where, word = ".".join(place), place[-1] if place else ""
    cause = context.get("error")
    if isinstance(given, str) and given.strip().lower() == PLACEHOLDER:
        return [(where, f"choose the {word} of {'.'.join(place[:-1])}, such as {_example(place)}")]
    if isinstance(cause, MistakesError):
        return [(".".join(filter(None, (where, about))), text) for about, text in cause.found]
    if kind == "missing" and isinstance(error["loc"][-1], int):
        return [(where, f"must have two numbers, low and high, got {_shown(place, given)}")]
    if kind == "missing":
        return [(where, f"is missing; give it, such as {_example(place)}")]
    if kind == "extra_forbidden":
        return [(where, REFUSED.get((model := _model(place[:-1]), word)) or _unknown(word, model))]
    if kind == "literal_error":
        choices = [str(value) for value in get_args(_model(place[:-1]).model_fields[word].annotation)]
        suggestion = _suggested(given, choices) if isinstance(given, str) else ""
        return [(where, f"must be one of {', '.join(choices)}, got {_shown(place, given)}{suggestion}")]
    if kind == "value_error" and isinstance(given, str) and (meant := written(given)) is not None:
        write = meant if isinstance(error["loc"][-1], int) else f"{word} = {meant}"
        return [(where, f"must be a number without quotes, got {_shown(place, given)}: write {write}")]
    return [(where, f"{_rule(kind, context, cause)}, got {_shown(place, given)}")]


def _suggested(given: str, choices: list[str]) -> str:
    """Ask whether a near choice was meant, or the one that is called so elsewhere."""
    usual = ELSEWHERE.get(given.strip().lower())
    return f": did you mean {usual}?" if usual in choices else near(given, choices)


def _rule(kind: str, context: Mapping[str, Any], cause: object) -> str:
    rules = {
        "value_error": str(cause),
        "greater_than": f"must be more than {context.get('gt', 0):g}",
        "greater_than_equal": f"must be at least {context.get('ge', 0):g}",
        "int_type": "must be a whole number",
        "int_from_float": "must be a whole number",
        "int_parsing": "must be a whole number",
        "less_than": f"must be less than {context.get('lt', 0):g}",
        "less_than_equal": f"must be at most {context.get('le', 0):g}",
        "string_type": "must be text in quotes",
        "string_too_short": "must not be empty",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "tuple_type": "must be a list in brackets",
        "too_short": f"must have at least {context.get('min_length')} of them",
        "too_long": "must have two numbers, low and high",
        "dict_type": "must be a table in braces, or a separate section",
        "model_type": "must be a table in braces, or a separate section",
    }
    return rules.get(kind, f"cannot be used ({kind.replace('_', ' ')})")


def _model(place: Sequence[str]) -> type[Declaration]:
    """Give the class of declaration that stands at a place.

    >>> _model(("tables", "meters", "owner", "per")).__name__
    'Period'
    """
    here: Any = Catalogue
    for word in place:
        if get_origin(here) is dict:
            here = get_args(here)[1]
            continue
        field = getattr(here, "model_fields", {}).get(word)
        kind = None if field is None else field.annotation
        here = next(filter(_declares, () if get_origin(kind) is dict else get_args(kind)), kind)
    return here if _declares(here) else Catalogue


def _declares(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Declaration)


def _unknown(word: str, model: type[Declaration]) -> str:
    allowed = [name for name in model.model_fields if name != "folder"]
    return f"is not a word allowed here{near(word, allowed)}; allowed are {', '.join(allowed)}".replace("?;", "?")


def _meant(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    *parents, word = location
    meant = nearest(str(word), _model([str(part) for part in parents]).model_fields)
    return (*parents, meant or word)


def _example(place: Sequence[str]) -> str:
    word = place[-1]
    return WRITE.get(".".join(place[-2:]), WRITE.get(word, f"{word} = …"))


def _shown(place: Sequence[str], given: Any) -> str:
    """Write a value as the file does; addresses may hold a password, so only their kind is told."""
    if place[:1] == ("place",) and place[-1] != "engine":
        return f"a {type(given).__name__}"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, (datetime.date, datetime.time)):
        return given.isoformat()
    if isinstance(given, int) and abs(given) > 10**40:
        return "a number of more than 40 digits"
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _names(document: Mapping[str, Any], known: set[str]) -> list[Found]:
    """Compare names within each table as far as its shape allows, where pydantic stopped before doing so."""
    tables = document.get("tables")
    if not isinstance(tables, dict):
        return []
    found: list[Found] = []
    if "tables" not in known:
        found += [("tables", text) for _, text in mistakes_in_table_names(tuple(tables))]
    for name, table in tables.items():
        if not isinstance(table, dict) or f"tables.{name}" in known or table.get("protects") == "records":
            continue
        private, public = _columns(table.get("private")), _columns(table.get("public"))
        owner = table.get("owner")
        named = {word: _listed(table.get(word)) for word in ("row_key", "account_by")}
        sections = {"owner": owner, "grows_by": table.get("grows_by")}
        sections |= {f"owner.{one}": owner.get(one) for one in ("per", "joined") if isinstance(owner, dict)}
        for word, section in sections.items():
            named[f"{word}.column"] = _listed([section.get("column")]) if isinstance(section, dict) else ()
        for word, text in mistakes_in_names(private, public, named):
            found.append((".".join(filter(None, ("tables", name, word))), text))
    return found


def _columns(section: Any) -> tuple[str, ...]:
    return tuple(section) if isinstance(section, dict) else ()


def _listed(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str) and name != PLACEHOLDER)


def _order(document: Mapping[str, Any]) -> dict[str, int]:
    """Number the places of a document in the order in which they are written."""
    places: list[str] = []

    def visit(section: Mapping[str, Any], prefix: str) -> None:
        for word, value in section.items():
            places.append(f"{prefix}{word}")
            if isinstance(value, Mapping):
                visit(value, f"{prefix}{word}.")

    visit(document, "")
    return {place: number for number, place in enumerate(places)}


def _parents(place: str) -> Iterable[str]:
    parts = place.split(".")
    return (".".join(parts[:count]) for count in range(len(parts), 0, -1))
