"""The standard library as scripts see it: what is there works, what is not says what to use instead."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, shims, stdlib
from tests.kit import cases
from tests.unit.sandbox.language.uses import USES


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


def evaluate(source: str) -> Any:
    """Compile and run one script; its value."""
    return compiler.run(compiler.compile_script(source), builtins.build_globals(print_=print, extra={}, importable={}))


@cases.each(("source", "expected"), USES.values(), ids=USES)
def test_use(source: str, expected: object) -> None:
    """The module's everyday use gives the same result as in plain Python."""
    assert evaluate(source) == expected


def test_time_zones_are_complete() -> None:
    """Every usual zone is served from memory; an unknown one is the usual exception."""
    assert evaluate("import zoneinfo\nlen(zoneinfo.available_timezones())") > 400
    with pytest.raises(KeyError, match="No time zone found"):
        evaluate("import zoneinfo\nzoneinfo.ZoneInfo('../../etc/passwd')")


def test_inflation_is_capped() -> None:
    """A compression bomb is an error before it is memory; truncated data is an error, too."""
    over = shims.MAX_INFLATED + 1
    with pytest.raises(ValueError, match="64 MiB"):
        evaluate(f"import zlib\nzlib.decompress(zlib.compress(b'a' * {over}, 1))")
    with pytest.raises(Exception, match="truncated"):
        evaluate("import zlib\nzlib.decompress(zlib.compress(b'abc')[:-2])")


ABSENT = {
    "from os import listdir": "there are no files, environment variables or processes here",
    "from os import popen": "no process can be started",
    "import subprocess": "no process can be started",
    "import requests": "there is no network here",
    "import yaml": "use json",
    "import pandas as pd": "use lists, dicts",
    "import numpy as np": "use lists, dicts",
    "import asyncio": "the SDK is synchronous",
    "import threading": "k8s.parallel",
    "from concurrent.futures import ThreadPoolExecutor": "k8s.parallel",
    "from pathlib import Path": "there are no files here",
    "import nothing": "most of the standard library is: json, re",
    "from time import sleep": "waiting uses up the time limit",
    "from typing import get_type_hints": "evaluates text as code",
    "from dataclasses import make_dataclass": "write the class with @dataclass",
    "from json import JSONEncoder": "default=str",
    "from . import x": "a script is one file",
}


@cases.each(("source", "hint"), ABSENT.items())
def test_absent(source: str, hint: str) -> None:
    """An import that fails names what is there instead."""
    with pytest.raises(ImportError) as caught:
        evaluate(source)
    assert hint in str(caught.value)


def test_proxies_are_read_only() -> None:
    """A proxy cannot be changed, from either side of the guards."""
    with pytest.raises(TypeError):
        stdlib.MODULES["json"].dumps = len
    with pytest.raises(TypeError):
        del stdlib.MODULES["json"].dumps


def test_dir_lists_a_module() -> None:
    """`dir(module)` is what the script may use of it."""
    assert evaluate("dir(json)") == ["JSONDecodeError", "dumps", "loads"]


IMPORTS_NOTHING_OF_OURS = """
import sys
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, stdlib
stdlib.warm()
ours = {m for m in sys.modules if m.startswith("kubescript")}
print(" ".join(sorted(ours)))
print([m for m in ("kubernetes", "mcp", "pydantic", "ssl", "socket", "asyncio", "subprocess", "http", "yaml") if m in sys.modules])
"""


def test_untrusted_side_imports_nothing_of_the_host() -> None:
    """The language needs its own modules, RestrictedPython and the standard library: nothing with credentials or a
    network."""
    done = subprocess.run([sys.executable, "-c", IMPORTS_NOTHING_OF_OURS], capture_output=True, text=True, check=True)
    ours, others = done.stdout.splitlines()
    language = "advice classes compiler failures formatting guards identifiers name_rules named_tuples parameters pattern_rules read_values reflection refusals results transformer truths"
    library = "builtins copying data_classes data_fields data_methods json_shims memory_views os_stub shims stdlib timezones wrappers"
    rooms = {"language": language, "library": library}
    assert set(ours.split()) == {
        "kubescript_sandbox",
        *(f"kubescript_sandbox.{room}" for room in rooms),
        *(f"kubescript_sandbox.{room}.{name}" for room, names in rooms.items() for name in names.split()),
    }
    assert others == "[]"


OPENS_NOTHING = """
import sys
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, stdlib
from tests.unit.sandbox.language import programs, uses
stdlib.warm()
opened = []
# Of prose around a block, Python wants to show the line that is no Python, and looks for a file of that name; there is none.
telling = ("open", ("<script>", "rb", 0))
sys.addaudithook(lambda event, args: opened.append((event, args)) if event in {"open", "import", "os.listdir", "os.scandir"} and (event, args) != telling else None)
for source, _ in [*uses.USES.values(), *programs.PROGRAMS.values()]:
    scope = builtins.build_globals(print_=lambda *a, **k: None, extra={"deployment": programs.Replicas()}, importable={})
    compiler.run(compiler.compile_script(source), scope)
    if opened:
        print(source, opened)
        opened.clear()
"""


def test_warm_leaves_nothing_to_open() -> None:
    """After warm() no ordinary script opens a file or imports a module: after the lockdown it could not."""
    done = subprocess.run([sys.executable, "-c", OPENS_NOTHING], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
