"""Excel and OpenDocument sheets: written as text, and then read as every other text file is."""

import csv
import datetime
from pathlib import Path
from typing import Any

from errorfloor.catalogue.near import near
from errorfloor.errors import CatalogueError
from errorfloor.extras import require


def sheets_in(path: Path) -> list[str]:
    """Name the sheets of a workbook, in its order (extra ``excel``)."""
    return list(_workbook(path).sheet_names)


def write_sheet(path: Path, sheet: str, target: Path) -> None:
    """Write one sheet as CSV in UTF-8, a line for each row; the first sheet unless one is named.

    Raises CatalogueError if there is no such sheet, or the file is no workbook that can be read.
    """
    book = _workbook(path)
    if sheet and sheet not in book.sheet_names:
        raise CatalogueError(
            f"{path} has no sheet {sheet!r}{near(sheet, book.sheet_names)}; it has {', '.join(book.sheet_names)}"
        )
    rows = book.get_sheet_by_name(sheet or book.sheet_names[0]).to_python(skip_empty_area=False)
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(map(_line, rows))


def _workbook(path: Path) -> Any:
    require("excel", "python_calamine")
    import python_calamine

    try:
        return python_calamine.load_workbook(path)
    except (python_calamine.CalamineError, OSError):
        pass
    raise CatalogueError(f"{path} cannot be read as a workbook: is it damaged, or does it need a password?")


def _line(row: list[Any]) -> list[str]:
    cells = [_text(cell) for cell in row]
    return cells if any(cells) else []  # rows that only look empty are none


def _text(cell: Any) -> str:
    match cell:
        case bool():
            return str(cell).lower()
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case datetime.datetime() | datetime.date() | datetime.time():
            return cell.isoformat()
        case _:
            return " ".join(str(cell).splitlines())  # so that a row is a line
