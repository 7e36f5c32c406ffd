"""What a script does with time, seen by a real MCP client of a real cluster: watches, parallel calls, progress, budget,
notes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import anyio
import pytest

from tests.kit import clients
from tests.kit.controlplane.fixture import facts

Seen = list[tuple[float, float, str]]
"""When, done, text."""


@pytest.fixture
def flags(kubeconfig: Path) -> list[str]:
    """A server of the broken fixture."""
    return ["--kubeconfig", str(kubeconfig), "--log-level", "error"]


def ask(flags: list[str], *scripts: str, timeout: int = 120_000) -> tuple[list[str], Seen]:
    """The answers to scripts, by one client; and the progress it was told."""
    answers: list[str] = []
    seen: Seen = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((time.monotonic(), progress, message or ""))

    async def talk() -> None:
        async with clients.connect("memory", flags) as client:
            for script in scripts:
                arguments = {"script": script, "timeout": timeout}
                result = await client.call_tool("evaluate_script", arguments, progress_callback=on_progress)
                answers.append(clients.text(result))

    anyio.run(talk)
    return answers, seen


WATCH = """
from kubernetes import client, watch
v1, w, seen = client.CoreV1Api(), watch.Watch(), []
"""


def test_a_watch_that_is_stopped_ends_at_once(flags: list[str]) -> None:
    """Of a watch of ten minutes the script takes three events and goes on; the connection is of use to the next script."""
    loop = """
for event in w.stream(v1.list_pod_for_all_namespaces, timeout_seconds=600):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 3:
        {}
[len(seen), seen[0][0], len(v1.list_namespace().items) > 3]
"""
    started = time.monotonic()
    answers, _ = ask(
        flags, *(WATCH + loop.format(leave) for leave in ("break", "w.stop()")), "len(k8s.coreV1().list_node())"
    )
    assert answers[:2] == ['[3,"ADDED",true]'] * 2 and int(answers[2]) > 0
    assert time.monotonic() - started < 200


def test_progress_reaches_the_client_inside_a_watch(flags: list[str]) -> None:
    """Each report is there while the watch is still open; calls and parallel calls inside it do not wait either."""
    script = (
        WATCH
        + """
for event in w.stream(v1.list_namespace, timeout_seconds=280):
    name = event["object"].metadata.name
    found = k8s.parallel([lambda n=n: v1.list_namespaced_pod(name, limit=n) for n in (1, 2)])
    seen.append(sum(map(len, found)))
    if len(seen) <= 8:  # of more than ten in a row the last waits for the script's next frame: kubescript_sandbox/host/progress.py
        ctx.progress(len(seen), None, name)
"""
    )
    seen: list[float] = []

    async def talk() -> None:
        async with clients.connect("memory", flags) as client, anyio.create_task_group() as call:

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                if progress >= 1 and progress.is_integer():  # a heartbeat adds a thousandth
                    seen.append(progress)
                if len(seen) == 8:
                    call.cancel_scope.cancel()

            arguments = {"script": script, "timeout": 290_000}
            with anyio.fail_after(200):  # long before the end of the watch
                await client.call_tool("evaluate_script", arguments, progress_callback=on_progress)
            raise AssertionError("the watch has ended before its reports came")

    anyio.run(talk)
    assert seen == [float(n + 1) for n in range(8)]


def test_progress_reaches_the_client_inside_parallel_calls(flags: list[str]) -> None:
    """Reports of the functions arrive in the order of their results; their numbers rise, as MCP wants it."""
    script = """
def pods(ns):
    found = k8s.coreV1().list_namespaced_pod(ns)
    ctx.progress(len(found), None, ns)
    return len(found)
k8s.parallel(pods, NAMESPACES)
"""
    names = list(facts.NAMESPACES)
    assert len(names) <= 10, "of more reports in a row some wait: kubescript_sandbox/host/progress.py"
    (answer,), seen = ask(flags, script.replace("NAMESPACES", repr(names)))
    counts = json.loads(answer)
    assert [text for _, _, text in seen] == names
    numbers = [done for _, done, _ in seen]
    assert numbers == sorted(set(numbers)) and numbers[0] == counts[0] and sum(counts) > 50
    above = [0, *numbers]
    assert [done for done, last in zip(numbers, above, strict=False) if done > last + 0.01] == [
        count for count, last in zip(counts, above, strict=False) if count > last
    ]


def test_the_budget_is_what_is_left(flags: list[str]) -> None:
    """Calls, bytes, output and time go down as they are used; the words models guess are understood."""
    script = """
b = ctx.budget
before = dict(b)
pods = list(k8s.coreV1().list_pod_for_all_namespaces())
k8s.parallel([lambda: k8s.coreV1().list_node(), lambda: k8s.coreV1().list_namespace()])
print("x" * 99)
after = {**ctx.budget}
words = [b.calls == b["api_calls"] == b.api_calls_left == b.remaining_calls, b.bytes == b.response_bytes, b.output == b.output_bytes,
         b.get("api_calls") == b().api_calls, ctx.remaining_ms >= b.remaining_ms >= ctx.remaining_ms, len(repr(b)) < 120, "api_calls" in b]
[before, after, ctx.to_dict()["api_calls"], words]
"""
    (answer,), _ = ask(flags, script)
    before, after, calls, words = json.loads(answer.split("\n", 1)[1])
    assert before["api_calls"] - after["api_calls"] == 3 and calls == after["api_calls"]
    assert before["output_bytes"] - after["output_bytes"] == 100
    assert 300_000 < before["response_bytes"] - after["response_bytes"] < 10_000_000
    assert before["remaining_ms"] >= after["remaining_ms"] > 10_000
    assert all(words), words


def test_an_unfinished_list_is_noted_under_the_answer(flags: list[str]) -> None:
    """One page of several is said to be one; a script that reads on to the end hears nothing."""
    whole = """
n, more = 0, None
while True:
    page = k8s.coreV1().list_pod_for_all_namespaces(limit=60, _continue=more)
    n, more = n + len(page.items), page.metadata._continue
    if not more:
        break
n
"""
    answers, _ = ask(flags, "len(k8s.coreV1().list_pod_for_all_namespaces(limit=60).items)", whole)
    total = int(answers[1])
    assert answers[0] == f"60\n[partial: list pods (first page of 60 only, {total - 60} more)]"
