"""From a text to one syntax tree, within limits: the only place where sqlglot's parser is called.

Of sqlglot nothing but the tokenizer and the parser is used. Its tree is then walked by a whitelist: a node or an
argument of a node that is not understood is refused. What may be wrong with a text that is no question is said, too:
words that are nearly keywords, and habits of other systems.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from errorfloor.catalogue.near import near, nearest
from errorfloor.errors import InputError, RefusedError

MOST_CHARACTERS = 10_000
MOST_TOKENS = 2_000
MOST_NESTING = 30  # parentheses and CASE
MOST_DEPTH = 100  # of the syntax tree: also the longest chain of + or AND
MOST_SIGNS = 5  # minus signs or NOT in a row

SIGNS = {"(", ")", ",", ".", "+", "-", "*", "/", "^", "**", "=", "<>", "!=", "<", "<=", ">", ">=", "::", ";"}
QUOTED = {TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER}
OPENING = {TokenType.L_PAREN, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.END}
PREFIXES = {TokenType.DASH, TokenType.PLUS, TokenType.NOT}
# After these a "between(" begins an operand, so that it is the function; elsewhere it is the comparison.
BEFORE_OPERANDS = {
    *(TokenType.L_PAREN, TokenType.COMMA, TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH),
    *(TokenType.CARET, TokenType.DSTAR, TokenType.SELECT, TokenType.THEN, TokenType.ELSE, TokenType.WHEN),
    *(TokenType.WHERE, TokenType.AND, TokenType.OR, TokenType.ON, TokenType.GROUP_BY, TokenType.ORDER_BY),
    *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.CASE),
    *(TokenType.FROM, TokenType.WITH, TokenType.LIMIT),
}

JOINTS = {TokenType.COMMA, TokenType.ALIAS}  # between two things, which the parser does not insist on
AFTER_OPERANDS = {
    *(TokenType.R_PAREN, TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY),
    *(TokenType.LIMIT, TokenType.JOIN, TokenType.LEFT, TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.AND),
    TokenType.SELECT,
}
# Words that stand for themselves in the language; every other word must be a name that the tree has kept.
KEYWORDS = {
    *("SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "WITH", "AS", "JOIN", "LEFT", "OUTER"),
    *("INNER", "ON", "USING", "AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "LIKE", "BETWEEN"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "FILTER", "ASC", "DESC", "ALL", "NULLS", "FIRST", "LAST", "CAST"),
    *("EXTRACT", "ISNULL", "NOTNULL", "DATE", "TIMESTAMP", "DATETIME", "DOUBLE", "PRECISION", "DOUBLE_PRECISION"),
    *("INT", "INTEGER", "BIGINT", "TEXT", "VARCHAR", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR"),
    *("DOY", "ISODOW", "HOUR", "MINUTE", "WITHIN", "GROUP", "WITHIN_GROUP"),
    *("ROLLUP", "CUBE", "GROUPING_SETS", "OVER", "PARTITION_BY", "ROWS", "RANGE", "UNBOUNDED", "PRECEDING"),
    *("CURRENT_ROW", "CURRENT", "ROW"),
}

# Functions that the walk answers, or refuses with advice of its own; the parser's own knowledge of others is not used.
FUNCTIONS = (
    *("SUM", "AVG", "COUNT", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "COVAR_POP"),
    *("COVAR_SAMP", "CORR", "REGR_SLOPE", "POWER", "POW", "EXP", "LN", "SQRT", "SIN", "COS", "TANH", "GREATEST"),
    *("LEAST", "FLOOR", "COALESCE", "YEAR", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "DAY", "DAYOFMONTH"),
    *("DAYOFYEAR", "DAYOFWEEK_ISO", "ISODOW", "HOUR", "MINUTE", "DATE_TRUNC", "DATE"),
    *("MEDIAN", "QUANTILE", "APPROX_QUANTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "MIN", "MAX", "MODE", "ARG_MIN"),
    *("ARG_MAX", "MIN_BY", "MAX_BY", "FIRST", "LAST", "ANY_VALUE", "COUNT_IF", "APPROX_DISTINCT", "DAYOFWEEK"),
    *("APPROX_COUNT_DISTINCT", "RAND", "RANDOM", "GEN_RANDOM_UUID", "CURRENT_DATE", "CURRENT_TIMESTAMP", "LOG", "ABS"),
    *("ROUND", "CEIL", "CEILING", "TRUNC", "SIGN", "MOD", "NULLIF", "IF", "IIF", "DAY_OF_WEEK"),
)
SPECIAL_FUNCTIONS = ("CAST", "TRY_CAST", "EXTRACT")

DIALECT = Dialect.get_or_raise(None)
WORDS = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "JOIN", "USING", "HAVING", "BETWEEN", "FILTER")


class _Parser(Parser):
    """The standard grammar, with ^ and ** for powers, and without the fallback that logs and gives up."""

    EXPONENT: ClassVar = {TokenType.CARET: exp.Pow, TokenType.DSTAR: exp.Pow}
    BITWISE: ClassVar = {token: node for token, node in Parser.BITWISE.items() if token != TokenType.CARET}
    FUNCTIONS: ClassVar = {name: Parser.FUNCTIONS[name] for name in FUNCTIONS}
    FUNCTION_PARSERS: ClassVar = {name: Parser.FUNCTION_PARSERS[name] for name in SPECIAL_FUNCTIONS}

    def _warn_unsupported(self) -> NoReturn:
        raise ParseError("not a question")


def read(text: str) -> exp.Expression:
    """Give the syntax tree of a text that holds one statement.

    Raises RefusedError with the reason "syntax", "not-select", "constant" or "too-long".

    >>> type(read("SELECT count(*) FROM meters")).__name__
    'Select'
    >>> read("DROP TABLE meters")
    Traceback (most recent call last):
    errorfloor.errors.RefusedError: `DROP` is not supported: a question begins with SELECT or WITH
    """
    if not isinstance(text, str):
        raise InputError(f"a question is a text, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise RefusedError(
            f"the question has {len(text)} characters; at most {MOST_CHARACTERS} are allowed: ask for its parts",
            reason="too-long",
        )
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise RefusedError("the question contains a character that is not text: leave it out", reason="syntax")
    tokens = _prepared(_tokens(text))
    _check_shape(tokens)
    tree = _parsed(tokens, text)
    _check_depth(tree)
    return tree


def read_foreign(text: str, dialect: str) -> exp.Expression:
    """Give the syntax tree of a text in another dialect, which is no question, within the same limits.

    Raises RefusedError with the reason "syntax" or "too-long".

    >>> type(read_foreign("SELECT 'a'::regclass", "postgres")).__name__
    'Select'
    """
    foreign = Dialect.get_or_raise(dialect)
    tokens = _tokens(text, foreign)
    _check_nesting(tokens)
    try:
        trees = foreign.parser().parse(tokens, text)
    except Exception:  # whatever a foreign parser trips over
        trees = []
    if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
        raise RefusedError("this query cannot be read", reason="syntax")
    _check_depth(trees[0])
    return trees[0]


def _tokens(text: str, dialect: Dialect = DIALECT) -> list[Token]:
    try:
        tokens = dialect.tokenize(text)
    except Exception:  # whatever a foreign tokenizer trips over, the text is not a question
        tokens = []
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        fault = "a quotation mark or comment is not closed" if text.strip(" ;\n") else "it is empty"
        raise RefusedError(f"the question cannot be read: {fault}", reason="syntax")
    if len(tokens) > MOST_TOKENS:
        raise RefusedError(
            f"the question has {len(tokens)} words and symbols; at most {MOST_TOKENS} are allowed: ask for its parts",
            reason="too-long",
        )
    return tokens


def _prepared(tokens: list[Token]) -> list[Token]:
    """Read ** as one sign, and between( as a function where an operand begins."""
    prepared: list[Token] = []
    for token in tokens:
        before = prepared[-1] if prepared else None
        kinds = (before.token_type if before else None, token.token_type)
        if before and kinds == (TokenType.STAR, TokenType.STAR) and before.end + 1 == token.start:
            prepared[-1] = _as(TokenType.DSTAR, before, "**")
            continue
        begins = len(prepared) > 1 and prepared[-2].token_type in BEFORE_OPERANDS
        if before and begins and kinds == (TokenType.BETWEEN, TokenType.L_PAREN):
            prepared[-1] = _as(TokenType.VAR, before, before.text)
        prepared.append(token)
    return prepared


def _as(kind: TokenType, token: Token, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _check_shape(tokens: list[Token]) -> None:
    first = tokens[0]
    if first.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        raise RefusedError(
            f"{shown(first.text)} is not supported: a question begins with SELECT or WITH"
            + (near(first.text, ["SELECT", "WITH"]) if first.token_type == TokenType.VAR else ""),
            reason="not-select",
        )
    for token in tokens:
        _check_token(token)
    _check_nesting(tokens)
    for one, two in pairwise(tokens):
        _check_neighbours(one, two)
    if tokens[-1].token_type in JOINTS or tokens[-1].token_type in BEFORE_OPERANDS:
        raise RefusedError(f"the question ends with {shown(tokens[-1].text)}: something is missing", reason="syntax")


def _check_nesting(tokens: list[Token]) -> None:
    depth = signs = 0
    for token in tokens:
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        signs = signs + 1 if token.token_type in PREFIXES else 0
        if depth > MOST_NESTING or signs > MOST_SIGNS:
            raise RefusedError(
                f"the question is nested too deeply: at most {MOST_NESTING} parentheses or CASE within each other, and "
                f"{MOST_SIGNS} signs in a row, are allowed; ask for its parts",
                reason="too-long",
            )


def _check_neighbours(one: Token, two: Token) -> None:
    """Refuse what the parser would pass over or read in an unexpected way."""
    if one.token_type == TokenType.NUMBER and one.end + 1 == two.start and two.text[:1].isidentifier():
        raise RefusedError(
            f"{shown(one.text + two.text)} is not a number here: write it in decimal digits, such as 1000 or 1e3",
            reason="constant",
        )
    before, after = one.token_type, two.token_type
    nothing_before = after in JOINTS and before in BEFORE_OPERANDS - {TokenType.STAR}
    nothing_after = before in JOINTS and after in AFTER_OPERANDS
    if nothing_before or nothing_after:
        raise RefusedError(f"{shown(one.text + ' ' + two.text)} has nothing to join: leave one out", reason="syntax")


def _check_token(token: Token) -> None:
    if token.token_type == TokenType.SEMICOLON:
        raise RefusedError("`;` separates several statements: ask one question at a time", reason="syntax")
    if token.token_type in QUOTED or token.text in SIGNS or token.text.replace("_", "a").replace(" ", "a").isalnum():
        return
    if token.text[:1] in "?:@$":
        raise RefusedError(f"{shown(token.text)} stands for a value: write the value itself", reason="constant")
    if token.text == "%":
        raise RefusedError(
            "`%` is not supported, because signs differ between systems: write x - n * floor(x / n)", reason="function"
        )
    raise RefusedError(f"{shown(token.text)} has no meaning in a question: {instead_of(token.text)}", reason="syntax")


def _parsed(tokens: list[Token], text: str) -> exp.Expression:
    where, said = "in the question", ""
    try:
        trees = _Parser(dialect=DIALECT).parse(tokens, text)
        if len(trees) == 1 and isinstance(trees[0], exp.Expression):
            return trees[0]
    except SqlglotError as error:
        first = (getattr(error, "errors", None) or [{}])[0]
        said = str(first.get("description", ""))
        if first.get("highlight"):
            where = f"near {shown(first['highlight'])} (line {first['line']}, column {first['col']})"
    except RecursionError:
        raise RefusedError("the question is nested too deeply: ask for its parts", reason="too-long") from None
    except Exception:  # whatever a foreign parser trips over, the text is not a question
        where = "in the question"
    raise RefusedError(f"something {where} cannot be read: {advice(tokens, said)}", reason="syntax")


def _check_depth(tree: exp.Expression) -> None:
    level: list[exp.Expression] = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise RefusedError(
        f"the question is nested more than {MOST_DEPTH} deep: use IN instead of long chains of OR, or ask for its "
        f"parts",
        reason="too-long",
    )


def check_all_read(text: str, tree: exp.Expression) -> None:
    """Refuse words of the text that left no trace in the tree: the parser passes over some."""
    kept = {node.meta["start"] for node in tree.walk() if "start" in node.meta}
    different = sum(type(node) is exp.Distinct for node in tree.walk())
    for token in _tokens(text):
        plain = token.token_type in QUOTED or token.text in SIGNS
        if token.token_type == TokenType.DISTINCT and different:  # it has no place of its own, so they are counted
            different -= 1
        elif not plain and token.start not in kept and "_".join(token.text.upper().split()) not in KEYWORDS:
            raise RefusedError(f"{shown(token.text)} has no meaning in this place: leave it out", reason="syntax")


def shown(piece: str) -> str:
    """Give a piece of the question on one line, shortened, between back quotes.

    >>> shown("a  >  5")
    '`a > 5`'
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in piece).split())
    return f"`{line if len(line) <= 60 else line[:57] + '…'}`"


