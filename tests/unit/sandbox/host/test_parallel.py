"""Several API calls at the same time: every way scripts write them, what fails, what is bounded."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator

import pytest

from kubescript import errors
from kubescript.broker import summary
from kubescript_sandbox.host import batch, cancellation
from kubescript_sandbox.wire import protocol
from tests.kit import patience, stage
from tests.kit.stage import Bench

LIST = "k8s.coreV1().list_namespaced_pod"
HEAD = f"v1 = k8s.coreV1()\nnames = ['a', 'b', 'c']\nimport functools\nlist_pods = {LIST}\n"
FORMS = {
    "lambdas with a default": "k8s.parallel([lambda ns=ns: v1.list_namespaced_pod(ns) for ns in names])",
    "a generator": "k8s.parallel(lambda ns=ns: v1.list_namespaced_pod(namespace=ns) for ns in names)",
    "partials": "k8s.parallel([functools.partial(v1.list_namespaced_pod, ns) for ns in names])",
    "tuples": "k8s.parallel([(v1.list_namespaced_pod, ns) for ns in names])",
    "tuples of a tuple": "k8s.parallel([(v1.list_namespaced_pod, (ns,)) for ns in names])",
    "tuples with keywords": "k8s.parallel([(v1.list_namespaced_pod, ns, {'limit': 9}) for ns in names])",
    "tuples of args and keywords": "k8s.parallel([(v1.list_namespaced_pod, [ns], {'limit': 9}) for ns in names])",
    "tuples of none and keywords": "k8s.parallel([(v1.list_namespaced_pod, (), {'namespace': ns}) for ns in names])",
    "arguments": "k8s.parallel(*[lambda ns=ns: list_pods(ns) for ns in names])",
    "a function and values": "k8s.parallel(v1.list_namespaced_pod, names)",
    "a dict": "list(k8s.parallel({ns: lambda ns=ns: v1.list_namespaced_pod(ns) for ns in names}).values())",
    "functions": (
        "def fetch(ns):\n    def get():\n        found = v1.list_namespaced_pod(ns)\n        return found\n    return get\n"
        "k8s.parallel([fetch(ns) for ns in names], max_workers=4)"
    ),
    "a function of the script and values": (
        "def fetch(ns):\n    print('asking', ns)\n    return v1.list_namespaced_pod(ns)\nk8s.parallel(fetch, names)"
    ),
    "more than one call each": (
        "k8s.parallel([lambda ns=ns: (v1.list_namespaced_pod('x'), v1.list_namespaced_pod(ns))[1] for ns in names])"
    ),
    "async_req": "[t.get() for t in [v1.list_namespaced_pod(ns, async_req=True) for ns in names]]",
    "an executor's map": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(max_workers=8) as pool:\n"
        "    found = list(pool.map(v1.list_namespaced_pod, names))\nfound"
    ),
    "an executor's futures": (
        "import concurrent.futures\nfound = {}\nwith concurrent.futures.ThreadPoolExecutor() as pool:\n"
        "    futures = {pool.submit(v1.list_namespaced_pod, ns): ns for ns in names}\n"
        "    for future in concurrent.futures.as_completed(futures):\n        found[futures[future]] = future.result()\n"
        "[found[ns] for ns in names]"
    ),
    "wait": (
        "from concurrent.futures import ThreadPoolExecutor, wait\npool = ThreadPoolExecutor()\n"
        "futures = [pool.submit(v1.list_namespaced_pod, ns) for ns in names]\ndone, rest = wait(futures)\n"
        "assert len(done) == 3 and not rest\n[f.result() for f in futures]"
    ),
    "made already": "k8s.parallel([v1.list_namespaced_pod(ns) for ns in names])",
}


def two(name: str) -> Iterator[bytes]:
    """A list of two pods."""
    yield stage.listing(f"{name}-0", f"{name}-1")


@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_write_it_gives_the_answers_in_order(form: str, bench: Bench) -> None:
    """Whatever the works are, the results are the lists of a, b and c, and each call is made once."""
    bench.stage.bodies |= {name: functools.partial(two, name) for name in "abc"}
    bench.stage.delays = {"a": 0.1}
    *script, last = FORMS[form].split("\n")
    body = HEAD + "\n".join([*script, f"found = {last}", "[[p.metadata.name for p in each.items] for each in found]"])
    assert bench.value(body) == [["a-0", "a-1"], ["b-0", "b-1"], ["c-0", "c-1"]]
    assert sorted(name for name in bench.stage.asked if name != "x") == ["a", "b", "c"]


def test_eight_calls_are_under_way_and_no_more(bench: Bench) -> None:
    """Of twenty-four calls each is answered only once seven others wait for their answers."""
    together = threading.Barrier(batch.MAX_IN_FLIGHT)

    def body(name: str) -> Iterator[bytes]:
        together.wait(stage.TIMEOUT_MS / 1000)
        yield stage.listing(name)

    bench.stage.bodies |= {name: functools.partial(body, name) for name in (f"n{number}" for number in range(24))}
    bench.stage.delays = {"*": 0.2}  # in which a ninth would come
    script = f"len(k8s.parallel([lambda n=n: {LIST}(f'n{{n}}') for n in range(24)]))"
    assert bench.value(script) == 24
    assert bench.stage.most == batch.MAX_IN_FLIGHT == 8


def test_a_failed_call_stays_in_its_place(bench: Bench) -> None:
    """One denied, one whose body breaks off: their exceptions, and the other answers whole."""

    def broken() -> Iterator[bytes]:
        yield b'{"kind":"PodList","items":['
        raise cut

    cut = errors.ClusterError("cut", code="cluster.broken")
    bench.stage.faults["b"] = protocol.ScriptFault("policy.denied", "not for you")
    bench.stage.bodies["c"] = broken
    script = f"""
