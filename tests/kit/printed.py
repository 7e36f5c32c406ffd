"""Objects in states that the broken cluster does not have, one for each thing that kubectl's columns say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.kit.controlplane import writer

__all__ = ["NAMESPACE", "load"]

Object = dict[str, Any]
NAMESPACE = "default"
PAST = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:09:17Z"


def _thing(version: str, kind: str, name: str, **fields: Any) -> Object:
    namespace = {} if kind in CLUSTER_WIDE else {"namespace": NAMESPACE}
    metadata = {"name": f"printed-{name}", **namespace, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


CLUSTER_WIDE = ("Node", "PersistentVolume", "ClusterRoleBinding", "CustomResourceDefinition")


def _status(name: str, state: Object, **fields: Any) -> Object:
    return {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state, **fields}


def _ended(code: int, reason: str = "", signal: int = 0, restarts: int = 0, name: str = "a") -> Object:
    end = {"exitCode": code, "reason": reason, "signal": signal, "startedAt": PAST, "finishedAt": LATER}
    last = {"lastState": {"terminated": end}} if restarts else {}
    return _status(name, {"terminated": end}, restartCount=restarts, **last)


RUNNING = {"running": {"startedAt": PAST}}
LAST = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": PAST, "finishedAt": LATER}}


def _pod(name: str, mains: list[Object], inits: list[Object] | None = None, **status: Any) -> Object:
    """`sidecar` is an init container that runs beside the others."""
    containers = [{"name": name, "image": f"{name}:1"} for name in ("a", "b")][: max(len(mains), 1)]
    before = [
        {"name": each["name"], "image": "i", **({"restartPolicy": "Always"} if each["name"] == "sidecar" else {})}
        for each in inits or []
    ]
    spec = {"containers": containers, "initContainers": before, **status.pop("spec", {})}
    stated = {"phase": "Running", "containerStatuses": mains, "initContainerStatuses": inits or [], **status}
    return _thing("v1", "Pod", name, spec=spec, status=stated)


def _pods() -> list[Object]:
    up = _status("b", RUNNING, ready=True)
    ready = [{"type": "Ready", "status": "True"}]
    begun = [{"type": "Initialized", "status": "True"}]
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    sidecar = _status("sidecar", RUNNING, ready=True, started=True, restartCount=4, lastState=LAST)
    fine = _status("first", {"terminated": {"exitCode": 0, "reason": "Completed"}}, restartCount=7)
    gates = {"readinessGates": [{"conditionType": "x/one"}, {"conditionType": "x/two"}]}
    return [
        _pod("init-waiting", [], [sidecar, _status("first", waiting, restartCount=2, lastState=LAST)], phase="Pending"),
        _pod("init-running", [], [fine, _status("second", RUNNING)], phase="Pending"),
        _pod("init-starting", [], [_status("s", {"waiting": {"reason": "PodInitializing"}})], phase="Pending"),
        _pod("init-signal", [], [_ended(137, signal=9, restarts=3, name="first")], phase="Pending"),
        _pod("init-code", [], [_ended(3, name="first")], phase="Pending"),
        _pod("init-reason", [], [_ended(3, "OOMKilled", name="first")], phase="Pending"),
        _pod("sidecar-died", [up], [fine, _ended(1, "Error", name="sidecar")], conditions=begun),
        _pod("sidecar", [_status("a", RUNNING, ready=True)], [fine, sidecar]),
        _pod("half-done", [_ended(0, "Completed"), up], conditions=ready),
        _pod("half-done-not-ready", [_ended(0, "Completed"), up]),
        _pod("half-failed", [_ended(0, "Completed"), _ended(2, "Error", name="b")]),
        _pod("signal", [_ended(137, signal=9, restarts=12)]),
        _pod("code", [_ended(4)]),
        _pod("waiting", [_status("a", waiting, restartCount=5, lastState=LAST), up]),
        _pod("done", [_ended(0, "Completed")], phase="Succeeded"),
        _pod("reason", [], phase="Failed", reason="Evicted", message="too much"),
        _pod("gates", [up | {"name": "a"}], spec=gates, conditions=[{"type": "x/two", "status": "True"}]),
        _pod("nominated", [], phase="Pending", nominatedNodeName="node-a1"),
        _pod("gated", [], phase="Pending", spec={"schedulingGates": [{"name": "x/wait"}]}),
        _pod("addresses", [up | {"name": "a"}], podIP="10.9.9.9", podIPs=[{"ip": "10.9.9.9"}, {"ip": "fd00::9"}]),
    ]


def _services() -> list[Object]:
    port = {"port": 80, "name": "http"}
    ports = [port, {"port": 53, "protocol": "UDP", "name": "dns"}]
    given = {"externalIPs": ["192.0.2.1", "192.0.2.2"]}
    balanced = {"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}, {"ip": "192.0.2.9"}]}}
    selector = {"selector": {"tier": "web", "app": "x"}}
    return [
        _thing("v1", "Service", "cluster", spec={"ports": ports, **selector, **given}),
        _thing("v1", "Service", "headless", spec={"clusterIP": "None", "ports": [port]}),
        _thing("v1", "Service", "node", spec={"type": "NodePort", "ports": ports}),
        _thing("v1", "Service", "pending", spec={"type": "LoadBalancer", "ports": [port]}),
        _thing("v1", "Service", "balanced", spec={"type": "LoadBalancer", "ports": [port], **given}, status=balanced),
        _thing("v1", "Service", "name", spec={"type": "ExternalName", "externalName": "db.example.com"}),
    ]


def _ingresses() -> list[Object]:
    back = {"service": {"name": "x", "port": {"number": 80}}}
    rules = [{"host": f"{each}.example.com"} for each in "abcde"]
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}, {"hostname": "lb.example.com"}]}}
    secure = {"ingressClassName": "nginx", "rules": rules, "tls": [{"hosts": ["a.example.com"]}]}
    version = "networking.k8s.io/v1"
    return [
        _thing(version, "Ingress", "hosts", spec=secure, status=status),
        _thing(version, "Ingress", "three", spec={"rules": rules[:3], "defaultBackend": back}),
        _thing(version, "Ingress", "bare", spec={"defaultBackend": back}),
    ]


def _metric(kind: str, target: Object, current: Object, **more: Any) -> tuple[Object, Object]:
    field = kind[0].lower() + kind[1:]
    wanted = {"type": kind, field: {"target": target, **more}}
    now = {"type": kind, field: {"current": current, **more}}
    return wanted, now


def _autoscalers() -> list[Object]:
    about = {"describedObject": {"kind": "Service", "name": "x", "apiVersion": "v1"}}
    hits = {"metric": {"name": "hits"}}
    average, value = {"type": "AverageValue", "averageValue": "10"}, {"type": "Value", "value": "2k"}
    share = {"type": "Utilization", "averageUtilization": 70}
    now = {"averageValue": "1500m", "value": "7", "averageUtilization": 33}
    metrics = {
        "external-average": [_metric("External", average, now, **hits)],
        "external-value": [_metric("External", value, now, **hits)],
        "pods": [_metric("Pods", average, now, **hits)],
        "object-average": [_metric("Object", average, now, **hits, **about)],
        "object-value": [_metric("Object", value, now, **hits, **about)],
        "resource": [_metric("Resource", average, now, name="memory")],
        "two": [
            _metric("Resource", share, now, name="cpu"),
            _metric("ContainerResource", share, now, name="cpu", container="a"),
        ],
        "three": [
            _metric("Resource", share, now, name="cpu"),
            _metric("ContainerResource", average, now, name="memory", container="a"),
            _metric("Pods", average, now, **hits),
        ],
    }
    made = [_autoscaler(name, [one for one, _ in both], [two for _, two in both]) for name, both in metrics.items()]
    unknown = [_autoscaler(f"unknown-{name}", [one for one, _ in both], []) for name, both in metrics.items()]
    return [*made, *unknown]


def _autoscaler(name: str, metrics: list[Object], current: list[Object]) -> Object:
    target = {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 9, "metrics": metrics}
    status = {"desiredReplicas": 2, "currentReplicas": 1, "currentMetrics": current, "conditions": []}
    return _thing("autoscaling/v2", "HorizontalPodAutoscaler", name, spec=spec, status=status)


def _workloads() -> list[Object]:
    labels = {"app": "x", "tier": "web"}
    containers = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]
    pod: Object = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    chosen = {
        "matchLabels": {"tier": "web"},
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["y", "x"]},
            {"key": "zone", "operator": "DoesNotExist"},
            {"key": "tier", "operator": "Exists"},
            {"key": "app", "operator": "NotIn", "values": ["z"]},
        ],
    }
    spec = {"selector": chosen, "template": pod}
    on_disks = {**pod, "spec": {**pod["spec"], "nodeSelector": {"disk": "ssd", "arch": "arm64"}}}
    set_status = {
        **dict.fromkeys(("desiredNumberScheduled", "currentNumberScheduled", "numberReady"), 3),
        **dict.fromkeys(("numberMisscheduled", "numberAvailable", "updatedNumberScheduled"), 2),
    }
    stateful = {**spec, "serviceName": "x", "replicas": 4}
    return [
        _thing("apps/v1", "Deployment", "expressions", spec=spec, status={"readyReplicas": 1, "replicas": 1}),
        _thing("apps/v1", "ReplicaSet", "expressions", spec=spec, status={"readyReplicas": 1, "replicas": 2}),
        _thing("apps/v1", "DaemonSet", "on-disks", spec={**spec, "template": on_disks}, status=set_status),
        _thing("apps/v1", "StatefulSet", "two", spec=stateful, status={"replicas": 4, "readyReplicas": 3}),
        *_jobs(),
    ]


def _jobs() -> list[Object]:
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}
    done = [{"type": each, "status": "True"} for each in ("SuccessCriteriaMet", "Complete")]
    failed = [{"type": each, "status": "True"} for each in ("FailureTarget", "Failed")]
    whole = {"startTime": PAST, "completionTime": LATER, "succeeded": 1, "conditions": done}
    suspended = [{"type": "Suspended", "status": "True"}]
    job = {"jobTemplate": {"spec": {"template": pod}}, "schedule": "*/5 * * * *"}
    return [
        _thing("batch/v1", "Job", "done", spec={"template": pod}, status=whole),
        _thing("batch/v1", "Job", "failed", spec={"template": pod}, status={"startTime": PAST, "conditions": failed}),
        _thing(
            "batch/v1", "Job", "ending", spec={"template": pod}, status={"startTime": PAST, "conditions": failed[:1]}
        ),
        _thing("batch/v1", "Job", "parallel", spec={"template": pod, "parallelism": 3}),
        _thing("batch/v1", "Job", "waiting", spec={"template": pod, "suspend": True}, status={"conditions": suspended}),
        _thing(
            "batch/v1", "CronJob", "zone", spec={**job, "timeZone": "Asia/Taipei"}, status={"lastScheduleTime": PAST}
        ),
        _thing("batch/v1", "CronJob", "paused", spec={**job, "suspend": True}),
    ]


def _storage() -> list[Object]:
    legacy = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    size = {"storage": "1536Mi"}
    volume = {"capacity": size, "hostPath": {"path": "/tmp"}, "volumeMode": "Block"}
    every = ["ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"]
    claim = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    bound = {"phase": "Bound", "capacity": size, "accessModes": ["ReadWriteOnce"]}
    return [
        _thing(
            "v1",
            "PersistentVolume",
            "claimed",
            metadata=legacy,
            spec={**volume, "accessModes": every, "claimRef": {"namespace": NAMESPACE, "name": "printed-bound"}},
            status={"phase": "Failed", "reason": "Lost"},
        ),
        _thing("v1", "PersistentVolume", "free", spec={**volume, "accessModes": ["ReadWriteOncePod"]}),
        _thing(
            "v1",
            "PersistentVolumeClaim",
            "bound",
            spec={**claim, "volumeName": "v", "storageClassName": "s"},
            status=bound,
        ),
        _thing("v1", "PersistentVolumeClaim", "waiting", metadata=legacy, spec=claim),
    ]


def _others() -> list[Object]:
    roles = {"labels": {"node-role.kubernetes.io/edge": "", "node-role.kubernetes.io/a": "", "kubernetes.io/role": "b"}}
    addresses = [{"type": "ExternalIP", "address": "192.0.2.4"}, {"type": "InternalIP", "address": "10.0.0.4"}]
    subjects = [
        {"kind": "User", "name": "anna", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "ops", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"},
    ]
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    return [
        _thing("v1", "Node", "plain", metadata=roles, spec={"unschedulable": True}, status={"addresses": addresses}),
        _thing("v1", "ConfigMap", "both", data={"a": "1"}, binaryData={"b": "AAAA", "c": "AAAA"}),
        _thing("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "many", roleRef=role, subjects=subjects),
        *_events(),
    ]


def _events() -> list[Object]:
    about = {"kind": "Pod", "name": "web", "namespace": NAMESPACE, "fieldPath": "spec.containers{web}"}
    old = {"firstTimestamp": PAST, "lastTimestamp": LATER, "source": {"component": "kubelet", "host": "node-a1"}}
    new = {"eventTime": "2026-01-02T03:04:05.000000Z", "reportingComponent": "x/y", "reportingInstance": "y-0"}
    series = {"series": {"count": 9, "lastObservedTime": "2026-01-02T03:09:17.000000Z"}}
    said = {"involvedObject": about, "type": "Warning", "reason": "Odd", "message": " two\nlines "}
    return [
        _thing("v1", "Event", "old", **said, **old, count=3),
        _thing("v1", "Event", "new", **said, **new, **series, action="A"),
        _thing("v1", "Event", "single", **(said | {"message": "one line"}), **new, action="A"),
    ]


COLUMNS = (
    ("Size", "integer", ".spec.size"),
    ("Share", "number", ".spec.share"),
    ("Hosts", "string", ".spec.hosts"),
    ("First", "string", ".spec.hosts[0]"),
    ("On", "boolean", ".spec.on"),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ("Said", "string", ".metadata.annotations.example\\.com/said"),
    ("Since", "date", ".status.since"),
    ("Wrong", "integer", ".spec.on"),
)
"""Titles, types and paths of the columns of a custom resource."""


def _gadgets() -> list[Object]:
    condition = {"type": "Ready", "status": "False"}
    full = {"size": 3, "share": 0.5, "hosts": ["a.example.com", "b.example.com"], "on": True}
    status = {"since": PAST, "conditions": [{"type": "Other", "status": "True"}, condition]}
    said = {"annotations": {"example.com/said": "hello there"}}
    return [
        _thing("example.com/v1", "Gadget", "full", spec=full, status=status, metadata=said),
        _thing("example.com/v1", "Gadget", "bare", spec={}),
    ]


def _definition() -> Object:
    columns: list[Object] = [{"name": name, "type": kind, "jsonPath": path} for name, kind, path in COLUMNS]
    columns.append({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
    columns.append({"name": "Extra", "type": "string", "jsonPath": ".spec.on", "priority": 1})
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    version["additionalPrinterColumns"] = columns
    names = {
        "kind": "Gadget",
        "plural": "gadgets",
        "singular": "gadget",
        "shortNames": ["gg"],
        "listKind": "GadgetList",
    }
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    made = _thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", spec=spec)
    made["metadata"]["name"] = "gadgets.example.com"
    return made


def objects() -> list[Object]:
    """All of them; the definition of the custom ones comes first."""
    built_in = [*_pods(), *_services(), *_ingresses(), *_autoscalers(), *_workloads(), *_storage(), *_others()]
    return [_definition(), *built_in, *_gadgets()]


def load(kubeconfig: Path) -> None:
    """Writes all of them."""
    made = objects()
    writer.Writer(kubeconfig).create_all([made[:1], made[1:]])
