"""A small cluster with secrets in each place a script can read from, and the expressions that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from security_tests.redaction import judge
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import LAST_APPLIED

__all__ = ["LOG", "OBJECTS", "SOURCES", "VALUES", "leaked", "snapshot"]

_C: Final = Chance("planted")
VALUES: Final = {
    "dull": _C.dull(), "strong": _C.strong(), "token": "gh" + "p_" + _C.base62(36), "dsn": _C.strong(), "log": _C.strong(),
    "event": "gl" + "pat-" + _C.base62(20), "custom": _C.dull(), "applied": _C.strong(), "flag": _C.strong(), "cut": "gh" + "s_" + _C.base62(36),
}  # fmt: skip
_META: Final[dict[str, Any]] = {"name": "planted", "namespace": "default"}
LOG: Final = f"level=info msg=start\nlevel=debug msg=connect password={VALUES['log']} retries=3\nlevel=warn cannot push with {VALUES['cut']} now\n"
_APPLIED: Final = json.dumps({"spec": {"env": [{"name": "DB_PASSWORD", "value": VALUES["applied"]}]}})
_CONTAINER: Final = {
    "name": "app", "image": "app:1", "args": ["serve", f"--admin-password={VALUES['flag']}"],
    "env": [{"name": "DB_PASSWORD", "value": VALUES["dull"]}, {"name": "DATABASE_URL", "value": f"postgres://app:{VALUES['dsn']}@db:5432/app"}],
}  # fmt: skip
OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
    {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": _META,
        "data": {"app.env": f"PORT=8080\nADMIN_PASSWORD={VALUES['strong']}\nGITHUB_TOKEN={VALUES['token']}\nDEBUG=false\n"},
    },
    {
        "apiVersion": "v1", "kind": "Pod", "metadata": _META | {"annotations": {LAST_APPLIED: _APPLIED}},
        "spec": {"containers": [_CONTAINER]}, "status": {"phase": "Running"},
    },
    {
        "apiVersion": "v1", "kind": "Event", "metadata": _META, "reason": "Failed", "type": "Warning",
        "message": f"cannot pull with {VALUES['event']}: 401", "involvedObject": {"kind": "Pod", "name": "planted", "namespace": "default"},
    },
    {"apiVersion": "acme.io/v1", "kind": "Store", "metadata": _META, "spec": {"size": 3, "auth": {"password": VALUES["custom"]}}},
)  # fmt: skip
_POD: Final = "k8s.coreV1().read_namespaced_pod('planted', 'default')"
SOURCES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "configmap": ("k8s.coreV1().read_namespaced_config_map('planted', 'default').data['app.env']", ("strong", "token")),
    "environment": (f"'|'.join(v.value for v in {_POD}.spec.containers[0].env)", ("dull", "dsn")),
    "arguments": (f"' '.join({_POD}.spec.containers[0].args)", ("flag",)),
    "annotation": (f"{_POD}.metadata.annotations['{LAST_APPLIED}']", ("applied",)),
    "log": ("k8s.coreV1().read_namespaced_pod_log('planted', 'default')", ("log", "cut")),
    "event": ("k8s.coreV1().list_namespaced_event('default').items[0].message", ("event",)),
    "custom resource": ("[x for x in k8s.get('stores.acme.io', namespace='default')][0].spec.auth.password", ("custom",)),
    "dynamic client": ("str(k8s.get('configmaps', namespace='default')[0].to_dict())", ("strong", "token")),
    "watch": ("str([e['object'].data for e in watch.Watch().stream(k8s.coreV1().list_namespaced_config_map, 'default', timeout_seconds=1)])", ("strong", "token")),
}  # fmt: skip
"""Expression that gives a text, and the planted values in it."""


_PLURALS: Final = {
    "Namespace": ("", "v1", "namespaces"), "ConfigMap": ("", "v1", "configmaps"), "Pod": ("", "v1", "pods"),
    "Event": ("", "v1", "events"), "Store": ("acme.io", "v1", "stores"),
}  # fmt: skip


def leaked(text: str) -> list[str]:
    """Which planted values can be read in a text, forwards or backwards, in any common encoding."""
    texts = "\n".join(judge.readable(text, 0))
    return [name for name, value in VALUES.items() if value in texts or value[::-1] in texts]


def snapshot(folder: Path, text: str = LOG) -> Path:
    """The cluster as a saved one, with this as the pod's log."""
    resources = []
    for body in OBJECTS:
        group, version, plural = _PLURALS[body["kind"]]
        file = folder / "resources" / (group or "core") / version / f"{plural}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            json.dumps(
                {"kind": f"{body['kind']}List", "apiVersion": body["apiVersion"], "metadata": {}, "items": [body]}
            )
        )
        entry = {"group": group, "version": version, "resource": plural, "kind": body["kind"], "items": 1}
        resources.append(entry | {"namespaced": plural != "namespaces", "namespaces": None})
    log = folder / "logs" / "default" / "planted" / "app.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"2026-03-04T05:06:07.000000001Z {line}\n" for line in text.splitlines()))
    info = {
        "format": "kubescript-snapshot/1",
        "capturedAt": "2026-03-04T05:06:07Z",
        "cluster": "planted",
        "namespace": "default",
    }
    (folder / "snapshot.json").write_text(json.dumps(info | {"resources": resources, "missing": []}))
    return folder
