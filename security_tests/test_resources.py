"""Budgets: whatever a script burns, it ends with a clear error by its deadline and a second, and the next script is
answered."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Final

import pytest

from kubescript import types
from kubescript.output import render
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import progress
from security_tests import benches
from tests.kit import patience, pids

DEADLINE_MS: Final = 150
GRACE_S: Final = 1.0
NEXT_S: Final = 2.0
"""One second is the promise; the second one is for a machine that runs other tests as well. See tests/kit/patience.py for one
that does much else."""

ENDS: Final = {"limit.time", "limit.memory", "limit.depth", "limit.output", "limit.calls", "script.exception"}


def ended(sandbox: benches.Bench, script: str, codes: set[str], **limits: int) -> runs.Fault:
    """Run it; it must fail with one of `codes` in time, in few words, and the next script must work at once."""
    started = time.monotonic()
    outcome = sandbox(script, **({"timeout_ms": DEADLINE_MS} | limits))
    took = time.monotonic() - started
    assert outcome.fault is not None, outcome.result
    assert any(outcome.fault.code.startswith(code) for code in codes), outcome.fault
    assert took < limits.get("timeout_ms", DEADLINE_MS) / 1000 + patience.scaled(GRACE_S), took
    assert 10 < len(outcome.fault.text) < 20_000
    assert len(render.render(outcome, runs.Limits()).text.encode()) <= runs.Limits().output_bytes
    started = time.monotonic()
    assert sandbox.works()
    assert time.monotonic() - started < patience.scaled(NEXT_S)
    return outcome.fault


SPINS = {
    "a loop": "while True: pass",
    "a loop that allocates and frees": "while True: [None] * 1000",
    "a generator without end": "def f():\n    while True: yield 1\nsum(f())",
    "a comprehension": "[0 for _ in range(10**9)]",
    "iter with a sentinel": "import itertools\nfor _ in itertools.count(): pass",
    "the cartesian product": "import itertools\nsum(1 for _ in itertools.product(range(1000), repeat=4))",
    "permutations": "import itertools\nlen([1 for p in itertools.permutations(range(14)) if 0])",
    "a count in C": "import itertools\nimport collections\ncollections.deque(itertools.repeat(1), maxlen=0)",
    "sum of a range": "sum(range(10**11))",
    "membership": "10**12 in iter(range(10**11))",
    "max of a range": "max(range(10**11))",
    "sort of 10**8": "sorted(range(10**8), key=lambda n: -n)",
    "sort with a lying comparison": "import functools\nsorted(range(10**6), key=functools.cmp_to_key(lambda a, b: 1))",
    "a power": "9 ** 9 ** 9",
    "a power of powers": "x = 3\nwhile True: x = x * x",
    "a power modulo": "pow(3, 10**400000, 10**400000 + 7)",
    "a factorial": "import math\nmath.factorial(10**8)",
    "a division of giants": "x = 1 << 20_000_000\ny = (1 << 10_000_000) + 1\nfor _ in range(10**6): x % y",
    "a conversion to text": "x = str((1 << 14_000) * 1)\nfor _ in range(10**9): int(x)",
    "a catastrophic regex": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "a regex of alternatives": "import re\nre.match('(a|aa|a?)*c', 'a' * 60)",
    "a regex by substitution": "import re\nre.sub('(x+x+)+y', '', 'x' * 60)",
    "a replacement": "x = 'a' * 10**7\nwhile True: x.replace('a', 'b')",
    "a search": "x = 'a' * 10**6\nwhile True: (x * 10).find('a' * 10**5 + 'b')",
    "a join": "while True: ','.join(['a'] * 10**6)",
    "a comparison of deep tuples": "a = b = ()\nfor _ in range(40):\n    a = (a, a)\n    b = (b, b)\na == b",
    "a hash of deep tuples": "a = ()\nfor _ in range(40): a = (a, a)\nhash(a)",
    "a repr of shared lists": "a = []\nfor _ in range(40): a = [a, a]\nrepr(a)",
    "a dict of colliding keys": "d = {}\nfor n in range(10**8): d[n * (2**61 - 1)] = n",
    "an equality that calls itself": "class A:\n    def __eq__(self, o):\n        while True: pass\nA() == 1",
    "a property that spins": "class A:\n    @property\n    def x(self):\n        while True: pass\nA().x",
    "sleep": "import time\ntime.sleep(60)",
    "a format width": "while True: f\"{'x':>10000000}\"",
    "json of a giant": "import json\nx = ['a' * 100] * 10**5\nwhile True: json.dumps(x)",
    "base64 of a giant": "import base64\nx = b'a' * 10**7\nwhile True: base64.b64encode(x)",
    "a hash of a giant": "import hashlib\nx = b'a' * 10**7\nwhile True: hashlib.sha256(x).hexdigest()",
}  # fmt: skip


@pytest.mark.promise("R-01")
@pytest.mark.parametrize("name", SPINS)
def test_a_script_that_burns_time_is_ended(name: str, sandbox: benches.Bench) -> None:
    """In Python or in C, where no signal and no trace function would interrupt it: it ends by the deadline and a
    second."""
    ended(sandbox, SPINS[name], ENDS)


MEMORY = {
    "text": "'a' * 10**10",
    "bytes": "b'a' * 10**10",
    "a list": "[0] * 10**9",
    "a tuple": "(0,) * 10**9",
    "nested lists": "x = [0]\nwhile True: x = [x * 10]",
    "a growing list": "x = []\nwhile True: x.append('y' * 10**6)",
    "a growing list of small things": "x = []\nwhile True: x.append([len(x)])",
    "a growing dict": "d = {}\nwhile True: d[len(d)] = 'x' * 1000",
    "a growing set": "s = set()\nwhile True: s.add('x' * 1000 + str(len(s)))",
    "doubling text": "x = 'ab'\nwhile True: x = x + x",
    "a shift": "1 << 10**11",
    "a list of a range": "list(range(10**9))",
    "a bytearray": "x = bytearray(10**10)",
    "a format width": "'%1000000000d' % 1",
    "an f-string width": "w = 10**9\nf'{1:{w}}'",
    "ljust": "'x'.ljust(10**10)",
    "center": "'x'.center(10**10)",
    "zfill": "'x'.zfill(10**10)",
    "expandtabs": "('\\t' * 10**6).expandtabs(10**6)",
    "a join": "('x' * 10**6).join(['y'] * 10**5)",
    "a replacement": "('a' * 10**6).replace('a', 'b' * 10**6)",
    "a translation": "('a' * 10**6).translate({97: 'b' * 10**6})",
    "a regex template": "import re\nre.sub('a', 'b' * 10**6, 'a' * 10**6)",
    "a regex of a million groups": "import re\nre.compile('(a)' * 10**6)",
    "combinations kept": "import itertools\nlist(itertools.combinations(range(100), 5))",
    "a tee": "import itertools\na, b = itertools.tee(itertools.count())\nfor x in a: pass",
    "a deque": "import collections\nd = collections.deque()\nwhile True: d.append('x' * 10**5)",
    "a counter": "import collections\nlist(collections.Counter({'a': 10**10}).elements())",
    "a string buffer": "import io\nb = io.StringIO()\nwhile True: b.write('x' * 10**6)",
    "hex of a giant": "hex(1 << 10**10)",
    "json with an indent": "import json\njson.dumps([[1]] * 10**6, indent=10**5)",
    "textwrap": "import textwrap\ntextwrap.indent('a\\n' * 10**6, 'x' * 10**5)",
    "a decimal": "import decimal\ndecimal.Decimal(10) ** 10**9 + 1",
    "a fraction": "import fractions\nf = fractions.Fraction(1, 3)\nwhile True: f = f * f + f",
    "swallowed": "x = []\nwhile True:\n    try:\n        x.append('y' * 10**6)\n    except MemoryError:\n        pass",
    "closures": "fs = []\nwhile True: fs.append(lambda x=[0] * 1000: x)",
    "classes": "cs = []\nwhile True:\n    class A:\n        x = [0] * 1000\n    cs.append(A)",
    "exceptions chained": "e = None\nwhile True:\n    try:\n        raise ValueError('x' * 10**5) from e\n    except ValueError as error:\n        e = error",
}  # fmt: skip


@pytest.mark.promise("R-02")
@pytest.mark.parametrize("name", MEMORY)
def test_a_script_that_eats_memory_is_ended(name: str, sandbox: benches.Bench) -> None:
    """A script gets its limit's worth and not a page more; the host does not grow with it."""
    ended(sandbox, MEMORY[name], ENDS | {"script."}, timeout_ms=600, memory_bytes=128 * benches.MIB)


