"""What is not supported: the reason is stable, and the message names the piece and says what to ask."""

import re
import sys

import pytest

from errorfloor.catalogue.model import Catalogue
from errorfloor.errors import RefusedError
from errorfloor.pricing.functions import FUNCTIONS as PRICED
from errorfloor.sql import parse
from errorfloor.sql.reading import FUNCTIONS
from errorfloor.sql.refusals import KNOWN_FUNCTIONS, REASONS
from meters import ask, refused

# The question, the reason, the piece that is named, and a word of the advice.
REFUSED = [
    # jumps in private values
    ("SELECT median(kwh) + 1 FROM meters", "aggregate", "`median(kwh)`", "a column of its own"),
    ("SELECT avg(median(kwh)) FROM meters", "aggregate", "`median(kwh)`", "aggregate inside an aggregate"),
    ("SELECT quantile(kwh, 1.5) FROM meters", "constant", "`quantile(kwh, 1.5)`", "between 0 and 1"),
    ("SELECT quantile_cont(kwh, 0.5) FROM meters", "aggregate", "`quantile_cont(kwh, 0.5)`", "quantile(x, 0.25)"),
    (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY kwh DESC) FROM meters",
        "aggregate",
        "`percentile_cont",
        "ORDER BY x",
    ),
    ("SELECT min(kwh) FROM meters", "aggregate", "`min(kwh)`", "above"),
    ("SELECT max(kwh) + 1 FROM meters", "aggregate", "`max(kwh)`", "above"),
    ("SELECT mode(kwh) FROM meters", "aggregate", "`mode(kwh)`", "count(*)"),
    ("SELECT first(kwh) FROM meters", "aggregate", "`first(kwh)`", "ask for sum"),
    ("SELECT avg(floor(kwh)) FROM meters", "function", "`floor(kwh)`", "above(x, t, width)"),
    ("SELECT avg(round(kwh)) FROM meters", "function", "`round(kwh)`", "round the answer yourself"),
    ("SELECT avg(abs(kwh)) FROM meters", "function", "`abs(kwh)`", "greatest(x, 0) + greatest(-x, 0)"),
    # private columns where rows or groups are chosen
    ("SELECT avg(kwh) FROM meters WHERE kwh > 5", "private-filter", "`kwh > 5`", "above(kwh, t, width)"),
    ("SELECT avg(kwh) FROM meters WHERE kwh BETWEEN 1 AND 5", "private-filter", "`kwh BETWEEN 1 AND 5`", "between(kwh"),
    ("SELECT avg(kwh) FROM meters WHERE kwh IN (1, 2)", "private-filter", "`kwh IN (1, 2)`", "above(kwh"),
    ("SELECT avg(kwh) FROM meters WHERE rooms < peak", "private-filter", "`rooms < peak`", "above(peak"),
    ("SELECT avg(kwh) FROM meters WHERE kwh", "private-filter", "`kwh`", "above(kwh"),
    ("SELECT avg(kwh) FROM meters WHERE kwh LIKE '1%'", "private-filter", "`kwh LIKE '1%'`", "above(kwh"),
    ("SELECT sum(kwh) FILTER (WHERE kwh > 5) FROM meters", "private-filter", "`kwh > 5`", "above(kwh"),
    ("SELECT sum(CASE WHEN kwh > 5 THEN 1 END) FROM meters", "private-filter", "`kwh > 5`", "above(kwh"),
    ("SELECT sum(CASE kwh WHEN 5 THEN 1 END) FROM meters", "private-filter", "`5`", "above(kwh"),
    ("SELECT avg(kwh) FROM meters WHERE exp(kwh) > 5", "private-filter", "`exp(kwh) > 5`", "above(kwh"),
    ("SELECT kwh, count(*) FROM meters GROUP BY kwh", "private-key", "`kwh`", "avg(kwh)"),
    ("SELECT count(*) FROM meters GROUP BY kwh + rooms", "private-key", "`kwh + rooms`", "avg(kwh)"),
    ("SELECT count(*) FROM meters GROUP BY exp(kwh)", "private-key", "`exp(kwh)`", "avg(kwh)"),
    ("SELECT kwh FROM meters", "private-key", "`kwh`", "avg(kwh)"),
    ("SELECT avg(kwh) FROM meters ORDER BY kwh", "private-key", "`kwh`", "avg(kwh)"),
    ("SELECT avg(kwh) + peak FROM meters", "private-key", "`peak`", "avg(peak)"),
    ("SELECT avg(kwh) FROM meters JOIN zones z ON z.days = kwh", "private-key", "`z.days = kwh`", "public columns"),
    # not one SELECT of aggregates
    ("SELECT * FROM meters", "aggregate", "`*`", "avg(x)"),
    ("SELECT tariff FROM meters GROUP BY tariff", "aggregate", "`SELECT tariff FROM", "count(*)"),
    ("SELECT sum(avg(kwh)) FROM meters", "aggregate", "`avg(kwh)`", "inside an aggregate"),
    ("INSERT INTO meters VALUES (1)", "not-select", "`INSERT`", "SELECT"),
    ("FROM meters SELECT avg(kwh)", "not-select", "`FROM`", "SELECT"),
    ("SELECT avg(kwh) FROM meters; SELECT 1", "syntax", "`;`", "one question"),
    ("SELECT avg(kwh FROM meters", "syntax", "`FROM` (line 1, column 19)", "a parenthesis is not closed"),
    ("SELECT avg(kwh) FROM meters UNION SELECT 1", "set-operation", "UNION", "one at a time"),
    ("SELECT avg(kwh) FROM meters HAVING avg(kwh) > 3", "having", "`HAVING avg(kwh) > 3`", "then filter"),
    ("SELECT avg(kwh) FROM meters HAVING count(*) < 3", "having", "`HAVING count(*) < 3`", "count(*) >= n"),
    ("SELECT avg(kwh) FROM meters HAVING count(*) >= 2.5", "having", "`HAVING count(*) >= 2.5`", "count(*) >= n"),
    ("SELECT avg(kwh) FROM meters HAVING NOT count(*) > 3", "having", "`HAVING NOT count(*) > 3`", "count(*) >= n"),
    ("SELECT DISTINCT avg(kwh) FROM meters", "distinct", "`SELECT DISTINCT`", "group by"),
    ("SELECT count(DISTINCT tariff) FROM meters", "distinct", "`count(DISTINCT tariff)`", "GROUP BY"),
    ("SELECT avg(DISTINCT kwh) FROM meters", "distinct", "`avg(DISTINCT kwh)`", "GROUP BY"),
    ("SELECT approx_distinct(kwh) FROM meters", "distinct", "`approx_distinct(kwh)`", "GROUP BY"),
    ("SELECT avg(kwh) OVER (PARTITION BY tariff) FROM meters", "window", "`avg(kwh) OVER (PARTITION", "GROUP BY"),
    ("SELECT avg(kwh) FROM meters QUALIFY TRUE", "window", "QUALIFY", "GROUP BY"),
    # nested questions
    ("SELECT avg(kwh) FROM meters WHERE rooms IN (SELECT 1)", "subquery", "`SELECT 1`", "filters or renames"),
    ("SELECT avg(kwh) FROM meters WHERE EXISTS (SELECT 1)", "subquery", "SELECT 1", "filters or renames"),
    ("SELECT avg(kwh) - (SELECT 1) FROM meters", "subquery", "SELECT 1", "filters or renames"),
    ("SELECT avg(e) FROM (SELECT 2 * kwh AS e FROM meters) x", "subquery", "`2 * kwh AS e`", "compute outside"),
    ("SELECT avg(e) FROM (SELECT avg(kwh) AS e FROM meters) x", "subquery", "`avg(kwh) AS e`", "compute outside"),
    ("SELECT avg(kwh) FROM (SELECT kwh FROM meters LIMIT 5) x", "subquery", "LIMIT 5", "compute outside"),
    ("SELECT avg(kwh) FROM (SELECT DISTINCT kwh FROM meters) x", "subquery", "DISTINCT kwh", "compute outside"),
    ("WITH RECURSIVE a AS (SELECT kwh FROM a) SELECT avg(kwh) FROM a", "syntax", "recursive", "ask with SELECT"),
    ("WITH a(x) AS (SELECT kwh FROM meters) SELECT avg(x) FROM a", "table", "`a(x)`", "AS in its SELECT"),
    ("WITH a AS MATERIALIZED (SELECT kwh FROM meters) SELECT avg(kwh) FROM a", "syntax", "materialized", "ask with"),
    ("WITH a AS (SELECT kwh FROM meters) SELECT avg(kwh) FROM zones JOIN a USING (zone)", "join", "`a`", "row key"),
    # functions
    ("SELECT avg(log(kwh)) FROM meters", "function", "`log(kwh)`", "ln(x)"),
    ("SELECT avg(log(2, kwh)) FROM meters", "function", "`log(2, kwh)`", "ln(x)"),
    ("SELECT avg(kwh % 2) FROM meters", "function", "`%`", "floor(x / n)"),
    ("SELECT avg(mod(rooms, 2)) FROM meters", "function", "rooms", "floor(x / n)"),
    ("SELECT avgg(kwh) FROM meters", "function", "`avgg(kwh)`", "did you mean avg?"),
    ("SELECT avg(sinh(kwh)) FROM meters", "function", "`sinh(kwh)`", "did you mean sin"),
    (
        "SELECT count(*) FROM meters GROUP BY upper(tariff)",
        "function",
        "`upper(tariff)`",
        "write each spelling",
    ),
    ("SELECT count(*) FROM meters GROUP BY dayofweek(day)", "function", "`dayofweek(day)`", "isodow"),
    ("SELECT count(*) FROM meters GROUP BY extract(dow FROM day)", "function", "DOW", "isodow"),
    ("SELECT count(*) FROM meters GROUP BY date_trunc('decade', day)", "function", "DECADE", "year, quarter, month"),
    ("SELECT avg(md5(tariff)) FROM meters", "function", "`md5(tariff)`", "there are sum, avg"),
    ("SELECT sum(if(heated, 1, 2)) FROM meters", "function", "`if(heated, 1, 2)`", "CASE WHEN"),
    ("SELECT sum(coalesce(rooms, 1)) FROM meters", "function", "`coalesce(rooms, 1)`", "IS NOT NULL"),
    ("SELECT sum(nullif(kwh, 1)) FROM meters", "function", "`nullif(kwh, 1)`", "FILTER"),
    ("SELECT sum(greatest(kwh, peak)) FROM meters", "function", "`greatest(kwh, peak)`", "greatest(x, 0)"),
    ("SELECT sin(avg(kwh)) FROM meters", "function", "`sin(avg(kwh))`", "not among"),
    ("SELECT round(avg(kwh)) FROM meters", "function", "`round(avg(kwh))`", "not supported"),
    ("SELECT power(avg(kwh), 1.5) FROM meters", "function", "`power(avg(kwh), 1.5)`", "whole exponent"),
    ("SELECT avg(above(kwh, 1)) FROM meters", "function", "`above(kwh, 1)`", "above(x, threshold, width)"),
    ("SELECT sum(exp()) FROM meters", "syntax", "`)`", "too few arguments"),
    ("SELECT count(*) FROM meters WHERE exp(rooms) > 2", "function", "`exp(rooms) > 2`", "exactly"),
    ("SELECT count(*) FROM meters WHERE tariff ILIKE 'e%'", "function", "`tariff ILIKE 'e%'`", "LIKE"),
    ("SELECT count(*) FROM meters WHERE tariff LIKE 'e%' ESCAPE '!'", "function", "ESCAPE", "LIKE"),
    ("SELECT count(*) FROM meters WHERE tariff COLLATE nocase = 'e'", "function", "COLLATE", "LIKE"),
    ("SELECT count(*) FROM meters WHERE tariff IS DISTINCT FROM 'e'", "function", "IS DISTINCT", "IS NULL"),
    # what changes from run to run
    ("SELECT avg(kwh) * random() FROM meters", "random", "`random()`", "write the date"),
    ("SELECT avg(kwh) FROM meters WHERE day < now()", "random", "`now()`", "write the date"),
    ("SELECT avg(kwh) FROM meters WHERE day < current_date", "random", "`current_date`", "write the date"),
    ("SELECT avg(kwh) FROM meters GROUP BY rowid", "random", "`rowid`", "row key"),
    # names
    ("SELECT avg(kwh) FROM metres", "table", "`metres`", "did you mean meters?"),
    ("SELECT avg(kwh) FROM public.meters", "table", "`public.meters`", "plain names"),
    ("SELECT avg(kwh) FROM unnest(kwh)", "table", "unnest", "declared"),
    ("SELECT count(*)", "table", "count", "FROM"),
    ("SELECT avg(x.kwh) FROM meters", "table", "`x.kwh`", "tables here: meters"),
    ("SELECT avg(kw) FROM meters", "column", "`kw`", "did you mean kwh?"),
    ("SELECT avg(zzz) FROM zones", "column", "`zzz`", "columns here: area, country, days, zone"),
    ("SELECT avg(area) FROM meters JOIN zones USING (zone)", "column", "`area`", "meters.area or zones.area"),
    ("SELECT avg(kwh) a, sum(kwh) A FROM meters", "column", "'A'", "rename"),
    # joins
    ("SELECT avg(kwh) FROM meters, zones", "join", "`zones`", "row key"),
    ("SELECT avg(kwh) FROM meters CROSS JOIN zones", "join", "`JOIN zones`", "row key"),
    ("SELECT avg(kwh) FROM meters NATURAL JOIN zones", "join", "`JOIN zones`", "row key"),
    ("SELECT avg(kwh) FROM meters RIGHT JOIN zones USING (zone)", "join", "`JOIN zones", "row key"),
    ("SELECT avg(kwh) FROM meters FULL JOIN zones USING (zone)", "join", "`JOIN zones", "row key"),
    ("SELECT avg(kwh) FROM meters SEMI JOIN zones USING (zone)", "join", "`JOIN zones", "row key"),
    ("SELECT avg(kwh) FROM meters m JOIN weather w ON w.day = m.day", "join", "`JOIN weather", "region, day"),
    ("SELECT avg(kwh) FROM meters m JOIN zones z ON z.zone > m.zone", "join", "`z.zone > m.zone`", "row key"),
    ("SELECT avg(kwh) FROM meters m JOIN zones z ON z.zone = z.country", "join", "`z.zone = z.country`", "row key"),
    ("SELECT avg(kwh) FROM meters m JOIN zones z ON z.zone = m.zone OR heated", "join", "OR heated", "row key"),
    ("SELECT avg(kwh) FROM meters m JOIN zones z ON z.zone = m.day", "join", "`z.zone = m.day`", "types"),
    ("SELECT avg(a.kwh) FROM meters a JOIN meters b USING (household, day)", "join", "`meters b`", "private columns"),
    ("SELECT avg(kwh) FROM zones JOIN zones USING (zone)", "join", "`zones`", "another with AS"),
    # groups and order
    ("SELECT tariff, avg(kwh) FROM meters", "group", "`tariff`", "GROUP BY tariff"),
    ("SELECT avg(kwh) * rooms FROM meters GROUP BY rooms", "group", "`rooms`", "separate column"),
    ("SELECT tariff, tariff AS t, avg(kwh) FROM meters GROUP BY tariff", "group", "`tariff`", "twice"),
    ("SELECT avg(kwh) FROM meters GROUP BY 2", "group", "`2`", "1 to 1"),
    ("SELECT avg(kwh) FROM meters GROUP BY 1", "group", "`1`", "public columns"),
    ("SELECT avg(kwh) FROM meters GROUP BY 'a'", "group", "`'a'`", "leave it out"),
    ("SELECT avg(kwh) FROM meters GROUP BY GROUPING SETS ((tariff), (rooms))", "group", "tariff", "all the keys"),
    ("SELECT avg(kwh) FROM meters GROUP BY ALL", "group", "`group`", "name the columns"),
    ("SELECT zone AS tariff, avg(kwh) FROM meters GROUP BY tariff", "group", "`tariff`", "rename one"),
    ("SELECT avg(kwh) FROM meters ORDER BY tariff", "order", "`tariff`", "selected name"),
    ("SELECT avg(kwh) FROM meters ORDER BY sum(kwh)", "order", "`sum(kwh)`", "selected name"),
    ("SELECT avg(kwh) FROM meters ORDER BY 1 NULLS LAST", "order", "`1`", "leave NULLS"),
    ("SELECT avg(kwh) FROM meters LIMIT 5 OFFSET 2", "order", "`OFFSET 2`", "afterwards"),
    ("SELECT avg(kwh) FROM meters LIMIT 1.5", "order", "`LIMIT 1.5`", "whole number"),
    ("SELECT avg(kwh) FROM meters FETCH FIRST 3 ROWS ONLY", "order", "3", "LIMIT n"),
    # types and constants
    ("SELECT avg(tariff) FROM meters", "type", "`tariff`", "a number is needed"),
    ("SELECT avg(kwh) FROM meters WHERE tariff = 1", "type", "`tariff = 1`", "quotation marks"),
    ("SELECT avg(kwh) FROM meters WHERE rooms = '1'", "type", "`rooms = '1'`", "quotation marks"),
    ("SELECT avg(kwh) FROM meters WHERE day = read_at", "type", "`day = read_at`", "CAST(x AS DATE)"),
    ("SELECT avg(kwh) FROM meters WHERE tariff < 'b'", "type", "`tariff < 'b'`", "LIKE"),
    ("SELECT avg(kwh) FROM meters WHERE day < 'soon'", "type", "`soon`", "'2013-01-31'"),
    ("SELECT avg(kwh) FROM meters WHERE day < '2013-02-30'", "type", "`2013-02-30`", "'2013-01-31'"),
    ("SELECT avg(kwh) FROM meters WHERE read_at < '2013-02-01 10:00+01:00'", "type", "+01:00", "without a zone"),
    ("SELECT avg(kwh) FROM meters WHERE rooms", "type", "`rooms`", "compare it"),
    ("SELECT avg(kwh) FROM meters WHERE rooms + 1 IS NULL", "type", "`rooms + 1 IS NULL`", "its columns"),
    ("SELECT rooms > 2, avg(kwh) FROM meters GROUP BY 1", "type", "`rooms > 2`", "CASE WHEN"),
    ("SELECT avg(hour(day)) FROM meters", "type", "`hour(day)`", "declared a moment"),
    ("SELECT avg(CAST(area AS INTEGER)) FROM meters", "type", "area AS INTEGER", "floor(x)"),
    ("SELECT avg(CASE WHEN heated THEN 1 ELSE 'a' END) FROM meters", "type", "`CASE WHEN heated", "one type"),
    ("SELECT avg(CASE WHEN heated THEN peak ELSE 0 END) FROM meters", "type", "`CASE WHEN heated", "FILTER"),
    ("SELECT count(*) FROM meters GROUP BY CASE WHEN heated THEN 1 END", "type", "`CASE WHEN", "an ELSE"),
    ("SELECT count(*) FROM meters WHERE rooms - rooms = 0", "type", "`rooms - rooms = 0`", "ELSE"),
    (
        "SELECT avg(kwh) FROM meters WHERE day < DATE '2013-01-01' + INTERVAL '1' DAY",
        "type",
        "`'2013-01-01'`",
        "number is needed",
    ),
    ("SELECT avg(kwh) FROM meters WHERE tariff = NULL", "constant", "null", "IS NULL"),
    ("SELECT avg(kwh) FROM meters WHERE tariff = ?", "constant", "`?`", "the value itself"),
    ("SELECT avg(kwh) FROM meters WHERE 'a' = 'a'", "constant", "`'a' = 'a'`", "column"),
    ("SELECT avg(kwh) FROM meters WHERE 1 = 2", "constant", "`1 = 2`", "leave it out"),
    ("SELECT avg(kwh) FROM meters WHERE kwh IS NULL", "constant", "`kwh IS NULL`", "leave it out"),
    ("SELECT avg(kwh) FROM meters WHERE rooms IN (1, rooms)", "constant", "`rooms`", "list of values"),
    ("SELECT avg(kwh / 0) FROM meters", "constant", "`kwh / 0`", "zero"),
    ("SELECT avg(kwh) / (1 - 1) FROM meters", "constant", "zero", "zero"),
    ("SELECT avg(exp(1) * kwh) FROM meters", "constant", "`exp(1)`", "decimal number"),
    ("SELECT sqrt(2) * avg(kwh) FROM meters", "constant", "`sqrt(2)`", "decimal number"),
    ("SELECT avg(kwh * 1e31) FROM meters", "constant", "`1e31`", "change the unit"),
    ("SELECT avg(kwh * 1e-31) FROM meters", "constant", "`1e-31`", "change the unit"),
    ("SELECT avg(kwh * 1_000) FROM meters", "constant", "`1_000`", "1000"),
    ("SELECT avg(kwh * 0x1F) FROM meters", "constant", "`0x1F`", "1000"),
    ("SELECT avg(kwh ^ rooms) FROM meters", "constant", "`rooms`", "plain number"),
    ("SELECT avg(above(kwh, 1, 0)) FROM meters", "constant", "`0`", "positive width"),
    ("SELECT avg(above(kwh, rooms, 1)) FROM meters", "constant", "`rooms`", "plain number"),
    ("SELECT avg(between(kwh, 2, 1, 1)) FROM meters", "constant", "`between(kwh, 2, 1, 1)`", "below its upper"),
    ("SELECT sum(kwh - kwh) FROM meters", "constant", "`kwh - kwh`", "zero"),
    # what would be ignored silently elsewhere
    ("SELECT avg(kwh) FROM meters TABLESAMPLE (10 PERCENT)", "syntax", "`TABLESAMPLE`", "ask with SELECT"),
    ("SELECT avg(kwh) FROM meters FOR UPDATE", "syntax", "`FOR UPDATE`", "ask with SELECT"),
    ("SELECT /*+ hint(x) */ avg(kwh) FROM meters", "syntax", "/*+", "no meaning"),
    ("SELECT avg(kwh ORDER BY day) FROM meters", "aggregate", "`avg(kwh ORDER BY day)`", "orders rows"),
    ("SELECT avg(kwh) IGNORE NULLS FROM meters", "aggregate", "`avg(kwh)`", "orders rows"),
    ("SELECT count(tariff, zone) FROM meters", "syntax", "`zone`", "ask with SELECT"),
    ("SELECT count() FROM meters", "aggregate", "`count()`", "count(*)"),
    ("SELECT avg(kwh) INTO other FROM meters", "syntax", "other", "ask with SELECT"),
    ("SELECT avg(-kwh ^ 2) FROM meters", "syntax", "`-kwh ^ 2`", "add parentheses"),
    ("SELECT avg(kwh ^ 2 ^ 3) FROM meters", "syntax", "`kwh ^ 2 ^ 3`", "add parentheses"),
    ("SELECT avg(kwh) FROM meters PIVOT (sum(kwh) FOR tariff IN ('a'))", "syntax", "FOR tariff", "ask with SELECT"),
    ("SELECT avg(kwh), FROM meters", "syntax", "`, FROM`", "leave one out"),
    ("SELECT avg(, kwh) FROM meters", "syntax", "`( ,`", "leave one out"),
    ("SELECT AS avg(kwh) FROM meters", "syntax", "`SELECT AS`", "leave one out"),
    ("SELECT avg(kwh) FROM meters GROUP BY", "syntax", "`GROUP BY`", "missing"),
    ("SELECT avg(kwh) FROM meters GROUP BY DISTINCT tariff", "syntax", "`DISTINCT`", "leave it out"),
    ("SELECT count(* EXCEPT) FROM meters", "syntax", "`EXCEPT`", "leave it out"),
    ("SELECT avg(kwh) FROM meters LIMIT 3 BY", "syntax", "`BY`", "leave it out"),
    ("SELECT avg(kwh) FROM meters WHERE heated IN", "syntax", "heated", "IN (1, 2)"),
    ("SELECT avg(kwh) FROM meters m LEFT INNER JOIN zones z USING (zone)", "join", "`JOIN zones z", "row key"),
    ("SELECT between(kwh, 1, 2, 3) FROM meters", "private-key", "`between(kwh, 1, 2, 3)`", "avg(kwh)"),
    # size
    ("SELECT avg(power(kwh, 1000000)) FROM meters", "too-long", "`power(kwh, 1000000)`", "smaller"),
    ("SELECT avg(power(kwh + peak + rooms, 12)) FROM meters", "too-long", "`power(kwh + peak", "its parts"),
    ("SELECT power(power(avg(kwh), 12), 12) FROM meters", "too-long", "`power(power(", "its parts"),
    ("SELECT avg(exp(exp(exp(exp(exp(kwh)))))) FROM meters", "too-long", "`exp(exp(", "its parts"),
    ("SELECT avg(kwh) FROM meters -- " + "x" * 10_000, "too-long", "characters", "its parts"),
    ("SELECT avg(" + "(" * 40 + "kwh" + ")" * 40 + ") FROM meters", "too-long", "30", "its parts"),
    ("SELECT avg(kwh" + " + 1" * 200 + ") FROM meters", "too-long", "100", "its parts"),
]