def advice(tokens: Sequence[Token], message: str) -> str:
    """Say what was perhaps meant, from the words of a text and what the parser says of them.

    >>> from sqlglot.dialects.dialect import Dialect
    >>> advice(Dialect.get_or_raise(None).tokenize("SELECT avg(x) FRM t"), "")
    'did you mean FROM in the place of FRM?'
    """
    for one, two in zip(tokens, [*tokens[1:], None], strict=True):
        word = one.text.upper()
        if word in ("GROUP", "ORDER") and one.token_type == TokenType.VAR:
            return f"write {word} BY"
        if word == "TOP" and two is not None and two.token_type == TokenType.NUMBER:
            return f"write LIMIT {two.text} at the end in the place of TOP {two.text}"
        if one.token_type == TokenType.VAR and word not in WORDS and len(word) > 2:
            meant = nearest(word, WORDS)
            if meant is not None and set(meant) >= set(word) and (two is None or two.text != "("):
                return f"did you mean {meant} in the place of {one.text}?"
        if one.token_type == TokenType.R_PAREN and two is not None and two.token_type == TokenType.STRING:
            return f"write the name {two.text} without quotation marks, as in AS {two.text}"
    if "argument" in message or "missing for" in message:
        return "a function has too many or too few arguments there"
    opened = sum((one.text == "(") - (one.text == ")") for one in tokens)
    if opened:
        return "a parenthesis is not closed" if opened > 0 else "there is one closing parenthesis too many"
    return "check parentheses, commas and quotation marks"


def instead_of(sign: str) -> str:
    """Say what to write in the place of a sign that has no meaning.

    >>> instead_of("==")
    'write ='
    """
    if sign in ("`", "[", "]"):
        return "names stand alone or between double quotation marks"
    known = {"==": "write =", "&&": "write AND", "!": "write NOT", "||": "texts are not joined", "//": "write /"}
    return known.get(sign, "use + - * / ^, comparisons and functions")