@pytest.mark.promise("R-02")
@pytest.mark.parametrize(
    "script", [MEMORY["a growing list"], MEMORY["text"], MEMORY["a list"]], ids=["growing", "text", "list"]
)
def test_the_end_of_memory_is_named(script: str, sandbox: benches.Bench) -> None:
    """The message says how much there was and what to do instead."""
    fault = ended(sandbox, script, {"limit.memory"}, timeout_ms=10_000)
    assert "256 MiB" in fault.message


def limit_of(pid: int) -> str:
    """The limit on a process's address space, in bytes or "unlimited"."""
    text = Path(f"/proc/{pid}/limits").read_text()
    return text.partition("Max address space")[2].split()[0]


@pytest.mark.promise("R-02")
def test_a_worker_may_map_its_limit_and_not_a_page_more() -> None:
    """The limit on address space counts from what a worker maps when it gets its script."""
    with benches.opened(spares=1) as bench:
        bench.pool.start()
        patience.until(lambda: len(pids.children(bench.source.pid)) == 1)
        (spare,) = pids.children(bench.source.pid)
        patience.until(lambda: limit_of(spare).isdigit())
        pages = Path(f"/proc/{spare}/statm").read_text().split()[0]
        assert int(limit_of(spare)) - int(pages) * resource.getpagesize() <= 256 * benches.MIB


