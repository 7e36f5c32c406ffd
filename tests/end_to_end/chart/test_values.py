"""Every value of the chart: what it is for stands beside it, its form is checked, and it changes what is installed."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from kubescript import config
from tests.kit import chart

_FREE: Final = frozenset({"config", "metrics.clients", "networkPolicy.clients", "resources"})
"""Values that a reader fills with keys of other documents: each is one value."""
_DIGEST: Final = f"sha256:{'a' * 64}"
_INGRESS: Final = {"ingress.enabled": True, "config.http": {"url": "https://kubescript.example.com/mcp"}}
_CHANGES: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "replicas": (2, {}),
    "image.repository": ("registry.internal/kubescript", {}),
    "image.tag": ("0.3.0", {}),
    "image.digest": (_DIGEST, {}),
    "image.pullPolicy": ("Always", {}),
    "image.pullSecrets": (["registry"], {}),
    "config": ({"toolsets": ["kubectl"]}, {}),
    "secret": ("other", {}),
    "tls.secret": ("kubescript-tls", {}),
    "store.secret": ("kubescript-store", {}),
    "store.key": ("url", {"store.secret": "kubescript-store"}),
    "store.port": (5433, {"store.secret": "kubescript-store"}),
    "audit.claim": ("kubescript-audit", {}),
    "serviceAccount.create": (False, {}),
    "serviceAccount.name": ("other", {}),
    "serviceAccount.annotations": ({"example.com/role": "reader"}, {}),
    "rbac.create": (False, {}),
    "rbac.clusterRole": ("view", {}),
    "rbac.secrets": (True, {}),
    "rbac.customGroups": (["argoproj.io"], {}),
    "resources": ({"limits": {"memory": "4Gi"}}, {}),
    "podDisruptionBudget.maxUnavailable": (2, {}),
    "autoscaling.enabled": (True, {}),
    "autoscaling.minReplicas": (3, {"autoscaling.enabled": True}),
    "autoscaling.maxReplicas": (9, {"autoscaling.enabled": True}),
    "autoscaling.queueDepth": (9, {"autoscaling.enabled": True}),
    "metrics.enabled": (True, {}),
    "metrics.clients": ({"team": "observers"}, {"metrics.enabled": True}),
    "metrics.serviceMonitor": (True, {"metrics.enabled": True}),
    "metrics.prometheusRule": (True, {}),
    "metrics.labels": ({"release": "prometheus"}, {"metrics.enabled": True, "metrics.serviceMonitor": True}),
    "metrics.dashboard": (True, {}),
    "metrics.alerts": (True, {}),
    "networkPolicy.enabled": (False, {}),
    "networkPolicy.clients": ({"team": "agents"}, {}),
    "networkPolicy.ports": ([6443], {}),
    "ingress.enabled": (True, {"config.http": _INGRESS["config.http"]}),
    "ingress.className": ("haproxy", _INGRESS),
    "ingress.annotations": ({"cert-manager.io/cluster-issuer": "public"}, _INGRESS),
    "ingress.tlsSecret": ("kubescript-tls", _INGRESS),
    "httpRoute.parentRefs": ([{"name": "public"}], {"config.http": _INGRESS["config.http"]}),
}
"""Value ▶ another one, and what else has to be set for it to count."""


def values() -> dict[str, Any]:
    """The chart's own values."""
    found: dict[str, Any] = yaml.safe_load(chart.VALUES.read_text())
    return found


def leaves(found: dict[str, Any], path: str = "") -> Iterator[str]:
    """The names of all values, with dots."""
    for key, value in found.items():
        name = f"{path}{key}"
        if isinstance(value, dict) and value and name not in _FREE:
            yield from leaves(value, f"{name}.")
        else:
            yield name


def groups(found: dict[str, Any], path: str = "") -> Iterator[str]:
    """The names of what holds values, with dots; that of all is empty."""
    yield path.removesuffix(".")
    for key, value in found.items():
        if isinstance(value, dict) and value and f"{path}{key}" not in _FREE:
            yield from groups(value, f"{path}{key}.")