found = k8s.parallel([lambda n=n: {LIST}(n).items[:] for n in "abcd"])
[type(each).__name__ for each in found], [each.code for each in found if isinstance(each, ApiException)]
"""
    kinds = ["list", "ForbiddenException", "ApiException", "list"]
    assert bench.value(script) == [kinds, ["policy.denied", "cluster.broken"]]
    script = f"k8s.parallel([lambda n=n: {LIST}(n) for n in 'ab'], return_exceptions=False)"
    outcome = bench.run(script)
    assert outcome.fault is not None and outcome.fault.type == "ForbiddenException"
    assert bench.works()


MISTAKES = {
    "an unbound loop variable": ("k8s.parallel([lambda: v1.list_namespaced_pod(n) for n in names])", "bind the loop variable"),
    "a wrong parameter": ("k8s.parallel([lambda: v1.list_namespaced_pod('a'), lambda: v1.list_node(labels='x')])", "label_selector"),
    "a wrong option": ("k8s.parallel([], retries=3)", "no option 'retries'"),
    "nothing that can be done": ("k8s.parallel(3)", "not iterable"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said_and_not_sent(name: str, bench: Bench) -> None:
    """What is wrong with the script is raised, not kept among the results; most of it before any call is made."""
    script, hint = MISTAKES[name]
    outcome = bench.run(HEAD + script)
    assert outcome.fault is not None and hint in outcome.fault.text
    assert not bench.stage.asked
    assert bench.works()


def test_a_function_may_keep_what_it_found(bench: Bench) -> None:
    """A cache of the script's own: the second of two equal calls is not needed any more."""
    script = f"""
cache = {{}}
def pods(ns):
    if ns not in cache:
        cache[ns] = {LIST}(ns)
    return len(cache[ns])
k8s.parallel(pods, ["a", "b", "a", "b"])
"""
    assert bench.value(script) == [1, 1, 1, 1]


