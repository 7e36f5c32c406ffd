"""Every kind in every family of spots: a pod, a ConfigMap and a log per kind, and lists that many kinds share."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from security_tests.redaction import kinds, makers_by_kind, scenery, spots
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms
from security_tests.redaction.kinds import Kind
from security_tests.redaction.notation import IN_ORDER, Writer
from security_tests.redaction.sheet import LAST_APPLIED, Document, Sheet, compact

__all__ = ["documents"]

_ALL: Final = (*kinds.KINDS, *kinds.NAMED)


def documents() -> Iterator[Document]:
    """The main part of the corpus."""
    for number, kind in enumerate(_ALL):
        yield _pod(kind, number)
        yield _configmap(kind, number)
        yield _log(kind, number)
    for number, (name, build) in enumerate(_SHARED.items()):
        some = _ALL[number % 3 :: 3]
        for at in range(0, len(some), 9):
            yield build(Sheet(Chance(f"{name}/{at}")), f"{name}-{at // 9}", list(some[at : at + 9]))


def _planted(sheet: Sheet, kind: Kind, spot: str) -> str:
    value = kind.make(sheet.chance)
    return sheet.secret(kind.name, spot, value, *(kind.core(value) if kind.core else ()))


def _chosen(kind: Kind, number: int, family: dict[str, Any], count: int) -> list[str]:
    """Some spots of a family, others for each kind."""
    names = list(family)
    return [names[(number * count + at) % len(names)] for at in range(count)]


def _pod(kind: Kind, number: int) -> Document:
    sheet = Sheet(Chance(f"pod/{kind.name}"))
    merged: dict[str, Any] = {}
    for spot in _chosen(kind, number, spots.POD, 2):
        merged |= spots.POD[spot](kind, _planted(sheet, kind, spot))
    if kind.bare and "env" not in merged:
        spot = "env of another name"
        merged |= spots.BARE[spot](_planted(sheet, kind, spot))
    name = f"{sheet.chance.word()}{number}"
    body = scenery.pod(sheet, name, merged)
    return sheet.finish(f"pod {kind.name}", f"api/v1/namespaces/shop/pods/{name}", body)


def _configmap(kind: Kind, number: int) -> Document:
    sheet = Sheet(Chance(f"configmap/{kind.name}"))
    data = {"LOG_LEVEL": "info"}
    for spot in _chosen(kind, number, spots.CONFIG, 3):
        key, text = spots.CONFIG[spot](kind, _planted(sheet, kind, spot))
        data[key] = text
    if kind.bare and number % 2:
        spot = ("YAML value of another name", "list in JSON")[number // 2 % 2]
        key, text = spots.BARE[spot](_planted(sheet, kind, spot))
        data[key] = text
    body = scenery.configmap(sheet, f"settings-{number}", data)
    return sheet.finish(f"configmap {kind.name}", f"api/v1/namespaces/shop/configmaps/settings-{number}", body)


def _log(kind: Kind, number: int) -> Document:
    sheet = Sheet(Chance(f"log/{kind.name}"))
    lines = []
    for spot in _chosen(kind, number, spots.LOGS, 2):
        lines += [_noise(sheet), spots.LOGS[spot](kind, _planted(sheet, kind, spot)), _noise(sheet)]
    if kind.bare:
        spot = ("prose in log", "stack trace", "middle of a long line")[number % 3]
        lines += [spots.BARE[spot](_planted(sheet, kind, spot)), _noise(sheet)]
    return sheet.finish(
        f"log {kind.name}", "api/v1/namespaces/shop/pods/web-0/log", "\n".join(lines) + "\n", "text", accept="text"
    )


def _noise(sheet: Sheet) -> str:
    noise = list(forms("main_noise").items())
    label, form = noise[sheet.chance.number(0, len(noise) - 1)]
    return sheet.keep(label, Writer(sheet, makers_by_kind.made, IN_ORDER).plain(form))


def _events(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    items = []
    for kind in some:
        text = f'Error: failed to start container "app": exec: "--{kind.field}={_planted(sheet, kind, "event message")}": executable file not found'
        items.append({
            "metadata": scenery.meta(sheet, f"web-0.{sheet.chance.hex(16)}"), "reason": "Failed", "type": "Warning", "message": text,
            "involvedObject": {"kind": "Pod", "name": "web-0", "uid": sheet.keep("involved uid", sheet.chance.uuid())}, "count": 3,
        })  # fmt: skip
    return sheet.finish(name, "api/v1/namespaces/shop/events", _listed("Event", "v1", items))


def _listed(kind: str, version: str, items: list[Any]) -> dict[str, Any]:
    return {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "778899"}, "items": items}


def _resources(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    items = []
    for kind in some:
        spec = {
            "replicas": 1,
            "auth": {"enabled": True, spots.camel(kind): _planted(sheet, kind, "custom resource spec")},
        }
        items.append(
            {
                "apiVersion": "acme.io/v1",
                "kind": "Store",
                "metadata": scenery.meta(sheet, f"store-{sheet.chance.suffix()}"),
                "spec": spec,
            }
        )
    return sheet.finish(name, "apis/acme.io/v1/namespaces/shop/stores", _listed("Store", "acme.io/v1", items))


def _annotated(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """As kubectl apply leaves it: the whole object as JSON inside an annotation."""
    items = []
    for kind in some:
        env = [{"name": spots.env(kind), "value": _planted(sheet, kind, "last-applied annotation")}]
        inner = {"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{"name": "app", "env": env}]}}}}
        template = {"containers": [{"name": "app", "image": "app:1"}]}
        items.append(
            scenery.workload(sheet, f"app-{sheet.chance.suffix()}", template, **{LAST_APPLIED: compact(inner) + "\n"})
        )
    return sheet.finish(name, "apis/apps/v1/namespaces/shop/deployments", _listed("Deployment", "apps/v1", items))


def _notes(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """Annotations of other tools."""
    items = []
    for kind in some:
        own = scenery.meta(
            sheet,
            f"svc-{sheet.chance.suffix()}",
            annotations={f"example.com/{kind.field}": _planted(sheet, kind, "annotation")},
        )
        items.append({"metadata": own, "spec": {"clusterIP": "10.96.0.17", "ports": [{"port": 80}]}})
    return sheet.finish(name, "api/v1/namespaces/shop/services", _listed("Service", "v1", items))


def _secrets(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """Secrets, where the operator permits them."""
    items = []
    for kind in some:
        data = {kind.field: base64.b64encode(_planted(sheet, kind, "Secret data").encode()).decode()}
        items.append(
            {"metadata": scenery.meta(sheet, f"secret-{sheet.chance.suffix()}"), "type": "Opaque", "data": data}
        )
    return sheet.finish(name, "api/v1/namespaces/shop/secrets", _listed("Secret", "v1", items))


def _helm(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """A Helm release in a ConfigMap (HELM_DRIVER=configmap): base64 of gzip of JSON."""
    values = {"replicas": 2, **{spots.camel(kind): _planted(sheet, kind, "Helm release") for kind in some}}
    release = {"name": name, "version": 4, "config": values, "chart": {"metadata": {"name": name, "version": "1.2.3"}}}
    packed = base64.b64encode(gzip.compress(compact(release).encode(), mtime=0)).decode()
    body = scenery.configmap(sheet, f"sh.helm.release.v1.{name}.v4", {"release": packed})
    return sheet.finish(name, f"api/v1/namespaces/shop/configmaps/sh.helm.release.v1.{name}.v4", body)


def _helm_secret(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """The same in a Secret: once more in base64."""
    manifest = "\n---\n".join(
        f"kind: Deployment\nenv:\n- name: {spots.env(kind)}\n  value: {_planted(sheet, kind, 'Helm manifest')}"
        for kind in some
    )
    packed = base64.b64encode(gzip.compress(compact({"name": name, "manifest": manifest}).encode(), mtime=0))
    data = {"release": base64.b64encode(packed).decode()}
    body = {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": scenery.meta(sheet, f"sh.helm.release.v1.{name}.v1"),
        "type": "helm.sh/release.v1",
        "data": data,
    }
    return sheet.finish(name, f"api/v1/namespaces/shop/secrets/sh.helm.release.v1.{name}.v1", body)


def _watch(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    events = []
    for kind in some:
        env = {"env": [{"name": spots.env(kind), "value": _planted(sheet, kind, "watch event")}]}
        events.append({"type": "MODIFIED", "object": scenery.pod(sheet, f"app-{sheet.chance.suffix()}", env)})
    return sheet.finish(name, "api/v1/namespaces/shop/pods", events, "lines", query=(("watch", "true"),))


def _argo(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """Values of a chart as a block of YAML in a custom resource."""
    items = []
    for kind in some:
        values = f"replicaCount: 2\nauth:\n  {spots.camel(kind)}: {json.dumps(_planted(sheet, kind, 'YAML in custom resource'))}\nimage:\n  tag: 1.2.3\n"
        items.append(
            {
                "metadata": scenery.meta(sheet, f"app-{sheet.chance.suffix()}"),
                "spec": {"source": {"helm": {"values": values}}},
            }
        )
    return sheet.finish(
        name,
        "apis/argoproj.io/v1alpha1/namespaces/argocd/applications",
        _listed("Application", "argoproj.io/v1alpha1", items),
    )


def _nested(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """JSON in JSON in JSON."""
    data = {}
    for number, kind in enumerate(some):
        inner = json.dumps({"payload": json.dumps({spots.snake(kind): _planted(sheet, kind, "JSON in JSON"), "n": 1})})
        data[f"state-{number}"] = inner
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/states", scenery.configmap(sheet, "states", data))


def _binary(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """binaryData, plain or compressed."""
    data = {}
    for number, kind in enumerate(some):
        text = f"export {spots.env(kind)}={_planted(sheet, kind, 'binaryData')}\nexport PORT=8080\n".encode()
        data[f"env-{number}"] = base64.b64encode(gzip.compress(text, mtime=0) if number % 2 else text).decode()
    body = scenery.configmap(sheet, "binary", {}, binaryData=data)
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/binary", body)


def _terminated(sheet: Sheet, name: str, some: list[Kind]) -> Document:
    """Termination messages."""
    items = []
    for kind in some:
        body = scenery.pod(sheet, f"job-{sheet.chance.suffix()}", {})
        message = f"panic: bad configuration: {spots.env(kind)}={_planted(sheet, kind, 'termination message')}\n\ngoroutine 1 [running]:\nmain.main()\n"
        body["status"]["containerStatuses"][0]["lastState"] = {
            "terminated": {"exitCode": 2, "reason": "Error", "message": message}
        }
        items.append(body)
    return sheet.finish(name, "api/v1/namespaces/shop/pods", _listed("Pod", "v1", items))


_SHARED: Final[dict[str, Callable[[Sheet, str, list[Kind]], Document]]] = {
    "events": _events, "stores": _resources, "applied": _annotated, "annotations": _notes, "secrets": _secrets, "helm": _helm,
    "helm-secret": _helm_secret, "watch": _watch, "argo": _argo, "nested": _nested, "binary": _binary, "terminated": _terminated,
}  # fmt: skip
