"""Sixty awkward files, each with what it must be read as, or with the words that refuse it.

Every file has, under whatever names and in whatever writing, the rows of ``ROWS`` unless it says otherwise: a key, a
town, a day and a private number.
"""

import datetime
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 31), datetime.date(2026, 2, 28)]
ROWS = [("k1", "Ulm", DAYS[0], 1234.5), ("k2", "Bonn", DAYS[1], 12.25), ("k3", "Jena", DAYS[2], 0.5)]
HEAD = ("key", "town", "day", "pay")


@dataclass(frozen=True)
class Awkward:
    """A file: its name and bytes, options that its user must give, and what comes of it.

    ``refused`` are words of the message, ``rows`` what is read otherwise; ``declared`` has types that the user declares
    against what was found.
    """

    name: str
    content: bytes
    rows: list[tuple[Any, ...]] | None = None
    refused: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    secret: str = ""


def written(
    delimiter: str = ",",
    day: Callable[[datetime.date], str] = str,
    pay: Callable[[float], str] = str,
    head: tuple[str, ...] = HEAD,
    quote: Callable[[str], str] = str,
    end: str = "\n",
    rows: list[tuple[Any, ...]] = ROWS,
) -> str:
    lines = [delimiter.join(map(quote, head))] if head else []
    for key, town, date, number in rows:
        lines.append(delimiter.join(map(quote, (key, town, day(date), pay(number)))))
    return end.join(lines) + end


def quoted(text: str) -> str:
    return f'"{text}"'


def german(number: float) -> str:
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def day_by(form: str) -> Callable[[datetime.date], str]:
    return lambda date: date.strftime(form)


def changed(line: int, column: int, value: str, delimiter: str = ",", text: str | None = None) -> str:
    """Give the plain file with one field changed; lines are counted from 1."""
    lines = (text or written(delimiter)).split("\n")
    fields = lines[line - 1].split(delimiter)
    fields[column] = value
    lines[line - 1] = delimiter.join(fields)
    return "\n".join(lines)


def nulled(spelling: str, line: int = 3) -> bytes:
    return changed(line, 3, spelling).encode()


def first_town(town: str) -> list[tuple[Any, ...]]:
    return [(ROWS[0][0], town, *ROWS[0][2:]), *ROWS[1:]]


def workbook(rows: list[list[Any]], sheets: tuple[str, ...] = ("Tabelle1",)) -> bytes:
    """Write a workbook as Office Open XML, by hand: the parts that a reader needs, and no more."""
    days = {datetime.date: lambda d: (d - datetime.date(1899, 12, 30)).days}

    def cell(value: Any, place: str) -> str:
        if value is None:
            return ""
        if isinstance(value, datetime.date):
            return f'<c r="{place}" s="1"><v>{days[datetime.date](value)}</v></c>'
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{place}"><v>{value}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'

    body = "".join(
        f'<row r="{r}">{"".join(cell(v, f"{chr(65 + c)}{r}") for c, v in enumerate(row))}</row>'
        for r, row in enumerate(rows, start=1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    listed = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, start=1))
    linked = "".join(
        f'<Relationship Id="r{i}" Type="{relations}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{linked}<Relationship Id="s" '
        f'Type="{relations}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/>'
        "</cellXfs></styleSheet>",
    }
    empty = f'<worksheet xmlns="{main}"><sheetData/></worksheet>'
    for i in range(1, len(sheets) + 1):
        last = i == len(sheets)
        filled = f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{i}.xml"] = filled if last else empty
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


CELLS: list[list[Any]] = [list(HEAD), *(list(row) for row in ROWS)]
PLAIN = written()
NULL = [*ROWS[:1], (*ROWS[1][:3], None), ROWS[2]]
SECRET = "4815162342x"
UMLAUTS = ("Schlüssel", "Ort (Wohnsitz)", "Tag", "Gehalt in €")
SPANS = {"end": "\r\n"}

