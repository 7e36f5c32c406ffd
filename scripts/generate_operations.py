"""Writes operations.json and schemas.json in guest/sdk/values/ from the installed official client. Run at development
time only.

Every public method of every API class is *called* with marker arguments on a recording stand-in for `ApiClient`; what
it would have sent (verb, path template, query names, body, media types) and the type it would have decoded are written
down. So the table says what the official client does, not what its source looks like. Same client, same bytes.

    python scripts/generate_operations.py [--check]
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from kubernetes import client

SDK = Path(__file__).resolve().parent.parent / "src" / "kubescript" / "guest" / "sdk" / "values"
OPERATIONS = SDK / "operations.json"
SCHEMAS = SDK / "schemas.json"

TRANSPORT_ARGUMENTS = frozenset(
    {
        "async_req",
        "_return_http_data_only",
        "_preload_content",
        "_request_timeout",
        "_request_auth",
        "_content_type",
        "_headers",
        "_host_index",
    }
)
"""Arguments every official method has besides those of the API operation. The SDK refuses or ignores them in one
place."""

METRICS_SCHEMAS: dict[str, dict[str, str | list[str]]] = {
    "V1beta1NodeMetrics": {
        "api_version": "str",
        "kind": "str",
        "metadata": "V1ObjectMeta",
        "timestamp": "datetime",
        "usage": "Dict[str, str]",
        "window": "str",
    },
    "V1beta1NodeMetricsList": {
        "api_version": "str",
        "items": "List[V1beta1NodeMetrics]",
        "kind": "str",
        "metadata": "V1ListMeta",
    },
    "V1beta1PodMetrics": {
        "api_version": "str",
        "containers": "List[V1beta1ContainerMetrics]",
        "kind": "str",
        "metadata": "V1ObjectMeta",
        "timestamp": "datetime",
        "window": "str",
    },
    "V1beta1PodMetricsList": {
        "api_version": "str",
        "items": "List[V1beta1PodMetrics]",
        "kind": "str",
        "metadata": "V1ListMeta",
    },
    "V1beta1ContainerMetrics": {"name": "str", "usage": "Dict[str, str]"},
}
"""metrics.k8s.io is served by metrics-server; the official client has no models for it."""

_METRICS = "/apis/metrics.k8s.io/v1beta1"
METRICS_METHODS = {
    "list_namespaced_pod_metrics": (
        f"{_METRICS}/namespaces/{{namespace}}/pods",
        ["namespace"],
        "V1beta1PodMetricsList",
    ),
    "list_node_metrics": (f"{_METRICS}/nodes", [], "V1beta1NodeMetricsList"),
    "list_pod_metrics_for_all_namespaces": (f"{_METRICS}/pods", [], "V1beta1PodMetricsList"),
    "read_namespaced_pod_metrics": (
        f"{_METRICS}/namespaces/{{namespace}}/pods/{{name}}",
        ["name", "namespace"],
        "V1beta1PodMetrics",
    ),
    "read_node_metrics": (f"{_METRICS}/nodes/{{name}}", ["name"], "V1beta1NodeMetrics"),
}
"""Nor methods. Named as the official generator would: method → path, required parameters, type."""
METRICS_QUERY = ["label_selector", "field_selector", "limit", "_continue"]


@dataclass
class Recorder:
    """Stands in for ApiClient: remembers what a method would send and what it would decode."""

    sent: dict[str, Any] = field(default_factory=dict)
    accepts: list[str] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    responses: dict[str, str | None] = field(default_factory=dict)

    def select_header_accept(self, accepts: list[str]) -> str:
        """Remember the answer's media types."""
        self.accepts = accepts
        return accepts[0]

    def select_header_content_type(self, content_types: list[str]) -> str:
        """Remember the body's media types."""
        self.content_types = content_types
        return content_types[0]

    def param_serialize(self, **sent: Any) -> tuple[()]:
        """Remember verb, path, query and body."""
        self.sent = sent
        return ()

    def _call_with_legacy_options(self, _param: object, responses: dict[str, str | None], *_rest: object) -> None:
        self.responses = responses


@dataclass(frozen=True)
class Marker:
    """An argument that can be recognised again where it ends up."""

    name: str


def api_classes() -> dict[str, type]:
    """Every API class of the official client, by name."""
    names = sorted(name for name in dir(client) if name.endswith("Api"))
    found = {name: getattr(client, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, type)}


