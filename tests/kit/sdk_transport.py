"""A transport in memory for the SDK's unit tests: canned answers by path, every call remembered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kubescript.guest.advice import ADVICE
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import session
from kubescript.wire.exchanges import Call, Reply
from kubescript_sandbox.guest import channel, faults
from kubescript_sandbox.language import advice
from kubescript_sandbox.wire.protocol import ScriptFault

advice.use(ADVICE)

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "9",
        "generation": 1,
        "managedFields": [{"manager": "m"}],
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"app": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "keep": "1"},
    },
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "app", "image": "i:1", "resources": {"limits": {"cpu": "500m"}}}],
        "volumes": [{"name": "c", "configMap": {"name": "cm", "items": [{"key": "k", "path": "p"}]}}],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "containerStatuses": [{"name": "app", "restartCount": 3, "futureField": 1}],
    },
}


class Exchange:
    """A canned answer, in chunks of ten bytes."""

    def __init__(
        self, body: bytes, status: int = 200, fault: ScriptFault | None = None, broken: ScriptFault | None = None
    ) -> None:
        self.reply = Reply(status=status, fault=fault, headers={"audit-id": "a"})
        self._body, self._broken = body, broken
        self.stopped = False

    def chunks(self) -> Iterator[bytes]:
        """The body."""
        yield from (self._body[at : at + 10] for at in range(0, len(self._body), 10))
        if self._broken:
            raise faults.ProtocolFault(self._broken)

    def stop(self) -> None:
        """The rest is not wanted."""
        self.stopped = True


class Canned:
    """Answers by path; a dict or list is sent as JSON. Unknown paths are 404."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = answers
        self.calls: list[Call] = []
        self.batches: list[int] = []
        self.left = channel.Left(1_000, 1 << 30, 1 << 16)

    def batch(self, calls: Sequence[Call]) -> list[Exchange]:
        """Answer each."""
        self.batches.append(len(calls))
        return [self.call(call) for call in calls]

    def call(self, call: Call) -> Exchange:
        """Remember and answer."""
        self.calls.append(call)
        path = "/".join(call.path)
        if path not in self.answers:
            return Exchange(json.dumps({"kind": "Status", "message": f"{path} not found", "code": 404}).encode(), 404)
        answer = self.answers[path]
        if isinstance(answer, Exchange):
            return answer
        return Exchange(answer if isinstance(answer, bytes) else json.dumps(answer, separators=(",", ":")).encode())

    @property
    def last(self) -> Call:
        """The last call."""
        return self.calls[-1]


def cluster(answers: dict[str, Any] | None = None) -> tuple[client.K8s, Canned]:
    """A `k8s` over canned answers, with one pod in namespace shop."""
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [POD, POD]}
    canned = Canned()
    canned.answers = {
        "api/v1/namespaces/shop/pods/web": POD,
        "api/v1/namespaces/shop/pods": pods,
        "api/v1/pods": pods,
        "api/v1/namespaces/shop/pods/web/log": b"one\ntwo\n",
        **(answers or {}),
    }
    return client.K8s(session.Session(canned)), canned


RESOURCES: list[dict[str, Any]] = [
    {
        "name": "pods",
        "singularName": "pod",
        "kind": "Pod",
        "namespaced": True,
        "verbs": ["get", "list"],
        "shortNames": ["po"],
    },
    {"name": "pods/status", "singularName": "", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
]


WEBS = [{"name": "webs", "singularName": "web", "kind": "Web", "namespaced": True, "verbs": ["get", "list"]}]


VERSION = {"groupVersion": "example.com/v1", "version": "v1"}


DISCOVERY: dict[str, Any] = {
    "api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": RESOURCES},
    "apis": {
        "kind": "APIGroupList",
        "groups": [{"name": "example.com", "versions": [VERSION], "preferredVersion": VERSION}],
    },
    "apis/example.com/v1": {"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": WEBS},
    "apis/example.com/v1/webs": {
        "kind": "WebList",
        "apiVersion": "example.com/v1",
        "items": [{"metadata": {"name": "w"}, "spec": {"a": 1}}],
    },
    "apis/example.com/v1/namespaces/shop/webs/w": {"metadata": {"name": "w"}, "spec": {"observedThing": 1}},
}
