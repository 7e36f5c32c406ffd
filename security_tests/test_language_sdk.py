"""Layer 1, in a real worker: the SDK's own objects give a script nothing of their insides, and whatever a script says of
its progress or its failure is that script's, never a broken protocol or a forbidden system call of the worker."""

from __future__ import annotations

import json
from typing import Final

import pytest

from kubescript import types
from kubescript.wire import exchanges
from security_tests import benches
from tests.kit import cases

LINK: Final = """
from concurrent.futures import Future
seen = []
class Link:
    def __init__(self, *pending): self.pending = list(pending)
    def hold(self): pass
    def first(self, task):
        seen.append(task)
        return (False, None, 1)
    def batches(self, calls): return iter(())
class Held:
    def __init__(self):
        self._task = "private"
        self._callbacks = []
"""

FUTURES: Final = {
    # Worked once: `complete` read `_task` of whatever `pending` held, and set its `_outcome`.
    "task-of-another": LINK + "real = k8s.coreV1().list_node(async_req=True)\nFuture(Link(real), print).result()",
    "outcome-of-another": LINK + "held = Held()\nFuture(Link(held), print).result()",
    "cancel": LINK + "Future(Link(), print).cancel()",
    "by-the-class": LINK + "type(k8s.coreV1().list_node(async_req=True))(Link(), print).result()",
    "subclass": LINK + "class F(Future): pass\nF(Link(), print).result()",
}


@pytest.mark.promise("L-01")
@cases.each("attack", FUTURES.values(), ids=FUTURES)
def test_a_script_makes_no_future_of_its_own(attack: str, sandbox: benches.Bench) -> None:
    """A future is made by the SDK, with the SDK's link."""
    fault = sandbox(attack).fault
    assert fault is not None
    assert fault.code == "script.exception"
    assert fault.message.startswith(("a future is made by", "a script cannot make a", "cannot subclass"))
    assert sandbox.works()


QUANTITIES: Final = {
    # A fraction of anything: `plain()` gave it to the encoder of the result, and `__lt__` to operators of ours.
    "of-a-list": "quantity('1').of([1], 2)",
    "of-an-object": "class A:\n    def bit_length(self): return 1\nquantity('1').of(1, A())",
    "by-a-private-name": "quantity('1')._of([1], 1)",
    "numerator": "q = quantity('1')\nq._numerator = [1]",
    "slot-by-name": "setattr(quantity('1'), '_denominator', 0)",
    "subclass": "class Q(type(quantity('1'))): pass",
}


@pytest.mark.promise("L-01")
@cases.each("attack", QUANTITIES.values(), ids=QUANTITIES)
def test_a_script_makes_no_quantity_of_anything_but_numbers(attack: str, sandbox: benches.Bench) -> None:
    """What quantity() gives holds two whole numbers, and cannot be changed: equal texts give one object."""
    fault = sandbox(attack).fault
    assert fault is not None
    assert fault.type in {"AttributeError", "TypeError", ""}, fault
    assert sandbox.works()


FAILURES: Final = {
    # Each worked once: the worker ended with "it tried a forbidden system call" or "broke its protocol".
    "surrogate": "raise Exception('\\ud800')",
    "surrogate-in-an-attribute": "getattr(1, '\\ud800')",
    "surrogate-in-a-key": "{}['\\ud800; a']",
    "long-attribute": "class A: pass\na = A()\nsetattr(a, 'xY' * 3_000_000, 1)\ngetattr(a, 'xy' * 3_000_000)",
    "long-functions": f"def {'f' * 40_000}(n):\n    return {'f' * 40_000}(n - 1) if n else 1 / 0\n{'f' * 40_000}(7)",
    "progress-that-is-no-number": "ctx.progress(float('nan'))",
    "progress-that-is-infinite": "ctx.progress(1, float('inf'))",
}
MOST: Final = 16 * 1024


@pytest.mark.promise("R-04")
@cases.each("attack", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_told_as_the_scripts(attack: str, sandbox: benches.Bench) -> None:
    """The script failed, and so it is told, in bounded words."""
    fault = sandbox(attack).fault
    assert fault is not None
    assert fault.code == "script.exception", fault.message[:200]
    assert len(fault.text) <= MOST
    assert sandbox.works()


ASIDES: Final = {
    # Python's own words on its standard error. Each worked once: "it tried a forbidden system call".
    "warning-of-a-pattern": "re.split(r'[[\\]]', 'a[b')\n'safe'",
    "generator-that-fails-late": "def g():\n    try: yield 1\n    finally: raise ValueError\nx = g()\nnext(x)\ndel x\n'safe'",
    "generator-that-does-not-end": "def g():\n    while True:\n        try: yield 1\n        except GeneratorExit: pass\nx = g()\nnext(x)\ndel x\n'safe'",
}


@pytest.mark.promise("R-06")
@cases.each("attack", ASIDES.values(), ids=ASIDES)
def test_what_python_would_say_aside_is_not_said(attack: str, sandbox: benches.Bench) -> None:
    """A worker has no standard error, and Python knows it."""
    outcome = sandbox(attack)
    assert (outcome.result, outcome.fault) == (b'"safe"', None)
    assert sandbox.works()


TEXT: Final = """
class S(str):
    def __getitem__(self, key): return {"forged": [1]}
    def __str__(self): return self
class Text:
    def __str__(self): return S("x")
ctx.progress(1, 2, Text())
ctx.progress(1, 2, S("y"))
"safe"
"""


@pytest.mark.promise("R-04")
def test_the_text_of_progress_is_text(sandbox: benches.Bench) -> None:
    """A str of the script's own kind gives its characters and nothing else to the frame."""
    told: list[str] = []
    sandbox.on_progress = lambda progress: told.append(progress.text)
    try:
        outcome = sandbox(TEXT)
    finally:
        sandbox.on_progress = lambda _: None
    assert outcome.result == b'"safe"'
    assert told == ["x", "y"]
    assert sandbox.works()


NAMED: Final = "widgets{name.discovery.__func__.__globals__}"
"""The name of a resource, by an API server of an extension."""
PATH: Final = "k8s.dynamic().resources.get(api_version='example.com/v1', kind='Widget').path(name=k8s)"


def _extension(call: exchanges.Call, _left: float) -> tuple[exchanges.Reply, types.Response | None]:
    """An API server with a resource whose name is a format."""
    group = {"groupVersion": "example.com/v1", "version": "v1"}
    resource = {"name": NAMED, "kind": "Widget", "namespaced": False, "singularName": "widget", "verbs": ["get"]}
    documents = {
        "apis": {"kind": "APIGroupList", "groups": [{"name": "example.com", "versions": [group], "preferredVersion": group}]},
        "apis/example.com/v1": {"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [resource]},
    }  # fmt: skip
    body = json.dumps(documents.get("/".join(call.path), {"kind": "APIResourceList", "resources": []})).encode()
    reply = exchanges.Reply(200, "OK", "application/json")
    return reply, types.Response(200, "OK", "application/json", iter([body]), lambda: None, {})


@pytest.mark.promise("L-03")
def test_the_name_of_a_resource_is_no_format(sandbox: benches.Bench) -> None:
    """A path is put together from its parts: no attribute of the script's objects is read for it."""
    sandbox.on_call = _extension
    try:
        outcome = sandbox(PATH)
    finally:
        sandbox.on_call = benches.no_cluster
    assert outcome.fault is None, outcome.fault
    path = json.loads(outcome.result or b"null")
    assert path.startswith(f"/apis/example.com/v1/{NAMED}/"), path[:300]
    assert sandbox.works()
