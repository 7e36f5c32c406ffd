"""Traces and metrics as a real receiver and a real scraper see them; and a server that does not mind when nobody does."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client
from opentelemetry.proto.trace.v1 import trace_pb2

from kubescript.broker import records
from kubescript.cli import demo
from kubescript.kube import kinds
from kubescript.request import request
from kubescript.telemetry import evaluation, instruments, labels, prometheus, spans
from kubescript_sandbox import runs
from tests.kit import clients, paths, receiver, trace_picture, trails

FLAGS = ["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT)]
AT_ONCE = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "100"}
LOWERCASE_SECRET = "xoxb-" + "173046928415-902837465921-k3j9x2m5q8w1z7v4n6b0c5d2"
"""A Slack token that could be a namespace's name."""
SCRIPT = """\
rows = [p.metadata.name for p in k8s.coreV1().list_pod_for_all_namespaces()]
try:
    k8s.coreV1().list_namespaced_secret("shop-of-horrors", field_selector="data.a=b")
except Exception:
    pass
len(rows) > 0 and "hunter2hunter2" """


@contextlib.asynccontextmanager
async def client_of(environment: dict[str, str], *flags: str, log: Path | None = None) -> AsyncIterator[Client]:
    """A stdio client of a server with these variables, which sends what it has at once: a client kills a server that
    has not ended in two seconds, and on a slow machine the rest is lost."""
    with open(log or os.devnull, "w") as out:
        parameters = clients.server([*FLAGS, *flags], **AT_ONCE, **environment)
        async with Client(stdio_client(parameters, out)) as client:
            yield client


@pytest.mark.promise("O-04")
def test_a_call_is_a_trace_from_the_client_to_the_api() -> None:
    """The tool call, the script below it, each API call below that, allowed or not, in time order; and the metrics."""

    async def ask(found: receiver.Receiver) -> None:
        async with client_of({"OTEL_EXPORTER_OTLP_ENDPOINT": found.url}) as client:
            assert clients.text(await clients.evaluate(client, SCRIPT)).startswith("hunter2")
            result = await clients.evaluate(client, "1/0")
            assert result.is_error
            await wait(found, lambda: len(found.named("script")) == 2)
            await wait(found, lambda: len(found.named("tools/call evaluate_script")) == 2)
            await wait(found, lambda: sum(counted(found).values()) == 2)

    with receiver.receiving() as found:
        anyio.run(ask, found)
        check_trace(found)
        check_metrics(found)
    for secret in (b"hunter2", b"list_pod_for_all", b"web-0"):
        assert secret not in found.raw


def test_the_picture_in_the_docs_is_of_such_a_trace() -> None:
    """Its script gives the spans that it shows, in this order, whatever their times are."""
    shown = trace_picture.read()
    rows = [(row.name, row.note) for row in trace_picture.record()]
    assert sorted(rows) == sorted(shown) and (rows[:3], rows[-1]) == (shown[:3], shown[-1])


def check_trace(found: receiver.Receiver) -> None:
    """The first call's spans."""
    assert found.resource["service.name"] == "kubescript"
    script = next(
        span for span in found.named("script") if receiver.attributes(span.attributes)["kubescript.script.code"] == "ok"
    )
    (above,) = [span for span in found.spans if span.span_id == script.parent_span_id]
    assert above.name == "tools/call evaluate_script"
    assert receiver.attributes(above.attributes)["gen_ai.tool.name"] == "evaluate_script"
    below = {span.name: span for span in found.spans if span.parent_span_id == script.span_id}
    assert below.keys() == {"list pods", "list secrets"}
    assert {span.trace_id for span in below.values()} == {script.trace_id}
    pods = below["list pods"]
    assert above.start_time_unix_nano <= script.start_time_unix_nano <= pods.start_time_unix_nano
    assert pods.end_time_unix_nano <= script.end_time_unix_nano
    told = receiver.attributes(pods.attributes)
    assert (told["http.request.method"], told["http.response.status_code"]) == ("GET", 200)
    assert told["http.response.body.size"] > 100
    denied = receiver.attributes(below["list secrets"].attributes)
    assert (denied["kubescript.policy.verdict"], denied["error.type"]) == ("deny", "denied")
    assert below["list secrets"].status.code == trace_pb2.Status.STATUS_CODE_ERROR
    assert receiver.attributes(script.attributes)["kubescript.script.api_calls"] == 2
    failed = next(span for span in found.named("script") if span is not script)
    assert receiver.attributes(failed.attributes)["error.type"] == "script.exception"


