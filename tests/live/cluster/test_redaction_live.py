"""Redaction in front of a real kube-apiserver that holds planted values: real clients, the log on stderr, status pages,
saved clusters, and errors that print what they refuse."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client

from kubescript import app, config, programs
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_safety.controlplane import kubelets
from kubescript_sandbox.host import cancellation, spawner
from security_tests.redaction import engine, planted
from security_tests.redaction.asking import PREFACE, Ask, asked, rebuilt
from security_tests.redaction.transformations import TRANSFORMATIONS, Answered
from tests.kit import clients, reading
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "stores.acme.io"},
    "spec": {
        "group": "acme.io", "scope": "Namespaced", "names": {"kind": "Store", "plural": "stores", "listKind": "StoreList", "singular": "store"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _OPEN},
            "additionalPrinterColumns": [{"name": "Password", "type": "string", "jsonPath": ".spec.auth.password"}],
        }],
    },
}  # fmt: skip
RUNNING: dict[str, Any] = {
    "name": "app",
    "image": "a",
    "imageID": "",
    "ready": True,
    "restartCount": 0,
    "state": {"running": {}},
}
SAMPLE = [
    "as it is",
    "printed",
    "reversed",
    "base64",
    "character codes",
    "keys of a dictionary",
    "hash of prefixes",
    "exception text",
    "name not found",
    "label selector",
    "field selector",
    "progress texts",
]


@pytest.fixture(scope="module")
def kubeconfig(written: ControlPlane) -> Path:
    """Objects are written to this server."""
    return written.kubeconfig


@pytest.fixture(scope="module")
def live(kubeconfig: Path) -> Iterator[Path]:
    """The kubeconfig of a real API server with the planted objects; they are gone afterwards."""
    writer = Writer(kubeconfig)
    bodies = [
        _logging(body) if body["kind"] == "Pod" else body for body in planted.OBJECTS if body["kind"] != "Namespace"
    ]
    writer.create_all([[DEFINITION], *[[body] for body in bodies]])
    yield kubeconfig
    for body in (*reversed(bodies), DEFINITION):
        with contextlib.suppress(Exception):
            writer.delete(body, now=True)


def _logging(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod on a node of the fixture, whose kubelet has its log."""
    annotations = pod["metadata"].get("annotations", {}) | {kubelets.ANNOTATION: planted.LOG}
    return pod | {
        "metadata": pod["metadata"] | {"annotations": annotations},
        "spec": pod["spec"] | {"nodeName": "node-a2"},
        "status": pod.get("status", {}) | {"containerStatuses": [RUNNING]},
    }


@pytest.fixture(scope="module")
def source() -> Iterator[spawner.Spawner]:
    spawned = spawner.Spawner(programs.WORKER)
    spawned.start()
    yield spawned
    spawned.close()


@pytest.fixture(scope="module")
def writing(live: Path, source: spawner.Spawner) -> Iterator[Ask]:
    """A server that may write, in front of the real API server."""
    with app.opened(config.Settings(kubeconfig=live, writes="direct"), source) as parts:
        yield asked(parts.operator.evaluator)


def flags(live: Path) -> list[str]:
    return ["--toolsets", "code", "--kubeconfig", str(live), "--log-level", "debug"]


