"""Streams: trajectories released step by step, one draw and one charge per trip (extra ``sql``).

==================  =======================================================================================
``Stream``          a plan, its keys and its ledger; gives trips
``Trip``, ``Fleet``   trips under way, alone or together
``Journal``         a stream whose answers are written down: each step is answered once
``Streams``         all that a catalogue declares
==================  =======================================================================================

``fleet`` has the trips, and says what makes two the same; ``declared`` plans what a catalogue declares.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")

from errorfloor.accounts import StepAnswer
from errorfloor.streams.fleet import Fleet, Trip
from errorfloor.streams.journal import Journal, Streams
from errorfloor.streams.stream import Stream

__all__ = ["Fleet", "Journal", "StepAnswer", "Stream", "Streams", "Trip"]
