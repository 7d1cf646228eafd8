"""What of a declaration is settled by registration: everything that decides what is stored."""

from typing import Any

from errorfloor.catalogue.model import Table
from errorfloor.errors import CatalogueError


def settled(table: Table) -> dict[str, Any]:
    """Give, as plain JSON, the part of a declaration that a snapshot depends on.

    Floors, units, distances, priors, owners and accounts may change; they say nothing about what is stored.
    """
    return {
        "row_key": {"columns": sorted(table.row_key)},
        "public": {
            name: {"type": column.type, "resolution": _text(column.resolution)} for name, column in table.public.items()
        },
        "private": {
            name: {
                "range": [str(column.low), str(column.high)],
                "resolution": str(column.resolution),
                "nulls": column.nulls,
                "impute": _text(column.impute),
            }
            for name, column in table.private.items()
        },
    }


def check_settled(table_name: str, table: Table, before: dict[str, Any]) -> None:
    """Refuse a declaration that differs from the one under which its version was registered."""
    now = settled(table)
    changed = [] if now["row_key"] == before["row_key"] else ["its row key"]
    for what in ("public", "private"):
        for name in (*now[what], *(name for name in before[what] if name not in now[what])):
            old, new = before[what].get(name), now[what].get(name)
            if old is None:
                changed.append(f"{name} ({what} only now)")
            elif new is None:
                changed.append(f"{name} (no longer {what})")
            elif old != new:
                changed.append(f"{name} ({', '.join(key for key in new if new[key] != old[key])})")
    if changed:
        raise CatalogueError(
            f"table {table_name} is declared otherwise than when its version {table.version!r} was registered: "
            f"{'; '.join(changed)}. Declare a new version and register it, or take the change back",
            table=table_name,
            version=table.version,
            changed=changed,
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