@pytest.mark.promise("S-05", "S-08")
def test_a_real_client_of_a_real_cluster(live: Path, tmp_path: Path) -> None:
    """Over the official client nothing is rebuilt from answers and progress, and the server's log on stderr has no value."""

    async def ask(client: Client, script: str) -> Answered:
        reports: list[tuple[float, str]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            reports.append((progress, message or ""))

        result = await client.call_tool("evaluate_script", {"script": script}, progress_callback=heard)
        return Answered(clients.text(result), reports)

    async def run(log: Any) -> None:
        parameters = clients.server(flags(live))
        async with Client(stdio_client(parameters, log)) as client:
            for name in SAMPLE:
                for text, values in planted.SOURCES.values():
                    answered = await ask(client, PREFACE.format(source=text) + TRANSFORMATIONS[name].script)
                    found = rebuilt(answered)
                    assert [value for value in values if planted.VALUES[value] in found] == [], answered
            seen = await ask(client, "len(k8s.coreV1().read_namespaced_config_map('planted', 'default').data)")
            assert seen.text.startswith("1"), seen

    with (tmp_path / "stderr").open("w") as log:
        anyio.run(run, log)
    stderr = (tmp_path / "stderr").read_text()
    assert "broker.call" in stderr
    assert planted.leaked(stderr) == []


@pytest.mark.promise("S-08")
def test_status_pages(live: Path) -> None:
    """/info and /health tell nothing of what scripts have read, and no help text does."""
    with clients.serving(["--toolsets", "code", "--kubeconfig", str(live)]) as port:

        async def ask() -> str:
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                answers = [
                    clients.text(await clients.evaluate(client, PREFACE.format(source=text) + "help(s)\ns"))
                    for text, _ in planted.SOURCES.values()
                ]
                tools = (await client.list_tools()).model_dump_json()
                return "\n".join([*answers, tools])

        texts = [anyio.run(ask)] + [
            httpx2.get(f"http://127.0.0.1:{port}/{page}", timeout=60).text for page in ("info", "health")
        ]
    assert [planted.leaked(text) for text in texts] == [[], [], []]


@pytest.mark.promise("S-08")
def test_a_saved_cluster_is_masked(live: Path, tmp_path: Path) -> None:
    """`kubescript snapshot` writes what a script would see: no file of it holds a planted value."""
    done = subprocess.run(
        [clients.KUBESCRIPT, "snapshot", str(tmp_path / "saved"), "--kubeconfig", str(live)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "saved").rglob("*") if path.is_file()]
    assert len(files) > 20
    assert {str(path): planted.leaked(path.read_text()) for path in files if planted.leaked(path.read_text())} == {}
    assert planted.leaked(done.stdout + done.stderr) == []
    pod = json.loads((tmp_path / "saved/resources/core/v1/pods.json").read_text())
    assert "«redacted:" in json.dumps(
        [item for item in pod["items"] if item["metadata"]["name"] == "planted"], ensure_ascii=False
    )


REFUSED = {
    "pod update": "k8s.coreV1().patch_namespaced_pod('planted', 'default', {'spec': {'hostNetwork': True, 'containers': [{'name': 'app', 'image': 'app:2', 'command': ['x']}]}}, dry_run='All')",
    "invalid variable": "k8s.coreV1().patch_namespaced_pod('planted', 'default', [{'op': 'add', 'path': '/spec/containers/0/env/-', 'value': {'name': 'no good', 'value': 'x'}}], dry_run='All')",
}  # fmt: skip
ATTEMPT = """
try:
    out = str({call})
except Exception as error:
    out = str(error) + str(getattr(error, 'body', '')) + str(getattr(error, 'reason', ''))
out[::-1]
"""


@pytest.mark.promise("S-08")
@pytest.mark.parametrize("name", REFUSED)
def test_errors_of_the_api_server(name: str, writing: Ask) -> None:
    """An error that prints what it refuses (a diff of a pod's spec, an invalid value) reaches the script masked."""
    answered = writing(ATTEMPT.format(call=REFUSED[name]))
    assert "422" in answered.text[::-1] or "Invalid" in answered.text[::-1], answered
    assert planted.leaked(answered.text) == [], answered


MOVES = {
    "move": ("planted", "v1", "pods", "/spec/containers/0/env/0/value", "/metadata/annotations/note"),
    "value to annotation": ("planted", "v1", "pods", "/spec/containers/0/env/0/value", "/metadata/annotations/note"),
    "argument to annotation": ("planted", "v1", "pods", "/spec/containers/0/args/1", "/metadata/annotations/note"),
    "password to size": ("planted", "acme.io/v1", "stores", "/spec/auth/password", "/spec/colour"),
}  # fmt: skip
MOVE = """
api = k8s.dynamic().resources.get(api_version='{version}', kind='{kind}')
out = api.patch(name='{name}', namespace='default', content_type='application/json-patch+json', dry_run='All',
    body=[{{'op': '{operation}', 'from': '{start}', 'path': '{end}'}}])
str(out.to_dict())[::-1]
"""


@pytest.mark.promise("S-08")
@pytest.mark.parametrize("name", MOVES)
def test_a_value_moved_under_another_name(name: str, writing: Ask) -> None:
    """A dry-run patch that copies or moves a value to where no name gives it away is refused, and the next call works."""
    target, version, plural, start, end = MOVES[name]
    kind = {"pods": "Pod", "stores": "Store"}[plural]
    answered = writing(
        MOVE.format(
            operation="move" if name == "move" else "copy",
            name=target,
            version=version,
            kind=kind,
            start=start,
            end=end,
        )
    )
    assert "cannot copy or move" in answered.text, answered
    assert planted.leaked(answered.text) == [], answered
    assert writing("6 * 7").text == "42"


EXPECTED = {
    "api/v1/secrets",
    "api/v1/configmaps",
    "api/v1/pods",
    "api/v1/events",
    "apis/events.k8s.io/v1/events",
    "apis/apps/v1/deployments",
    "apis/apps/v1/replicasets",
    "apis/acme.io/v1/stores",
}
"""Where the fixture and this module have planted something."""
DOCUMENTS = [
    "version",
    "api",
    "apis",
    "api/v1",
    "openapi/v2",
    "openapi/v3",
    ".well-known/openid-configuration",
    "openid/v1/jwks",
    "readyz",
]


@pytest.mark.promise("S-02")
def test_what_a_real_api_server_says_of_itself_is_not_touched(live: Path, source: spawner.Spawner) -> None:
    """Every list, table, discovery and schema document of a kube-apiserver comes out byte for byte, but for what was
    planted; and that is masked, in tables as well."""
    masking = engine.fresh()
    with app.opened(config.Settings(kubeconfig=live), source) as parts:

        def get(path: str, accept: exchanges.Accept = "json") -> tuple[bytes, bytes]:
            call = reading.formed(request.parse(exchanges.Call("GET", tuple(path.split("/")), accept=accept)))
            body = b"".join(
                parts.operator.contexts.default.cluster.perform(call, 60, cancellation.Cancellation()).chunks
            )
            return body, b"".join(masking.body(call, iter([body]), reading.Report()))

        versions = [
            "api/v1",
            *("apis/" + group["preferredVersion"]["groupVersion"] for group in json.loads(get("apis")[0])["groups"]),
        ]
        paths = [*DOCUMENTS, *versions, *(f"openapi/v3/{version}" for version in versions)]
        lists = [
            f"{version}/{one['name']}" for version in versions for one in json.loads(get(version)[0])["resources"]
            if "/" not in one["name"] and "list" in one["verbs"]
        ]  # fmt: skip
        assert len(lists) > 40
        kinds: tuple[exchanges.Accept, ...] = ("json", "table")
        read = {(path, accept): get(path, accept) for accept in kinds for path in lists} | {
            (path, "json"): get(path) for path in paths
        }
    leaks = {key: planted.leaked(after.decode()) for key, (_, after) in read.items()}
    assert {key: found for key, found in leaks.items() if found} == {}
    changed = {path for (path, _), (before, after) in read.items() if before != after}
    assert changed <= EXPECTED
    assert "api/v1/pods" in changed
