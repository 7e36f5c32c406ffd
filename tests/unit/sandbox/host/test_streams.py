"""Watches, and lists that a script leaves early: nothing is waited for that nobody wants, and nothing held back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kubescript import errors
from tests.kit import stage
from tests.kit.stage import Bench


def event(name: str, kind: str = "ADDED") -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": {"kind": "Pod", **stage.pod(name)}}).encode() + b"\n"


def slow(count: int, seconds: float) -> Any:
    """A watch of `count` events, `seconds` apart; the first comes at once."""

    def chunks() -> Iterator[bytes]:
        for n in range(count):
            yield event(f"pod-{n}")
            time.sleep(seconds)

    return chunks


WATCH = 'watch.Watch().stream(k8s.coreV1().list_namespaced_pod, "shop")'
IMPORT = "from kubernetes import watch\n"
LEAVES = {
    "break": f"for e in {WATCH}:\n    seen.append(e['object'].metadata.name)\n    if len(seen) == 2: break",
    "stop": (
        "w = watch.Watch()\nfor e in w.stream(k8s.coreV1().list_namespaced_pod, 'shop'):\n"
        "    seen.append(e['object'].metadata.name)\n    if len(seen) == 2: w.stop()"
    ),
    "next": f"stream = {WATCH}\nfor _ in range(2): seen.append(next(stream)['object'].metadata.name)\ndel stream",
    "an exception": (
        f"try:\n    for e in {WATCH}:\n        seen.append(e['object'].metadata.name)\n"
        "        if len(seen) == 2: raise KeyError('x')\nexcept KeyError:\n    pass"
    ),
    "a return": (
        f"def look():\n    for e in {WATCH}:\n        seen.append(e['object'].metadata.name)\n"
        "        if len(seen) == 2: return\nlook()"
    ),
    "islice": f"import itertools\nseen += [e['object'].metadata.name for e in itertools.islice({WATCH}, 2)]",
}


@pytest.mark.parametrize("leaves", LEAVES)
def test_a_watch_that_is_left_is_ended(leaves: str, bench: Bench) -> None:
    """The script goes on at once, the API server's answer is closed, and later calls work."""
    bench.stage.bodies["shop"] = slow(1_000, 0.1)  # longer than a script may take
    script = (
        f"{IMPORT}seen = []\n{LEAVES[leaves]}\nafter = len(k8s.coreV1().list_namespaced_pod('next'))\n[seen, after]"
    )
    assert bench.value(script) == [["pod-0", "pod-1"], 1]
    assert bench.stage.closed[0] == "shop"
    assert bench.stage.pulled["shop"] < 6


def test_what_is_printed_in_a_watch_is_out_before_the_next_event(bench: Bench) -> None:
    """A script that its deadline ends in a watch has said what it saw, and its progress came event by event."""
    told: list[int] = []

    def watched() -> Iterator[bytes]:
        for n in range(200):
            yield event(f"pod-{n}")
            told.append(len(bench.progress))  # the script asks for the next event
            time.sleep(0.4)

    bench.stage.bodies["shop"] = watched
    script = f"{IMPORT}for e in {WATCH}:\n    print(e['object'].metadata.name)\n    ctx.progress(1, 3, 'seen')"
    for timeout_ms in (1_000, 6_000, 36_000):  # a machine with other work to do may get to no second event in a second
        told.clear()
        bench.progress.clear()
        outcome = bench.run(script, timeout_ms=timeout_ms)
        assert outcome.fault is not None and outcome.fault.code == "limit.time"
        if len(told) > 1:
            break
    assert outcome.printed.startswith("pod-0\npod-1\n")
    assert told == [*range(1, len(told) + 1)]
    assert bench.works()


def test_calls_inside_a_watch_do_not_wait_for_its_end(bench: Bench) -> None:
    """Reading more about each event is what watches are for."""
    bench.stage.bodies["shop"] = slow(4, 0.2)
    script = f"""{IMPORT}
seen = []
for e in {WATCH}:
    name = e['object'].metadata.name
    seen.append((name, [p.metadata.name for p in k8s.coreV1().list_namespaced_pod(name)]))
    seen += k8s.parallel([lambda n=n: len(k8s.coreV1().list_namespaced_pod(name + n)) for n in "xy"])
    if len(seen) == 6:
        break
seen
"""
    assert bench.value(script) == [["pod-0", ["pod-0"]], 1, 1, ["pod-1", ["pod-1"]], 1, 1]
    assert bench.stage.pulled["shop"] < 4


