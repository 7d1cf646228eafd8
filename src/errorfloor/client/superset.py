"""What Superset has to know of ``errorfloor://`` beyond SQLAlchemy's dialect: periods of dates, and how SQL is read.

Superset finds it by the entry point ``superset.db_engine_specs``. The class is made when it is asked for, since only
Superset has what it is made of.
"""

from importlib import import_module
from typing import Any

PERIODS = {"P1D": "day", "P1W": "week", "P1M": "month", "P3M": "quarter", "P1Y": "year"}
WITHIN_DAY = {"PT1M": "minute", "PT1H": "hour"}


def __getattr__(name: str) -> Any:
    if name != "ErrorFloorEngineSpec":
        raise AttributeError(name)
    import_module("superset.sql.parse").SQLGLOT_DIALECTS["errorfloor"] = "postgres"  # keeps comments that say how exact
    base: Any = import_module("superset.db_engine_specs.base").BaseEngineSpec
    grains: dict[str | None, str] = {None: "{col}"}
    for code, unit in (PERIODS | WITHIN_DAY).items():
        grains[code] = f"DATE_TRUNC('{unit}', {{col}})"
    said = {
        "engine": "errorfloor",
        "engine_name": "errorfloor",
        "default_driver": "http",
        "sqlalchemy_uri_placeholder": "errorfloor://name:token@host:8470/?max_error=0.5",
        "_time_grain_expressions": grains,
        "convert_dttm": classmethod(_written),
        "__doc__": "Answers with bounded noise over HTTP.",
    }
    return type(name, (base,), said)


def _written(_: Any, target_type: str, moment: Any, db_extra: Any = None) -> str | None:
    """Write a moment as it is compared with a column of this type.

    >>> import datetime
    >>> [_written(None, kind, datetime.datetime(2001, 1, 31, 12)) for kind in ("DATE", "DATETIME", "TEXT")]
    ["DATE '2001-01-31'", "TIMESTAMP '2001-01-31 12:00:00'", None]
    """
    kind = target_type.upper()
    if kind.startswith("DATETIME") or kind.startswith("TIMESTAMP"):
        return f"TIMESTAMP '{moment.isoformat(sep=' ', timespec='seconds')}'"
    return f"DATE '{moment.date().isoformat()}'" if kind.startswith("DATE") else None
