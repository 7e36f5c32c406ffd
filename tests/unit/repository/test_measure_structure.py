"""scripts/measure_structure.py counts what its docstring says it counts, on a package small enough to count by hand."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import trace_call
from tests.kit import paths

SCRIPT = paths.ROOT / "scripts" / "measure_structure.py"
TINY = {
    "__init__.py": "",
    # upper -> middle -> lower; middle and the room `parts` import each other, one of them only for its types
    "upper.py": "import tiny.middle\n",
    "middle.py": "from tiny import lower\nfrom tiny.parts import wheel\n",
    "lower.py": "# why it is so\nX = 1  # a figure\nimport os  # noqa: F401\n",
    "parts/__init__.py": "",
    "parts/wheel.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import middle\n\n"
        "def turn():\n    from tiny.parts.inner import hub\n    return hub\n"
    ),
    "parts/inner/__init__.py": "",
    "parts/inner/hub.py": "from tiny import lower\n\n\ndef hold():\n    pass\n",
}
"""A package with one cycle of imports, in eight files of 18 lines."""
ASCENDING = {
    "__init__.py": "",
    "host.py": "from ascending import guest\n\ndef start():\n    return guest.visit(answer)\n\ndef answer():\n    return 1\n",
    "guest.py": "def visit(ask):\n    return ask()\n",
    "idle.py": "def rest():\n    pass\n",
}
"""host calls guest, which calls host's `answer`; nobody calls idle."""


def written(src: Path, package: str, files: dict[str, str]) -> Path:
    """The folder that the package was written to."""
    for name, text in files.items():
        path = src / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return src / package


def measured(src: Path) -> dict[str, Any]:
    """What the script prints as JSON for a source folder."""
    command = [sys.executable, str(SCRIPT), "--src", str(src), "--json"]
    houses: dict[str, dict[str, Any]] = json.loads(
        subprocess.run(command, check=True, capture_output=True, timeout=240).stdout
    )
    (figures,) = houses.values()
    return figures


def test_the_figures_of_a_tiny_package_are_those_counted_by_hand(tmp_path: Path) -> None:
    """Rooms, floors, cycles, importers, lines, syntax nodes and comments are counted as the script defines them."""
    written(tmp_path, "tiny", TINY)
    assert measured(tmp_path) == {
        "rooms": 5,
        "floors": 4,
        "room cycles": 1,
        "module cycles": 1,
        "modules": 8,
        "flat modules": 3,
        "modules with one importer": 2,  # hub by wheel, wheel by middle; lower and middle have two
        "short ones of these": 2,
        "lines": 18,
        "function lines, median": 2.5,
        "function lines, p90": 3,
        "function lines, maximum": 3,
        "file lines, median": 1.5,
        "file lines, maximum": 7,
        "syntax nodes per line": 1.9,  # hold has 3 nodes in 2 lines, turn 7 in 3: the median is (1.5 + 2.33) / 2
        "comments per 100 lines": 11.1,  # 2 of 18; noqa is for a tool
        "rooms by floor": [["lower"], ["parts.inner"], ["middle", "parts"], ["upper"]],
        "rooms in cycles": [["middle", "parts"]],
        "modules in cycles": [["tiny.middle", "tiny.parts.wheel"]],
    }


def test_a_cycle_that_is_cut_is_counted_no_more(tmp_path: Path) -> None:
    """The same package without its import back up has no cycle and one floor more."""
    written(tmp_path, "tiny", TINY | {"parts/wheel.py": "from tiny.parts.inner import hub\n"})
    figures = measured(tmp_path)
    assert (figures["room cycles"], figures["module cycles"], figures["floors"]) == (0, 0, 5)


def test_a_trace_lists_entered_files_and_calls_back_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count when one of their functions runs while the trace records; importing them does not count."""
    package = written(tmp_path, "ascending", ASCENDING)
    monkeypatch.syspath_prepend(tmp_path)
    recorder = trace_call.Trace(package, is_recording=True)
    before = sys.getprofile()
    sys.setprofile(recorder.profile)
    try:
        importlib.import_module("ascending.idle")
        importlib.import_module("ascending.host").start()
    finally:
        sys.setprofile(before)
    assert recorder.files == ["host.py", "guest.py"]
    assert recorder.callbacks == ["host.py: answer, called by guest.py"]
