"""kubectl_scale_deployment, kubectl_restart_deployment and kubectl_edit_hpa on a real API server, beside the real kubectl.

The server has no controllers; a test writes the status that one would write.
"""

from __future__ import annotations

import contextlib
import functools
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
from mcp import MCPError

from tests.kit import clients, patience, plan_mode, tools, trails
from tests.kit.api_server import CHUNKED, Server, whole
from tests.kit.api_server import kubeconfig as kubeconfig_of
from tests.kit.controlplane import rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

READY = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
QUOTA = 'pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3'


def deployment(name: str, **spec: object) -> Object:
    """A Deployment of three pods, all ready."""
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": pod} | spec,
        "status": {**READY, "observedGeneration": 1},
    }  # fmt: skip


def autoscaler(name: str) -> Object:
    """An HPA with bounds 2 and 5 over three pods."""
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minReplicas": 2, "maxReplicas": 5, "scaleTargetRef": scaled},
        "status": {"currentReplicas": 3, "desiredReplicas": 3},
    }  # fmt: skip


@pytest.fixture(scope="module")
def writer(scratch: ControlPlane) -> Writer:
    return Writer(scratch.kubeconfig)


def direct(plane: ControlPlane) -> tuple[str, ...]:
    """The flags of a server that writes there at once."""
    return ("--kubeconfig", str(plane.kubeconfig), "--writes", "direct")


@pytest.fixture(scope="module")
def heard() -> list[str]:
    """What the calls have reported."""
    return []


@pytest.fixture(scope="module")
def call(scratch: ControlPlane, heard: list[str]) -> Iterator[tools.Call]:
    with tools.calling(*direct(scratch), toolsets="kubectl,code", heard=heard) as made:
        yield made


@pytest.fixture
def web(writer: Writer) -> Iterator[Object]:
    """A Deployment and an HPA of that name, gone after the test."""
    made, bounds = deployment("web"), autoscaler("web")
    writer.create(made)
    writer.create(bounds)
    yield made
    for each in (made, bounds):
        with contextlib.suppress(RuntimeError):
            writer.delete(each, now=True)


def stored(scratch: ControlPlane, what: str) -> Any:
    """An object as the real kubectl reads it."""
    return json.loads(tools.typed_by_kubectl(scratch.kubeconfig, "get", *what.split(), "-o", "json"))


def script(call: tools.Call, text: str) -> str:
    """A tool called in a script, where `timeout` has no bounds."""
    return clients.text(call("evaluate_script", script=f"k8s.tools.{text}"))


@contextlib.contextmanager
def following(heard: list[str], *steps: Callable[[], None], pause: float = 0) -> Iterator[None]:
    """Does the steps one after the other while a call follows its change: each, after a pause, when the call has
    reported what it sees of the one before it, and the first when it has seen its own change."""
    heard.clear()

    def wait_for(count: int) -> None:
        patience.until(lambda: len(states(heard)) == count, 200)

    def run() -> None:
        for count, step in enumerate(steps, 1):
            wait_for(count)
            time.sleep(pause)
            step()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


def states(heard: list[str]) -> set[str]:
    """The different ones that were reported: the last one is repeated from time to time."""
    return {each for each in heard if "default/web: " in each}


# --- what is sent ---


