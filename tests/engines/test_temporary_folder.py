"""Where temporary files go is the machine's choice; the tests' servers start there all the same."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_postgresql_starts_for_tests_whose_temporary_folder_has_spaces_in_its_name(postgresql_place, tmp_path):
    temporary = (
        tmp_path / "a folder with spaces, and a name that is longer than a socket's path could ever be" / ("x" * 90)
    )
    temporary.mkdir(parents=True)
    test = ROOT / "tests" / "vault" / "test_upgrade.py"
    command = [sys.executable, "-m", "pytest", "-k", "postgresql", "-p", "no:cacheprovider", str(test)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment | {"TMPDIR": str(temporary)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