def test_two_watches_at_once(bench: Bench) -> None:
    """Each gives its own events, in any order of asking."""
    bench.stage.bodies |= {"a": lambda: iter([event("a-0") + event("a-1"), event("a-2")]), "b": slow(3, 0.01)}
    script = f"""{IMPORT}
one = watch.Watch().stream(k8s.coreV1().list_namespaced_pod, "a")
two = watch.Watch().stream(k8s.coreV1().list_namespaced_pod, "b")
[(x["object"].metadata.name, y["object"].metadata.name) for x, y in zip(one, two)]
"""
    assert bench.value(script) == [["a-0", "pod-0"], ["a-1", "pod-1"], ["a-2", "pod-2"]]


def test_a_ninth_open_watch_is_refused(bench: Bench) -> None:
    """Each holds a connection; a script learns what to do."""
    bench.stage.bodies["shop"] = slow(9, 0)
    script = f"{IMPORT}streams = [{WATCH} for _ in range(9)]\nfor s in streams: next(s)"
    outcome = bench.run(script)
    assert outcome.fault is not None and "stop()" in outcome.fault.text
    assert bench.works()


def test_a_limit_is_told_of_though_the_script_caught_its_error(bench: Bench) -> None:
    """What the audit record says of limits comes from the host, whatever the script makes of their errors."""
    bench.stage.bodies["shop"] = slow(9, 0)
    script = f"{IMPORT}streams = [{WATCH} for _ in range(9)]\nfor s in streams:\n    try: next(s)\n    except Exception: pass\n1"
    outcome = bench.run(script)
    assert (outcome.fault, outcome.result) == (None, b"1")
    assert outcome.limits_hit == {"limit.watches"}
    assert bench.works()


def test_a_watch_that_breaks_off_raises(bench: Bench) -> None:
    """The events before are seen; the end is no silent one."""

    def broken() -> Iterator[bytes]:
        yield event("pod-0")
        raise errors.ClusterError("cut", code="cluster.broken")

    bench.stage.bodies["shop"] = broken
    script = f"{IMPORT}seen = []\ntry:\n    for e in {WATCH}: seen.append(1)\nexcept ApiException as error:\n    seen.append(error.code)\nseen"
    assert bench.value(script) == [1, "cluster.broken"]
    assert bench.works()


