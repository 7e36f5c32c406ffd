"""Attacks on the audit record: secrets in every place where one could slip in, words that want to be records, and moments
in which nothing can be written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from kubescript import accesses, config, contexts, errors, evaluator, programs, redaction, types
from kubescript.audit import chain, denials, recorder, script_records, verify
from kubescript.audit import plan_records as audit_plans
from kubescript.changes import attempt
from kubescript.changes.store import record as plan_record
from kubescript.cluster import live
from kubescript.policy import policy
from kubescript.request import request
from kubescript.snapshot import snapshot
from security_tests import benches
from security_tests import recorder as far_end
from tests.kit import clients, patience, reading, stored_plans, trails

SECRET = "AKIAQ3EGRIKYCANARY42"
"""Shaped as what it is planted for, an access key, so that any redactor knows it."""
_KEY = re.compile("AKIA[A-Z0-9]{16}")


def masked_text(text: str, found: Callable[[str], None], _check: script_records.Check | None = None) -> str:
    """A redactor of one rule: these tests are about what passes it, not about its rules."""
    if _KEY.search(text):
        found("aws")
    return _KEY.sub("«redacted:aws:0»", text)


def masked_body(_call: request.Request, chunks: Iterator[bytes], found: Callable[[str], None]) -> Iterator[bytes]:
    yield masked_text(b"".join(chunks).decode(), found).encode()


class Server:
    """A server without MCP: real sandbox, real broker, real record."""

    def __init__(
        self,
        bench: benches.Bench,
        cluster: Any,
        file: Path,
        *,
        read_only: bool = False,
        compare: attempt.Compare | None = None,
        **options: Any,
    ) -> None:
        settings = config.Audit(file=file, **options)
        made = recorder.open_recorder(settings, masked_text)
        assert made is not None
        self.recorder = made
        rules = policy.Policy("off" if read_only else "direct")
        comparing: dict[str, Any] = {"compare": compare} if compare is not None else {}
        door = reading.made(cluster, rules, redact=reading.changing(masked_body), **comparing)
        self.evaluator = evaluator.Evaluator(
            config.Settings(),
            evaluator.Host(bench.pool, made),
            contexts.Contexts({"": accesses.ClusterAccess(cluster, door)}),
        )

    def ask(self, script: str, caller: types.Caller = types.Caller()) -> types.Answer:  # noqa: B008 - frozen
        return anyio.run(self.evaluator.evaluate, script, 60_000, None, caller)


@pytest.fixture(scope="module")
def bench() -> Iterator[benches.Bench]:
    with benches.opened() as bench:
        yield bench


@pytest.fixture(scope="module")
def engine() -> Iterator[redaction.Engine]:
    """What compares objects before and after a dry run."""
    engine = redaction.Engine(config.Redaction())
    yield engine
    engine.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def everything(file: Path) -> bytes:
    """All bytes beside and in an audit file, names of files included."""
    every = [one for one in file.parent.rglob("*") if "audit" in str(one.relative_to(file.parent))]
    return b"".join(str(one).encode() + (one.read_bytes() if one.is_file() else b"") for one in every)


PLANTED = {
    "in the cluster's data": "[p.metadata.annotations for p in k8s.coreV1().list_namespaced_pod('shop')]",
    "in a label selector": f"k8s.coreV1().list_namespaced_pod('shop', label_selector='key={SECRET}')",
    "in a field selector": f"k8s.coreV1().list_namespaced_pod('shop', field_selector='metadata.name={SECRET}')",
    "in a name": f"k8s.coreV1().read_namespaced_pod('{SECRET}', 'shop')",
    "in a denied name": f"k8s.coreV1().create_namespaced_service_account_token('{SECRET}', 'shop', dict(spec={{}}))",
    "in a body": f"k8s.coreV1().create_namespaced_config_map('shop', {{'metadata': {{'name': 'a'}}, 'data': {{'k': '{SECRET}'}}}})",
    "in the script's text": f"token = '{SECRET}'\nlen(token)",
    "in a result": f"'{SECRET[:4]}' + '{SECRET[4:]}'",
    "in a print": f"print('{SECRET[:4]}' + '{SECRET[4:]}')",
    "in an exception": f"raise ValueError('{SECRET[:4]}' + '{SECRET[4:]}')",
    "in a call that is none": f"k8s.get('/metrics/{SECRET}') if hasattr(k8s, 'get') else 1",
    "in the progress": f"ctx.progress(1, 2, '{SECRET}')",
}


@pytest.mark.promise("A-04")
@pytest.mark.parametrize("responses", [False, True])
def test_no_planted_secret_reaches_the_record(
    responses: bool, bench: benches.Bench, file: Path, tmp_path: Path
) -> None:
    """Wherever a secret is, in cluster, script or question, no byte of the audit files or of what is kept beside them has it."""
    saved = tmp_path / "pods.json"
    pod = {**trails.POD, "metadata": {"name": "web-0", "namespace": "shop", "annotations": {"key": SECRET}}}
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}))
    server = Server(bench, snapshot.Snapshot(saved), file, scripts=True, responses=responses)
    answers = {place: server.ask(script, types.Caller("s", SECRET, SECRET)) for place, script in PLANTED.items()}
    assert "«redacted:aws:0»" in answers["in the cluster's data"].text
    server.recorder.close()
    assert verify.verify(file).broken is None
    assert len(trails.records(file, "script")) == len(PLANTED)
    found = everything(file)
    assert SECRET.encode() not in found
    assert b"hasattr" in found  # the scripts are there


@pytest.mark.promise("A-04")
def test_a_record_has_only_the_fields_that_are_listed(bench: benches.Bench, file: Path, tmp_path: Path) -> None:
    """No field is in a record that nobody has judged: the list here is the list of docs/audit.md."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)
    for script in (*PLANTED.values(), trails.COUNT):
        server.ask(script)
    server.recorder.close()
    page = (Path(__file__).parent.parent / "docs" / "audit.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `([a-z_`, ]+)` \|", page, re.MULTILINE))
    names = {name for cell in listed for name in cell.replace("`", "").split(", ")}
    plan = stored_plans.made()
    ended = plan_record.Record(plan, "applied", (stored_plans.answer(plan),), (plan_record.Application("done"),))
    text_filter = script_records.TextFilter(masked_text)
    of_plans = (
        audit_plans.describe_plan(plan, text_filter),
        audit_plans.describe_decision(plan.id, stored_plans.answer(plan), text_filter),
        audit_plans.describe_application(ended, text_filter),
    )
    for one in (*trails.records(file), *of_plans):
        assert set(one) <= names, set(one) - names
    # The chain adds these to each record, and a line that has one twice is read in two ways.
    assert not any({"seq", "prev", "hash"} & set(one) for one in of_plans)