READ = [
    Awkward("plain.csv", PLAIN.encode()),
    Awkward("capitals.CSV", PLAIN.encode()),
    Awkward("semicolons.csv", written(";", pay=german).encode()),
    Awkward("tabs.csv", written("\t").encode()),
    Awkward("tabs.tsv", written("\t").encode()),
    Awkward("tabs.txt", written("\t").encode()),
    Awkward("bars.csv", written("|").encode()),
    Awkward("all_quoted.csv", written(quote=quoted).encode()),
    Awkward("single_quotes.csv", written(quote=lambda text: f"'{text}'", pay=lambda n: f"{n:,.2f}").encode()),
    Awkward("thousands.csv", written(quote=quoted, pay=lambda n: f"{n:,.2f}").encode()),
    Awkward("german.csv", written(";", day_by("%d.%m.%Y"), german, quote=quoted).encode()),
    Awkward("swiss.csv", written(";", day_by("%d.%m.%Y"), lambda n: f"{n:,.2f}".replace(",", "'")).encode()),
    Awkward("typographic.csv", written(";", pay=lambda n: f"{n:,.2f}".replace(",", "’")).encode()),
    Awkward("french.csv", written(";", day_by("%d/%m/%Y"), lambda n: german(n).replace(".", "\u202f")).encode()),
    Awkward("spaces_between_thousands.csv", written(pay=lambda n: f"{n:,.2f}".replace(",", " ")).encode()),
    Awkward("american_dates.csv", written(day=day_by("%m/%d/%Y")).encode()),
    Awkward("british_dates.csv", written(day=day_by("%d/%m/%Y")).encode()),
    Awkward("short_years.csv", written(day=day_by("%d.%m.%y")).encode()),
    Awkward("named_months.csv", written(day=day_by("%d %b %Y")).encode()),
    Awkward("upper_months.csv", written(day=lambda d: d.strftime("%d-%b-%Y").upper()).encode()),
    Awkward("slashed_iso.csv", written(day=day_by("%Y/%m/%d")).encode()),
    Awkward("day_without_zeros.csv", written(day=lambda d: f"{d.day}.{d.month}.{d.year}").encode()),
    Awkward("compact_dates.csv", written(day=day_by("%Y%m%d")).encode(), options={"dates": "%Y%m%d"},
            declared={"day": "date"}),
    Awkward("na.csv", nulled("NA"), NULL),
    Awkward("slashed_na.csv", nulled("n/a"), NULL),
    Awkward("null.csv", nulled("NULL"), NULL),
    Awkward("hash_na.csv", nulled("#N/A"), NULL),
    Awkward("dash.csv", nulled("-"), NULL),
    Awkward("blank.csv", nulled("   "), NULL),
    Awkward("nothing.csv", nulled(""), NULL),
    Awkward("quoted_nothing.csv", nulled('""'), NULL),
    Awkward("own_null.csv", nulled("entfällt"), NULL, options={"nulls": ["entfällt"]}),
    Awkward("namibia.csv", changed(2, 1, "NA", text=changed(3, 3, "NA")).encode(),
            [("k1", "NA", *ROWS[0][2:]), (*ROWS[1][:3], None), ROWS[2]]),
    Awkward("windows_1252.csv", written(";", pay=german, head=UMLAUTS).encode("windows-1252")),
    Awkward("utf_16.csv", written(head=UMLAUTS).encode("utf-16")),
    Awkward("utf_16_unmarked.csv", written().encode("utf-16-le")),
    Awkward("marked_utf_8.csv", written(head=UMLAUTS).encode("utf-8-sig")),
    Awkward("umlauts.csv", written(quote=quoted, head=UMLAUTS).encode()),
    Awkward("spaces_around_names.csv", written(head=(" key", "town ", " day ", "pay")).encode()),
    Awkward("line_break_in_a_name.csv", written(quote=quoted, head=("key", "town", "day", "pay\nin EUR")).encode()),
    Awkward("windows_lines.csv", written(**SPANS).encode()),
    Awkward("old_mac_lines.csv", written(end="\r").encode()),
    Awkward("no_last_line_end.csv", PLAIN.rstrip("\n").encode()),
    Awkward("blank_lines.csv", PLAIN.replace("\nk2", "\n\nk2").encode() + b"\n\n"),
    Awkward("preamble.csv", b"Pay in 2026\nmade by hand\n\n" + PLAIN.encode()),
    Awkward("title_with_separators.csv", b"Pay in 2026;;;\n" + written(";", pay=german).encode()),
    Awkward("years_for_names.csv", written(head=("key", "town", "day", "2026")).encode()),
    Awkward("days_for_names.csv", written(head=("key", "town", "day", "2026-01-01")).encode()),
    Awkward("no_names.csv", written(head=()).encode(), options={"header": list(HEAD)}),
    Awkward("unnamed_index.csv", written(head=("", *HEAD[1:])).encode()),
    Awkward("comma_in_a_text.csv", changed(2, 1, '"Ulm, Donau"').encode(), first_town("Ulm, Donau")),
    Awkward("break_in_a_text.csv", changed(2, 1, '"Ulm\nDonau"').encode(), first_town("Ulm\nDonau")),
    Awkward("backslashes.csv", changed(2, 1, '"the \\"Ulm\\""').encode(), first_town('the "Ulm"')),
    Awkward("leading_zeros.csv", PLAIN.replace("\nk", "\n0").encode(),
            [(r[0].replace("k", "0"), *r[1:]) for r in ROWS]),
    Awkward("long_codes.csv", PLAIN.replace("\nk", "\n49301234567890").encode(),
            [(r[0].replace("k", "49301234567890"), *r[1:]) for r in ROWS]),
    Awkward("scientific.csv", written(pay=lambda n: f"{n:.5E}").encode()),
    Awkward("packed.csv.gz", gzip.compress(PLAIN.encode())),
    Awkward("workbook.xlsx", workbook(CELLS)),
    Awkward("second_sheet.xlsx", workbook(CELLS, ("Deckblatt", "Löhne")), options={"sheet": "Löhne"}),
    Awkward("titled_sheet.xlsx", workbook([["Löhne 2026"], [], *CELLS])),
]  # fmt: skip

