"""Two callers of one server run the same scripts at the same time, a thousand times each, on a real API server where each
may read something else: everybody gets his own answers, and the API server's audit log says whose requests they were."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import kubernetes.client
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from kubescript_safety.controlplane import audit
from tests.kit import clients, extent, people, trails
from tests.kit.callers import NAMESPACES, Callers, connected
from tests.kit.controlplane.server import ControlPlane

pytestmark = pytest.mark.timeout(600)

EACH: Final = extent.count(1_000, 60)
AT_ONCE: Final = 6
"""Scripts of one caller."""
WORDS: Final = {"alice": "the heron of the payments", "bob": "the otter of the shop"}
"""What only one of them may read."""
KINDS: Final = {
    "list": "[c.data['word'] for c in k8s.CoreV1Api().list_namespaced_config_map({!r}).items if c.metadata.name == 'word']",
    "read": "[k8s.CoreV1Api().read_namespaced_config_map('word', {!r}).data['word']]",
    "custom": "[w.spec.word for w in k8s.get('parcels.callers.example', namespace={!r})]",
    "custom by its api": "[w['spec']['word'] for w in k8s.CustomObjectsApi().list_namespaced_custom_object("
    "'callers.example', 'v1', {!r}, 'parcels')['items']]",
}
"""Each in both namespaces: one of them is the caller's own."""
SCRIPTS: Final = [(kind, owner) for kind in KINDS for owner in WORDS]
STREAMS: Final = {"Accept": "application/json, text/event-stream"}
INITIALIZE: Final = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "many", "version": "1"}},
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """The cluster, its own audit log, and a server before it with its record."""

    plane: ControlPlane
    log: audit.Log
    kube: Path
    record: Path
    callers: Callers
    port: int


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("apart")
    log = audit.Log(folder)
    flags = log.flags()
    with ControlPlane(flags) as plane:
        made = Callers(plane.kubeconfig, folder)
        fill(made)
        settings = (
            'acts_as = "impersonate"', 'writes = "plan"', made.tokens(), "[http]\nrequests_per_minute = 1000000",
            f'[audit]\nfile = "{folder}/audit.jsonl"\nfsync = "never"', f'[plans]\nstore = "{folder}/plans.db"',
        )  # fmt: skip
        with made.serving(*settings) as port:
            yield World(plane, log, folder / "kube-audit.jsonl", folder / "audit.jsonl", made, port)


def fill(made: Callers) -> None:
    """Gives each caller a word in a config map and in a custom resource of his namespace."""
    core: Any = kubernetes.client.CoreV1Api(made.api)
    custom: Any = kubernetes.client.CustomObjectsApi(made.api)
    rbac: Any = kubernetes.client.RbacAuthorizationV1Api(made.api)
    definitions: Any = kubernetes.client.ApiextensionsV1Api(made.api)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"plural": "parcels", "singular": "parcel", "kind": "Parcel", "listKind": "ParcelList"}
    definitions.create_custom_resource_definition({
        "metadata": {"name": "parcels.callers.example"},
        "spec": {"group": "callers.example", "scope": "Namespaced", "names": names, "versions": [version]},
    })  # fmt: skip
    for name, namespace in NAMESPACES.items():
        core.create_namespaced_config_map(namespace, {"metadata": {"name": "word"}, "data": {"word": WORDS[name]}})
        rules = [{"apiGroups": ["callers.example"], "resources": ["parcels"], "verbs": ["get", "list"]}]
        rbac.create_namespaced_role(namespace, {"metadata": {"name": "custom"}, "rules": rules})
        rbac.create_namespaced_role_binding(namespace, {
            "metadata": {"name": "custom"},
            "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "custom"},
        })  # fmt: skip
    subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in NAMESPACES]
    # A plan names its cluster by the uid of this namespace.
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]}]
    rbac.create_cluster_role({"metadata": {"name": "which-cluster"}, "rules": rules})
    rbac.create_cluster_role_binding({
        "metadata": {"name": "which-cluster"}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "which-cluster"},
    })  # fmt: skip
    for name, namespace in NAMESPACES.items():
        parcel = {"apiVersion": "callers.example/v1", "kind": "Parcel", "metadata": {"name": "one"}}
        _until_served(custom, namespace, {**parcel, "spec": {"word": WORDS[name]}})


def _until_served(custom: Any, namespace: str, parcel: dict[str, Any]) -> None:
    """Creates a custom object once its kind is served."""
    for _ in range(600):
        with contextlib.suppress(kubernetes.client.exceptions.NotFoundException):
            custom.create_namespaced_custom_object("callers.example", "v1", namespace, "parcels", parcel)
            return
        time.sleep(0.1)
    raise AssertionError("the custom resource is not served")


class Speaker:
    """One caller's conversation, in a session or without one."""

    def __init__(self, world: World, name: str) -> None:
        self._url = f"http://127.0.0.1:{world.port}/mcp"
        self._ids = itertools.count(1)
        self.name = name
        self.http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {world.callers.secrets[name]}"}, timeout=300, limits=httpx2.Limits()
        )
        self.session: dict[str, str] = {}

    async def begin(self) -> None:
        """Opens a session."""
        answer = await self.http.post(self._url, json=INITIALIZE, headers=STREAMS)
        self.session = STREAMS | {
            "Mcp-Session-Id": answer.headers["mcp-session-id"],
            "Mcp-Protocol-Version": "2025-11-25",
        }
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.http.post(self._url, json=ready, headers=self.session)).status_code == 202

    async def ask(self, script: str, headers: dict[str, str]) -> tuple[int, str]:
        """The status and the text of a script's answer; fails when it is the answer to another call."""
        number = next(self._ids)
        params = {"name": "evaluate_script", "arguments": {"script": script}}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        answer = await self.http.post(self._url, json=call, headers=headers)
        if answer.status_code != 200:
            return answer.status_code, answer.text
        data = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        said = json.loads(data[-1] if data else answer.text)
        assert said["id"] == number
        return 200, "".join(part["text"] for part in said["result"]["content"])


