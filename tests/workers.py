"""Which tests share a worker of ``pytest -n``, told from their names: xdist hands out names, not tests.

The tests of a file share what the file makes once. Spark, PostgreSQL and the browser are started by one worker each.
The marks that xdist has for this do nothing with pytest 9.2, which keeps names elsewhere.
"""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED = {
    "spark": re.compile(r"[\[-](spark|every-engine)[\]-]"),
    "browser": re.compile(r"(^|/)tests/pages/"),
    "postgresql": re.compile(r"[\[-]postgresql[\]-]"),
    "paper": re.compile(r"(^|/)tests/paper/test_(claims|report)\.py"),  # the claims are computed once
}


def group_of(name: str) -> str:
    """Give the group of a test: what it shares with others, or else its file.

    >>> group_of("tests/sql/test_joins.py::test_joins_meet[spark-left]")
    'spark'
    >>> group_of("tests/sql/test_joins.py::test_joins_meet[duckdb-left]")
    'tests/sql/test_joins.py'
    """
    return next((group for group, pattern in SHARED.items() if pattern.search(name)), name.partition("::")[0])


class SharedWork(LoadScopeScheduling):
    """Gives a group to one worker, in the order in which the tests were collected."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