@pytest.mark.parametrize(("text", "reason", "piece", "advice"), REFUSED)
def test_refusal_names_the_piece_and_what_to_ask(text: str, reason: str, piece: str, advice: str) -> None:
    refusal = refused(text)
    assert refusal.fields["reason"] == reason, refusal
    assert piece in str(refusal)
    assert advice in str(refusal)


def test_every_reason_is_documented_and_occurs() -> None:
    assert {reason for _, reason, _, _ in REFUSED} == set(REASONS)


def test_every_known_function_is_read_and_every_function_of_the_plan_is_known() -> None:
    own = {"above", "between", "extract", "histogram", "cumulative"}
    assert set(KNOWN_FUNCTIONS) - own <= {name.lower() for name in FUNCTIONS}
    assert set(PRICED) - {"reciprocal"} <= set(KNOWN_FUNCTIONS)


ODD_WORDS = (
    "EXCEPT COLLATE DEFAULT DISTINCT BY RENAME REPLACE IGNORE RESPECT SAMPLE FINAL ONLY SYMMETRIC MATERIALIZED LATERAL "
    "RECURSIVE GLOBAL ANY SOME ESCAPE SIMILAR OVERLAPS WITHIN TOP QUALIFY PIVOT TABLESAMPLE STRUCT INTERVAL ORDINALITY"
)
WHOLE = (
    "SELECT tariff , avg ( kwh ) FROM meters WHERE heated AND rooms > 3 GROUP BY tariff ORDER BY tariff DESC LIMIT 3",
    "SELECT sum ( CASE WHEN heated THEN kwh ELSE 0 END ) FILTER ( WHERE rooms IN ( 1 , 2 ) ) FROM meters m LEFT JOIN "
    "zones z ON z.zone = m.zone",
    "WITH w AS ( SELECT kwh AS e FROM meters WHERE tariff LIKE 'a' ) SELECT count ( * ) , corr ( e , 2 * e ) FROM w",
    "SELECT CAST ( read_at AS DATE ) , extract ( year FROM day ) , avg ( kwh ^ 2 ) FROM meters WHERE day BETWEEN "
    "'2013-01-01' AND DATE '2013-02-01' AND rooms IS NOT NULL GROUP BY 1 , 2",
)