def check_metrics(found: receiver.Receiver) -> None:
    """Counters by code and by call."""
    assert counted(found) == {"ok": 1, "script.exception": 1}
    calls = {
        (point_label(point, "resource"), point_label(point, "status"))
        for point in found.metrics["kubescript.api.calls"].sum.data_points
    }
    assert calls == {("pods", "200"), ("secrets", "denied")}
    assert {"kubescript.queue.depth", "kubescript.script.duration", "kubescript.queue.wait"} <= found.metrics.keys()


def counted(found: receiver.Receiver) -> dict[str, int]:
    """How many scripts the metrics have of each code."""
    if "kubescript.scripts" not in found.metrics:
        return {}
    return {point_label(point, "code"): point.as_int for point in found.metrics["kubescript.scripts"].sum.data_points}


async def wait(found: receiver.Receiver, ready: Callable[[], object]) -> None:
    """Waits, while a client goes on, until something has arrived."""
    await anyio.to_thread.run_sync(found.wait, ready)


def point_label(point: object, name: str) -> str:
    """One attribute of a data point."""
    return str(receiver.attributes(point.attributes)[name])  # type: ignore[attr-defined]


def test_the_setting_names_the_receiver_too(tmp_path: Path) -> None:
    """`telemetry.otlp_endpoint` in the file does what the variable does; a client's traceparent is continued."""
    config = tmp_path / "kubescript.toml"

    async def ask(found: receiver.Receiver) -> None:
        config.write_text(f'[telemetry]\notlp_endpoint = "{found.url}/"\n')
        trace = "0af7651916cd43dd8448eb211c80319c"
        async with client_of({"OTEL_SERVICE_NAME": "shop-bot"}, "--config", str(config)) as client:
            meta = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
            await client.call_tool("evaluate_script", {"script": "1+1"}, meta=meta)  # type: ignore[arg-type]
            await wait(found, lambda: found.named("script"))

    with receiver.receiving() as found:
        anyio.run(ask, found)
        assert found.resource["service.name"] == "shop-bot"
        assert {span.trace_id.hex() for span in found.named("script")} == {"0af7651916cd43dd8448eb211c80319c"}


@pytest.mark.promise("O-04")
@pytest.mark.parametrize("told", [True, False])
def test_the_one_name_in_a_span_is_masked_and_can_be_left_out(told: bool, tmp_path: Path) -> None:
    """A namespace that a script makes up of a secret reaches no receiver, and no namespace does where the operator says
    so."""
    config = tmp_path / "kubescript.toml"
    script = (
        f"for name in ('shop', '{LOWERCASE_SECRET}'):\n"
        "    try:\n        k8s.coreV1().list_namespaced_pod(name)\n    except Exception:\n        pass\n"
        "k8s.coreV1().read_namespaced_config_map('no-such-map', 'shop')"
    )

    async def ask(found: receiver.Receiver) -> None:
        config.write_text(f'[telemetry]\notlp_endpoint = "{found.url}"\nnamespaces = {str(told).lower()}\n')
        async with client_of({}, "--config", str(config)) as client:
            await clients.evaluate(client, script)
            await wait(found, lambda: found.named("script"))

    with receiver.receiving() as found:
        anyio.run(ask, found)
    names = [receiver.attributes(span.attributes).get("k8s.namespace.name") for span in found.named("list pods")]
    assert len(names) == 2 and (names[0], str(names[1])[:10]) == (("shop", "«redacted:") if told else (None, "None"))
    for name in (LOWERCASE_SECRET.encode(), b"no-such-map", *([] if told else [b"shop"])):
        assert name not in found.raw