def test_a_deployment_is_scaled(scratch: ControlPlane, call: tools.Call, web: Object) -> None:
    """The answer says what it was and what it is; the same again sends nothing."""
    assert tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=5)) == (
        "deployment default/web: replicas 3 → 5; ready so far: 3"
    )
    now = stored(scratch, "deployment web")
    assert now["spec"]["replicas"] == 5
    again = call("kubectl_scale_deployment", deploymentName="web", replicas=5.0, namespace="default")
    assert tools.text(again) == "deployment default/web has 5 replicas already, so nothing was sent; ready so far: 3"
    assert stored(scratch, "deployment web")["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]


def test_a_deployment_is_restarted_as_kubectl_restarts_it(scratch: ControlPlane, call: tools.Call, web: Object) -> None:
    """The template gets the annotation that kubectl writes, and nothing else changes."""
    before = stored(scratch, "deployment web")["spec"]
    told = tools.text(call("kubectl_restart_deployment", deploymentName="web"))
    after = stored(scratch, "deployment web")["spec"]
    at = after["template"]["metadata"].pop("annotations")
    assert (
        told
        == f"deployment default/web: restarted at {at['kubectl.kubernetes.io/restartedAt']}; 3 pods are replaced, some at a time"
    )
    assert before["template"]["metadata"].pop("annotations", None) is None
    assert before == after
    time.sleep(1.1)  # kubectl refuses a second restart in the same second
    tools.typed_by_kubectl(scratch.kubeconfig, "rollout", "restart", "deployment/web")
    assert stored(scratch, "deployment web")["spec"]["template"]["metadata"]["annotations"].keys() == at.keys()


def test_the_bounds_of_an_hpa_are_changed(scratch: ControlPlane, call: tools.Call, web: Object) -> None:
    """One bound or both; a bound that is already so is not sent."""
    assert tools.text(call("kubectl_edit_hpa", hpaName="web", minReplicas=3)) == (
        "hpa default/web: bounds 2-5 → 3-5; replicas now: 3"
    )
    assert tools.text(call("kubectl_edit_hpa", hpaName="web", minReplicas=4, maxReplicas=8)) == (
        "hpa default/web: bounds 3-5 → 4-8; replicas now: 3"
    )
    now = stored(scratch, "hpa web")
    assert (now["spec"]["minReplicas"], now["spec"]["maxReplicas"]) == (4, 8)
    assert tools.text(call("kubectl_edit_hpa", hpaName="web", minReplicas=4)) == (
        "hpa default/web has the bounds 4-8 already, so nothing was sent; replicas now: 3"
    )
    assert stored(scratch, "hpa web")["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]


def test_a_write_takes_two_calls_and_sends_the_smallest_patch(
    scratch: ControlPlane, writer: Writer, web: Object, tmp_path: Path
) -> None:
    """A read and a patch, each on record, and the server's own read and dry run before the patch; with `wait` one read
    and one watch more."""
    file = tmp_path / "audit.jsonl"
    flags = (*direct(scratch), "--audit", str(file))
    done = {**READY, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4}
    heard: list[str] = []
    with tools.calling(*flags, toolsets="kubectl", heard=heard) as call:
        tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=5))
        tools.text(call("kubectl_restart_deployment", deploymentName="web"))
        tools.text(call("kubectl_edit_hpa", hpaName="web", maxReplicas=6))
        with following(heard, lambda: writer.write_status(web, {**done, "observedGeneration": 9})):
            tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True))
    records = trails.records(file, "call")
    assert [each.get("dry_run", False) for each in records if each["verb"] == "patch"] == [True, False] * 4
    calls = [(each["verb"], each["resource"], each.get("subresource")) for each in records]
    get, hpa = ("get", "deployments", ""), "horizontalpodautoscalers"
    assert [(verb, resource, below or "") for verb, resource, below in calls] == [
        get, get, *[("patch", "deployments", "scale")] * 2,
        get, get, *[("patch", "deployments", "")] * 2,
        ("get", hpa, ""), ("get", hpa, ""), *[("patch", hpa, "")] * 2,
        get, get, *[("patch", "deployments", "scale")] * 2, get, ("watch", "deployments", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("writes", ["direct", "plan"])
def test_recorded_writes_are_judged_once_each(scratch: ControlPlane, tmp_path: Path, writes: str) -> None:
    """A creation and a change, each on record with its dry run or as a dry run alone: other settings permit them, or
    deny them for what the record tells."""
    audit, settings = tmp_path / "audit.jsonl", tmp_path / "config.toml"
    body = {"metadata": {"name": f"judged-{writes}"}, "data": {"a": "b"}}
    done = trails.run(
        "run", "-c",
        f"k8s.coreV1().create_namespaced_config_map('default', {body!r})\n"
        f"k8s.coreV1().patch_namespaced_config_map('{body['metadata']['name']}', 'default', {{'data': {{'a': 'c'}}}})",
        "--kubeconfig", str(scratch.kubeconfig), "--writes", writes, "--audit", str(audit),
    )  # fmt: skip
    assert trails.records(audit, "sent"), done.stdout + done.stderr
    settings.write_text('writes = "plan"\n')
    permitted = trails.run("policy", "test", str(audit), "--config", str(settings)).stdout
    assert "plan     create configmaps" in permitted and "deny" not in permitted and " 2 plan" in permitted
    settings.write_text('writes = "plan"\n[write_policy]\nnamespaces = ["shop"]\n')
    refused = trails.run("policy", "test", str(audit), "--config", str(settings)).stdout
    assert "deny     create configmaps in namespace default: writes.scope" in refused and " 2 deny" in refused


# --- what is refused ---

REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "no such deployment": (
        {"tool": "kubectl_scale_deployment", "deploymentName": "wab", "replicas": 2},
        "Error: deployments.apps \"wab\" not found; did you mean 'web'?",
    ),
    "no such deployment to restart": (
        {"tool": "kubectl_restart_deployment", "deploymentName": "web", "namespace": "kube-system"},
        "Error: deployments.apps \"web\" not found; there are no deployments in namespace 'kube-system'",
    ),
    "more than the other bound": (
        {"tool": "kubectl_edit_hpa", "hpaName": "web", "minReplicas": 6},
        "Error: minReplicas (6) cannot be greater than maxReplicas, which is 5 in hpa default/web; give maxReplicas too",
    ),
    "less than the other bound": (
        {"tool": "kubectl_edit_hpa", "hpaName": "web", "maxReplicas": 1},
        "Error: maxReplicas (1) cannot be less than minReplicas, which is 2 in hpa default/web; give minReplicas too",
    ),
    "bounds that cross": (
        {"tool": "kubectl_edit_hpa", "hpaName": "web", "minReplicas": 6, "maxReplicas": 5},
        "Error: minReplicas (6) cannot be greater than maxReplicas (5)",
    ),
    "no bound": (
        {"tool": "kubectl_edit_hpa", "hpaName": "web"},
        "Error: give minReplicas, maxReplicas or both",
    ),
    "too short a wait": (
        {"tool": "kubectl_restart_deployment", "deploymentName": "web", "wait": True, "timeout": 29},
        "Error: timeout must be 30 to 1800 seconds, not 29",
    ),
    "too long a wait": (
        {"tool": "kubectl_edit_hpa", "hpaName": "web", "minReplicas": 3, "timeout": 1801},
        "Error: timeout must be 30 to 1800 seconds, not 1801",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_told_and_nothing_is_sent(
    arguments: dict[str, Any], told: str, scratch: ControlPlane, call: tools.Call, web: Object
) -> None:
    """In a sentence that says what to do instead."""
    before = [stored(scratch, what)["metadata"]["resourceVersion"] for what in ("deployment web", "hpa web")]
    refused = call(arguments["tool"], **{name: value for name, value in arguments.items() if name != "tool"})
    assert refused.is_error
    assert clients.text(refused) == told
    after = [stored(scratch, what)["metadata"]["resourceVersion"] for what in ("deployment web", "hpa web")]
    assert before == after


def test_a_paused_deployment_is_scaled_and_not_restarted(scratch: ControlPlane, call: tools.Call, web: Object) -> None:
    """As with kubectl, which refuses a restart that would not happen."""
    tools.typed_by_kubectl(scratch.kubeconfig, "rollout", "pause", "deployment/web")
    refused = call("kubectl_restart_deployment", deploymentName="web")
    assert refused.is_error
    assert "default/web is paused" in clients.text(refused)
    assert "annotations" not in stored(scratch, "deployment web")["spec"]["template"]["metadata"]
    assert "replicas 3 → 1" in tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=1))


def test_the_writes_are_offered_where_some_cluster_may_be_written_to(
    scratch: ControlPlane, web: Object, tmp_path: Path
) -> None:
    """A call for another cluster is denied by that cluster's policy, in its words."""
    flags = ("--kubeconfig", str(scratch.kubeconfig))
    with tools.calling(*flags, toolsets="kubectl") as call, pytest.raises(MCPError, match="Unknown tool"):
        call("kubectl_scale_deployment", deploymentName="web", replicas=1)
    config = tmp_path / "kubescript.toml"
    config.write_text(
        f'kubeconfig = "{scratch.kubeconfig}"\n'
        '[contexts.open]\ncontext = "test"\nwrites = "direct"\n'
        '[contexts.shut]\ncontext = "test"\n'
    )
    with tools.calling("--config", str(config), toolsets="kubectl") as call:
        denied = call("kubectl_scale_deployment", deploymentName="web", replicas=2, cluster="shut")
        assert denied.is_error
        assert "this server is read-only" in clients.text(denied)
        assert stored(scratch, "deployment web")["spec"]["replicas"] == 3
        assert "3 → 2" in tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=2, cluster="open"))