def changed(found: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy in which one value is another one."""
    made = copy.deepcopy(found)
    *parents, key = path.split(".")
    inner = made
    for parent in parents:
        inner = inner.setdefault(parent, {})
    inner[key] = value
    return made


def without(found: dict[str, Any], path: str) -> dict[str, Any]:
    """A copy in which one value is not there, as Helm makes it of a null."""
    made = copy.deepcopy(found)
    *parents, key = path.split(".")
    functools.reduce(lambda inner, parent: inner[parent], parents, made).pop(key)
    return made


def render(home: Path, given: dict[str, Any]) -> str:
    """The manifests by these values."""
    file = home / "values.json"
    file.write_text(json.dumps(given))
    return chart.render(home, "--values", str(file))


@pytest.mark.parametrize("path", _CHANGES)
def test_a_value_changes_what_is_installed(path: str, tmp_path: Path) -> None:
    """Where what it belongs to is on."""
    value, needed = _CHANGES[path]
    before: dict[str, Any] = {}
    for name, other in needed.items():
        before = changed(before, name, other)
    assert render(tmp_path, before) != render(tmp_path, changed(before, path, value))


def test_every_value_is_tested_and_told() -> None:
    """Above each stands what it is for."""
    assert list(leaves(values())) == list(_CHANGES)
    lines = chart.VALUES.read_text().splitlines()

    def check(node: Any, path: str) -> None:
        for key, value in node.value:
            name = f"{path}{key.value}"
            if isinstance(value, yaml.MappingNode) and value.value and name not in _FREE:
                check(value, f"{name}.")
            else:
                assert lines[key.start_mark.line - 1].lstrip().startswith("# "), name

    check(yaml.compose(chart.VALUES.read_text()), "")


def test_the_schema_is_strict() -> None:
    """At every depth a name that is no value is refused, and each value of another form, or none; what is there passes."""
    schema = json.loads((chart.CHART / "values.schema.json").read_text())
    check = jsonschema.Draft7Validator(schema)
    assert not list(check.iter_errors(values()))
    for path in leaves(values()):
        assert list(check.iter_errors(changed(values(), path, [[]]))), path
        assert list(check.iter_errors(without(values(), path))), path
        assert not list(check.iter_errors(changed(values(), path, _CHANGES[path][0]))), path
    for group in groups(values()):
        assert list(check.iter_errors(changed(values(), f"{group}.unknown".lstrip("."), 1))), group


_REFUSED = {
    "resource.limits.memory=1Gi": "additional properties 'resource' not allowed",
    "networkPolicy.clients=null": "missing property 'clients'",
    "config.port=80": "false schema",
    "config.htp.url=https://kubescript.example.com/mcp": "at '/config': additional properties 'htp' not allowed",
    "config.toolsets={cod}": "at '/config/toolsets/0': value must be one of 'code', 'kubectl'",
    "config.limits.memory_mib=abc": "at '/config/limits/memory_mib': got string, want integer",
    "config.http.metrics_port=80": "false schema",
    "metrics.serviceMonitor=true": "needs metrics.enabled",
    "resources.limits.memory=1536Zi": "does not match pattern",
    "rbac.customGroups={*}": "does not match pattern",
    "ingress.enabled=true": "needs config.http.url",
    "httpRoute.parentRefs[0].name=a,replicas=2": "need config.http.stateless",
}


@pytest.mark.parametrize("value", _REFUSED)
def test_a_value_that_would_do_harm_is_refused(value: str, tmp_path: Path) -> None:
    """A typo, also in the server's settings, no clients, a port that the Service does not know, sessions that a route would
    lose; the next command works."""
    assert _REFUSED[value] in chart.render(tmp_path, "--set", value, fails=True)
    assert "kind: Deployment" in chart.render(tmp_path)


def test_settings_reach_the_server_as_they_are(tmp_path: Path) -> None:
    """Also those that are false, zero, empty or a word that YAML takes for another, and names of the Service's host."""
    given: dict[str, Any] = {
        "toolsets": ["code"],
        "writes": "off",
        "read_only": False,
        "audit": {"keep": 0},
        "limits": {"response_mib": 1_000_000},
        "contexts": {"1e3": {"deny_defaults": False}, "no": {}},
        "http": {"hosts": ["{{ .Release.Name }}"], "requests_per_minute": 1_000_000},
        "access": [{"users": ["0123", "null", "*@example.com"]}],
    }
    objects = chart.by_kind(render(tmp_path, {"secret": "", "config": {**given, "auth": None}}))
    found = chart.settings(objects, tmp_path)
    service = "kubescript.kubescript.svc"
    http = {"hosts": [*given["http"]["hosts"], service], "url": f"http://{service}:8080/mcp"}
    file = tmp_path / "as-given.yaml"
    file.write_text(json.dumps(given | {"host": "0.0.0.0", "http": given["http"] | http}))
    assert found.model_dump() == config.load({}, file).model_dump()
