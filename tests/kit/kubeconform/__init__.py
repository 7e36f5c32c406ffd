"""kubeconform, which checks manifests by schemas, and the schemas: those of a running API server, as no other place is
reached. The definitions of custom resources come from the Go modules of their projects."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from tests.kit import gomodule, patience
from tests.kit.controlplane import official_client

__all__ = ["check", "definitions", "program", "write_schemas"]

_HERE: Final = Path(__file__).parent
_PACKAGE: Final = "github.com/yannh/kubeconform/cmd/kubeconform"
_GATEWAY: Final = "sigs.k8s.io/gateway-api"
_PROMETHEUS: Final = "github.com/prometheus-operator/prometheus-operator"
_DEFINITIONS: Final = {
    _GATEWAY: ("config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",),
    _PROMETHEUS: (
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
}
"""Module ▶ its files."""
_REFERENCE: Final = "#/components/schemas/"
_NAMES: Final = "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes seconds."""
    return gomodule.program(_HERE, _PACKAGE)


def definitions() -> list[dict[str, Any]]:
    """The custom resources that the chart can make: HTTPRoute, PrometheusRule and ServiceMonitor."""
    return [
        yaml.load((gomodule.sources(_HERE, module) / file).read_text(), yaml.CSafeLoader)
        for module, files in _DEFINITIONS.items()
        for file in files
    ]


def check(text: str, schemas: Path) -> str:
    """What kubeconform finds wrong in manifests; empty if nothing is."""
    command = [str(program()), "-strict", "-output=json", "-schema-location", str(schemas / _NAMES)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["resources"]
    assert (done.returncode == 0) == (not found), done
    return "\n".join(f"{each['kind']}: {each['msg']}" for each in found)


def write_schemas(kubeconfig: Path, folder: Path) -> None:
    """Writes a schema for every kind that an API server has; waits for those of `definitions`, which come a moment after
    the kinds."""
    api = official_client.connect(kubeconfig)

    def read(path: str) -> Any:
        answer = api.rest_client.pool_manager.request("GET", f"{api.configuration.host}{path}")
        return json.loads(answer.data) if answer.status == 200 else {}

    def find(group: str) -> dict[str, Any]:
        found: dict[str, Any] = read(f"/openapi/v3/{group}").get("components", {}).get("schemas", {})
        return found

    def knows(made: dict[str, Any]) -> bool:
        spec = made["spec"]
        names = find(f"apis/{spec['group']}/{spec['versions'][0]['name']}")
        return any(name.endswith(f".{spec['names']['kind']}") for name in names)

    patience.until(lambda: all(map(knows, definitions())))
    for path in read("/openapi/v3")["paths"]:
        if path.startswith(("api/v", "apis/")):
            _write_group(find(path), folder)


def _write_group(schemas: dict[str, Any], folder: Path) -> None:
    """Writes the kinds of one group and version, each with all that it refers to."""
    for schema in schemas.values():
        _make_strict(schema)
    for name, schema in schemas.items():
        kinds = schema.get("x-kubernetes-group-version-kind", ())
        if len(kinds) != 1:  # options of requests are of every group
            continue
        used = {each: schemas[each] for each in _list_used(name, schemas)}
        text = json.dumps({"$ref": f"{_REFERENCE}{name}", "components": {"schemas": used}})
        group, version, kind = (kinds[0][key] for key in ("group", "version", "kind"))
        # kubeconform calls the core group by its version.
        (folder / f"{group or version}_{version}_{kind.lower()}.json").write_text(text)


def _make_strict(schema: Any) -> None:
    """Has a schema refuse fields that it does not name, at every depth."""
    for inner in _list_inner(schema):
        _make_strict(inner)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", schema.get("x-kubernetes-preserve-unknown-fields", False))


def _list_used(name: str, schemas: dict[str, Any]) -> set[str]:
    """The names of the schemas that one refers to, and its own."""
    used, left = {name}, [schemas[name]]
    while left:
        schema = left.pop()
        left += _list_inner(schema)
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(reference, str) and (other := reference.removeprefix(_REFERENCE)) not in used:
            used.add(other)
            left.append(schemas[other])
    return used


def _list_inner(value: Any) -> list[Any]:
    """What stands in an object or a list of JSON."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