def test_a_dead_receiver_costs_nothing_but_its_traces(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody listens: scripts go on, memory does not grow with the traces that are lost, the log names the loss without
    filling, and the server ends within seconds."""
    for name, value in DEAD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{clients.free_port()}")
    script = "for _ in range(100):\n    k8s.coreV1().list_node()\n'done'"

    async def ask(port: int, times: int) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            for _ in range(times):
                assert clients.text(await clients.evaluate(client, script)) == "done"

    with clients.serving(FLAGS) as port:
        anyio.run(ask, port, 10)
        before = scrape(f"http://127.0.0.1:{port}")["process_resident_memory_bytes"]
        anyio.run(ask, port, 40)  # 4,000 spans more, of which 64 find room
        time.sleep(1.5)
        assert scrape(f"http://127.0.0.1:{port}")["process_resident_memory_bytes"] < before + 12 * 2**20
        ending = time.monotonic()
    assert time.monotonic() - ending < 30
    lost = [line for line in capfd.readouterr().err.splitlines() if "opentelemetry" in line]
    assert 1 <= len(lost) < 20  # of hundreds of batches


DEAD = {
    "OTEL_BSP_SCHEDULE_DELAY": "50",
    "OTEL_BSP_MAX_QUEUE_SIZE": "64",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "32",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
}


def test_a_server_that_is_told_to_end_sends_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM, as Kubernetes sends it: spans that waited for the next batch, and the last metrics, still arrive."""
    config = tmp_path / "kubescript.toml"
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")

    async def ask(port: int) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            assert clients.text(await clients.evaluate(client, "1 + 1")) == "2"

    with receiver.receiving() as found:
        config.write_text(f'[telemetry]\notlp_endpoint = "{found.url}"\n')
        with clients.serving([*FLAGS, "--config", str(config)]) as port:
            anyio.run(ask, port)
            assert not found.named("script")  # the batch is sent every ten minutes
        found.wait(lambda: found.named("script") and "kubescript.scripts" in found.metrics)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "KUBESCRIPT_TEST_WITHOUT": "otel"},
            ("not installed", "-m pip install 'opentelemetry-exporter-otlp-proto-http<2,>=1.36'"),
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            ("only http/protobuf",),
        ),
    ],
    ids=["not installed", "grpc"],
)
def test_what_cannot_be_exported_is_said_at_the_start(
    environment: dict[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    """An endpoint without the packages, or with a protocol that is not spoken, ends the start with what to do."""
    # An empty package of the SDK's name, first on the path, is what a machine without the extra finds.
    if "KUBESCRIPT_TEST_WITHOUT" in environment:
        (tmp_path / "sitecustomize.py").write_text(HIDE)
        environment = {**environment, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [clients.INSTALLED, *FLAGS],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr


HIDE = """\
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""


def test_nothing_of_it_is_loaded_unasked() -> None:
    """Without an endpoint no OpenTelemetry SDK and no Prometheus client is imported, as start and memory show."""
    program = (
        "import sys; from kubescript import app, config, programs, server; from kubescript_sandbox.host import spawner\n"
        "settings = config.load({'toolsets': 'code', 'snapshot': sys.argv[1]}, None)\n"
        "source = spawner.Spawner(programs.WORKER); source.start()\n"
        "with app.opened(settings, source) as opened:\n"
        "    opened.server()\n"
        "    print([m for m in ('opentelemetry.sdk', 'prometheus_client', 'google.protobuf', 'requests') if m in sys.modules])\n"
        "source.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(demo.SNAPSHOT)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# --- /metrics ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def metrics() -> Iterator[str]:
    """The base URL of a server that has answered nothing yet."""
    with clients.serving(FLAGS) as port:
        yield f"http://127.0.0.1:{port}"


def scrape(base: str) -> dict[str, float]:
    """Samples by name and labels."""
    response = httpx2.get(f"{base}/metrics", timeout=60)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = (line.rpartition(" ") for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_prometheus_sees_scripts_calls_and_load(metrics: str) -> None:
    """Scripts by code, calls by verb, resource and status, bytes, queue, workers and the server's own memory."""

    async def ask() -> None:
        async with Client(f"{metrics}/mcp") as client:
            for script, timeout in ((SCRIPT, 20_000), ("1/0", 20_000), ("while True: pass", 700)):
                await clients.evaluate(client, script, timeout=timeout)
            assert httpx2.get(f"{metrics}/ready", timeout=60).status_code == 200
            assert httpx2.get(f"{metrics}/info", headers={"Origin": "https://a.example"}, timeout=60).status_code == 403

    anyio.run(ask)
    for _ in range(300):
        found = scrape(metrics)
        if found.get('kubescript_scripts_total{code="limit.time"}') == 1:
            break
        time.sleep(0.1)
    assert found['kubescript_scripts_total{code="ok"}'] == 1
    assert found['kubescript_scripts_total{code="script.exception"}'] == 1
    assert found['kubescript_limits_hit_total{limit="limit.time"}'] == 1
    assert found['kubescript_api_calls_total{context="",group="",resource="pods",status="200",verb="list"}'] == 1
    assert found['kubescript_api_calls_total{context="",group="",resource="secrets",status="denied",verb="list"}'] == 1
    assert found["kubescript_script_duration_seconds_count"] == 3
    assert found["kubescript_script_duration_seconds_sum"] > 0.6
    assert found["kubescript_api_response_bytes_total"] > 100
    assert found["kubescript_queue_wait_seconds_count"] == 3
    assert found['kubescript_workers{state="running"}'] == 0
    assert found["kubescript_queue_depth"] == 0
    assert found['kubescript_requests_refused_total{status="403"}'] == 1
    assert found['kubescript_check_ok{check="cluster"}'] == found['kubescript_check_ok{check="workers"}'] == 1
    assert found["process_resident_memory_bytes"] > 10_000_000


def test_a_withheld_answer_is_one_script(tmp_path: Path) -> None:
    """A script whose answer is withheld, since its record could not be written, is counted once and as that."""
    file = tmp_path / "audit.jsonl"

    async def ask(port: int) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            server = trails.writer_of(file)
            was = resource.prlimit(server, resource.RLIMIT_FSIZE)
            room = file.stat().st_size + 700  # the call's record fits, the script's does not
            resource.prlimit(server, resource.RLIMIT_FSIZE, (room, was[1]))
            answer = await clients.evaluate(client, "len(k8s.coreV1().list_pod_for_all_namespaces())")
            assert answer.is_error and "audit.unavailable" in clients.text(answer)
            resource.prlimit(server, resource.RLIMIT_FSIZE, was)
            assert not (await clients.evaluate(client, "1")).is_error

    with clients.serving([*FLAGS, "--audit", str(file)]) as port:
        anyio.run(ask, port)
        for _ in range(300):
            found = scrape(f"http://127.0.0.1:{port}")
            if found.get('kubescript_scripts_total{code="ok"}') == 1:
                break
            time.sleep(0.1)
    counted = {name: value for name, value in found.items() if name.startswith("kubescript_scripts_total") and value}
    assert counted == {
        'kubescript_scripts_total{code="ok"}': 1, 'kubescript_scripts_total{code="audit.unavailable"}': 1,
    }  # fmt: skip
    assert found["kubescript_queue_wait_seconds_count"] == 2


def test_metrics_answer_local_clients_only(metrics: str) -> None:
    """The Host header is checked as for /health."""
    assert httpx2.get(f"{metrics}/metrics", headers={"Host": "evil.example"}, timeout=60).status_code == 421
    assert httpx2.get(f"{metrics}/metrics", timeout=60).status_code == 200


def record(number: int) -> records.Record:
    """A call as a script might invent it."""
    call = request.Request(
        "GET", f"/x/{number}", (), f"verb{number}", is_resource=True, group=f"g{number}.example", version="v1",
        resource=f"r{number}", subresource=f"s{number}", namespace=f"n{number}", name=f"o{number}",
    )  # fmt: skip
    return records.Record("x", "allow", status=100 + number % 500, call=call)


@pytest.mark.promise("O-04")
def test_no_script_can_make_series_for_ever() -> None:
    """Thousands of invented groups, verbs, statuses, codes and kinds end in few series, and none holds a name."""
    found = prometheus.Metrics(evaluation.Load)
    usage = runs.Usage(wall_ms=1)
    for number in range(3000):
        found.observe(
            evaluation.Evaluation(f"script.x{number}", usage, records=[record(number)], redacted={f"k{number}": 1})
        )
    series = [line for line in found.text(evaluation.Presence()).decode().splitlines() if not line.startswith("#")]
    assert len(series) < 450
    assert not re.search(r"example|n17\b|o17\b|script\.x", found.text(evaluation.Presence()).decode())


@pytest.mark.promise("O-04")
def test_no_script_can_make_series_of_each_kind_in_each_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """38,700 sets of labels end in fewer than 6,000 series, and the alerts still hear of a cluster's failure."""
    monkeypatch.setattr(labels, "_calls", set())
    monkeypatch.setattr(labels, "_contexts", set())
    found = prometheus.Metrics(evaluation.Load)
    resources = [(group, name) for group, names in kinds.BUILT_IN.items() for name in names]
    for cluster in range(50):
        calls = [
            records.Record("x", "allow", status=status, context=f"c{cluster}", call=request.Request(
                "GET", "/", (), verb, is_resource=True, group=group, version="v1", resource=name
            ))
            for group, name in resources for verb in ("get", "list", "delete") for status in (200, 403, 404)
        ]  # fmt: skip
        found.observe(evaluation.Evaluation("ok", runs.Usage(), records=calls))
    late = records.Record("x", "allow", fault="cluster.timeout", context="c49", call=calls[0].call)
    found.observe(evaluation.Evaluation("ok", runs.Usage(), records=[late]))
    text = found.text(evaluation.Presence()).decode()
    assert 5_000 <= text.count("kubescript_api_calls_total{") < 6_000 < 50 * len(calls)
    assert 'context="c49",group="",resource="other",status="cluster.timeout",verb="other"} 1.0' in text


def test_labels_know_what_is_built_in() -> None:
    """Built-in resources by name, with their known subresources; everything else is custom."""
    pod_log = request.Request("GET", "/", (), "get", is_resource=True, version="v1", resource="pods", subresource="log")
    assert labels.resource(records.Record("x", "allow", call=pod_log)) == ("", "pods/log")
    custom = request.Request("GET", "/", (), "list", is_resource=True, group="cert-manager.io", resource="certificates")
    assert labels.resource(records.Record("x", "allow", call=custom)) == ("custom", "custom")
    assert labels.resource(records.Record("x", "refuse")) == ("", "other")


def test_an_observer_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The next observer is told all the same, and the log says what happened."""
    told: list[evaluation.Evaluation] = []

    def broken(_done: evaluation.Evaluation) -> None:
        raise RuntimeError

    evaluation.notify([broken, told.append], evaluation.Evaluation("ok"))
    assert [done.code for done in told] == ["ok"]
    assert "could not be observed" in caplog.text


def test_the_page_names_what_is_exported() -> None:
    """docs/observability.md lists every metric with its labels, and no other; and the attributes of spans."""
    page = (paths.ROOT / "docs" / "observability.md").read_text("utf-8")
    listed = {
        found[1]: set(re.findall(r"`(\w+)`", found[2]))
        for found in re.finditer(r"^\| `(kubescript_\w+)` \| (.*?) \|", page, re.M)
    }
    metrics = prometheus.Metrics(evaluation.Load)
    metrics.observe(evaluation.Evaluation("limit.time", records=[record(1)], redacted={"jwt": 1}))
    metrics.note_refusal(429)
    metrics.note_checks({"cluster": "ok"})
    exported: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        if family.name.startswith("kubescript_"):
            name = family.name + ("_total" if family.type == "counter" else "")
            exported[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    assert listed == exported
    source = "".join(Path(str(each.__file__)).read_text("utf-8") for each in (instruments, spans))
    for name in re.findall(r'"(kubescript\.[a-z_.]+)"', source):
        if not name.startswith(("kubescript.script.", "kubescript.k8s.", "kubescript.policy.")):
            assert f"{name}" in page, name