def sent(server: Server) -> list[str]:
    """Methods and watches, in their order. The body of a patch stands before the next request."""
    lines = [re.search(r"(GET|PATCH) .*", each) for each in server.requests]
    return ["watch" if "watch=true" in line[0] else line[1] for line in lines if line]


CONFLICT = json.dumps({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "modified"})


def test_a_write_that_others_overtook_or_that_got_no_answer_is_told_as_that(tmp_path: Path) -> None:
    """After a conflict nothing is changed; after a broken connection nobody knows, and nothing is sent twice."""
    server = Server()
    found = whole(json.dumps(deployment("web")).encode())
    # The tool reads it; the server reads it, tries the write, and sends it.
    server.steps = [
        *(found, found, found, whole(CONFLICT.encode(), "409 Conflict")),
        *(found, found, found, lambda sock: sock.shutdown(socket.SHUT_RDWR)),
    ]
    flags = ("--kubeconfig", str(kubeconfig_of(tmp_path, server.url)), "--writes", "direct")
    with contextlib.closing(server), tools.calling(*flags, toolsets="kubectl") as call:
        conflict = call("kubectl_scale_deployment", deploymentName="web", replicas=2)
        assert clients.text(conflict) == (
            "Error: web was changed by somebody else at the same time, and this change was not made; call again"
        )
        unknown = call("kubectl_scale_deployment", deploymentName="web", replicas=2)
        assert clients.text(unknown).startswith("Error: nobody knows whether web was changed: ")
        assert unknown.is_error and conflict.is_error
    assert sent(server) == ["GET", "GET", "PATCH", "PATCH"] * 2


