"""Write docs/examples.md: every example with its purpose, what it prints and its picture."""

import ast
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "examples.md"
PICTURES = ROOT / "docs" / "pictures" / "examples"
COLOURS = 64  # of a picture's palette: enough for curves, and a third of the size
EXAMPLES = {  # in the order of the page, with its headings
    "average_of_meters": "Averages of meter readings by day",
    "wages_by_team": "What a pay table can be asked",
    "shares_that_stay_in_0_1": "Shares that stay between 0 and 1",
    "counts_table": "A table of counts",
    "polygon_noise": "Noise on a polygon",
    "compare_with_laplace": "Beside Laplace and Gaussian noise",
    "why_uniform_noise_fails": "Why uniform noise fails",
    "car": "A car whose start is private",
}
INTRODUCTION = """\
# Examples

Each example is a one-page program in `examples/` of the repository that generates its own data:
`python examples/average_of_meters.py FOLDER` prints what is shown here and writes its picture to the folder. They need
the extras `sql` and `plots`. Where noise follows from a newly made key, your numbers will differ.
`scripts/write_gallery.py` writes this page."""


def run(name: str, folder: Path) -> str:
    """Run an example with a folder for its picture, and give what it prints but for the name of the picture."""
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / f"{name}.py", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "120"},
    )
    lines = [line for line in done.stdout.splitlines() if str(folder) not in line]
    return "\n".join(textwrap.fill(line, 124) if len(line) > 124 else line for line in lines).strip()


def section(name: str, printed: str) -> str:
    """Give an example's part of the page."""
    said = ast.get_docstring(ast.parse((ROOT / "examples" / f"{name}.py").read_text())) or ""
    purpose = "\n\n".join(" ".join(one.split()) for one in said.split("\n\n") if not one.lstrip().startswith("python "))
    return "\n\n".join(
        [
            f"## {EXAMPLES[name]}",
            purpose.replace("``", "`"),
            f"![{EXAMPLES[name]}](pictures/examples/{name}.png)",
            f"```text\n{printed}\n```",
            f"[The program](../examples/{name}.py)",
        ]
    )


def main() -> None:
    """Run all of them."""
    from PIL import Image

    PICTURES.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION]
    for name in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            parts.append(section(name, run(name, Path(folder))))
            (drawn,) = Path(folder).glob("*.png")
            with Image.open(drawn) as picture:
                picture.convert("RGB").quantize(COLOURS).save(PICTURES / f"{name}.png", optimize=True)
    TARGET.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