DEPTHS = {
    "a function": "def f(n): return f(n + 1)\nf(0)",
    "two functions": "def f(n): return g(n)\ndef g(n): return f(n)\nf(0)",
    "a lambda": "f = lambda n: f(n + 1)\nf(0)",
    "a generator": "def g(n):\n    for x in g(n + 1): yield x\nlist(g(0))",
    "yield from": "def g(n): yield from g(n + 1)\nlist(g(0))",
    "a method": "class A:\n    def f(self): return self.f()\nA().f()",
    "a property": "class A:\n    @property\n    def x(self): return self.x\nA().x",
    "an equality": "class A:\n    def __eq__(self, other): return self == other\nA() == 1",
    "a length": "class A:\n    def __len__(self): return len(self)\nlen(A())",
    "a representation": "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "a text": "class A:\n    def __str__(self): return str(self)\nstr(A())",
    "an addition": "class A:\n    def __add__(self, other): return self + other\nA() + 1",
    "an item": "class A:\n    def __getitem__(self, key): return self[key]\nA()[0]",
    "a sort key": "def f(n): return sorted([n], key=f)\nf(0)",
    "a map": "def f(n): return list(map(f, [n]))\nf(0)",
    "an exception handler": "def f():\n    try: return f()\n    except RecursionError: return f()\nf()",
    "repr of a deep list": "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
    "comparison of deep lists": "x, y = [], []\nfor _ in range(10**6): x, y = [x], [y]\nx == y",
    "json of a deep list": "import json\nx = []\nfor _ in range(10**5): x = [x]\njson.dumps(x)",
    "deep json": "import json\njson.loads('[' * 10**6 + ']' * 10**6)",
    "deep json objects": "import json\njson.loads('{\"a\":' * 10**6)",
    "a deep copy": "import copy\nx = []\nfor _ in range(10**5): x = [x]\ncopy.deepcopy(x)",
    "a deep pattern": "import re\nre.compile('(' * 5000 + ')' * 5000)",
    "hash of a deep tuple": "x = ()\nfor _ in range(10**6): x = (x,)\nhash(x)",
    "a deep result": "x = []\nfor _ in range(10**5): x = [x]\nx",
    "a result that holds itself": "x = []\nx.append(x)\nx",
    "a chain of iterators": "x = iter([1])\nfor _ in range(10**6): x = map(str, x)\nlist(x)",
    "a chain of chains": "import itertools\nx = iter([1])\nfor _ in range(10**6): x = itertools.chain(x, [1])\nlist(x)",
    "a literal": "import ast\nast.literal_eval('[' * 10**5)",
    "isinstance of deep tuples": "x = int\nfor _ in range(10**5): x = (x,)\nisinstance('', x)",
}  # fmt: skip


@pytest.mark.promise("R-03")
@pytest.mark.parametrize("name", DEPTHS)
def test_a_script_that_goes_too_deep_is_ended(name: str, sandbox: benches.Bench) -> None:
    """Recursion in Python or in C, of calls or of data: a named error, never a silent crash."""
    ended(sandbox, DEPTHS[name], ENDS | {"script.refused"}, timeout_ms=600)


FREED = "x = []\nfor _ in range(3 * 10**5): x = [x]\nx = None\n'freed'"


@pytest.mark.promise("R-03")
def test_deep_data_is_freed_without_a_crash(sandbox: benches.Bench) -> None:
    """Letting go of a structure nested 300,000 deep is no error at all."""
    assert sandbox(FREED).result == b'"freed"'