# --- what is only planned ---

PLANNED: dict[str, tuple[str, str]] = {
    "scaled": (
        "kubectl_scale_deployment('web', 5, wait=True)", "deployment default/web: would be scaled from 3 to 5",
    ),
    "scaled, in Chinese": (
        "kubectl_scale_deployment('web', 5, language='zh')", "deployment default/web: 副本數將由 3 變更為 5",
    ),
    "restarted": ("kubectl_restart_deployment('web', wait=True)", "deployment default/web: would be restarted"),
    "bounded": ("kubectl_edit_hpa('web', 3, 9, wait=True)", "hpa default/web: bounds would change from 2-5 to 3-9"),
    "as it is": (
        "kubectl_scale_deployment('web', 3)",
        "deployment default/web has 3 replicas already, so nothing was sent; ready so far: 3",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def plan(scratch: ControlPlane) -> Iterator[plan_mode.Planner]:
    with plan_mode.planner(scratch.kubeconfig) as made:
        yield made


@pytest.mark.parametrize(("call", "told"), PLANNED.values(), ids=PLANNED)
def test_a_change_that_is_only_planned_is_told_as_that(
    call: str, told: str, scratch: ControlPlane, plan: plan_mode.Planner, web: Object
) -> None:
    """And no tool waits for it, since nothing has happened."""
    before = stored(scratch, "deployment web"), stored(scratch, "hpa web")
    assert plan.value(f"k8s.tools.{call}") == told
    assert len(plan.steps) == ("would" in told or "將" in told)
    assert [call.method for call in plan.calls] == ["GET", "PATCH"][: 1 + len(plan.steps)]
    assert (stored(scratch, "deployment web"), stored(scratch, "hpa web")) == before


# --- waiting ---

MORE = {"replicas": 4, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4}
STATES: dict[str, tuple[Object, str]] = {
    "not seen": ({**READY, "observedGeneration": 1}, "the deployment controller has not seen the change yet"),
    "some made": ({**READY, "updatedReplicas": 2}, "2 of 4 new pods are made"),
    "old ones left": ({**MORE, "replicas": 6}, "2 pods too many have not ended yet"),
    "some available": ({**MORE, "availableReplicas": 3}, "3 of 4 pods are available"),
    "all available": (MORE, "ready 4/4"),
    "quota used up": (
        {**READY, "conditions": [{"type": "ReplicaFailure", "status": "True", "message": QUOTA}]},
        f"3 of 4 new pods are made ({QUOTA})",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("status", "told"), STATES.values(), ids=STATES)
def test_a_rollout_is_at_its_end_when_kubectl_says_so(
    status: Object, told: str, scratch: ControlPlane, call: tools.Call, writer: Writer, web: Object
) -> None:
    """Each state of a rollout, beside `kubectl rollout status`."""
    tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=4))
    writer.write_status(web, {"observedGeneration": 2} | status)
    ours = script(call, "kubectl_scale_deployment('web', 4, wait=True, timeout=0)")
    theirs = tools.typed_by_kubectl(scratch.kubeconfig, "rollout", "status", "deployment/web", "--watch=false")
    assert told in ours
    assert ("Not finished" not in ours) == ("successfully rolled out" in theirs), theirs


def test_scaling_down_ends_when_the_pods_have_ended(call: tools.Call, writer: Writer, web: Object) -> None:
    """kubectl says that such a rollout is done while pods beyond the wanted number still run."""
    tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=1))
    writer.write_status(web, {**READY, "observedGeneration": 2})
    ours = script(call, "kubectl_scale_deployment('web', 1, wait=True, timeout=0)")
    assert "2 pods too many have not ended yet" in ours


