"""Python as models write it runs under the rules, gives exact results, and says what to write where it does not."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kubescript_sandbox.language import compiler, refusals
from kubescript_sandbox.library import builtins, stdlib
from tests.kit import cases, told
from tests.unit.sandbox.language.programs import PROGRAMS, Replicas


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


class Printed(list[str]):
    """What a script printed, as the worker would send it."""

    def write(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """The print callback."""
        self.append(sep.join(map(str, values)) + end)


def evaluate(source: str, printed: Printed | None = None) -> Any:
    """Compile and run one script; its value."""
    extra = {"namespace": "default", "deployment": Replicas()}
    write = (printed if printed is not None else Printed()).write
    return compiler.run(
        compiler.compile_script(source), builtins.build_globals(print_=write, extra=extra, importable={})
    )


def failure(source: str) -> tuple[str, str]:
    """The type and message of the exception that the script ends with."""
    program = compiler.compile_script(source)
    extra = {"k8s": object(), "namespace": "default"}
    with pytest.raises(BaseException) as caught:  # noqa: PT011  whatever the script raises
        compiler.run(program, builtins.build_globals(print_=Printed().write, extra=extra, importable={}))
    return told.tell(caught.value, source)


def refused(source: str) -> str:
    """The text of the refusal."""
    with pytest.raises(compiler.ScriptRefused) as caught:
        compiler.compile_script(source)
    return str(caught.value)


@cases.each(("source", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_program(source: str, expected: object) -> None:
    """The program has exactly the value it has in plain Python."""
    assert evaluate(source) == expected


PRINTS = {
    "plain": ("print('a', 1, sep='-', end='!')", "a-1!"),
    "function": ("def f():\n    print('in')\nf()\nprint()", "in\n\n"),
    "stderr": ("import sys\nprint('x', file=sys.stderr, flush=True)\nsys.stdout.write('y')", "x\ny"),
    "string-io": ("import io\nb = io.StringIO()\nprint('x', file=b)\nprint(b.getvalue(), end='')", "x\n"),
    "mapped": ("list(map(print, [1, 2]))", "1\n2\n"),
    "pprint": ("from pprint import pprint\npprint({'b': 1, 'a': [1]})", "{'a': [1], 'b': 1}\n"),
    "logging": (
        "import logging\nlogging.basicConfig(level=logging.INFO)\nlog = logging.getLogger(__name__)\nlog.info('%s pods', 3)\nlog.debug('x')",
        "INFO 3 pods\n",
    ),
}


@cases.each(("source", "expected"), PRINTS.values(), ids=PRINTS)
def test_print(source: str, expected: str) -> None:
    """Whatever prints ends up in the script's output."""
    printed = Printed()
    evaluate(source, printed)
    assert "".join(printed) == expected


HINTS = {
    "rows = [1]": "the script ended with an assignment to `rows`; end it with a line `rows` to return it",
    "d['a'] = 1": "the script ended with an assignment to `d['a']`",
    "n += 1": "an assignment to `n`",
    "for x in []: x": "ended with a loop",
    "def main(): pass": "end it with a line `main()`",
    "class A: pass": "the class `A`",
    "import json": "ended with an import",
    "": "the script is empty",
    "x = []\nfor i in x: pass": "collect what you want in a list",
    "if __name__ == '__main__':\n    result = main()": "an assignment to `result`",
    "with x: y = 1": "an assignment to `y`",
    "if 0: 1": "no expression was reached in the final `if`",
    "del x": "end it with an expression",
}


@cases.each(("source", "hint"), HINTS.items())
def test_hint(source: str, hint: str) -> None:
    """A script without a value says what its last statement was and how to return one."""
    assert hint in compiler.compile_script(source).hint


def test_returns() -> None:
    """`returns` tells whether there can be a value."""
    found = {s: compiler.compile_script(s).returns for s in ("1", "x = 1", "if x: return 1", "if x: 1", "print(1)", "")}
    assert found == {"1": True, "x = 1": False, "if x: return 1": True, "if x: 1": True, "print(1)": False, "": False}


NONES = {
    "def main():\n    x = 1\nmain()": "`main(…)` gave None; end the function with `return`",
    "x = []\nx.append(1)": "`x.append(…)` changes `x` and gives None; end the script with a line `x`",
    "x = [2, 1]\nx.sort()": "`x.sort(…)` changes `x` and gives None; end the script with a line `x`",
    "{}.get('a')": "the last expression is None",
}


@cases.each(("source", "hint"), NONES.items())
def test_none_is_explained(source: str, hint: str) -> None:
    """A last expression that gives None says why, most often a missing `return`."""
    assert evaluate(source) is None
    assert compiler.compile_script(source).none_hint == hint


@cases.each("source", ["print(1)", "if __name__ == '__main__':\n    print(1)", "with x:\n    print(1)"])
def test_a_script_that_ends_with_print_needs_no_hint(source: str) -> None:
    """What it printed is its answer."""
    assert compiler.compile_script(source).hint == ""