EAT = "kept = []\ntry:\n    while True: kept.append(bytes(1 << 16))\nexcept MemoryError:\n    pass\n"
WITHOUT_VALUE = {
    "at the edge of memory, with an assignment": EAT + "if kept == 0:\n    pass\n" * 4000 + "x = 1",
    "at the edge of memory, with None": "def f(): pass\n" + EAT + "if kept == 0:\n    pass\n" * 4000 + "f()",
    "with a deep target": "x = []\nfor _ in range(400): x = [x]\nx" + "[0]" * 400 + " = 1",
}


@pytest.mark.promise("R-02", "R-03")
@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_script_that_has_run_is_not_failed_by_its_explanation(name: str, sandbox: benches.Bench) -> None:
    """A script without a value may have written: it succeeds, and is told how to return one.

    Found so: the source was parsed again after the run, which took more memory or depth than the script had left.
    """
    outcome = sandbox(WITHOUT_VALUE[name], timeout_ms=60_000)
    assert outcome.fault is None
    assert outcome.hint


SOURCES = {
    "nested parentheses": "(" * 5000 + ")" * 5000,
    "nested lists": "[" * 5000 + "]" * 5000,
    "a long sum": "+".join(["1"] * 60_000),
    "a long chain of attributes": "x" + ".y" * 60_000,
    "a long chain of calls": "f" + "()" * 60_000,
    "nots": "not " * 60_000 + "1",
    "minuses": "-" * 100_000 + "1",
    "nested functions": "\n".join(" " * n + "def f():" for n in range(100)) + "\n" + " " * 100 + "pass",
    "nested ifs": "\n".join(" " * n + "if 1:" for n in range(400)) + "\n" + " " * 400 + "pass",
    "nested lambdas": "lambda: " * 5000 + "1",
    "nested f-strings": "f'{f\"{1}\"}'" * 1 + " + " + "f'{" * 300,
    "nested comprehensions": "[" * 200 + "1" + " for x in y]" * 200,
    "nested ternaries": "1 if 1 else " * 20_000 + "1",
    "a folded power": "x = " + "**".join(["9"] * 10),
    "a folded repetition": "x = (((('a' * 4096) * 4096) * 4096) * 4096) * 4096",
    "a folded shift": "x = 1 << 10 ** 12",
    "a giant number": "9" * 200_000,
    "a giant hexadecimal": "0x" + "f" * 200_000,
    "a giant name": "a" * 200_000 + " = 1",
    "a giant text": "'" + "a" * 300_000 + "'",
    "a megabyte of newlines": "\n" * (1 << 20),
    "a line of backslashes": "\\\n" * 100_000,
    "a case for each number": "match 1:\n" + "\n".join(f"    case {n}: pass" for n in range(8000)),
    "nested patterns": "match 1:\n    case " + "[" * 3000 + "]" * 3000 + ": pass",
    "50,000 statements": "x = 1\n" * 42_000,
    "five megabytes": "x = 1 #" + "y" * (5 << 20),
    "five megabytes of quotes": '"' * (5 << 20),
    "NUL": "x = 1\0",
    "surrogates": "x = '\ud800'",
    "an unknown encoding": "# -*- coding: rot13 -*-\nvzcbeg bf",
    "a tab war": "if 1:\n\tx = 1\n        y = 2",
    "half a text": "x = '''" + "a" * 100_000,
    "invisible operators": "x = 1 \u2028 2",
}  # fmt: skip


@pytest.mark.promise("R-07")
@pytest.mark.parametrize("name", SOURCES)
def test_any_source_is_compiled_or_refused_in_time(name: str, sandbox: benches.Bench) -> None:
    """A source made to break a compiler ends in a value, a hint or a named refusal, and the next script works."""
    started = time.monotonic()
    outcome = sandbox(SOURCES[name], timeout_ms=1_200)
    assert time.monotonic() - started < 1.2 + patience.scaled(GRACE_S)
    if outcome.fault is not None:
        assert outcome.fault.code.startswith(("script.", "limit.")), outcome.fault
        assert len(outcome.fault.text) < 20_000
    assert sandbox.works()