def test_a_rollout_that_is_stuck_is_an_error(call: tools.Call, heard: list[str], writer: Writer, web: Object) -> None:
    """As soon as the Deployment says that its own deadline is over, as with kubectl."""
    stuck = {
        "type": "Progressing",
        "status": "False",
        "reason": "ProgressDeadlineExceeded",
        "message": "timed out progressing",
    }
    with following(heard, lambda: writer.write_status(web, {**READY, "observedGeneration": 2, "conditions": [stuck]})):
        told = call("kubectl_restart_deployment", deploymentName="web", wait=True, timeout=300)
    assert told.is_error
    assert clients.text(told) == (
        "Error: the rollout of web makes no progress: timed out progressing; kubectl_describe of its pods says why"
    )
    assert "ready so far" in tools.text(call("kubectl_scale_deployment", deploymentName="web", replicas=2))


def test_a_wait_reports_progress_and_outlasts_the_time_of_a_script(
    scratch: ControlPlane, writer: Writer, web: Object, tmp_path: Path
) -> None:
    """A script may take a second here; the wait takes more than two, by a watch."""
    config = tmp_path / "kubescript.toml"
    config.write_text("[limits]\ndefault_timeout_ms = 1000\nmax_timeout_ms = 1000\n")
    half = {**READY, "replicas": 4, "updatedReplicas": 4, "observedGeneration": 2}
    steps = [half, {**half, "availableReplicas": 4, "readyReplicas": 4}]
    told: list[tuple[float, float | None, str | None]] = []
    heard: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        heard.append(message or "")

    async def run() -> str:
        flags = ("--toolsets", "kubectl", *direct(scratch), "--config", str(config))
        async with clients.connect("memory", flags) as client:
            arguments = {"deploymentName": "web", "replicas": 4, "wait": True, "timeout": 300}
            with following(heard, *(functools.partial(writer.write_status, web, step) for step in steps), pause=1.1):
                done = await client.call_tool("kubectl_scale_deployment", arguments, progress_callback=on_progress)
            return tools.text(done)

    assert anyio.run(run) == "deployment default/web: replicas 3 → 4; ready 4/4"
    assert (0, 4, "deployment default/web: the deployment controller has not seen the change yet") in told
    assert (3, 4, "deployment default/web: 3 of 4 pods are available") in told