DENIED = {
    "the same one": "for n in range(300):\n    try:\n        k8s.coreV1().create_namespaced_service_account_token('db', 'shop', {'spec': {}})\n    except Exception:\n        pass\n1",
    "other names": "for n in range(300):\n    try:\n        k8s.coreV1().create_namespaced_service_account_token(f'db-{n}', f'shop-{n}', {'spec': {}})\n    except Exception:\n        pass\n1",
    "other kinds": "for n in range(300):\n    try:\n        k8s.customObjectsApi().create_cluster_custom_object(f'g{n}.example', f'v{n}', f'kinds{n}', {'a': 1})\n    except Exception:\n        pass\n1",
    "calls that are none": "for n in range(300):\n    try:\n        k8s.coreV1().read_namespaced_pod('a', f'Not A Name {n}')\n    except Exception:\n        pass\n1",
    "at the same time": "k8s.parallel([lambda n=n: k8s.coreV1().create_namespaced_service_account_token(f'db{n}', 'shop', {'spec': {}}) for n in range(200)])\n1",
}


@pytest.mark.promise("A-10")
@pytest.mark.parametrize("way", DENIED)
def test_denials_of_one_script_are_a_bounded_number_of_records(
    way: str, bench: benches.Bench, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of denials are some thirty records whose counts add up; the chain is whole, its readers show the counts, and
    the next script has its records. Without the count, each is a record: the attack is real."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file, read_only=True)
    server.ask(DENIED[way])
    assert server.ask(trails.COUNT).text == "1"
    *denied, last = trails.records(file, "call")
    counts = sum(one.get("count", 1) for one in denied)
    (ended, _) = trails.records(file, "script")
    assert counts == ended["calls"] >= 200, counts
    assert len(denied) <= 10 + 20 + 1
    assert all(one["first"] <= one["time"] for one in denied if "count" in one)
    assert {one["evaluation"] for one in denied} == {ended["evaluation"]} != {last["evaluation"]}
    monkeypatch.setattr(denials, "_IN_FULL", 1_000)
    monkeypatch.setattr(denials.Denials, "_count", lambda _self, _record: None)
    monkeypatch.setattr(denials.Denials, "is_repeat", lambda _self, _record: False)
    server.ask(DENIED[way])
    server.recorder.close()
    assert len(trails.records(file, "call")) == len(denied) + 1 + counts
    assert verify.verify(file).broken is None


@pytest.mark.promise("A-10")
def test_readers_show_what_a_counted_record_stands_for(bench: benches.Bench, file: Path, tmp_path: Path) -> None:
    """`audit show` and `stats` of a script that was denied 300 times."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)
    server.ask(DENIED["the same one"])
    server.recorder.close()
    assert "whole" in trails.verified(file)
    shown = trails.run("audit", "show", str(file), "--denied").stdout
    assert "deny policy.denied_resource x299 since " in shown
    summed = trails.run("audit", "stats", str(file)).stdout
    assert "policy.denied_resource 300" in summed and "create serviceaccounts/token 300" in summed


FORGED = '"}\n{"type":"script","code":"ok","hash":"' + "0" * 64 + '"}\n\x1b[2J\u202e\u2028'


@pytest.mark.promise("A-06")
def test_words_of_a_client_or_a_script_do_not_become_records(file: Path, tmp_path: Path) -> None:
    """A client whose name is a line of the file, and a script whose names and exceptions are, are fields and nothing else."""

    async def talk() -> None:
        flags = ["--toolsets", "code", "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
        parameters = clients.server(flags)
        info = Implementation(name=FORGED, version=FORGED)
        async with Client(stdio_client(parameters), client_info=info) as client:
            for script in (
                f"raise ValueError({FORGED!r})",
                f"k8s.coreV1().read_namespaced_pod({FORGED!r}, 'shop')",
                "1",
            ):
                await clients.evaluate(client, script)

    anyio.run(talk)
    trails.verified(file)
    assert len(trails.records(file, "script")) == 3
    client = trails.records(file, "script")[0]["client"]
    assert client.startswith('"}') and client.isprintable()
    shown = trails.run("audit", "show", str(file)).stdout
    assert shown.replace("\n", "").isprintable()


WRITES = (
    "k8s.coreV1().create_namespaced_config_map('shop', {'metadata': {'name': 'a'}})",
    "k8s.coreV1().delete_namespaced_pod('web-0', 'shop')",
    "k8s.appsV1().patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 0}})",
)


@pytest.mark.promise("A-02")
@pytest.mark.parametrize("script", WRITES)
def test_what_cannot_be_recorded_is_not_sent(
    script: str, bench: benches.Bench, engine: redaction.Engine, file: Path, tmp_path: Path
) -> None:
    """While nothing can be written no change reaches the API server; when it can, the change and the dry run before it
    are on record before they arrive."""
    with far_end.Recorder() as api:
        server = Server(bench, live.Live(api.kubeconfig(tmp_path)), file, compare=engine.changes)
        file.rename(file.with_name("aside"))
        file.mkdir()  # opening it fails from now on
        answer = server.ask(script)
        assert answer.is_error and answer.code == "audit.unavailable"
        assert api.take() == []
        file.rmdir()
        file.with_name("aside").rename(file)
        assert not server.ask(script).is_error
        tried, made = [one for one in api.take() if not one.line.startswith("GET")]
        assert tried.is_dry_run and not made.is_dry_run
        assert verify.verify(file).broken is None
        try_sent, sent = trails.records(file, "sent")
        done = trails.records(file, "call")[-1]
        assert [try_sent["audit_id"]] == tried.header("Audit-ID")
        assert [sent["audit_id"]] == [done["audit_id"]] == made.header("Audit-ID")
        assert try_sent["seq"] < sent["seq"] < done["seq"] and done["status"] == 200
        assert (try_sent.get("dry_run"), sent.get("dry_run"), done.get("dry_run")) == (True, None, None)
        assert trails.records(file, "gap")[0]["records"] == 1


@pytest.mark.promise("A-02")
@pytest.mark.parametrize("script", WRITES)
def test_a_dry_run_of_a_script_is_on_record_as_one(
    script: str, bench: benches.Bench, engine: redaction.Engine, file: Path, tmp_path: Path
) -> None:
    """What a script only tries counts for no change, whoever reads the record."""
    with far_end.Recorder() as api:
        server = Server(bench, live.Live(api.kubeconfig(tmp_path)), file, compare=engine.changes)
        assert not server.ask(script.removesuffix(")") + ", dry_run='All')").is_error
        (tried,) = api.take()
        assert tried.is_dry_run
    (sent,), (done,) = trails.records(file, "sent"), trails.records(file, "call")
    assert sent["dry_run"] and done["dry_run"] and done["status"] == 200


@pytest.mark.promise("A-01")
def test_a_script_that_swallows_the_error_gets_no_answer_either(
    bench: benches.Bench, file: Path, tmp_path: Path
) -> None:
    """One call that could not be recorded withholds the whole answer, whatever the script does and however the disk
    recovers."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)
    audit_log = server.recorder._log
    broken: list[int] = []
    write = audit_log.append

    def once(fields: dict[str, Any], **options: Any) -> chain.Head:
        if fields["type"] == "call" and not broken:
            broken.append(1)
            file.rename(file.with_name("aside"))
            file.mkdir()
            try:
                return write(fields, **options)
            finally:
                file.rmdir()
                file.with_name("aside").rename(file)
        return write(fields, **options)

    audit_log.append = once  # type: ignore[method-assign]  # the disk fails for the time of one call
    answer = server.ask(f"try:\n    n = {trails.COUNT}\nexcept Exception:\n    n = 'swallowed'\nn")
    assert answer.is_error and answer.code == "audit.unavailable" and "swallowed" not in answer.text
    assert server.ask(trails.COUNT).text == "1"
    server.recorder.close()
    assert verify.verify(file).broken is None
    assert trails.records(file, "script")[0]["code"] == "audit.unavailable"
    assert trails.records(file, "gap")[0]["records"] == 1


PARALLEL = "k8s.parallel([lambda ns=f'n{n}': k8s.coreV1().list_namespaced_pod(ns) for n in range(30)])"
_CALL = '{"method":"GET","path":["api","v1","pods"]}'
_CALLS = ",".join([_CALL.replace("pods", "nodes"), *[_CALL] * 29])
DYING = f"sock.sendall(frame(6, '{{\"calls\":[{_CALLS}]}}'))\nsock.recv(1)\n"
"""Waits for the answer about the nodes, which comes when eight calls are under way."""
NODES = b'{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}'


def answer_one(silent: socket.socket, held: list[socket.socket]) -> None:
    """Takes eight connections, and answers the one that asks for nodes."""
    with contextlib.suppress(OSError):  # the test is over
        held += [silent.accept()[0] for _ in range(8)]
        for sock in held:
            if b"/nodes" in sock.recv(65_536):
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(NODES)}\r\n\r\n"
                sock.sendall(head.encode() + NODES)


