"""The HTTP reference is current and complete; the examples name options that exist."""

import importlib.util
import re
import shlex
from dataclasses import fields
from pathlib import Path

from errorfloor.errors import ErrorFloorError
from errorfloor.server import Settings

ROOT = Path(__file__).parents[2]


def reference_module():
    spec = importlib.util.spec_from_file_location("write_http_reference", ROOT / "scripts" / "write_http_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_http_reference_is_current():
    module = reference_module()
    assert module.TARGET.read_text() == module.reference(), "run scripts/write_http_reference.py"


def test_every_code_of_the_door_is_in_the_reference():
    written = set()
    rooms = [ROOT / "src" / "errorfloor" / room for room in ("access", "postgres", "server")]
    for file in (file for room in rooms for file in room.rglob("*.py")):
        text = file.read_text()
        written |= {(code, int(status)) for status, code in re.findall(r"DoorError\(\s*(\d+),\s*\"([a-z-]+)\"", text)}
        written |= {(code, int(status)) for status, code in re.findall(r"failure\((\d+), \"([a-z-]+)\"", text)}
        written |= {(code, 429) for code in re.findall(r"_too_often\(\"([a-z-]+)\"", text)}
        written |= {(code, int(status)) for status, code in re.findall(r"^    (\d+): \(\"([a-z-]+)\"", text, re.M)}
    module = reference_module()
    ours = {(kind.code, kind.http_status) for kind in module._kinds(ErrorFloorError)}
    assert written - ours == {(code, status) for code, (status, _) in module.DOOR.items()}


def test_examples_use_options_that_exist():
    options = {f"--{one.name.replace('_', '-')}" for one in fields(Settings)}
    unit = (ROOT / "examples" / "errorfloor.service").read_text()
    command = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.M).group(1))
    container = (ROOT / "examples" / "Containerfile").read_text()
    used = [word for word in command if word.startswith("--")]
    used += re.findall(r"\"(--[a-z-]+)\"", container.split("ENTRYPOINT")[1])
    assert used
    assert set(used) <= options
    assert command[1] == "serve"