def test_waits_leave_half_of_the_places_to_others(scratch: ControlPlane, web: Object, tmp_path: Path) -> None:
    """A wait may take half an hour: two of them, on a server for two scripts, do not keep a read from its answer."""
    config = tmp_path / "kubescript.toml"
    config.write_text("[sandbox]\nmax_scripts = 2\n")
    flags = ("--toolsets", "kubectl", *direct(scratch), "--config", str(config))
    started = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        if states([message or ""]):
            started.set()

    async def run() -> None:
        async with clients.connect("memory", flags) as client, anyio.create_task_group() as waits:
            for replicas in (4, 5):
                arguments = {"deploymentName": "web", "replicas": replicas, "wait": True, "timeout": 1800}
                call = functools.partial(client.call_tool, progress_callback=on_progress)
                waits.start_soon(call, "kubectl_scale_deployment", arguments)
            await started.wait()
            with anyio.fail_after(200):  # and not only after half an hour
                read = await client.call_tool("kubectl_get", {"resource": "deployments", "name": "web"})
            assert '"replicas":4' in tools.text(read)
            waits.cancel_scope.cancel()

    anyio.run(run)


def test_a_wait_that_is_over_says_how_far_it_is_and_can_be_taken_up_again(
    call: tools.Call, heard: list[str], writer: Writer, web: Object
) -> None:
    """The change stays; the same call sends nothing more and goes on waiting."""
    told = script(call, "kubectl_scale_deployment('web', 4, wait=True, timeout=1)")
    assert re.fullmatch(
        r"Error: deployment default/web: replicas 3 → 4\. Not finished after [1-9]\d? s: the deployment controller has not "
        r"seen the change yet\. It goes on; look again with kubectl_describe",
        told,
    ), told
    with following(heard, lambda: writer.write_status(web, {**MORE, "observedGeneration": 2})):
        again = call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True)
    assert tools.text(again) == "deployment default/web has 4 replicas already, so nothing was sent; ready 4/4"


def test_a_wait_ends_when_the_object_is_deleted(
    call: tools.Call, heard: list[str], writer: Writer, web: Object
) -> None:
    """It says so, and does not wait until its time is over."""
    with following(heard, lambda: writer.delete(web, now=True)):
        told = call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True, timeout=300)
    assert clients.text(told) == "Error: deployment default/web was deleted meanwhile"


def test_an_hpa_is_followed_until_its_replicas_are_within_the_bounds(
    call: tools.Call, heard: list[str], writer: Writer, web: Object
) -> None:
    """And says why it does not scale, where its controller says so."""
    inactive = {
        "type": "ScalingActive",
        "status": "False",
        "reason": "FailedGetResourceMetric",
        "message": "no metrics",
    }
    status = {"currentReplicas": 3, "desiredReplicas": 3, "conditions": [inactive]}
    writer.write_status(autoscaler("web"), status)
    told = script(call, "kubectl_edit_hpa('web', 4, wait=True, timeout=1)")
    assert re.search(r"Not finished after [1-9]\d? s: replicas now: 3 \(no metrics\)\. It goes on", told), told
    reached = {"currentReplicas": 4, "desiredReplicas": 4}
    with following(heard, lambda: writer.write_status(autoscaler("web"), reached)):
        followed = call("kubectl_edit_hpa", hpaName="web", minReplicas=4, maxReplicas=9, wait=True)
    assert tools.text(followed) == "hpa default/web: bounds 4-5 → 4-9; replicas now: 4"


