"""Let Chromium see the fonts of one family only, so that no page is laid out by what a machine happens to have.

The families come with Matplotlib, which the tests need anyway: DejaVu, wide as few others, and STIX, narrow as Times.
"""

from pathlib import Path

import matplotlib

FAMILIES = {"DejaVu": ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono"), "STIX": ("STIXGeneral",) * 3}


def only(family: str, folder: Path) -> dict[str, str]:
    """Give the environment variable under which programs see this family alone; its file is kept in the folder."""
    place = Path(matplotlib.get_data_path(), "fonts", "ttf")
    generic = zip(("sans-serif", "serif", "monospace"), FAMILIES[family], strict=True)
    aliases = "".join(f"<alias><family>{g}</family><prefer><family>{f}</family></prefer></alias>" for g, f in generic)
    file = folder / f"{family}.conf"
    file.write_text(
        f"<fontconfig><dir>{place}</dir><cachedir>{folder}</cachedir>{aliases}<selectfont>"
        f"<acceptfont><glob>*/{family}*</glob></acceptfont><rejectfont><glob>*</glob></rejectfont></selectfont></fontconfig>"
    )
    return {"FONTCONFIG_FILE": str(file)}
