"""No promise without a test, no test without a promise."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from security_tests import promises

HERE: Final = Path(__file__).parent
KNOWN: Final = {promise.id: promise for promise in promises.PROMISES}
pytestmark = pytest.mark.promise("M-01")


def cited(decorators: list[ast.expr]) -> list[str]:
    """The ids in `pytest.mark.promise("…", …)` among these expressions."""
    calls = [
        node for node in decorators if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise"
    ]
    return [str(ast.literal_eval(argument)) for call in calls for argument in call.args]


def whole_module(tree: ast.Module) -> list[str]:
    """The ids that `pytestmark` gives to each test of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            return cited(node.value.elts if isinstance(node.value, ast.List) else [node.value])
    return []


def collected(folder: Path) -> dict[str, list[str]]:
    """Every test of a folder and the promises it cites."""
    found = {}
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        shared = whole_module(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[f"{path.name}::{node.name}"] = shared + cited(node.decorator_list)
    return found


@functools.cache
def here() -> dict[str, list[str]]:
    """The tests of this folder."""
    return collected(HERE)


@functools.cache
def everywhere() -> dict[str, list[str]]:
    """These, and the tests elsewhere that cite a promise: faults are tested beside the parts that meet them."""
    return here() | {name: ids for name, ids in collected(HERE.parent / "tests").items() if ids}


def test_no_test_lacks_a_promise() -> None:
    """Each test of this folder cites at least one promise of the manifest, and none that is not there."""
    assert [name for name, ids in here().items() if not ids] == []
    assert {name: ids for name, ids in everywhere().items() if set(ids) - KNOWN.keys()} == {}


def test_no_promise_lacks_a_test() -> None:
    """Each promise of the manifest is cited by at least one test."""
    kept = {name for ids in everywhere().values() for name in ids}
    assert [name for name in KNOWN if name not in kept] == []


def test_each_promise_is_one_sentence_with_a_source() -> None:
    """Ids are unique and say the layer; the text is one sentence; the source is named."""
    assert [name for name, count in Counter(promise.id for promise in promises.PROMISES).items() if count > 1] == []
    for promise in promises.PROMISES:
        assert promise.layer in promises.LAYERS
        assert promise.text.endswith(".")
        assert promise.text.count(". ") == 0
        assert promise.source


def test_each_test_says_its_promise_in_one_sentence() -> None:
    """Every test of this folder has a docstring that is one sentence on one line."""
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                text = ast.get_docstring(node) or ""
                assert text.endswith("."), (path.name, node.name)
