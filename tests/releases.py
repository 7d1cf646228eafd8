"""Releases as tests wish for them: rules by kind, written as the parameters that say them by column."""

from pathlib import Path

import errorfloor as ef


def wished(columns, *, ranges=None, units=None, steps=None, again=False, **rest):
    """Give the parameters of ``errorfloor.release``."""
    rules = {name: rest.pop(name) for name in ("out_of_range", "nulls") if name in rest}
    ranges, units, steps = ranges or {}, units or {}, steps or {}
    columns = {
        name: ef.Column(noise, range=ranges.get(name), unit=units.get(name, ""), step=steps.get(name), **rules)
        for name, noise in columns.items()
    }
    return {"columns": columns, **({"allow": ["again"]} if again else {}), **rest}


def publish_table(folder: Path, target, table="meters", **options):
    """Release a declared table of the catalogue in a folder."""
    with ef.open(folder / "errorfloor.toml") as db:
        return db.release(table, target, **options)
