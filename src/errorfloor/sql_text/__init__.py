"""SQL as tools send it: several statements in one text, with comments and parameters, and queries around a question.

``statements`` takes a text apart, ``asked`` finds the question in a statement and what the queries around it want,
``around`` and ``conditions`` read those, and ``released_rows`` does what they say with a released answer.
"""

from errorfloor.sql_text.statements import WISHES as WISHES
from errorfloor.sql_text.statements import Statement as Statement
from errorfloor.sql_text.statements import literal as literal
from errorfloor.sql_text.statements import statements as statements
from errorfloor.sql_text.statements import wished as wished
