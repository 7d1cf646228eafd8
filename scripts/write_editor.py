"""Write the editor component of the pages: CodeMirror, bundled into one file that needs no network.

``make editor`` runs this. Versions, of what is needed indirectly too, are those of ``scripts/editor/package.json``;
to take others, change them there and run it again. It needs npm and its registry; the pages do not.
"""

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "scripts" / "editor"
TARGET = ROOT / "src" / "errorfloor" / "server" / "pages" / "static" / "codemirror.js"
WORKPLACE = ROOT / "build" / "editor"
INSTALL = ["npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
BUNDLE = "--bundle --minify --format=esm --target=es2022 --charset=utf8 --legal-comments=none --metafile=used.json"


def pinned() -> dict[str, str]:
    """Give the version of every package of the bundle."""
    return dict(json.loads((SOURCES / "package.json").read_text())["dependencies"])


def heading(licences: dict[str, str]) -> str:
    """Say what a bundle is made of, and under which licences; each licence once, with the packages that it is for."""
    texts = dict.fromkeys(licences.values())
    parts = ["Bundled by scripts/write_editor.py; do not edit."]
    for text in texts:
        names = [f"{name} {version}" for name, version in pinned().items() if licences[name] == text]
        parts += ["; ".join(names), text.strip()]
    return "/*!\n" + "\n\n".join(parts) + "\n*/\n"


def bundle() -> str:
    """Install the pinned packages, bundle them, and check that nothing else went in."""
    shutil.rmtree(WORKPLACE, ignore_errors=True)
    shutil.copytree(SOURCES, WORKPLACE)
    subprocess.run(INSTALL, cwd=WORKPLACE, check=True)
    esbuild = WORKPLACE / "node_modules" / ".bin" / "esbuild"
    subprocess.run([esbuild, "parts.js", *BUNDLE.split(), "--outfile=bundle.js"], cwd=WORKPLACE, check=True)
    inputs = json.loads((WORKPLACE / "used.json").read_text())["inputs"]
    folders = {name.removeprefix("node_modules/") for name in inputs if name.startswith("node_modules/")}
    used = {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in folders}
    if used != set(pinned()):
        raise SystemExit(f"package.json must pin what is bundled, no more and no less: {sorted(used ^ set(pinned()))}")
    licences = {name: (WORKPLACE / "node_modules" / name / "LICENSE").read_text() for name in used}
    return heading(licences) + (WORKPLACE / "bundle.js").read_text()


if __name__ == "__main__":
    TARGET.write_text(bundle())
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size:,} bytes")
