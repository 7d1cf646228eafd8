"""ask(): plan → price → charge → draw → answer. One function; every door goes through it."""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")

from errorfloor.charging import QuotaStanding, Standing
from errorfloor.service.answer import Answer, Price
from errorfloor.service.database import Database
from errorfloor.service.noises import Added, QuestionWish
from errorfloor.service.opening import open_database
from errorfloor.service.simulation import Room, Simulation

__all__ = [
    "Added",
    "Answer",
    "Database",
    "Price",
    "QuestionWish",
    "QuotaStanding",
    "Room",
    "Simulation",
    "Standing",
    "open_database",
]
