"""YAML of strangers: text that multiplies, nests without end, or takes quadratic time to read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from kubescript.snapshot import snapshot
from security_tests.saved import (
    must_gather,
    opening,
    pod,
    put,
    text,
)

# Text that multiplies. Each took more than ten seconds, or would.
MERGE: Final = "\n".join(
    ["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9))]
)
LAUGHS: Final = "a0: &a0 [x,x,x]\n" + "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
MULTIPLIED: Final = {
    "merge keys": (MERGE, "merge keys"),
    "merge keys, spelled": ("x: &x {a: 1}\ny:\n  !!merge <<: *x\n", "tags"),
    "billion laughs": (LAUGHS, "alias"),
    "one large alias": ("- &a " + "x" * 100_000 + "\n" + "- *a\n" * 10_000, "twice as large"),
    "aliases of a list": ("- &a [" + "x," * 10_000 + "]\n" + "- *a\n" * 10_000, "twice as large"),
    "itself": ("&a [*a, *a]", "alias"),
    "of another document": ("--- &a [x]\n--- *a\n", "alias"),
    "keys that are lists": ("? [a]\n: b\n", "key"),
    "an alias as key": ("a: &a [x]\n*a : b\n", "key"),
    "flow nesting": ("[" * 200_000, "deep"),
    "block nesting": ("- " * 200_000, "deep"),
    "mapping nesting": ("{a: " * 200_000, "deep"),
    "closed nesting": ("[" * 5_000 + "]" * 5_000, "deep"),
    "tag directives": ("".join(f"%TAG !{n}! x\n" for n in range(40_000)) + "--- a\n", "directives"),
    "tags": ("!!python/object/apply:os.system [id]", "tags"),
    "binary in a number": ("!!int " + "9" * 100, "tags"),
}


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("name", MULTIPLIED)
def test_yaml_that_multiplies_is_refused_where_it_begins(name: str, tmp_path: Path) -> None:
    """The error names the file and the reason, and the rest of the saved cluster is served."""
    content, reason = MULTIPLIED[name]
    must_gather(tmp_path / "saved")
    put(tmp_path / "saved" / "namespaces" / "a" / "core" / "pods.yaml", content)
    cluster = snapshot.Snapshot(tmp_path / "saved")
    began = time.process_time()
    answer = text(cluster, "api/v1/pods")
    assert time.process_time() - began < 5
    assert "pods.yaml cannot be read" in answer and reason in answer, answer
    assert "n1" in text(cluster, "api/v1/nodes")


@pytest.mark.promise("C-02")
def test_numbers_and_repeated_anchors_of_yaml_are_read_in_time(tmp_path: Path) -> None:
    """A number of any length is a text, a larger one than JSON has is a float, and the last of two anchors counts."""
    annotations = {
        "digits": "9" * 200_000, "hex": "0x" + "f" * 200_000, "base 60": "1" + ":59" * 50_000,
        "float": "1." + "0" * 200_000, "large": "0xffffffffffffffffffff", "anchors": "&a 1", "twice": "&a 2", "alias": "*a",
    }  # fmt: skip
    lines = "".join(f"  {key}: {value}\n" for key, value in annotations.items())
    put(tmp_path / "x.yaml", f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p1, namespace: a}}\nspec:\n{lines}")
    began = time.process_time()
    spec = json.loads(text(snapshot.Snapshot(tmp_path), "api/v1/namespaces/a/pods/p1"))["spec"]
    assert time.process_time() - began < 5
    assert spec["digits"] == "9" * 200_000 and spec["hex"].startswith("0xff") and spec["base 60"].startswith("1:59")
    assert spec["large"] == float(0xFFFFFFFFFFFFFFFFFFFF)
    assert (spec["anchors"], spec["twice"], spec["alias"]) == (1, 2, 2)


@pytest.mark.promise("C-02")
def test_aliases_as_other_tools_write_them_are_read(tmp_path: Path) -> None:
    """Python's writer shares equal objects by anchors, which cost no more than they would written out."""
    labels = {"app": "shop", "tier": "web"}
    items = [pod(f"p{number}") for number in range(20)]
    for item in items:
        item["metadata"]["labels"] = labels
    content = yaml.safe_dump_all(items) + "---\n" + yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
    assert "*id001" in content
    put(tmp_path / "x.yaml", content)
    answer = json.loads(text(snapshot.Snapshot(tmp_path), "api/v1/pods", "labelSelector=app=shop"))
    assert {item["metadata"]["name"] for item in answer["items"]} == {f"p{number}" for number in range(20)}


GROWING: Final[dict[str, Callable[[int], str]]] = {
    "lists": lambda size: "[" + "[]," * size + "]", "anchors": lambda size: "".join(f"- &a{n} x\n" for n in range(size)),
    "aliases": lambda size: "- &a x\n" + "- *a\n" * size, "documents": lambda size: "---\n" * size,
    "keys": lambda size: "".join(f"a{n}: 1\n" for n in range(size)), "one key": lambda size: "a: 1\n" * size,
    "pairs": lambda size: "[" + "a: b," * size + "]", "no end": lambda size: "[a" + ",a" * size,
    "folded": lambda size: "a: >\n" + "  x\n\n" * size, "quoted": lambda size: 'a: "' + "x\\n \n" * size + '"',
    "empty": lambda size: "-\n" * size, "questions": lambda size: "? a\n" * size, "spaces": lambda size: "a" + " " * size * 9,
    "comments": lambda size: "#\n" * size, "documents, ended": lambda size: "--- a\n...\n" * size,
}  # fmt: skip


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("name", GROWING)
def test_yaml_is_read_in_linear_time(name: str, tmp_path: Path) -> None:
    """Four times the text takes no more than about four times as long; a quadratic reader needs sixteen times."""

    def cost(size: int) -> float:
        put(tmp_path / "x.yaml", GROWING[name](size))
        began = time.process_time()
        opening(tmp_path)
        return time.process_time() - began

    # The least of several: a collection of this process' own garbage takes as long as the larger text.
    cost(100)
    small, large = (min(cost(size) for _ in range(3)) for size in (10_000, 40_000))
    assert large < 8 * max(0.05, small)