def api_methods(api: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The operations of one class; `*_with_http_info` is the same operation with another return value."""
    for name, method in inspect.getmembers(api, inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        if not name.endswith("_with_http_info"):
            # Without the decorator that checks arguments: it would refuse markers.
            yield name, inspect.unwrap(method)


def record(api: type, method: Callable[..., Any], names: list[str]) -> Recorder:
    """Call `method` with one marker per argument and give what it would have sent."""
    recorder = Recorder()
    # A method calls its class's private functions, and these need nothing but a client.
    alone = types.SimpleNamespace(api_client=recorder)
    functions = inspect.getmembers(api, inspect.isfunction)
    private = {name: types.MethodType(function, alone) for name, function in functions if name.startswith("_")}
    instance = types.SimpleNamespace(api_client=recorder, **private)
    markers = {name: Marker(name) for name in names}
    method(instance, **markers)
    return recorder


def type_name(annotation: object) -> str:
    """The plain name of an annotation: Annotated, Optional and Strict wrappers removed."""
    origin = typing.get_origin(annotation)
    inner = typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_name(inner[0])
    if origin is typing.Union:
        kinds = [type_name(kind) for kind in inner if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else "object"
    # What is in it the table has no place for.
    if origin in (list, dict):
        return "object"
    name: str = getattr(annotation, "__name__", "object")
    return name.replace("Any", "object")


@dataclass
class Table:
    """The operations while they are gathered; repeated lists are stored once."""

    apis: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    query: dict[str, list[str]] = field(default_factory=dict)
    parameters: list[list[str]] = field(default_factory=list)
    media: list[list[str]] = field(default_factory=list)

    def add(self, api: type, name: str, method: Callable[..., Any]) -> None:
        """Record one method."""
        signature = inspect.signature(method).parameters
        names = [each for each in signature if each != "self" and each not in TRANSPORT_ARGUMENTS]
        required = [each for each in names if signature[each].default is inspect.Parameter.empty]
        if names[: len(required)] != required:
            raise SystemExit(f"{api.__name__}.{name}: a required parameter follows an optional one")
        if any(signature[each].default is not None for each in names[len(required) :]):
            raise SystemExit(f"{api.__name__}.{name}: a default other than None; the table has no place for it")
        seen = record(api, method, names)
        self._note_query(seen, signature)
        returns = next((kind for code, kind in sorted(seen.responses.items()) if code.startswith("2")), None)
        used = {marker.name for marker in seen.sent["path_params"].values()}
        used |= {marker.name for _, marker in seen.sent["query_params"]}
        body_type = ""
        body = seen.sent["body"]
        if body is not None:
            # Not by its own name: if that is another, the table has no place for it.
            used.add("body")
            body_type = type_name(signature[body.name].annotation)
        if used != set(names):
            raise SystemExit(f"{api.__name__}.{name}: a parameter ends up neither in path, query nor body")
        if any(key != marker.name for key, marker in seen.sent["path_params"].items()):
            raise SystemExit(f"{api.__name__}.{name}: a path parameter is renamed; the table has no place for it")
        self.apis.setdefault(api.__name__, {})[name] = [
            seen.sent["method"],
            seen.sent["resource_path"],
            _index(self.parameters, names),
            len(required),
            body_type,
            returns or "",
            _index(self.media, seen.content_types),
        ]

    def _note_query(self, seen: Recorder, signature: Any) -> None:
        for wire, marker in seen.sent["query_params"]:
            entry = [wire, type_name(signature[marker.name].annotation)]
            if self.query.setdefault(marker.name, entry) != entry:
                raise SystemExit(
                    f"query parameter {marker.name} means two things: {entry} and {self.query[marker.name]}"
                )

    def add_metrics(self) -> None:
        """The methods of METRICS_METHODS, as an API class of their own."""
        for name, (path, required, returns) in METRICS_METHODS.items():
            parameters = required + (METRICS_QUERY if name.startswith("list_") else [])
            self.apis.setdefault("MetricsV1beta1Api", {})[name] = [
                "GET",
                path,
                _index(self.parameters, parameters),
                len(required),
                "",
                returns,
                _index(self.media, []),
            ]

    def encode(self) -> bytes:
        """The table as one line per API class."""
        document = {"apis": self.apis, "media": self.media, "parameters": self.parameters, "query": self.query}
        return encode_lines(document)


def _index(pool: list[list[str]], entry: list[str]) -> int:
    if entry not in pool:
        pool.append(entry)
    return pool.index(entry)


def encode_lines(document: dict[str, Any]) -> bytes:
    """Sorted compact JSON, one line per entry of each top-level map, so that a diff can be read."""
    parts = []
    for key, value in sorted(document.items()):
        text = msgspec.json.encode(value)
        if isinstance(value, dict):
            lines = []
            for name, entry in sorted(value.items()):
                lines.append(msgspec.json.encode(name) + b":" + msgspec.json.encode(entry, order="sorted"))
            text = b"{\n" + b",\n".join(lines) + b"\n}"
        parts.append(msgspec.json.encode(key) + b":" + text)
    return b"{" + b",\n".join(parts) + b"}\n"


def operations() -> bytes:
    """The text of operations.json."""
    table = Table()
    for api in api_classes().values():
        for name, method in api_methods(api):
            table.add(api, name, method)
    table.add_metrics()
    return table.encode()


def camel(name: str) -> str:
    """The JSON name a snake_case attribute most often has."""
    return re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), name.strip("_"))


def schema(model: Any) -> dict[str, str | list[str]]:
    """One model: attribute → type, or [type, JSON name] where the JSON name is not the attribute in camelCase."""
    fields: dict[str, str | list[str]] = {}
    for attribute, kind in sorted(model.openapi_types.items()):
        wire = model.attribute_map[attribute]
        fields[attribute] = kind if camel(attribute) == wire else [kind, wire]
    return fields


def schemas() -> bytes:
    """The text of schemas.json."""
    found = {name: getattr(client, name) for name in dir(client)}
    models = {name: schema(value) for name, value in found.items() if hasattr(value, "openapi_types")}
    clash = models.keys() & METRICS_SCHEMAS.keys()
    if clash:
        raise SystemExit(f"the official client now has {sorted(clash)} itself; drop ours")
    return encode_lines({"models": models | METRICS_SCHEMAS})


def main() -> int:
    """Write both files, or with --check say whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    check = parser.parse_args().check
    stale = False
    for path, text in ((OPERATIONS, operations()), (SCHEMAS, schemas())):
        if check:
            stale |= not path.exists() or path.read_bytes() != text
        else:
            path.write_bytes(text)
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
