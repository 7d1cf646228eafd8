"""What may be wrong with a text that is no question: words that are nearly keywords, and habits of other systems."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from errorfloor.catalogue.near import nearest

WORDS = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "JOIN", "USING", "HAVING", "BETWEEN", "FILTER")


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