REFUSALS = {
    "exec('x = 1')": "line 1: `exec` is not available: code cannot be made at run time: write it into the script",
    "async def main():\n    return 1\nimport asyncio\nasyncio.run(main())": "drop `await` and `async`, and call the method directly",
    "async with x: pass": "the SDK is synchronous",
    "[x async for x in y]": "the SDK is synchronous",
    "locals()['a']": "names are simply there: use k8s, namespace, ctx",
    "x = 1\nprint(“x”)": "write straight quotes",
    "class A:\n    __slots__ = {'a': 1}": "use @dataclass(slots=True)",
    "raise ExceptionGroup('a', [])": "raise the first exception",
    "await k8s.x()": "line 1: the SDK is synchronous: drop `await`",
    "x = 1\nasync def f(): pass": "line 2: the SDK is synchronous",
    "open('f')": "there are no files here",
    "eval('1')": "json.loads",
    "x.__class__": "use type(x)",
    "x.__dict__": "use vars(x)",
    "self.__x = 1": "write `_x`",
    "class A(metaclass=M): pass": "the class keyword `metaclass`",
    "from os import *": "`import *` is not available: name what you need, or write `import os`",
    "try:\n    pass\nexcept* ValueError: pass": "use `except`",
    "match x:\n    case Pod(name=n): n": "write `case x if isinstance(x, …)`",
    "yield 1": "`yield` outside a function",
    "globals()": "names are simply there: use k8s, namespace, ctx",
    "input('?')": "put the value into the script",
}


@cases.each(("source", "text"), REFUSALS.items())
def test_refusal(source: str, text: str) -> None:
    """What stays refused says, on its line, what to write instead."""
    assert text in refused(source)


def test_syntax_error() -> None:
    """A syntax error shows its line, the source and a caret under the place."""
    with pytest.raises(compiler.ScriptRefused) as caught:
        compiler.compile_script("x = 1\nif x:\n    y = = 2\n")
    assert caught.value.code == "script.syntax"
    assert str(caught.value) == "line 3: invalid syntax\n    y = = 2\n        ^"


def test_shell_command() -> None:
    """A kubectl command line is answered with what a script is."""
    assert "this is a shell command; write Python" in refused("kubectl get pods -A")


def test_all_findings_are_reported() -> None:
    """Every refusal is reported at once, in order, the first ten of them."""
    with pytest.raises(compiler.ScriptRefused) as caught:
        compiler.compile_script("\n".join(f"x{i}.__class__" for i in range(12)))
    assert [f.line for f in caught.value.findings] == list(range(1, 13))
    assert caught.value.code == "script.refused"
    assert str(caught.value).endswith("… and 2 more")


def test_fence_keeps_line_numbers() -> None:
    """Lines count from the top of what was sent, fence included."""
    assert "line 3:" in refused("```python\nx = 1\nx.__class__\n```")