TURNS = {
    "a counter": ("count = 0\ndef one():\n    global count\n    count += 1\n    READ('x')\nGO([one] * 6)\ncount", 6),
    "a list that is used up": ("todo = list('abcdef')\nGO([lambda: len(READ(todo.pop())) for _ in range(6)]), todo", [[1] * 6, []]),
    "an iterator": ("each = iter('abc')\nGO([lambda: len(READ(next(each))) for _ in range(3)]), next(each, None)", [[1] * 3, None]),
    "a write that one of them makes": (
        "seen = []\ndef one():\n    if not seen:\n        seen.append(1)\n        v1.delete_namespaced_pod('x', 'y')\n        return 1\nGO([one, one])",
        [1, None],
    ),
    "an error that is caught": ("seen = []\ndef one():\n    seen.append(1)\n    try: READ('gone')\n    except ApiException: seen.append(2)\nGO([one, one])\nseen", [1, 1, 2, 2]),
    "several calls": ("seen = []\ndef one(n):\n    for each in 'ab': seen.append(n + each); READ(each)\nGO([lambda n=n: one(n) for n in '12'])\nseen", ["1a", "2a", "1b", "2b"]),
}  # fmt: skip
"""Functions with an effect of their own, and what is left of it."""
WAYS = {
    "parallel": "GO = k8s.parallel\n",
    "an executor": "from concurrent.futures import ThreadPoolExecutor\ndef GO(works): return [f.result() for f in [ThreadPoolExecutor().submit(w) for w in works]]\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_runs_once(way: str, bench: Bench) -> None:
    """What stands before its first call, too. It once ran twice: a counter read 12 for 6 functions."""
    bench.stage.faults["gone"] = protocol.ScriptFault("cluster.timeout", "no answer")
    for name, (script, expected) in TURNS.items():
        assert bench.value(HEAD + WAYS[way] + script.replace("READ", LIST)) == expected, name
    assert bench.works()


def test_futures_that_wait_for_each_other_are_told(bench: Bench) -> None:
    """One that waits for another goes on when that one has ended; a circle has no end."""
    script = f"""
from concurrent.futures import ThreadPoolExecutor
pool, found = ThreadPoolExecutor(), {{}}
found["b"] = pool.submit(lambda: found["a"].result() + 1)
found["a"] = pool.submit(lambda: len({LIST}("a")))
one = found["b"].result()
found["c"] = pool.submit(lambda: found["d"].result())
found["d"] = pool.submit(lambda: found["c"].result())
try: found["c"].result()
except RuntimeError as error: two = str(error)
one, two
"""
    assert bench.value(script) == [2, "futures wait for each other, or for themselves"]
    assert bench.works()


def test_a_function_is_ended_where_another_one_fails(bench: Bench) -> None:
    """Its `finally` runs; a call there is not made."""
    script = f"""
seen = []
def one():
    try: {LIST}("a")
    finally: seen.append(1)
def two(): return 1 / 0
try: k8s.parallel([one, two])
except ZeroDivisionError: pass
seen
"""
    assert bench.value(script) == [1]
    assert bench.stage.asked == []


def test_a_setting_of_the_script_holds_in_its_functions(bench: Bench) -> None:
    """Such as the precision of decimal."""
    script = "import decimal\ndecimal.getcontext().prec = 3\nk8s.parallel([lambda: str(decimal.Decimal(1) / 3)])"
    assert bench.value(script) == ["0.333"]


def test_what_a_function_prints_is_printed_once(bench: Bench) -> None:
    """Prints and progress come in the order in which functions take turns."""
    script = f"""
def fetch(ns):
    print("asking", ns)
    ctx.progress(1, 2, ns)
    found = {LIST}(ns)
    print("got", len(found))
    return ns
k8s.parallel(fetch, ["a", "b"])
"""
    outcome = bench.run(script)
    assert outcome.printed == "asking a\nasking b\ngot 1\ngot 1\n"
    assert [text for _, text in bench.progress] == ["a", "b"]


def test_a_script_that_catches_everything_still_gets_its_answers(bench: Bench) -> None:
    """A bare except in the function does not lose the call."""
    script = f"""
def fetch(ns):
    try:
        return len({LIST}(ns))
    except:
        return "lost"
k8s.parallel(fetch, ["a", "b"])
"""
    assert bench.value(script) == [1, 1]
    assert bench.stage.asked == ["a", "b"] or bench.stage.asked == ["b", "a"]


def test_large_bodies_wait_where_they_are(bench: Bench) -> None:
    """While the first answer is on its way, of the others only a beginning is read."""
    piece, pieces = b" " * (128 * 1024), 40
    late = threading.Event()
    seen: list[int] = []

    def first() -> Iterator[bytes]:
        late.wait(0.5)
        seen.extend(bench.stage.pulled.get(name, 0) for name in "bcd")
        yield stage.listing("a")

    def large() -> Iterator[bytes]:
        yield stage.listing("x")[:-1]
        yield from [piece] * pieces
        yield b"}"

    bench.stage.bodies |= {"a": first, **dict.fromkeys("bcd", large)}
    script = f"[len(each) for each in k8s.parallel([lambda n=n: {LIST}(n) for n in 'abcd'])]"
    assert bench.value(script) == [1, 1, 1, 1]
    assert max(seen) <= batch.READ_AHEAD // len(piece) + 2
    assert bench.stage.pulled["d"] == pieces + 2


def test_calls_beyond_the_limit_are_refused_in_their_place(bench: Bench) -> None:
    """Results within the limit are kept, whatever the number of calls beyond it."""
    script = f"""
found = k8s.parallel([lambda n=n: {LIST}(f"n{{n}}") for n in range(400)])
[len([f for f in found if not isinstance(f, Exception)]), ctx.budget.api_calls, str(found[-1])]
"""
    kept, left, said = bench.value(script, api_calls=150)
    assert (kept, left, len(bench.stage.asked)) == (150, 0, 150)
    assert "used up" in said
    assert bench.works()


def test_the_bytes_of_parallel_answers_count(bench: Bench) -> None:
    """The limit on bytes ends the answer that crosses it, and the calls after it."""
    tally = summary.Summary(most_bytes=2 * stage.MIB + 100)

    def body() -> Iterator[bytes]:
        for chunk in (b'{"items":[', b" " * stage.MIB, b"]}"):
            tally.take(len(chunk))
            yield chunk

    bench.stage.bodies |= dict.fromkeys("abcd", body)
    script = f"[type(f).__name__ for f in k8s.parallel([lambda n=n: list({LIST}(n)) for n in 'abcd'])]"
    found = bench.value(script)
    assert found.count("list") <= 2 and "LimitExceeded" in found
    assert bench.works()


def test_the_deadline_and_a_cancellation_end_a_batch(bench: Bench) -> None:
    """Nobody waits for calls under way once the script's time is over or its client is gone."""
    bench.stage.delays = {"*": 60.0}
    script = f"k8s.parallel([lambda n=n: {LIST}(n) for n in 'abcdefghijkl'])"
    started = time.monotonic()
    outcome = bench.run(script, timeout_ms=500)
    assert outcome.fault is not None and outcome.fault.code == "limit.time"
    switch = cancellation.Cancellation()
    asked = len(bench.stage.asked)

    def cancel() -> None:
        patience.until(lambda: len(bench.stage.asked) >= asked + batch.MAX_IN_FLIGHT, 30)
        switch.cancel()

    threading.Thread(target=cancel).start()
    outcome = bench.run(script, switch)
    assert outcome.fault is not None and outcome.fault.code == "cancelled"
    assert time.monotonic() - started < 40
    assert bench.works()


def test_a_write_that_nobody_waits_for_is_still_made(bench: Bench) -> None:
    """async_req sends at the latest when the script ends; so does an executor without a `with`."""
    script = """
from concurrent.futures import ThreadPoolExecutor
k8s.coreV1().delete_namespaced_pod("a", "shop", async_req=True)
ThreadPoolExecutor().submit(k8s.coreV1().delete_namespaced_pod, "b", "shop")
"done"
"""
    assert bench.value(script) == "done"
    assert sorted(bench.stage.asked) == ["a", "b"]


def test_a_future_has_what_scripts_ask_of_it(bench: Bench) -> None:
    """Value, exception, state and callbacks; a failure is raised where its value is asked for."""
    bench.stage.faults["b"] = protocol.ScriptFault("policy.denied", "not for you")
    script = f"""
from concurrent.futures import ThreadPoolExecutor
pool, said = ThreadPoolExecutor(4), []
good, bad, left = [pool.submit({LIST}, n) for n in "abc"]
good.add_done_callback(lambda future: said.append(len(future.result())))
cancelled = left.cancel()
try:
    bad.result(timeout=5)
except ApiException as error:
    said.append(error.status)
[said, good.done(), good.exception() is None, type(bad.exception()).__name__, cancelled, left.cancelled()]
"""
    assert bench.value(script) == [[1, 403], True, True, "ForbiddenException", True, True]
    assert bench.stage.asked == ["a", "b"] or bench.stage.asked == ["b", "a"]


def test_parallel_inside_parallel_works(bench: Bench) -> None:
    """The inner calls are made when the outer function runs."""
    script = f"""
def both(ns):
    return [len(each) for each in k8s.parallel([lambda n=n: {LIST}(ns + n) for n in "12"])]
k8s.parallel(both, ["a", "b"])
"""
    assert bench.value(script) == [[1, 1], [1, 1]]
    assert sorted(bench.stage.asked) == ["a1", "a2", "b1", "b2"]


def test_parallel_calls_may_be_for_different_clusters(bench: Bench) -> None:
    """One BATCH, each call with its own context; a list of one cluster may be read on when another was asked."""
    script = """
one = iter(k8s.context("two").coreV1().list_namespaced_pod("a"))
found = k8s.parallel([lambda c=c: k8s.context(c).coreV1().list_namespaced_pod("a") for c in k8s.contexts()])
[[p.metadata.name for p in each] for each in [*found, one]]
"""
    assert bench.value(script, contexts=("test", "two", "three")) == [["a"]] * 4
    assert sorted(bench.stage.contexts) == ["test", "three", "two", "two"]


def test_progress_inside_parallel_comes_while_others_are_on_their_way(bench: Bench) -> None:
    """A report after the first answer does not wait for the last, which comes only after the report."""

    def late() -> Iterator[bytes]:
        patience.until(lambda: bool(bench.progress), 30)
        yield stage.listing("b")

    bench.stage.bodies["b"] = late
    script = f"""
def fetch(ns):
    found = {LIST}(ns)
    ctx.progress(1, 2, ns)
    return len(found)
k8s.parallel(fetch, ["a", "b"])
"""
    assert bench.value(script) == [1, 1]
    assert [text for _, text in bench.progress] == ["a", "b"]
