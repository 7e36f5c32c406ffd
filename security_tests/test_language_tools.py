"""Layer 1: the classic tools are functions of ours that a script may call with any object. They give it texts and data,
whatever it hands in, and their errors are told in bounded words."""

from __future__ import annotations

import contextlib
from typing import Final

import pytest

from kubescript.guest import toolbox
from kubescript.guest.sdk.values import operations
from kubescript_sandbox.library import stdlib
from security_tests import benches
from security_tests.worlds import ATTEMPT, Verdict, judge
from tests.kit import cases


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()
    operations.warm()


CAUGHT: Final = """
def caught():
    try: k8s.tools.kubectl_get('pods', namespace='a', all_namespaces=True)
    except Exception as e: return e
kind = type(caught())
class S(str):
    def __format__(self, spec): return 'x' * 9_000_000
    def __eq__(self, other): return True
    def __hash__(self): return hash('not_found')
"""
"""The class of a tool's error, which `type` gives to a script."""

ERRORS: Final = {
    # Worked once: the worker ended with "it tried a forbidden system call".
    "surrogate": CAUGHT + "raise kind('not_found', details='\\ud800')",
    # Each worked once: the worker ended because a frame of it was too large.
    "long-text": CAUGHT + "raise kind('not_found', details='x' * 9_000_000)",
    "long-argument": "k8s.tools.cluster_list(format='x' * 9_000_000)",
    "long-by-its-format": CAUGHT + "raise kind('not_found', details=S('a'))",
    "long-code": CAUGHT + "raise kind(S('not_found'), details='a')",
    "code-that-is-changed": CAUGHT + "e = caught()\ne.code = 'policy.denied'\nraise e",
    "text-that-is-changed": CAUGHT + "e = caught()\ne.args = ([],)\nraise e",
    "subclass": CAUGHT + "class Own(kind):\n    def __str__(self): return 1\nraise Own('not_found', details='')",
    "no-such-message": CAUGHT + "raise kind('no_such')",
    "long-language": "k8s.tools.cluster_list(language='x' * 9_000_000)",
    "format-of-an-object": CAUGHT + "raise kind('not_found', details=k8s.coreV1)",
}
MOST: Final = 20 * 1024


@pytest.mark.promise("R-04")
@cases.each("attack", ERRORS.values(), ids=ERRORS)
def test_an_error_of_a_tool_is_told_in_bounded_words(attack: str, sandbox: benches.Bench) -> None:
    """The script failed, and so it is told: under the code of a script's error, or under that of one of our sentences."""
    fault = sandbox(attack).fault
    assert fault is not None
    assert fault.code.startswith(("script.exception", "tool.")), fault
    assert len(fault.code) < 60
    assert len(fault.text) <= MOST
    assert sandbox.works()


HELD: Final = {
    "parts": "held = [k8s.tools, k8s.helm, k8s.describe, *[getattr(k8s.tools, name) for name in dir(k8s.tools)]]",
    "methods": "held = [k8s.helm.releases, k8s.helm.status, k8s.helm.values, k8s.helm.history]",
    "described": "pod = k8s.coreV1().read_namespaced_pod('web', 'shop')\nheld = attempt(lambda: k8s.describe(pod))",
    "releases": "held = attempt(lambda: k8s.helm.releases())",
    "values": "held = attempt(lambda: k8s.helm.values('web', 'shop'))",
    **{
        f"{tool}-{name}": f"held = attempt(lambda: k8s.tools.{tool}({arguments}))"
        for tool in toolbox.TOOLS
        for name, arguments in {
            "nothing": "",
            "name": "'web'",
            "pod": "'pods', 'web', 'shop'",
            "objects": "k8s, print",
        }.items()
    },
}
"""What the tools are, return and raise."""


@pytest.mark.promise("L-01", "L-02")
@cases.each("program", HELD.values(), ids=HELD)
def test_a_script_holds_nothing_of_the_tools_insides(program: str) -> None:
    """No module, function, frame, table of names or file is at the end of any path from a tool, its answer or its
    error."""
    assert judge(f"{ATTEMPT}{program}\n") == Verdict("ended")


@pytest.mark.promise("L-02")
def test_the_walk_finds_what_a_tool_would_hand_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that returned a module, or an error that held a function of ours, would be found."""
    monkeypatch.setitem(toolbox.TOOLS, "cluster_list", lambda _k8s: [contextlib])
    assert judge("held = k8s.tools.cluster_list()\n").leaks
