"""The catalogue: what the custodian declares, and the allowance that follows from it.

=======================  ===========================================================================================
``load(path)``             read ``errorfloor.toml``; every mistake at once, with its place
``Catalogue``              all of it: ``place``, ``tables``, ``streams``, quotas and limits
``Table``                  source, version, row key, ``private`` and ``public`` columns, ``owner``, ``account_by``
``PrivateColumn``          range, resolution, floor, unit, nulls, distance, ``prior``
``PublicColumn``           type and, for numbers, resolution
``RecordColumn``           its domain and rest, in a table that protects records
``Reading``                how the files of a table are written: decimals, dates, nulls, names
``Owner``, ``Prior``       whose numbers they are; what everybody believes in advance
``Trajectories``           a stream: its system, what of it is private, and the quality of its answers
``Place``                  engine, snapshots, ledger, keys
``Quota``                  which share of every allowance one analyst or one period may use
``allowance(column)``      how much information answers may give away about an entry before its floor breaks
``owner_allowance(…)``     the same for all that belongs to one owner
``allowed(table, …)``      either, as the charge that the table's accounts may take in all
``promise(table, …)``      what holds whatever is asked: the figures at the allowance
``believed(column)``       its prior as a law on the values that can be stored
``draft(schemas)``         a commented file to begin with, from ``Schema``: names and types of columns
=======================  ===========================================================================================

A new word of the catalogue: a field of the section's class (in ``model``, ``columns``, ``owner``, ``growth``,
``reading``, ``records``, ``sign_in`` or ``trajectories``), its sentence in
``scripts/write_configuration_reference.py``, and, if it gives a floor its meaning, its place among the terms that the
ledger pins. ``mistakes`` says in words what is wrong; ``proposals`` is what ``init`` guesses from names.
"""

from errorfloor.extras import require

require("sql", "pydantic")

from errorfloor.catalogue.allowance import allowance, allowed, owner_allowance
from errorfloor.catalogue.columns import Prior, PrivateColumn, PublicColumn
from errorfloor.catalogue.draft import Schema, draft
from errorfloor.catalogue.load import load
from errorfloor.catalogue.model import Catalogue, Owner, Place, Quota, Table
from errorfloor.catalogue.promise import believed, entry_promise, promise, stored_distance
from errorfloor.catalogue.reading import Reading
from errorfloor.catalogue.records import RecordColumn
from errorfloor.catalogue.trajectories import Trajectories
from errorfloor.floors.words import Promise

__all__ = [
    "Catalogue",
    "Owner",
    "Place",
    "Prior",
    "PrivateColumn",
    "Promise",
    "PublicColumn",
    "Quota",
    "Reading",
    "RecordColumn",
    "Schema",
    "Table",
    "Trajectories",
    "allowance",
    "allowed",
    "believed",
    "draft",
    "entry_promise",
    "load",
    "owner_allowance",
    "promise",
    "stored_distance",
]
