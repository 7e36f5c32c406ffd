"""Objects without any secret, as controllers write them: hundreds of names, hashes and ids in their usual places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from security_tests.redaction import scenery
from security_tests.redaction.sheet import Sheet

__all__ = ["KINDS"]

Object = dict[str, Any]
_NAMES: Final = (
    "password-rotator", "token-service", "secret-sync", "keycloak", "vault-agent-injector", "credentials-operator", "auth-proxy", "passbolt",
    "apikey-gateway", "session-store", "jwt-issuer", "external-secrets-webhook",
)  # fmt: skip


def _replicaset(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    hash_ = c.suffix(10)
    return {
        "metadata": scenery.meta(sheet, f"{name}-{hash_}", labels={"pod-template-hash": keep("pod-template-hash", hash_)}, ownerReferences=[
            {"kind": "Deployment", "name": name, "uid": keep("owner uid", c.uuid())},
        ]),
        "spec": {"template": {"spec": {"serviceAccountName": keep("service account name", f"{name}-token"), "containers": [{
            "name": name, "image": keep("image tag", f"registry.example.com/{name}:{c.number(1, 9)}.{c.number(0, 30)}.{c.number(0, 9)}-{c.hex(7)}"),
            "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": keep("secretKeyRef", f"{name}-password"), "key": keep("secretKeyRef", "password")}}}],
            "envFrom": [{"secretRef": {"name": keep("secretRef", f"{name}-env-{c.suffix(10)}")}}],
            "volumeMounts": [{"name": "s", "mountPath": keep("secret mount path", f"/etc/{name}/secrets/{c.word()}")}],
        }]}}},
    }  # fmt: skip


def _node(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    node = f"gke-{c.word()}-pool-{c.number(1, 4)}-{c.hex(8)}-{c.suffix(4)}"
    return {
        "metadata": scenery.meta(sheet, node, annotations={"csi.volume.kubernetes.io/nodeid": keep("node id", '{"csi.example.com":"i-0' + c.hex(16) + '"}')}),
        "spec": {"providerID": keep("provider id", f"aws:///eu-central-1a/i-0{c.hex(16)}")},
        "status": {
            "nodeInfo": {"machineID": keep("machine id", c.hex(32)), "systemUUID": keep("system uuid", c.uuid()), "bootID": keep("boot id", c.uuid()),
                         "kernelVersion": keep("version", f"6.1.{c.number(1, 99)}-{c.number(1, 99)}.amzn2023.x86_64")},
            "images": [{"names": [keep("image digest", f"registry.example.com/{name}@sha256:{c.hex(64)}"), keep("image tag", f"registry.example.com/{name}:v1.{c.number(1, 30)}")]}],
        },
    }  # fmt: skip


def _lease(sheet: Sheet, name: str) -> Object:
    c = sheet.chance
    return {
        "metadata": scenery.meta(sheet, f"{name}-leader-{c.hex(8)}"),
        "spec": {"holderIdentity": sheet.keep("holder identity", f"{name}-{c.suffix(10)}-{c.suffix()}_{c.uuid()}")},
    }


def _certificate(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    return {
        "metadata": scenery.meta(sheet, f"{name}-tls", annotations={
            "cert-manager.io/private-key-secret-name": keep("secret name", f"{name}-tls-{c.suffix()}"),
            "cert-manager.io/certificate-revision": keep("revision", c.digits(2)),
        }),
        "spec": {"secretName": keep("secret name", f"{name}-tls"), "privateKey": {"algorithm": keep("algorithm", "ECDSA"), "rotationPolicy": keep("policy", "Always")},
                 "keystores": {"jks": {"create": True, "passwordSecretRef": {"name": keep("secret name", f"{name}-jks-password"), "key": keep("secret key", "password")}}}},
        "status": {"certificate": keep("certificate", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" + c.base64(240)), "nextPrivateKeySecretName": keep("secret name", f"{name}-{c.suffix()}")},
    }  # fmt: skip


def _claim(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    volume = f"pvc-{c.uuid()}"
    return {
        "metadata": scenery.meta(sheet, f"data-{name}-0"),
        "spec": {
            "volumeName": keep("volume name", volume),
            "storageClassName": keep("storage class", "encrypted-key-gp3"),
        },
        "status": {
            "volumeHandle": keep("volume handle", f"vol-0{c.hex(16)}"),
            "snapshot": keep("snapshot", f"snapcontent-{c.uuid()}"),
        },
    }


def _release(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    return {
        "metadata": scenery.meta(sheet, name, annotations={
            "reconcile.fluxcd.io/requestedAt": keep("time", f"2026-03-04T05:06:07.{c.digits(9)}Z"),
            "argocd.argoproj.io/tracking-id": keep("tracking id", f"{name}:apps/Deployment:prod/{name}"),
            "kapp.k14s.io/identity": keep("identity", f"v1;prod/apps/Deployment/{name};apps/v1"),
        }, labels={"helm.sh/chart": keep("helm chart version", f"{name}-{c.number(1, 9)}.{c.number(0, 9)}.0_{c.hex(7)}"), "app.kubernetes.io/version": keep("version", c.hex(8))}),
        "spec": {"valuesFrom": [{"kind": "Secret", "name": keep("secret name", f"{name}-values"), "valuesKey": keep("secret key", "secret.yaml")}],
                 "postBuild": {"substituteFrom": [{"kind": "Secret", "name": keep("secret name", f"{name}-substitutions")}]}},
        "status": {"lastAppliedRevision": keep("git revision", f"main@sha1:{c.hex(40)}"), "lastAttemptedValuesChecksum": keep("checksum", c.hex(40)),
                   "artifact": {"digest": keep("digest", f"sha256:{c.hex(64)}"), "path": keep("path", f"helmchart/prod/{name}/{name}-1.2.3.tgz")},
                   "conditions": [{"message": keep("condition message", f"stored artifact for revision 'main@sha1:{c.hex(40)}'")}]},
    }  # fmt: skip


def _external(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    return {
        "metadata": scenery.meta(sheet, name, annotations={"secret-store.csi/last-sync": keep("revision", c.digits(10)), "reloader.stakater.com/last-reloaded-from": keep("reloaded from", f'{{"type":"SECRET","name":"{name}","hash":"{c.hex(40)}"}}')}),
        "spec": {"secretStoreRef": {"name": keep("store", "vault-token-store")}, "data": [{"secretKey": keep("secret key", "api-token"), "remoteRef": {"key": keep("vault path", f"secret/data/{name}/{c.word()}"), "property": keep("secret key", "token")}}]},
        "status": {"syncedResourceVersion": keep("synced version", f"1-{c.hex(32)}"), "binding": {"name": keep("secret name", f"{name}-synced")}},
    }  # fmt: skip


def _slice(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    target = {
        "kind": "Pod",
        "name": keep("pod name", f"{name}-{c.suffix(10)}-{c.suffix()}"),
        "uid": keep("uid", c.uuid()),
    }
    return {
        "metadata": scenery.meta(sheet, f"{name}-{c.suffix()}", generateName=f"{name}-"),
        "endpoints": [
            {
                "addresses": [f"10.42.{c.number(0, 255)}.7"],
                "targetRef": target,
                "nodeName": keep("node name", f"worker-{c.hex(6)}"),
            }
        ],
    }


def _attempt(sheet: Sheet, name: str) -> Object:
    c, keep = sheet.chance, sheet.keep
    return {
        "metadata": scenery.meta(sheet, f"{name}-{c.digits(8)}", labels={"batch.kubernetes.io/controller-uid": keep("controller uid", c.uuid()), "controller-revision-hash": keep("controller-revision-hash", f"{name}-{c.suffix(10)}")}),
        "spec": {"tolerations": [{"key": keep("taint key", "node.kubernetes.io/secret-pool")}], "projected": {"serviceAccountToken": {"audience": keep("audience", "vault"), "path": keep("token path", "vault-token"), "expirationSeconds": 3607}}},
    }  # fmt: skip


KINDS: Final[dict[str, tuple[str, Callable[[Sheet, str], Object], int]]] = {
    "ReplicaSet": ("apis/apps/v1/namespaces/shop/replicasets", _replicaset, 2),
    "Node": ("api/v1/nodes", _node, 1),
    "Lease": ("apis/coordination.k8s.io/v1/namespaces/shop/leases", _lease, 1),
    "Certificate": ("apis/cert-manager.io/v1/namespaces/shop/certificates", _certificate, 1),
    "PersistentVolumeClaim": ("api/v1/namespaces/shop/persistentvolumeclaims", _claim, 1),
    "HelmRelease": ("apis/helm.toolkit.fluxcd.io/v2/namespaces/shop/helmreleases", _release, 1),
    "ExternalSecret": ("apis/external-secrets.io/v1/namespaces/shop/externalsecrets", _external, 1),
    "EndpointSlice": ("apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", _slice, 1),
    "Job": ("apis/batch/v1/namespaces/shop/jobs", _attempt, 1),
}
"""Kind, its path, its maker, and how often each name is made."""


def items(sheet: Sheet, kind: str) -> list[Object]:
    """The objects of a kind."""
    _, make, times = KINDS[kind]
    return [make(sheet, name) for _ in range(times) for name in _NAMES]
