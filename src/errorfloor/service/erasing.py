"""What an erasure leaves: answers that were given from the versions that go."""

from collections.abc import Iterable

from errorfloor.ledger import Ledger
from errorfloor.service.description import about, page


def answers_from(ledger: Ledger, table: str, versions: Iterable[str]) -> dict[str, int]:
    """Count the records of answers and releases that were made from versions of a table.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     _ = db.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
    ...     sum(answers_from(db.ledger, "meters", [db.catalogue.tables["meters"].version]).values())
    1
    """
    found = dict.fromkeys(versions, 0)
    for record in page(ledger.entries()):
        if about(record) == table and record.get("version") in found:
            found[record["version"]] += 1
    return found