THOUSANDS = {
    "of refused names": "\n".join(f"x{n} = open('{n}')" for n in range(5_000)),
    "of refused attributes": "\n".join(f"x.__class__.__a{n}__" for n in range(4_000)),
    "of refused imports": "\n".join(f"import os{n}" for n in range(5_000)),
    "of refused constructs": "\n".join(f"async def f{n}(): await x" for n in range(4_000)),
    "on one line": "; ".join(f"x{n} = __import__('os')" for n in range(5_000)),
    "with long names": "\n".join(f"_{'x' * 1000}{n}_ = eval('1')" for n in range(200)),
}


@pytest.mark.promise("R-07")
@pytest.mark.parametrize("name", THOUSANDS)
def test_thousands_of_compile_errors_are_a_short_message(name: str, sandbox: benches.Bench) -> None:
    """However much is wrong with a script, the answer names some of it and stays short."""
    fault = ended(sandbox, THOUSANDS[name], {"script.", "limit.time"}, timeout_ms=2_500)
    assert len(fault.text) < 16_000


OUTPUTS = {
    "print without end": "while True: print('x' * 1000)",
    "one giant print": "print('x' * 10**7)",
    "prints of nothing": "while True: print(end='')",
    "prints of line ends": "while True: print()",
    "a giant separator": "print('a', 'b', sep='x' * 10**7)",
    "a giant end": "print('a', end='x' * 10**7)",
    "a print of many": "print(*range(10**6))",
    "wide characters": "while True: print('\U0001f600' * 1000)",
    "swallowing the refusal": "while True:\n    try:\n        print('x' * 10**5)\n    except BaseException:\n        pass",
    "a text that grows": "class A:\n    def __str__(self): return 'x' * 10**8\nprint(A())",
    "a giant result": "['x' * 1000] * 10**5",
    "a result of many": "list(range(3 * 10**6))",
    "a result without end": "def f():\n    while True: yield 'x' * 1000\nf()",
    "a result of giants": "{'x' * 10**6: ['y' * 10**6] * 100}",
    "a giant exception": "raise ValueError('x' * 10**7)",
    "an exception of many": "raise ValueError(*['x' * 1000] * 10**4)",
    "an exception whose text is giant": "class E(Exception):\n    def __str__(self): return 'x' * 10**8\nraise E()",
    "an exception whose text fails": "class E(Exception):\n    def __str__(self): raise E()\nraise E()",
    "an exception whose text spins": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()",
    "an exception with a giant name": "E = type('E', (Exception,), {}) if 0 else ValueError\nclass " + "E" * 5000 + "(Exception): pass\nraise " + "E" * 5000 + "()",
    "a key error": "{}['x' * 10**7]",
    "a name error": "x" * 5000,
    "progress without end": "while True: ctx.progress(1, 2, 'x' * 10**5)",
}  # fmt: skip


@pytest.mark.promise("R-04")
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_bomb_stays_within_the_answers_limit(name: str, sandbox: benches.Bench) -> None:
    """By print, result, exception or progress: the client's answer never exceeds its limit."""
    started = time.monotonic()
    outcome = sandbox(OUTPUTS[name], timeout_ms=500)
    assert time.monotonic() - started < 0.5 + patience.scaled(GRACE_S)
    limits = runs.Limits()
    assert len(outcome.printed.encode()) <= limits.output_bytes
    assert len(render.render(outcome, limits).text.encode()) <= limits.output_bytes
    if outcome.fault is None:
        assert outcome.result is not None
    assert sandbox.works()


CALLS = {
    "a million calls": "for n in range(10**6): k8s.coreV1().list_node()",
    "a million calls, errors swallowed": "for n in range(10**6):\n    try: k8s.coreV1().list_node()\n    except Exception: pass",
    "a million calls, everything swallowed": "while True:\n    try: k8s.coreV1().list_node()\n    except BaseException: pass",
    "calls while it is described": "class A:\n    def __repr__(self):\n        while True:\n            try: k8s.coreV1().list_node()\n            except BaseException: pass\nrepr(A())",
    "calls in a comprehension": "[k8s.coreV1().read_namespaced_pod(str(n), 'x') for n in range(10**6)]",
}  # fmt: skip


@pytest.mark.promise("R-05")
@pytest.mark.parametrize("name", CALLS)
def test_a_million_calls_are_not_made(name: str, sandbox: benches.Bench) -> None:
    """The broker hears of as many calls as the limit allows, whatever the script catches."""
    heard = sandbox.listen()
    try:
        sandbox(CALLS[name], timeout_ms=5_000, api_calls=20)
    finally:
        sandbox.on_call = benches.no_cluster
    assert len(heard) <= 20
    assert sandbox.works()