REFUSED = [
    Awkward("empty.csv", b"", refused="is empty: the first line of a CSV names its columns"),
    Awkward("values_for_names.csv", written(head=()).encode(), refused="line 1 of .* does not look like names"),
    Awkward("twice.csv", written(head=("key", "town", "day", "day")).encode(),
            refused="names columns 3 and 4 with the same name: rename one"),
    Awkward("short_line.csv", PLAIN.replace(",12.25", "").encode(),
            refused="line 3 has 3 fields, and the first line names 4 columns"),
    Awkward("long_line.csv", PLAIN.replace("12.25", f"12.25,{SECRET}").encode(), secret=SECRET,
            refused="line 3 has 5 fields, and the first line names 4 columns"),
    Awkward("total_line.csv", PLAIN.encode() + b"Total,1247.25\n",
            refused="line 5 has 2 fields, and the first line names 4 columns"),
    Awkward("open_quote.csv", changed(3, 1, '"Bonn').encode(), refused="line 3 has a quotation mark that is not"),
    Awkward("mixed_lines.csv", PLAIN.replace("12.25\n", "12.25\r\n").encode(), refused="line 3 ends with CR LF"),
    Awkward("half_latin.csv", changed(3, 1, "Köln").encode() + "k4,K\xf6ln,2026-01-01,1\n".encode("latin-1"),
            options={"encoding": "utf-8"}, refused="line 5 is not text in UTF-8 .*windows-1252"),
    Awkward("two_meanings.csv", written(";", pay=lambda n: "1.234").encode(),
            refused="numbers in column 'pay' can be read in two ways: say which with --read decimal"),
    Awkward("two_orders.csv", written(day=lambda d: "01/02/2026").encode(),
            refused="dates in column 'day' can be read in two ways: say which with --read dates="),
    Awkward("a_word.csv", nulled(SECRET), declared={"pay": "number"}, secret=SECRET,
            refused="line 3, column 'pay' does not hold a number: correct it"),
    Awkward("a_word_below_a_break.csv", changed(4, 3, SECRET, text=changed(2, 1, '"Ulm\nDonau"')).encode(),
            declared={"pay": "number"}, secret=SECRET, refused="line 4, column 'pay' does not hold a number"),
    Awkward("currency.csv", written(pay=lambda n: f"€ {n}").encode(), declared={"pay": "number"}, secret="1234",
            refused="line 2, column 'pay' does not hold a number"),
    Awkward("percent.csv", written(pay=lambda n: f"{n} %").encode(), declared={"pay": "number"}, secret="1234",
            refused="line 2, column 'pay' does not hold a number"),
    Awkward("accounting.csv", nulled("(12.25)"), declared={"pay": "number"}, secret="12.25",
            refused="line 3, column 'pay' does not hold a number"),
    Awkward("point_among_commas.csv", changed(3, 3, "1.5", ";", written(";", pay=german)).encode(), secret="1.5",
            declared={"pay": "number"}, options={"decimal": ",", "thousands": "."},
            refused="line 3, column 'pay' does not hold a number with ',' before decimals and '.' between thousands"),
    Awkward("no_such_day.csv", changed(4, 2, "30.02.2026", text=written(day=day_by("%d.%m.%Y"))).encode(),
            declared={"day": "date"}, options={"dates": "%d.%m.%Y"},
            refused="line 4, column 'day' does not hold a date as in '%d.%m.%Y'"),
    Awkward("short_year_among_long.csv", changed(4, 2, "28.02.26", text=written(day=day_by("%d.%m.%Y"))).encode(),
            declared={"day": "date"}, options={"dates": "%d.%m.%Y"},
            refused="line 4, column 'day' does not hold a date as in '%d.%m.%Y'"),
    Awkward("units_below_names.csv", PLAIN.replace("pay\n", "pay\n,,,EUR\n").encode(), declared={"pay": "number"},
            refused="line 2, column 'pay' does not hold a number"),
    Awkward("cut_short.csv.gz", gzip.compress(PLAIN.encode() * 99)[:-20], refused="it ends too early"),
    Awkward("not_packed.csv.gz", PLAIN.encode(), refused="it ends too early, or is not compressed"),
    Awkward("packed_in_secret.csv", gzip.compress(PLAIN.encode()), refused="compressed"),
    Awkward("long_field.csv", changed(3, 1, "x" * 2_100_000).encode(), refused="line 3 has a field of more than 2"),
    Awkward("word_in_a_sheet.xlsx", workbook([*CELLS[:2], [*CELLS[2][:3], SECRET], CELLS[3]]), secret=SECRET,
            declared={"pay": "number"}, refused="row 3, column 'pay' does not hold a number"),
    Awkward("no_such_sheet.xlsx", workbook(CELLS), options={"sheet": "Tabele1"},
            refused="has no sheet 'Tabele1': did you mean Tabelle1?"),
    Awkward("no_workbook.xlsx", PLAIN.encode(), refused="cannot be read as a workbook"),
]  # fmt: skip


def put(one: Awkward, folder: Path) -> Path:
    path = folder / one.name
    path.write_bytes(one.content)
    return path
