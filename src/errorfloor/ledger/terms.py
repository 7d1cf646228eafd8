"""Terms: what accounts mean, fixed with the first charge; they may only become stricter."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from errorfloor.accounts import REGISTER
from errorfloor.errors import CatalogueError
from errorfloor.ledger.entry import JSON, canonical

Path = str | tuple[str, ...]
FROM_THE_START = {  # terms of answers already given, too
    "noises",
    "apart",
    "per",
    "joined",
    "life",
    "max_delta",
    "max_epsilon",
}
RISING = {"floor", "min_group"}  # what is pinned alone, and may rise and not fall


def term_name(path: Path) -> str:
    """Give a path as the text that it is kept under; a lone text is the path of a table.

    >>> term_name("meters"), term_name(("a.b", "column", "c")) == term_name(("a", "b.column", "c"))
    ('["meters"]', False)
    """
    return json.dumps([path] if isinstance(path, str) else list(path), ensure_ascii=False)


def table_of(name: str) -> str:
    """Give the table that terms belong to, by the name they are kept under.

    >>> table_of('["meters", "column", "kwh"]')
    'meters'
    """
    return str(json.loads(name)[0])


def texts(terms: Mapping[Path, object]) -> dict[str, str]:
    """Give terms as they are kept: canonical texts by name."""
    return {term_name(path): canonical(f"the terms of {words(term_name(path))}", terms[path]) for path in terms}


def stricter(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Say whether terms may take the place of others: a floor that rises, or the same with something more fixed.

    How accounts count noises, which histories an owner's are about, and whether (ε, δ) is stated, is fixed with the
    first charge: other limits hold from the start, or not at all.

    >>> stricter({"floor": 2.0}, {"floor": 2.5}), stricter({"floor": 2.0}, {"floor": 1.5})
    (True, False)
    >>> stricter({"unit": "m"}, {"unit": "m", "resolution": "1"}), stricter({"unit": "m"}, {"unit": "cm"})
    (True, False)
    >>> stricter({"owner": None}, {"owner": None, "noises": "raised cosine"})
    False
    """
    if len(old) == 1 and set(old) == set(new) <= RISING:
        (name,) = old
        return bool(old[name] < new[name])
    if set(old) == set(new) == {REGISTER}:
        return old[REGISTER] is None
    return (
        set(old) < set(new)
        and not FROM_THE_START & (set(new) - set(old))
        and all(new[name] == value for name, value in old.items())
    )


def changed(held: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Give those terms that are new or stricter than those that are held.

    Raises CatalogueError, with advice, if other terms are given than are held.
    """
    found = {}
    for name in sorted(given):
        if name not in held:
            found[name] = given[name]
        elif held[name] != given[name]:
            old, new = json.loads(held[name]), json.loads(given[name])
            if not stricter(old, new):
                raise _changed_meaning(name, old, new)
            found[name] = given[name]
    return found


def words(name: str) -> str:
    """Name what terms are about.

    >>> words('["meters"]'), words('["meters", "column", "kwh"]'), words('["meters", "owner floor"]')
    ('meters', 'meters.kwh', "meters' owners")
    """
    match json.loads(name):
        case [table]:
            return str(table)
        case [table, "smallest group"]:
            return str(table)
        case [table, "owner floor", *_]:
            return f"{table}' owners"
        case [table, *_, last]:
            return f"{table}.{last}"
        case _:
            return name


def _changed_meaning(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> CatalogueError:
    path = json.loads(name)
    if set(old) == {"identity"}:
        if len(path) < 4:
            return CatalogueError(f"{words(name)} is not the stream that was charged under that name", table=path[0])
        what = (
            f"{path[2]} in version {path[3]!r}"
            if len(path) == 4
            else f"part {path[4]} of {path[2]} in version {path[3]!r}"
        )
        return CatalogueError(
            f"{what} is not the snapshot that was charged under that version: the vault was made again. Put back the "
            f"vault that was in use; or declare a new version and register it",
            table=path[0],
        )
    if set(old) == set(new) == {"floor"}:
        return CatalogueError(
            f"the floor of {words(name)} was {old['floor']:g} when it was charged, which is a promise; the catalogue "
            f"now says {new['floor']:g}. A floor may rise but must not fall: declare it as it was",
            table=path[0],
        )
    if set(old) == set(new) == {"min_group"}:
        return CatalogueError(
            f"{path[0]} was charged when min_group was {old['min_group']}; the catalogue now says {new['min_group']}. "
            f"min_group may rise but must not fall: declare it as it was",
            table=path[0],
        )
    if set(old) == set(new) == {REGISTER}:
        return CatalogueError(
            f"the owners of {path[0]} share the accounts of the register {old[REGISTER]!r}; the catalogue now says "
            f"{json.dumps(new[REGISTER])}. What was spent there stays theirs: declare register = "
            f"{json.dumps(old[REGISTER])} for {path[0]}",
            table=path[0],
        )
    differ = sorted(one for one in {*old, *new} if old.get(one) != new.get(one) and one in {*old, *FROM_THE_START})
    if differ == ["noises"]:
        return _counted_otherwise(words(name), old, path[0])
    return CatalogueError(
        f"the accounts of {words(name)} were opened with {_listed(old, differ)}; the catalogue now says "
        f"{_listed(new, differ)}. That would change what its floor means for answers already given, and what was "
        f"spent cannot be moved to other accounts: declare it as it was",
        table=path[0],
        held=old,
        given=new,
    )


def _counted_otherwise(name: str, old: Mapping[str, Any], table: str) -> CatalogueError:
    before, declare = ("apart", "leave noises out") if old.get("noises") else ("like any other", 'noises = "any"')
    return CatalogueError(
        f"the accounts of {name} were opened while raised-cosine noise was counted {before}. What was spent keeps that "
        f"meaning, and so do its floors: declare {declare} for {name}",
        table=table,
        held=old,
    )


def _listed(terms: Mapping[str, JSON], names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {json.dumps(terms.get(name), ensure_ascii=False)}" for name in names)
