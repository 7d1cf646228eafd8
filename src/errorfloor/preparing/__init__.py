"""A question before it is charged, from public facts alone: how it reads, its bounds, noises, labels and charge.

``reading`` has the text and the tables, ``preparation`` puts everything together. A question's noise is chosen in
``noises``, ``cell_noise``, ``joint_noise``, ``record_noise`` and ``tapered_noise``; what is put together from released
numbers is planned in ``totals``, ``running``, ``derived``, ``quantiles`` and ``distributions``.

``spending`` turns a share of the allowance into bounds, ``cost`` says what an answer takes of the machine, ``absent``
and ``spelling`` find values that no row has, ``setting`` the group that sets a price. A new family of noise for
questions is chosen in ``noises``; a new answer by parts is planned in ``derived``.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")
