"""Tables, questions, releases and streams behind one door, the ``Database``: opened, registered, upgraded.

``database`` is what a caller holds, with ``faces`` for standing questions and streams, ``listing`` for what is
declared, accounts and history, and ``dummy`` for dry runs. ``opening`` opens one. ``registering``
registers tables, with ``correcting`` for those that grow, ``continuing`` for divided accounts and ``joining`` for
registers of owners. ``upgrading`` leads from an older version. ``demo_table`` and ``example`` generate data.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")

from errorfloor.answering.answer import Answer, Price
from errorfloor.answering.simulation import Room, Simulation
from errorfloor.charging import QuotaStanding, Standing
from errorfloor.preparing.noises import Added, QuestionWish
from errorfloor.service.database import Database
from errorfloor.service.opening import open_database

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
