"""Objects as the API server serves them, full of what looks random and is no secret."""

from __future__ import annotations

from typing import Any

from security_tests.redaction.sheet import Sheet

__all__ = ["configmap", "meta", "pod", "workload"]

Object = dict[str, Any]


def meta(sheet: Sheet, name: str, namespace: str = "shop", **more: Any) -> Object:
    """Metadata with the fields that the API server sets."""
    c = sheet.chance
    return {
        "name": sheet.keep("resource name", name),
        "namespace": namespace,
        "uid": sheet.keep("uid", c.uuid()),
        "resourceVersion": sheet.keep("resourceVersion", c.digits(c.number(6, 10))),
        "creationTimestamp": "2026-03-04T05:06:07Z",
        **more,
    }


def configmap(sheet: Sheet, name: str, data: dict[str, str], **more: Any) -> Object:
    """A ConfigMap."""
    checksum = sheet.keep("checksum annotation", sheet.chance.hex(64))
    own = meta(sheet, name, annotations={"checksum/config": checksum})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": own, "data": data, **more}


def workload(sheet: Sheet, name: str, template: Object, **annotations: str) -> Object:
    """A Deployment of this pod template."""
    c = sheet.chance
    own = meta(sheet, name, generation=c.number(1, 90), annotations={
        "deployment.kubernetes.io/revision": str(c.number(1, 40)), "meta.helm.sh/release-name": name, **annotations,
    })  # fmt: skip
    labels = {
        "app.kubernetes.io/name": name,
        "helm.sh/chart": sheet.keep(
            "helm chart version", f"{name}-{c.number(0, 9)}.{c.number(0, 30)}.{c.number(0, 9)}"
        ),
    }
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": own | {"labels": labels},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": template}},
        "status": {"observedGeneration": 3, "replicas": 2, "conditions": [
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": sheet.keep("condition message", f'ReplicaSet "{name}-{c.suffix(9)}" has successfully progressed.')},
        ]},
    }  # fmt: skip


def pod(sheet: Sheet, name: str, container: Object, **annotations: str) -> Object:
    """A running pod around this container."""
    c = sheet.chance
    template_hash = c.suffix(10)
    full = f"{name}-{template_hash}-{c.suffix()}"
    digest = f"registry.example.com/shop/{name}@sha256:{c.hex(64)}"
    own = meta(sheet, full, generateName=f"{name}-{template_hash}-", labels={
        "app": name, "pod-template-hash": sheet.keep("pod-template-hash", template_hash),
    }, annotations={
        "checksum/secret": sheet.keep("checksum annotation", c.hex(64)),
        "cni.projectcalico.org/containerID": sheet.keep("container id", c.hex(64)),
        "kubernetes.io/config.hash": sheet.keep("config hash", c.hex(32)), **annotations,
    }, ownerReferences=[{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-{template_hash}", "uid": sheet.keep("owner uid", c.uuid()), "controller": True,
    }])  # fmt: skip
    node = sheet.keep(
        "node name", f"ip-10-{c.number(0, 255)}-{c.number(0, 255)}-{c.number(0, 255)}.eu-central-1.compute.internal"
    )
    volume = f"kube-api-access-{c.suffix()}"
    spec = {
        "nodeName": node, "serviceAccountName": sheet.keep("service account name", f"{name}-token-reader"),
        "containers": [_container(sheet, name, container, volume)],
        "imagePullSecrets": [{"name": sheet.keep("secret reference", f"{name}-registry-credentials")}],
        "volumes": _volumes(sheet, name, volume),
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec, "status": _status(sheet, name, digest)}


def _container(sheet: Sheet, name: str, container: Object, volume: str) -> Object:
    c = sheet.chance
    reference = {"name": "SESSION_PASSWORD", "valueFrom": {"secretKeyRef": {
        "name": sheet.keep("secretKeyRef", f"{name}-credentials"), "key": sheet.keep("secretKeyRef", "session-password"),
    }}}  # fmt: skip
    env = [
        {"name": "TOKEN_TTL", "value": sheet.keep("env TOKEN_TTL", str(c.number(60, 9999)))},
        {"name": "AUTH_ENABLED", "value": sheet.keep("env AUTH_ENABLED", "true")},
        {"name": "RELEASE_SHA", "value": sheet.keep("git SHA", c.hex(40))},
        *container.pop("env", []),
        reference,
    ]
    return {
        "name": name, "image": sheet.keep("image digest", f"registry.example.com/shop/{name}@sha256:{c.hex(64)}"), "env": env,
        "volumeMounts": [{"name": sheet.keep("volume name", volume), "mountPath": sheet.keep("secret mount path", "/var/run/secrets/kubernetes.io/serviceaccount")}],
        **container,
    }  # fmt: skip


def _volumes(sheet: Sheet, name: str, volume: str) -> list[Object]:
    return [
        {"name": "tls", "secret": {"secretName": sheet.keep("secretName", f"{name}-tls-{sheet.chance.suffix()}"), "defaultMode": 420}},
        {"name": volume, "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": sheet.keep("token path", "token")}}]}},
    ]  # fmt: skip


def _status(sheet: Sheet, name: str, digest: str) -> Object:
    c = sheet.chance
    return {
        "phase": "Running", "podIP": f"10.42.{c.number(0, 255)}.{c.number(0, 255)}",
        "containerStatuses": [{
            "name": name, "image": f"registry.example.com/shop/{name}:{c.hex(7)}", "imageID": sheet.keep("image digest", digest),
            "containerID": sheet.keep("container id", f"containerd://{c.hex(64)}"), "restartCount": c.number(0, 9), "ready": True,
        }],
    }  # fmt: skip