RULES = [
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
    {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch"]},
]


def test_a_change_that_cannot_be_followed_is_told_as_made(scratch: ControlPlane, writer: Writer, web: Object) -> None:
    """RBAC lets this user scale and not watch."""
    api = "rbac.authorization.k8s.io"
    writer.create(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": "writes-scaler"}, "rules": RULES}
    )
    writer.create({
        "apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "writes-scaler"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "writes-scaler"},
        "subjects": [{"apiGroup": api, "kind": "User", "name": "writes-scaler"}],
    })  # fmt: skip
    path = scratch.kubeconfig_for("writes-scaler")
    rights.wait(scratch.kubeconfig, "writes-scaler", "get", "deployments", group="apps", namespace="default")
    with tools.calling("--kubeconfig", str(path), "--writes", "direct", toolsets="kubectl") as call:
        told = call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True)
        assert told.is_error
        assert "replicas 3 → 4. The change is made, but following it failed: " in clients.text(told)
        assert 'cannot watch resource "deployments"' in clients.text(told)
        denied = call("kubectl_restart_deployment", deploymentName="web")
        assert 'cannot patch resource "deployments"' in clients.text(denied)
    assert stored(scratch, "deployment web")["spec"]["replicas"] == 4


def break_off(sock: socket.socket) -> None:
    """The head of an answer, and then nothing."""
    sock.sendall(CHUNKED)
    sock.shutdown(socket.SHUT_RDWR)


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


def test_a_watch_that_breaks_is_begun_again(tmp_path: Path) -> None:
    """After an end, an expired version and a broken connection the object is read again, and nothing is missed."""
    server = Server()
    waiting = deployment("web", replicas=4)
    waiting["metadata"] |= {"generation": 2, "resourceVersion": "7"}
    done = {**waiting, "status": {**MORE, "observedGeneration": 2}}
    found = whole(json.dumps(waiting).encode())
    server.steps = [
        found, whole(b""),
        found, whole(json.dumps(GONE).encode() + b"\n"),
        found, break_off,
        whole(json.dumps(done).encode()),
    ]  # fmt: skip
    flags = ("--kubeconfig", str(kubeconfig_of(tmp_path, server.url)), "--writes", "direct")
    with contextlib.closing(server), tools.calling(*flags, toolsets="kubectl") as call:
        told = call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True, timeout=300)
    assert tools.text(told).splitlines()[0].endswith("nothing was sent; ready 4/4")
    assert sent(server) == ["GET", "watch"] * 3 + ["GET"]


def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_end(tmp_path: Path) -> None:
    """A worker cannot sleep: it gives up after a hundred watches, and says how far the change is."""
    server = Server()
    waiting = deployment("web", replicas=4)
    waiting["metadata"] |= {"generation": 2, "resourceVersion": "7"}
    server.steps = [whole(json.dumps(waiting).encode()), whole(b"")] * 400
    flags = ("--kubeconfig", str(kubeconfig_of(tmp_path, server.url)), "--writes", "direct")
    with contextlib.closing(server), tools.calling(*flags, toolsets="kubectl") as call:
        told = call("kubectl_scale_deployment", deploymentName="web", replicas=4, wait=True, timeout=1800)
        assert "Not finished" in clients.text(told)
        assert len(server.requests) <= 201
        server.steps = [whole(json.dumps(waiting).encode())]
        assert "has 4 replicas already" in tools.text(
            call("kubectl_scale_deployment", deploymentName="web", replicas=4)
        )