@pytest.mark.promise("A-01")
@pytest.mark.parametrize(
    ("command", "script", "code"),
    [
        (programs.WORKER, PARALLEL, "limit.time"),
        (benches.HOSTILE, DYING + "os._exit(1)", "worker.died"),
        (benches.HOSTILE, DYING + "os.kill(os.getpid(), 11)", "worker.died"),
        (benches.HOSTILE, DYING + "sock.sendall(frame(8, '{\"answer\":999}'))\nwhile True: pass", "worker.protocol"),
    ],
    ids=["at its deadline", "its worker ends", "its worker breaks the filter", "its worker breaks the protocol"],
)
def test_calls_under_way_end_with_their_script(
    command: tuple[str, ...], script: str, code: str, file: Path, tmp_path: Path
) -> None:
    """Parallel calls to an API server that is silent are cut and on record before the answer leaves, and no thread
    stays."""
    with benches.opened(command) as bench, far_end.Recorder() as api, socket.create_server(("127.0.0.1", 0)) as silent:
        config_file = api.kubeconfig(tmp_path)
        config_file.write_text(config_file.read_text().replace(str(api.port), str(silent.getsockname()[1])))
        server = Server(bench, live.Live(config_file), file)
        timeout = patience.scaled_ms(4_000) if code == "limit.time" else 120_000
        held: list[socket.socket] = []
        threading.Thread(target=answer_one, args=(silent, held), daemon=True).start()
        started = time.monotonic()
        answer = anyio.run(server.evaluator.evaluate, script, timeout, None, types.Caller())
        kinds = [one["type"] for one in trails.records(file)]
        left = [one for one in threading.enumerate() if one.name == "kubescript-parallel"]
        assert answer.code == code
        assert kinds[-9:] == ["call"] * 8 + ["script"]
        assert not left
        assert time.monotonic() - started < 60
        assert bench.works()
        server.recorder.close()
    assert verify.verify(file).broken is None