def functions(text: str) -> list[object] | None:
    try:
        question = ask(text)
    except RefusedError:
        return None
    return [question.function_of(output) for output in question.outputs]


@pytest.mark.parametrize("text", WHOLE)
def test_no_word_is_passed_over_unless_it_is_a_name(text: str) -> None:
    """A word put anywhere is refused, or is read as the name that any other word would be there."""
    words = text.split(" ")
    for place in range(len(words) + 1):
        before, after = " ".join(words[:place]), " ".join(words[place:])
        named = functions(f"{before} zzz {after}")
        for odd in re.findall(r"\w+", ODD_WORDS):
            found = functions(f"{before} {odd} {after}")
            assert found is None or found == named, f"{before} {odd} {after}"


def test_private_join_key_is_refused() -> None:
    tables = {
        "pay": {
            "source": "p.csv",
            "version": "1",
            "row_key": ["id"],
            "public": {"id": "whole"},
            "private": {"wage": {"range": [0, 100], "resolution": 1, "floor": 5}},
        },
        "bands": {"source": "b.csv", "version": "1", "row_key": ["wage"], "public": {"wage": "whole", "band": "text"}},
    }
    catalogue = Catalogue.model_validate({"tables": tables})
    with pytest.raises(RefusedError, match="`wage` joins on a private column") as caught:
        parse("SELECT band, count(*) FROM pay JOIN bands USING (wage) GROUP BY band", catalogue)
    assert caught.value.fields["reason"] == "private-key"


def test_a_question_asked_from_far_down_a_stack_is_refused_and_does_not_overflow() -> None:
    text = "SELECT avg(" + "(" * 25 + "kwh" + " + 1)" * 25 + ") FROM meters"

    def sink(depth: int) -> str:
        if depth:
            return sink(depth - 1)
        try:
            ask(text)
        except RefusedError as error:
            return str(error.fields["reason"])
        return "question"

    assert sink(0) == "question"
    told = {sink(depth) for depth in range(0, sys.getrecursionlimit() - 150, 50)}
    assert told == {"question", "too-long"}
