"""The reference and the corpus live beside the tests and are imported by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
