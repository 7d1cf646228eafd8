"""Terms: what accounts mean, fixed with the first charge, and which snapshots belong to a ledger.

Terms may only become stricter. Registration writes snapshots down among them, and no other is ever charged: without
this a ledger that was never charged would pass for the one that a snapshot was charged in, such as a disk that is not
mounted, another house's ledger, an older copy.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from errorfloor.accounts import REGISTER
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import JSON, canonical

Path = str | tuple[str, ...]
Pinned = Mapping[tuple[str, ...], Mapping[str, Any]]
REGISTERED, KEPT, SOURCE, ERASED, GONE = "registered", "kept", "source", "erased", "gone"  # what paths are called
RECORDS = "protects records"  # of a table whose secret is who is there
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


class Deposit(NamedTuple):
    """A snapshot as a ledger knows it: its table, its version, and the identity that was drawn for it.

    >>> Deposit("meters", "2013", "5eed").path
    ('meters', 'registered', '5eed')
    """

    table: str
    version: str
    identity: str

    @property
    def path(self) -> tuple[str, ...]:
        """Where the terms say that it belongs to the ledger."""
        return self.table, REGISTERED, self.identity


def pinned_in(book: Book, table: str | None = None) -> Pinned:
    """Give all terms of a book, or of a table, by path."""
    prefix = "" if table is None else term_name((table,)).removesuffix("]")
    return {tuple(json.loads(name)): json.loads(text) for name, text in book.terms(prefix=prefix).items()}


def first_charged(fixed: Mapping[str, str]) -> list[Deposit]:
    """Give the snapshots among terms that are about to be fixed.

    >>> first_charged({'["meters", "snapshot", "homes", "a"]': '{"identity": "5eed"}', '["meters"]': "{}"})
    [Deposit(table='homes', version='a', identity='5eed')]
    """
    found = []
    for name, text in fixed.items():
        match json.loads(name), json.loads(text):
            case [_, "snapshot", str(table), str(version), *_], {"identity": str(identity)}:
                found.append(Deposit(table, version, identity))
    return found


def check_belong(book: Book, deposits: Iterable[Deposit]) -> None:
    """Refuse snapshots that the book does not know."""
    wanted = {json.dumps(list(one.path), ensure_ascii=False): one for one in deposits}
    known = book.terms(list(wanted)) if wanted else {}
    for name, one in wanted.items():
        if name not in known:
            raise LedgerError(
                f"this ledger does not know the snapshot of {one.table} in version {one.version!r}, so nothing can be "
                f"charged for it: it was registered with another ledger, or this is an older copy. Mount or restore "
                f"the one that was in use. Only if you vouch that this one lacks no charge, run errorfloor ledger "
                f"checkpoint --accept",
                table=one.table,
                version=one.version,
            )


def division_of(terms: Mapping[str, Any]) -> str | None:
    """Give, as one text, by what the terms of a table divide its accounts, and what its rows go by; None if nothing.

    >>> division_of({"row_key": [["id", "whole", None]], "account_by": [["region", "text", None]], "owner": None})
    '[[["id", "whole", null]], [["region", "text", null]], null]'
    """
    if not (terms.get("account_by") or terms.get("per") or terms.get("joined")):
        return None
    division = [terms.get("row_key"), terms.get("account_by"), terms.get("per")]
    if terms.get("joined"):
        division += [terms.get("owner"), terms["joined"]]
    return json.dumps(division, ensure_ascii=False)


def check_in_cells(book: Book, fixed: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Refuse a first charge for a version whose rows were never found to be in the cells where others have them.

    ``fixed`` are terms that are about to be fixed, ``given`` all those of the call.
    """
    for deposit in first_charged(fixed):
        division = division_of(json.loads(given.get(json.dumps([deposit.table], ensure_ascii=False), "{}")))
        if division is None:
            continue
        name = json.dumps([deposit.table, KEPT, deposit.identity, division], ensure_ascii=False)
        if name not in book.terms([name]):
            raise CatalogueError(
                f"the accounts of {deposit.table} are divided, and version {deposit.version!r} was never compared with "
                f"the others: a row that is in another cell there would have two allowances. Run errorfloor register, "
                f"which compares them",
                table=deposit.table,
                version=deposit.version,
            )


def successors(identity: str, table: str, pinned: Pinned) -> set[str]:
    """Give the identities of a snapshot and of all that go on from it after erasures.

    >>> erased = {("meters", "erased", "a", "b"): {}, ("meters", "erased", "b", "c"): {}}
    >>> sorted(successors("a", "meters", erased))
    ['a', 'b', 'c']
    """
    pairs = [path[2:] for path in pinned if path[:2] == (table, ERASED)]
    found, before = {identity}, set[str]()
    while found != before:
        before = set(found)
        found |= {new for old, new in pairs if old in before}
    return found