FAILURES = {
    "1 / 0": ("ZeroDivisionError", "division by zero\n  line 1: `1 / 0`"),
    "def f(d):\n    return d['a']\nf({})": ("KeyError", "'a'\n  line 3: `f({})`\n  line 2 in f: `return d['a']`"),
    "podz = 1\npods": ("NameError", "name 'pods' is not defined; did you mean `podz`? there are: k8s, namespace, podz"),
    "defaultdict(int)": ("NameError", "write `from collections import defaultdict` first"),
    "ChainMap()": ("NameError", "write `from collections import ChainMap` first"),
    "from datetime import datetime\ndatetime.timedelta(1)": ("AttributeError", "write `timedelta` alone"),
    "x = None\nx.spec": ("AttributeError", "the value before `.spec` is None"),
    "{}.spec": ("AttributeError", "it is a dict, write `['spec']` or `.get('spec')`"),
    "''.startsWith('a')": ("AttributeError", "did you mean `startswith`?"),
    "vars()": ("TypeError", "vars() takes one object here: names are simply there"),
    "dir()": ("TypeError", "dir() takes one object here, such as dir(k8s)"),
    "v1.list_node()": ("NameError", "name 'v1' is not defined; write `v1 = k8s.coreV1()` first"),
    "apps_v1.x()": ("NameError", "write `apps_v1 = k8s.appsV1()` first"),
    "custom_api.x()": ("NameError", "write `custom_api = k8s.customObjects()` first"),
    "kubectl('get pods')": ("NameError", "name 'kubectl' is not defined; write k8s.get('pods', namespace=namespace)"),
    "kr8s.get('pods')": ("NameError", "write k8s.get('pods', namespace=namespace)"),
    "import kr8s": ("ModuleNotFoundError", "use k8s.get('pods', namespace=...)"),
    "import subprocess": ("ModuleNotFoundError", "no process can be started: write k8s.get('pods', namespace=...)"),
    "from tabulate import tabulate": ("ModuleNotFoundError", "write table(rows), it is there without an import"),
    "import nothing": ("ModuleNotFoundError", "most of the standard library is: json, re, datetime, collections"),
    "import collections\ncollections.Countr()": (
        "AttributeError",
        "collections has no 'Countr' here; did you mean 'Counter'?",
    ),
    "import shutil": ("ModuleNotFoundError", "there are no files here"),
    "from os import listdir": ("ImportError", "there are no files, environment variables or processes here"),
    "import requests": ("ModuleNotFoundError", "the cluster is reached through `k8s`"),
    "import yaml": ("ModuleNotFoundError", "use json"),
    "import jsn": ("ModuleNotFoundError", "did you mean 'json'?"),
    "import urllib.request": ("ImportError", "urllib.parse is there"),
    "from collections import nothing": ("ImportError", "collections has no 'nothing' here; it has: ChainMap"),
    "import time\ntime.sleep(1)": ("AttributeError", "waiting uses up the time limit"),
    "import datetime\ndatetime.tomorrow()": ("AttributeError", "datetime has no 'tomorrow' here; it has:"),
    "None < 1": ("TypeError", "missing fields are None: write `x or 0`"),
    "None + 1": ("TypeError", "missing fields are None: write `x or 0`"),
    "datetime.now(timezone.utc) - '2026-01-01T00:00:00Z'": ("TypeError", "use .creation_timestamp"),
    "datetime.now(timezone.utc) > '2026-01-01T00:00:00Z'": ("TypeError", "use .creation_timestamp"),
    "'2026-01-01T00:00:00Z'.isoformat()": ("AttributeError", "use .creation_timestamp"),
    "datetime.utcnow() < datetime.now(timezone.utc)": ("TypeError", "; use datetime.now(timezone.utc)"),
    "datetime.utcnow() - datetime.now(timezone.utc)": ("TypeError", "; use datetime.now(timezone.utc)"),
    "(1, 2)[0] = 3": ("TypeError", "a tuple cannot be changed: it is immutable"),
    "type('X', (), {})": ("TypeError", "write a class statement"),
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E": (
        "E",
        "(its message could not be made: ValueError)",
    ),
    "raise ValueError('x' * 5000)": ("ValueError", "xxx…\n  line 1"),
    "def f(): f()\nf()": ("RecursionError", "outer calls\n"),
}


@cases.each(("source", "expected"), FAILURES.items())
def test_failure(source: str, expected: tuple[str, str]) -> None:
    """An uncaught exception is told by its type, its message, a hint, and the script's own lines."""
    kind, message = failure(source)
    assert kind == expected[0]
    assert expected[1] in message
    assert ".py" not in message
    assert "kubescript" not in message


def test_low_recursion_limit_does_not_hinder_compiling() -> None:
    """An ordinary nested expression compiles, however few frames the script itself may use."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_here() + 60)
    try:
        program = compiler.compile_script("+".join(["1"] * 200))
    finally:
        sys.setrecursionlimit(before)
    assert compiler.run(program, builtins.build_globals(print_=print, extra={}, importable={})) == 200


def _here() -> int:
    return len(inspect.stack(0))


def test_program_runs_again_in_fresh_globals() -> None:
    """A program can run more than once; nothing is kept between the runs."""
    program = compiler.compile_script("n = 1\ndef f():\n    global n\n    n += 1\nf()\nn")
    runs = [compiler.run(program, builtins.build_globals(print_=print, extra={}, importable={})) for _ in range(2)]
    assert runs == [2, 2]


def test_importable_modules_and_extra_names() -> None:
    """Modules and names given by the worker are found like any other, dotted ones too."""
    proxy = stdlib.ModuleProxy("kubernetes", {"client": stdlib.ModuleProxy("kubernetes.client", {"CoreV1Api": int})})
    source = "from kubernetes import client\nimport kubernetes.client as c\nfrom kubernetes.client import CoreV1Api\n(client is c, CoreV1Api(), k8s)"
    scope = builtins.build_globals(print_=print, extra={"k8s": 5}, importable={"kubernetes": proxy})
    assert compiler.run(compiler.compile_script(source), scope) == (True, 0, 5)


def test_no_module_is_both_given_and_refused() -> None:
    """The table of absent modules names none that is there."""
    assert not set(refusals.MODULES) & set(stdlib.MODULES)


def guard_names() -> Iterator[str]:
    """The guards, as the namespace installs them."""
    offered: Any = builtins.build_globals(print_=print, extra={}, importable={})["__builtins__"]
    yield from (name for name in offered if name.startswith("_"))


def test_every_guard_is_beyond_naming() -> None:
    """No guard's name can be written by a script."""
    for name in [*guard_names(), "_main_", "_nothing_"]:
        assert "not available" in refused(f"{name} = 1") or "begins and ends" in refused(f"{name} = 1")
        assert refused(f"x = {name}")
