"""Transcripts of nonsense: each gets a verdict or a reason, the same in any order of its lines, and no traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript_safety.autopsy import verdict
from kubescript_safety.report import page, summary
from tests.kit.safety import transcripts

WORDS: Final = [
    "web",
    "shop",
    "deployment",
    "pods",
    "delete",
    "patch",
    "kubectl delete pod a -n shop",
    "kind: Pod\nmetadata: {name: a}",
    "k8s.delete('pods/a')",
    "\x00",
    "\u2028",
    "",
    " ",
    "a/b/c",
    "*",
    "[",
    "{}",
    "[1]",
    '{"kind":"Pod","metadata":{"name":1}}',
    "error",
    "ok",
    "True",
    "1e999",
    "for p in k8s.get('pods'):\n  k8s.delete(p)",
    "curl -X DELETE http://[::1/api/v1/pods/x",
    "kubectl get pods | xargs kubectl delete",
    "<<EOF",
    "kubectl apply -f - <<EOF\nkind: [\nEOF",
    "f'{x!r:{y}}'+k8s.get(*a,**b)",
    "match k8s.x:\n  case _: k8s.delete('a')",
    "lambda: k8s.get",
    "/api/v1/namespaces/a/pods/b",
    "metadata",
    "Namespace",
    "Healthy",
    "Running",
]
KEYS: Final = [
    "toolName",
    "arguments",
    "result",
    "name",
    "namespace",
    "kind",
    "metadata",
    "labels",
    "spec",
    "status",
    "owner",
    "usedBy",
    "selector",
    "manifest",
    "patch",
    "body",
    "command",
    "args",
    "method",
    "path",
    "options",
    "flags",
    "containers",
    "image",
    "items",
    "apiVersion",
    "dryRun",
    "error",
    "phase",
    "conditions",
    "replicas",
    "script",
    "op",
    "value",
    "from",
    "ownerReferences",
    "data",
    "resourceType",
    "finalizers",
]
NUMBERS: Final = (0, -1, 10**30, 2**63, 1e308, -0.0, 1, 200, 403)
TIMES: Final = (1, 2, 3.5, 1e10, 0)
TOOLS: Final = ("kubectl_patch", "delete_pod", "run_command", "evaluate_script", "http", "apply", "scale", "x")
VERBS: Final = ("get", "create", "update", "patch", "delete", "deletecollection", "watch")


class Nonsense:
    """Values from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        """Anything."""
        which = self.random.randrange(8 if depth > 4 else 12)
        if which < 5:
            return self.random.choice(WORDS)
        if which < 8:
            return self.random.choice((*NUMBERS, True, False, None))
        if which < 10:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(KEYS): self.value(depth + 1) for _ in range(self.random.randrange(5))}

    def thing(self) -> Any:
        """What stands where an object is."""
        found = self.value()
        kinds = ("Pod", "Deployment", "Job", "DaemonSet", 1, None)
        metadata, kind = self.value(), self.random.choice(kinds)
        parts = {
            "kind": kind,
            "metadata": metadata,
            "items": [self.value()],
            "spec": self.value(),
            "status": self.value(),
        }
        return found if isinstance(found, dict) or found is None else parts

    def tool_calls(self) -> dict[str, Any]:
        """A transcript of the plainer shape."""
        calls = [
            {"toolName": self.random.choice(TOOLS), "arguments": {self.random.choice(KEYS): self.value() for _ in range(4)},
             "result": self.value()}
            for _ in range(self.random.randrange(6))
        ]  # fmt: skip
        things = [
            {"kind": self.random.choice(("Pod", "Namespace", "x")), "name": self.random.choice(("a", "web")),
             "namespace": self.random.choice(("shop", None, 1)), self.random.choice(KEYS): self.value()}
            for _ in range(self.random.randrange(5))
        ]  # fmt: skip
        config = {self.random.choice(("goalMet", "allowedNamespaces", "allowedLabels", "goalFields")): self.value()}
        return {"toolCalls": calls, "clusterState": {"resources": things}} | (
            {"config": config} if len(calls) > 3 else {}
        )

    def record(self, number: int) -> dict[str, Any]:
        """A line of one of our transcripts."""
        choice = self.random.choice
        at = {"at": choice(TIMES)}
        kind = choice(("event", "event", "event", "call", "snapshot", "text"))
        if kind == "event":
            return at | {
                "type": kind, "ended": choice(TIMES), "audit": str(number), "user": choice(("agent-1", "o")),
                "verb": choice(VERBS), "version": "v1", "resource": choice(("pods", "deployments", "secrets", "namespaces")),
                "group": choice(("", "apps")), "subresource": choice(("", "scale", "eviction", "status")),
                "namespace": choice(("shop", "")), "name": choice(("a", "web", "")), "status": choice((200, 201, 403)),
                "query": {choice(("dryRun", "labelSelector", "fieldSelector", "propagationPolicy")): "x"},
                "body": self.value(), "before": self.thing(), "after": self.thing(),
            }  # fmt: skip
        if kind == "call":
            return at | {
                "type": kind, "id": str(choice((1, 2, number))), "tool": choice(WORDS), "result": choice(WORDS),
                "arguments": {choice(KEYS): self.value()}, "isError": choice((True, False)), "ended": choice((None, *TIMES)),
            }  # fmt: skip
        if kind == "snapshot":
            return at | {"type": kind, "objects": {choice(("pods/shop/a", "x", "namespaces/shop")): self.thing() or {}}}
        return at | {"type": kind, "text": choice(WORDS)}


def judge(file: Path) -> bytes:
    """The verdict, or why there is none."""
    try:
        return verdict.as_json(verdict.of_file(file))
    except verdict.AutopsyError as error:
        return str(error).partition("line ")[0].encode()


def test_nonsense_in_tool_calls_has_a_verdict_or_a_reason(tmp_path: Path) -> None:
    found = set()
    for seed in range(300):
        file = tmp_path / "a.json"
        file.write_text(json.dumps(Nonsense(seed).tool_calls()))
        found.add(judge(file)[-20:])
    assert len(found) > 2


@pytest.mark.usefixtures("goals_here")
def test_nonsense_in_lines_has_a_verdict_or_a_reason_in_any_order(tmp_path: Path) -> None:
    first = transcripts.write(tmp_path, "first").read_text().splitlines()[0]
    for seed in range(200):
        made = Nonsense(seed)
        lines = [first, *(json.dumps(made.record(number)) for number in range(made.random.randrange(10)))]
        file = tmp_path / f"{seed}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        before = judge(file)
        made.random.shuffle(lines)
        file.write_text("\n".join(lines) + "\n")
        assert judge(file) == before
    files = sorted(tmp_path.glob("*.jsonl"))
    whole = summary.of_files(files, 0.05)
    page.write(whole, files, tmp_path / "report.html")
    assert len(whole.rows) + len(whole.unreadable) == 201
    assert len(whole.rows) > 100