def check(name: str, kind: str, owner: str, said: str) -> None:
    """Fails unless an answer is what this caller may read, and nothing of the other's."""
    other = next(each for each in WORDS if each != name)
    assert WORDS[other] not in said, (name, kind, said)
    if owner == name:
        assert WORDS[name] in said and "cannot" not in said, (name, kind, said)
    else:
        assert f'User "{name}" cannot ' in said and NAMESPACES[owner] in said, (name, kind, said)
        assert f'User "{other}"' not in said and 'User "kubernetes-admin"' not in said, (name, kind, said)


@pytest.mark.sampled
@pytest.mark.promise("H-07", "H-04")
def test_two_callers_get_their_own_answers_a_thousand_times(world: World) -> None:
    """Lists, reads, errors and discovery of custom resources, in sessions and without, while plans are made and approved:
    each answer is the caller's own, and each request to the cluster was sent in his name."""

    async def run() -> None:
        speakers = [Speaker(world, name) for name in WORDS]
        for speaker in speakers:
            await speaker.begin()
        async with anyio.create_task_group() as tasks:
            for speaker, other in (speakers, speakers[::-1]):
                work = iter(range(EACH))
                for _ in range(AT_ONCE):
                    tasks.start_soon(talk, speaker, other, work)
                tasks.start_soon(plan, world, speaker.name, other.name)
        for speaker in speakers:
            await speaker.http.aclose()

    anyio.run(run)
    agreed(world)


async def talk(speaker: Speaker, other: Speaker, work: Iterator[int]) -> None:
    """Runs scripts until all are done; tries the other's session now and then."""
    for number in work:
        kind, owner = SCRIPTS[number % len(SCRIPTS)]
        script = KINDS[kind].format(NAMESPACES[owner])
        headers = speaker.session if number % 4 else {"Accept": "application/json"}
        status, said = await speaker.ask(script, headers)
        assert status == 200, (status, said)
        check(speaker.name, kind, owner, said)
        if number % 50 == 0:
            status, said = await speaker.ask(script, other.session)
            assert status == 404 and not any(word in said for word in WORDS.values())


async def plan(world: World, name: str, other: str) -> None:
    """Makes plans and approves them; the other one can neither answer their questions nor make them."""
    async with modern(world, name) as own, modern(world, other) as foreign:
        for number in range(3):
            created = f"made-by-{name}-{number}"
            script = (
                f"k8s.CoreV1Api().create_namespaced_config_map({NAMESPACES[name]!r}, "
                f"{{'metadata': {{'name': {created!r}}}, 'data': {{'a': '1'}}}})"
            )
            refused = await foreign.session.call_tool("evaluate_script", {"script": script}, allow_input_required=True)
            assert isinstance(refused, mcp_types.CallToolResult)
            assert f'User "{other}" cannot ' in clients.whole(refused)
            question = await own.session.call_tool("evaluate_script", {"script": script}, allow_input_required=True)
            assert isinstance(question, mcp_types.InputRequiredResult), question
            given: dict[str, Any] = {
                "approval": mcp_types.ElicitResult(action="accept", content={"decision": "approve"})
            }
            for client in (foreign, own):
                again = {
                    "input_responses": given, "request_state": question.request_state, "allow_input_required": True,
                }  # fmt: skip
                if client is foreign:
                    with pytest.raises(MCPError, match="requestState"):
                        await client.session.call_tool("evaluate_script", {"script": script}, **again)
                    continue
                done = await client.session.call_tool("evaluate_script", {"script": script}, **again)
                assert isinstance(done, mcp_types.CallToolResult)
                assert "1 of 1 changes were made" in clients.whole(done), clients.whole(done)


def modern(world: World, name: str) -> Any:
    """A client that is asked within its calls' answers."""
    return connected(world.port, world.callers.secrets[name], mode="2026-07-28", elicitation_callback=people.Client())


def agreed(world: World) -> None:
    """Fails unless our record and the API server's own name the same user for each request, and no request was sent in
    nobody's name."""
    world.log.settle(world.plane)
    scripts = Counter(one["user"] for one in trails.records(world.record, "script"))
    assert scripts.keys() == WORDS.keys() and min(scripts.values()) >= EACH
    ours = {one["audit_id"]: one for one in trails.records(world.record, "call") if one.get("audit_id")}
    ours |= {one["audit_id"]: one for one in trails.records(world.record, "sent") if one.get("audit_id")}
    heard: Counter[str] = Counter()
    for line in world.kube.read_text().splitlines():
        event = json.loads(line)
        if not event.get("userAgent", "").startswith("kubescript/"):
            continue
        named = event.get("impersonatedUser", {}).get("username")
        assert named in WORDS, event
        heard[named] += 1
        record = ours.pop(event["auditID"], None)
        assert record is None or record["user"] == named, (record, event)
        namespace = event.get("objectRef", {}).get("namespace", "")
        assert event["responseStatus"]["code"] != 200 or namespace in ("", "kube-system", NAMESPACES[named]), event
        if event["verb"] == "create" and event["responseStatus"]["code"] == 201:
            assert f"made-by-{named}-" in event["requestObject"]["metadata"]["name"]
    assert min(heard.values()) >= EACH
    assert not [one for one in ours.values() if one.get("status")], "each request that was answered is in both"