STUBBORN = {
    "except BaseException": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "bare except": "while True:\n    try:\n        while True: pass\n    except: pass",
    "finally": "def f():\n    while True:\n        try:\n            while True: pass\n        finally:\n            continue\nf()",
    "a context manager that swallows": "class A:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\nwhile True:\n    with A():\n        while True: pass",
    "contextlib.suppress": "import contextlib\nwhile True:\n    with contextlib.suppress(BaseException):\n        while True: pass",
    "a finalizer": "class A:\n    def __del__(self):\n        while True: pass\nA()\nwhile True: pass",
    "a generator that will not close": "def g():\n    while True:\n        try: yield 1\n        except BaseException: pass\nx = g()\nnext(x)\nwhile True: pass",
    "memory errors swallowed": "x = []\nwhile True:\n    try: x.append('y' * 10**7)\n    except BaseException: x.append(1)",
    "recursion errors swallowed": "def f():\n    try: f()\n    except BaseException: f()\nf()",
}  # fmt: skip


@pytest.mark.promise("R-06")
@pytest.mark.parametrize("name", STUBBORN)
def test_no_script_outlives_its_deadline(name: str, sandbox: benches.Bench) -> None:
    """The deadline is the host's: there is no exception to catch."""
    ended(sandbox, STUBBORN[name], ENDS | {"script."})


EXITS = {
    "SystemExit": "raise SystemExit",
    "SystemExit with a number": "raise SystemExit(3)",
    "SystemExit with a giant text": "raise SystemExit('x' * 10**7)",
    "SystemExit from a function": "def f(): raise SystemExit(1)\nf()",
    "SystemExit from a finalizer": "class A:\n    def __del__(self): raise SystemExit(1)\nA()\n1",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "BaseException": "raise BaseException('odd')",
    "MemoryError": "raise MemoryError('a lie')",
    "RecursionError": "raise RecursionError('a lie')",
    "an exception without a message": "raise Exception",
    "no exception": "raise",
    "an exception that is none": "raise 1",
}


@pytest.mark.promise("R-06")
@pytest.mark.parametrize("name", EXITS)
def test_any_way_to_leave_is_an_outcome(name: str, sandbox: benches.Bench) -> None:
    """A script may raise what it likes: it ends itself, never the worker's duty to answer nor the server."""
    outcome = sandbox(EXITS[name])
    assert outcome.fault is None or outcome.fault.code.startswith(("script.", "limit.")), outcome
    assert len(render.render(outcome, runs.Limits()).text) <= runs.Limits().output_bytes
    assert sandbox.works()


REPORTS = "for n in range(9_000):\n    ctx.progress(n, 9_000, f'step {n}')\n'done'"


@pytest.mark.promise("R-09")
def test_thousands_of_reports_are_a_few_to_the_client(sandbox: benches.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few at once, a few a second, and the last; without the limit all of them: the attack is real."""
    seen: list[float] = []
    monkeypatch.setattr(sandbox, "on_progress", lambda report: seen.append(report.done))
    began = time.monotonic()
    assert sandbox(REPORTS).result == b'"done"'
    assert len(seen) <= 12 + 4 * (time.monotonic() - began)
    assert seen[:10] == list(range(10))
    assert seen == sorted(seen)
    assert seen[-1] == 8_999
    monkeypatch.setattr(progress, "_BURST", 1 << 20)
    seen.clear()
    assert sandbox(REPORTS).result == b'"done"'
    assert seen == list(range(9_000))
    assert sandbox.works()


@pytest.mark.promise("R-09")
def test_a_report_that_waits_goes_out_with_the_next_call(
    sandbox: benches.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest report reaches the client during the next call, and reports without end end the script."""
    seen: list[float] = []
    monkeypatch.setattr(sandbox, "on_progress", lambda report: seen.append(report.done))

    def on_call(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        patience.until(lambda: seen[-1] == 49, 30)
        return benches.no_cluster(call, left)

    monkeypatch.setattr(sandbox, "on_call", on_call)
    # There is no cluster: the call fails, and the script goes on.
    call = "try:\n    k8s.coreV1().list_node()\nexcept Exception:\n    pass"
    script = f"for n in range(50):\n    ctx.progress(n)\n{call}\nctx.progress(50)\n1"
    assert sandbox(script, timeout_ms=60_000).result == b"1"
    assert seen[-2:] == [49, 50]
    endless = sandbox("while True:\n    ctx.progress(1)")
    assert endless.fault is not None and endless.fault.code == "limit.output"
    assert sandbox.works()
