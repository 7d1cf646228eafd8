"""Noise tables for counts: published counts stay whole, ≥ 0, and within ±D of the true ones.

====================  ==================================================================================
``design_counts``       rules → the table that tells neighbouring counts apart least, with a certificate
``CountTable``          exact weights; sample, publish by cell keys, information, floor, text
``CountRules``          what each row must keep, and which rows cannot
``CountFloor``          what published counts tell of one unit more or less
``record_keys``         a key for each unit; ``cell_keys`` and ``cell_words`` make a cell's key from them
``from_text``           read a table; ``table.to_text()`` writes it
====================  ==================================================================================
"""

from errorfloor.policies.counts.cell_keys import cell_keys, cell_words, record_keys
from errorfloor.policies.counts.design import design_counts
from errorfloor.policies.counts.floor import CountFloor
from errorfloor.policies.counts.rules import CountRules
from errorfloor.policies.counts.table import CountTable
from errorfloor.policies.counts.text import from_text, to_text

__all__ = [
    "CountFloor",
    "CountRules",
    "CountTable",
    "cell_keys",
    "cell_words",
    "design_counts",
    "from_text",
    "record_keys",
    "to_text",
]
