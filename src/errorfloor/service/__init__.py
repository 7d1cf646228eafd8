"""ask(): plan → price → charge → draw → answer. One function; every door goes through it."""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlalchemy", "sqlglot")

from errorfloor.service.answer import Answer, Price
from errorfloor.service.database import Database, open_database
from errorfloor.service.noises import Added, Wish
from errorfloor.service.quota import QuotaStanding
from errorfloor.service.simulation import Room, Simulation
from errorfloor.service.standing import Standing

__all__ = [
    "Added",
    "Answer",
    "Database",
    "Price",
    "QuotaStanding",
    "Room",
    "Simulation",
    "Standing",
    "Wish",
    "open_database",
]
