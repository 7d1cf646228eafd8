"""Exact sums as texts of one length: neither the size of a result nor the cost of reading it follows a private number.

A sum s of absolute value at most 10³⁷ leaves the engine as the 38 digits of s + 5·10³⁷.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.engines.dialects import Dialect
from errorfloor.engines.dialects.base import LARGEST
from errorfloor.sql.double_words import DoubleWord

DIGITS = 38
RAISED = 5 * 10**37


def write(sql: str, dialect: Dialect) -> str:
    """Write the expression of a sum as text of ``DIGITS`` digits; NULL stays NULL.

    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> write("sum(x)", DuckDBDialect())
    'CAST(sum(x) + CAST(50000000000000000000000000000000000000 AS HUGEINT) AS VARCHAR)'
    """
    return dialect.text(f"{sql} + {dialect.whole(str(RAISED), LARGEST)}")


def read(column: Any) -> DoubleWord:
    """Give the sums of an Arrow column of such texts, 0 for NULL.

    >>> read(pa.chunked_array([[str(RAISED - 3), None]])).high.tolist()
    [-3.0, 0.0]
    """
    filled = column.cast(pa.string()).fill_null(str(RAISED)).cast(pa.decimal128(DIGITS)).combine_chunks()
    array = filled.chunk(0) if isinstance(filled, pa.ChunkedArray) and filled.num_chunks else filled
    if not len(array):
        return DoubleWord(np.zeros(0), np.zeros(0))
    words = np.frombuffer(array.buffers()[1], dtype="<u8")[2 * array.offset :][: 2 * len(array)].reshape(-1, 2)
    lower = words[:, 0] - np.uint64(RAISED % 2**64)  # modulo 2⁶⁴
    borrowed = words[:, 0] < np.uint64(RAISED % 2**64)
    upper = words[:, 1].astype(np.int64) - RAISED // 2**64 - borrowed
    return DoubleWord.of_words(upper, lower)
