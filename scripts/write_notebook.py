"""Write ``examples/first_questions.ipynb``: run its cells in order, and put beside each what it shows.

A cell is run as a notebook runs it: the value of its last line is shown, as text, as HTML and as a picture where it has
one. Nothing of Jupyter is needed for that. ``tests/examples/test_notebook.py`` runs the same.
"""

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "examples" / "first_questions.ipynb"
FORMS = {"text/html": "_repr_html_", "image/png": "_repr_png_"}


def run_cell(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run a cell; give what it printed and the value of its last line, None if that is no expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def shown(printed: str, value: Any, count: int) -> list[dict[str, Any]]:
    """Give what a notebook keeps of a cell that was run."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"output_type": "stream", "name": "stdout", "text": printed})
    if value is None:
        return found
    data: dict[str, Any] = {"text/plain": repr(value)}
    for form, method in FORMS.items():
        if callable(give := getattr(value, method, None)) and (content := give()) is not None:
            data[form] = base64.b64encode(content).decode() if isinstance(content, bytes) else content
    found.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return found


def run(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run every cell of a notebook in a folder, and give it with what was shown."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    count, cells = 0, []
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": shown(*run_cell(cell["source"], names), count)}
            cells.append(cell)
    finally:
        os.chdir(before)
    return {**notebook, "cells": cells}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        done = run(json.loads(TARGET.read_text()), Path(place))
    TARGET.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
