"""A question before it is charged, from public facts alone: how it reads, its bounds, noises, labels and charge.

``preparation`` has the question as it is read, planned and prepared, and ``choosing`` makes each from the one before.
Its noise is chosen in ``noises``, ``cell_noise``, ``joint_noise`` and ``record_noise``; what is put together from
released numbers is in ``totals``, ``derived``, ``quantiles`` and ``distributions``.

``rounding`` says what is left of a number that is released, ``cost`` which group sets a price and what an answer takes
of the machine, ``spelling`` finds values that no row has. A new family of noise for questions is chosen in
``noises``; a new answer by parts is planned in ``derived``.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")
