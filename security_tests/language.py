"""One script in the world that the worker builds, in this process: for the tests of layer 1."""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.sdk.objects import helpers
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins
from security_tests import reach

__all__ = ["SAFE", "evaluate", "goes_on"]

SAFE: Final = "safe"
"""What a script that checks its own attack says when it got nothing."""
_ORDINARY: Final = "import json\nd = {'a': 1}\nd['a'] += 1\njson.dumps(d) + '{:>3}'.format(len([x for x in d]))"


def evaluate(source: str) -> tuple[str, Any]:
    """("refused", text), ("raised", exception) or ("value", value)."""
    extra = {"k8s": reach.Handle(), "namespace": "default", **helpers.GLOBALS}
    try:
        program = compiler.compile_script(source)
    except compiler.ScriptRefused as error:
        return "refused", str(error)
    try:
        return "value", compiler.run(program, builtins.build_globals(print_=reach.silent, extra=extra, importable={}))
    except Exception as error:
        compiler.describe_failure(error)
        return "raised", error


def goes_on() -> bool:
    """Whether an ordinary script still compiles and runs."""
    return evaluate(_ORDINARY) == ("value", '{"a": 2}  1')