def large(pieces: int) -> Any:
    """A list of many pods in pieces of 100 KB each."""
    head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['
    filler = "x" * 1_000

    def chunks() -> Iterator[bytes]:
        yield head
        for n in range(pieces):
            pods = (stage.pod(f"pod-{n}-{k}", filler=filler) for k in range(90))
            text = ",".join(json.dumps(pod, separators=(",", ":")) for pod in pods).encode()
            yield text + (b"," if n < pieces - 1 else b"]}\n")

    return chunks


DROPPED = {
    "next": "first = next(iter(k8s.coreV1().list_namespaced_pod('shop')))",
    "break": "for first in k8s.coreV1().list_namespaced_pod('shop').items:\n    break",
    "a function": "def look():\n    pods = k8s.coreV1().list_namespaced_pod('shop')\n    for p in pods:\n        return p\nfirst = look()",
    "any": "assert any(p.metadata.name for p in k8s.coreV1().list_namespaced_pod('shop'))\nfirst = None",
    "bool": "assert k8s.coreV1().list_namespaced_pod('shop')\nfirst = None",
}


@pytest.mark.parametrize("then", ["the end", "another call"])
@pytest.mark.parametrize("drops", DROPPED)
def test_a_list_that_is_dropped_is_not_read_to_its_end(drops: str, then: str, bench: Bench) -> None:
    """Nobody can ask for the rest any more, so the API server need not send it."""
    bench.stage.bodies["shop"] = large(200)
    more = "k8s.coreV1().list_namespaced_pod('next')\n" if then == "another call" else ""
    assert bench.value(f"{DROPPED[drops]}\n{more}first.metadata.name if first else 'pod-0-0'") == "pod-0-0"
    assert bench.stage.pulled["shop"] < 60
    assert bench.stage.closed[0] == "shop"


HELD = {
    "by its name": "pods = {}\nfor first in pods: break\nafter()\n[len(pods), pods[-1].metadata.name]",
    "by its items": "items = {}.items\nnext(iter(items))\nafter()\n[len(items), items[-1].metadata.name]",
    "by a loop": "loop = iter({})\nnext(loop)\nafter()\nnames = [p.metadata.name for p in loop]\n[len(names) + 1, names[-1]]",
    "by two loops": (
        "pods = {}\none, two = iter(pods), iter(pods)\ndel pods\nnames = [p.metadata.name for p in one]\nafter()\n"
        "again = [p.metadata.name for p in two]\nassert names == again\n[len(again), again[-1]]"
    ),
    "in a dict": (
        "kept = {{'x': {}}}\nloop = iter(kept['x'])\nnext(loop)\nafter()\n"
        "names = [p.metadata.name for p in kept['x']]\n[len(names), names[-1]]"
    ),
    "inside a loop over it": (
        "names = []\nfor p in {}:\n    names.append(p.metadata.name)\n    if len(names) in (1, 500): after()\n[len(names), names[-1]]"
    ),
    "by a slice": "pods = {}\nsome = pods[:5]\nafter()\n[len(pods), pods[-1].metadata.name] if len(some) == 5 else some",
    "by enumerate": "last = 0\nfor n, p in enumerate({}):\n    last = [n + 1, p.metadata.name]\n    if n == 3: after()\nlast",
}


@pytest.mark.parametrize("held", HELD)
def test_a_list_that_can_be_asked_for_is_whole(held: str, bench: Bench) -> None:
    """Whatever was asked of it before, and whatever was asked of the cluster in between."""
    bench.stage.bodies["shop"] = large(20)
    script = HELD[held].format("k8s.coreV1().list_namespaced_pod('shop')")
    head = "def after():\n    return len(k8s.coreV1().list_namespaced_pod('next'))\n"
    assert bench.value(head + script) == [20 * 90, "pod-19-89"]


def test_a_loop_over_a_list_keeps_no_more_than_the_script(bench: Bench) -> None:
    """80 MB of pods go through a worker that may use 48 MiB."""
    bench.stage.bodies["shop"] = large(800)
    script = "sum(len(p['filler']) for p in k8s.coreV1().list_namespaced_pod('shop'))"
    assert bench.value(script, memory_bytes=48 * stage.MIB) == 800 * 90 * 1_000


def test_progress_inside_a_loop_over_a_list_does_not_wait_for_its_end(bench: Bench) -> None:
    """Reports come while the list does, and the rest of it is not hoarded: the host cannot send what nobody reads."""
    pieces = large(20)
    told: list[int] = []

    def noted() -> Iterator[bytes]:
        for chunk in pieces():
            told.append(len(bench.progress))
            yield chunk

    bench.stage.bodies["shop"] = noted
    script = """
for n, p in enumerate(k8s.coreV1().list_namespaced_pod("shop")):
    if n % 200 == 0:
        ctx.progress(n, 1800, p.metadata.name)
n
"""
    assert bench.value(script) == 1799
    assert len(bench.progress) == 9
    assert max(told) > 4, told


def test_a_flood_of_prints_and_a_large_answer_do_not_wait_for_each_other(bench: Bench) -> None:
    """Both sides send at the same time; neither buffer is large enough for what the other says."""
    bench.stage.bodies["shop"] = large(100)
    script = """
for n, p in enumerate(k8s.coreV1().list_namespaced_pod("shop")):
    print("x" * 500)
    ctx.progress(n, 9000, "p" * 150)
n
"""
    started = time.monotonic()
    assert bench.value(script, output_bytes=1 << 23) == 8999
    took = time.monotonic() - started
    assert 10 < len(bench.progress) < 20 + 5 * took  # the newest of those that waited, a few times a second
