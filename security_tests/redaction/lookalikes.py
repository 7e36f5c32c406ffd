"""What looks like a secret and is none: references, switches, hashes, public keys, prose. All of it must survive."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from security_tests.redaction import kinds, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms
from security_tests.redaction.sheet import Document, Sheet
from security_tests.redaction.specials import opened

__all__ = ["documents", "entries", "lines", "messages", "settings"]

_REPEATS: Final = 4


def _certificate(c: Chance) -> str:
    return kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 640)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def documents() -> Iterator[Document]:
    """Pods, logs, events, ConfigMaps and the other objects of a cluster."""
    for number in range(_REPEATS):
        yield settings(f"settings {number}", "main_plain_environment")
        yield lines(f"plain log {number}", "main_plain_logs")
        yield messages(f"plain events {number}", "main_plain_logs")
        yield entries(f"plain files {number}", "main_plain_files")
        yield _objects(f"plain objects {number}")
        yield _nodes(f"nodes {number}")


def settings(name: str, file: str) -> Document:
    """Pods with the variables of a data file."""
    sheet, writer = opened(name)
    variables = [
        {"name": key, "value": sheet.keep(f"env {key}", writer.plain(form))} for key, form in forms(file).items()
    ]
    items = [scenery.pod(sheet, f"plain{at}", {"env": variables[at : at + 8]}) for at in range(0, len(variables), 8)]
    return sheet.finish(name, "api/v1/namespaces/shop/pods", _list("PodList", items))


def lines(name: str, file: str) -> Document:
    """A log of the lines of a data file."""
    sheet, writer = opened(name)
    body = "\n".join(writer.text(key, "log", form, whole=True) for key, form in forms(file).items()) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text")


def messages(name: str, file: str) -> Document:
    """Events with the messages of a data file."""
    sheet, writer = opened(name)
    items = [
        {
            "metadata": scenery.meta(sheet, f"web-0.{sheet.chance.hex(16)}"),
            "message": writer.text(key, "event", form, whole=True),
            "reason": "Failed",
        }
        for key, form in forms(file).items()
    ]
    return sheet.finish(name, "api/v1/namespaces/shop/events", _list("EventList", items))


def entries(name: str, file: str) -> Document:
    """A ConfigMap of the texts of a data file."""
    sheet, writer = opened(name)
    data = {key.replace(" ", "-"): writer.text(key, "file", form, whole=True) for key, form in forms(file).items()}
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/plain", scenery.configmap(sheet, "plain", data))


def _list(kind: str, items: list[Any]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}


def _objects(name: str) -> Document:
    """References, rules, certificates and reviews, as the custom and built-in kinds hold them."""
    sheet = Sheet(Chance(name))
    c, keep = sheet.chance, sheet.keep
    bodies: list[dict[str, Any]] = [
        {"rules": [{"apiGroups": [""], "resources": [keep("RBAC resource", "secrets")], "verbs": ["get"], "resourceNames": [keep("RBAC name", f"{c.word()}-token")]}]},
        {"rules": [{"apiGroups": ["authentication.k8s.io"], "resources": [keep("RBAC resource", "tokenreviews")], "verbs": ["create"]}]},
        {"webhooks": [{"name": f"{c.word()}.example.com", "clientConfig": {"caBundle": keep("caBundle", _b64(_certificate(c))), "service": {"name": "webhook", "namespace": "shop"}}}]},
        {"spec": {"caBundle": keep("caBundle", _b64(_certificate(c))), "group": "metrics.k8s.io"}},
        {"secrets": [{"name": keep("service account secret", f"{c.word()}-token-{c.suffix()}")}], "imagePullSecrets": [{"name": keep("pull secret", f"{c.word()}-dockercfg-{c.suffix()}")}]},
        {"spec": {"secretStoreRef": {"name": "vault", "kind": "SecretStore"}, "data": [{"secretKey": keep("ExternalSecret key", "password"), "remoteRef": {"key": keep("ExternalSecret remote key", f"secret/data/{c.word()}"), "property": "password"}}]}},
        {"spec": {"secretName": keep("secretName", f"{c.word()}-tls"), "privateKey": {"algorithm": "ECDSA", "rotationPolicy": keep("rotationPolicy", "Always")}, "issuerRef": {"name": "letsencrypt"}}},
        {"spec": {"tls": [{"hosts": ["shop.example.com"], "secretName": keep("ingress secretName", f"{c.word()}-ingress-tls")}]}},
        {"spec": {"privateKeySecretRef": {"name": keep("privateKeySecretRef", f"{c.word()}-account-key")}, "passwordSecretRef": {"name": keep("passwordSecretRef", f"{c.word()}-keystore"), "key": "password"}}},
        {"spec": {"tokenSecretRef": {"name": keep("tokenSecretRef", f"{c.word()}-cloudflare"), "key": "api-token"}}},
        {"spec": {"request": keep("CSR request", _b64(kinds.pem(c, "CERTIFICATE REQUEST", "MIICVjCCAT4CAQAw", 500))), "signerName": "kubernetes.io/kube-apiserver-client-kubelet"}, "status": {"certificate": keep("CSR certificate", _b64(_certificate(c)))}},
        {"spec": {"user": f"system:serviceaccount:shop:{c.word()}", "uid": keep("review uid", c.uuid())}, "status": {"user": {"extra": {"authentication.kubernetes.io/credential-id": [keep("credential id", f"JTI={c.uuid()}")]}}}},
        {"spec": {"volumeHandle": keep("volume handle", f"vol-{c.hex(17)}"), "nodeStageSecretRef": {"name": keep("nodeStageSecretRef", f"{c.word()}-csi"), "namespace": "shop"}}},
        {"spec": {"holderIdentity": keep("lease holder", f"{c.word()}-{c.suffix(10)}-{c.suffix()}_{c.uuid()}"), "leaseDurationSeconds": 15}},
        {"data": {"ca.crt": keep("root CA", _certificate(c))}},
        {"spec": {"groups": [{"name": "auth", "rules": [{"alert": keep("alert name", "PasswordResetStorm"), "expr": keep("PromQL", f'rate(password_reset_total{{service="{c.word()}"}}[5m]) > {c.number(1, 9)}')}]}]}},
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"password": {"type": keep("schema type", "string"), "description": keep("schema description", "The password. If unset, one is generated and stored in a Secret.")}}}}}]}},
        {"status": {"observedGeneration": 3, "secretVersion": keep("secret version", c.digits(8)), "configHash": keep("config hash", c.hex(64)), "lastSyncedSha": keep("synced SHA", c.hex(40))}},
        {"spec": {"endpoints": [{"port": "web", "bearerTokenSecret": {"key": keep("bearerTokenSecret", "token"), "name": keep("bearerTokenSecret", f"{c.word()}-scrape")}, "basicAuth": {"password": {"name": keep("basicAuth reference", f"{c.word()}-basic"), "key": keep("basicAuth reference", "password")}}}]}},
        {"spec": {"addresses": [keep("IPv6 address", f"fd00:{c.hex(4)}:{c.hex(4)}::{c.hex(4)}")], "hostname": keep("long host name", f"{c.word()}-{c.hex(32)}.{c.hex(10)}.yl4.eu-central-1.eks.amazonaws.com")}},
        {"spec": {"ports": [{"name": "https"}], "selector": {"controller-revision-hash": keep("controller-revision-hash", f"{c.word()}-{c.suffix(9)}")}}},
    ]  # fmt: skip
    items = [{"metadata": scenery.meta(sheet, f"{c.word()}-{c.suffix()}"), **body} for body in bodies]
    return sheet.finish(name, "apis/acme.io/v1/namespaces/shop/things", _list("ThingList", items))


def _nodes(name: str) -> Document:
    sheet = Sheet(Chance(name))
    c, keep = sheet.chance, sheet.keep
    items = []
    for _ in range(3):
        info = {
            "machineID": keep("machine id", c.hex(32)),
            "systemUUID": keep("system UUID", c.uuid()),
            "bootID": keep("boot id", c.uuid()),
        }
        images = [
            {
                "names": [keep("node image", f"registry.example.com/shop/{c.word()}@sha256:{c.hex(64)}")],
                "sizeBytes": c.number(10**6, 10**9),
            }
            for _ in range(6)
        ]
        items.append({
            "metadata": scenery.meta(sheet, f"gke-prod-pool-{c.hex(8)}-{c.suffix(4)}", annotations={"csi.volume.kubernetes.io/nodeid": keep("CSI node id", json.dumps({"ebs.csi.aws.com": f"i-{c.hex(17)}"}))}),
            "spec": {"providerID": keep("provider id", f"aws:///eu-central-1a/i-{c.hex(17)}")}, "status": {"nodeInfo": info, "images": images},
        })  # fmt: skip
    return sheet.finish(name, "api/v1/nodes", _list("NodeList", items))