CALLS_AND_A_DENIAL = f"{trails.COUNT}\n{trails.COUNT}\ntry:\n    {trails.DENIED}\nexcept Exception:\n    pass\n"
UNMASKABLE = {
    "a bug of ours": (RuntimeError(SECRET), "output.failed"),
    "invalid UTF-8": (UnicodeDecodeError("utf-8", b"\xc3", 0, 1, SECRET), "output.failed"),
    "no memory": (MemoryError(SECRET), "output.failed"),
    "no time": (errors.LimitExceeded("masking took longer than the call may take"), "limit.time"),
}
"""What masking an answer may raise, and the code of the answer then."""
PLACES = {
    "in the result": "111 * 111",
    "in the prints": "print(111 * 111)",
    "in an error": "raise ValueError(111 * 111)",
}


@pytest.mark.promise("A-01", "A-09")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("failure", UNMASKABLE)
def test_a_script_whose_answer_fails_is_on_record(
    failure: str, place: str, bench: benches.Bench, file: Path, tmp_path: Path
) -> None:
    """Whatever fails behind the script costs its answer, never its record, which keeps its id, its calls and its
    denials; the client learns no more of it, and the next script works."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)
    error, code = UNMASKABLE[failure]

    def broken(text: str, _found: Callable[[str], None], _check: Callable[[], None]) -> str:
        if "12321" in text:
            raise error
        return text

    server.evaluator.answers._mask = broken
    answer = server.ask(CALLS_AND_A_DENIAL + PLACES[place])
    assert (answer.is_error, answer.code) == (True, code)
    assert SECRET not in answer.text and "Error" not in answer.text
    assert server.ask(trails.COUNT).text == "1"
    server.recorder.close()
    failed, fine = trails.records(file, "script")
    calls = trails.records(file, "call")
    assert (failed["code"], failed["calls"], failed["not_allowed"], fine["code"]) == (code, 3, 1, "ok")
    assert [one["evaluation"] for one in calls] == [failed["evaluation"]] * 3 + [fine["evaluation"]]
    assert verify.verify(file).broken is None


@pytest.mark.promise("A-01", "A-09")
def test_a_progress_text_that_cannot_be_masked_keeps_the_record(
    bench: benches.Bench, file: Path, tmp_path: Path
) -> None:
    """A failure in the middle of a script: what it has called until then is on record under its id."""
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)

    def broken(text: str, _found: Callable[[str], None], _check: Callable[[], None]) -> str:
        if "12321" in text:
            raise RuntimeError(SECRET)
        return text

    async def report(_done: float, _total: float | None, _text: str) -> None:
        pass

    server.evaluator.answers._mask = broken
    script = f"{CALLS_AND_A_DENIAL}ctx.progress(1, 2, str(111 * 111))"
    answer = anyio.run(server.evaluator.evaluate, script, 60_000, report)
    assert (answer.code, SECRET in answer.text) == ("internal", False)
    assert server.ask(trails.COUNT).text == "1"
    server.recorder.close()
    failed, _ = trails.records(file, "script")
    assert (failed["code"], failed["calls"], failed["not_allowed"]) == ("internal", 3, 1)
    assert {one["evaluation"] for one in trails.records(file, "call")[:3]} == {failed["evaluation"]}


@pytest.mark.promise("A-01")
def test_a_script_that_is_not_run_is_on_record(file: Path, tmp_path: Path) -> None:
    """A script that finds every place taken, or that the client cancels, has a record that says so."""

    async def endless(client: Client, begun: anyio.Event) -> None:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        call = {"script": "ctx.progress(1)\nwhile True: pass", "timeout": 120_000}
        await client.call_tool("evaluate_script", call, progress_callback=report)

    async def talk() -> None:
        settings = tmp_path / "one.toml"
        settings.write_text("[sandbox]\nmax_scripts = 1\nmax_queue = 0\n")
        flags = ["--config", str(settings), "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
        async with clients.connect("stdio", flags) as client:
            async with anyio.create_task_group() as group:
                begun = anyio.Event()
                group.start_soon(endless, client, begun)
                await begun.wait()
                busy = await clients.evaluate(client, "1")
                assert busy.is_error
                group.cancel_scope.cancel()
            with anyio.fail_after(60):
                while len(trails.records(file, "script")) < 2:
                    await anyio.sleep(0.1)
            assert clients.text(await clients.evaluate(client, "1")) == "1"

    anyio.run(talk)
    codes = [one["code"] for one in trails.records(file, "script")]
    assert codes == ["server.busy", "cancelled", "ok"]
    trails.verified(file)


@pytest.mark.promise("A-06")
def test_a_script_cannot_reach_the_record(bench: benches.Bench, file: Path, tmp_path: Path) -> None:
    """What records are made of is not in a worker: neither the journal of a call nor its file."""
    assert {one.name for one in dataclasses.fields(script_records.Subject)} == {
        "session", "client", "client_version", "tool", "user", "issuer", "subject", "evaluation", "script",
    }  # fmt: skip
    server = Server(bench, snapshot.Snapshot(trails.snapshot(tmp_path)), file)
    answer = server.ask(f"open({str(file)!r}, 'a').write('x')")
    assert answer.is_error
    server.recorder.close()
    assert verify.verify(file).broken is None
