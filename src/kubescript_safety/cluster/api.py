"""A client of an API server for one user: JSON in, JSON out, no retries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import orjson
from kubernetes import config

from kubescript.kube import kinds, paths

__all__ = ["Answer", "Api", "ApiError", "Kind", "Object", "key"]

Object = dict[str, Any]

_DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_SECONDS: Final = 60


class ApiError(Exception):
    """The API server rejected a request that a run needs."""


class Answer(NamedTuple):
    """An answer: its status and its decoded content."""

    status: int
    content: Any

    @property
    def is_success(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300


class Kind(NamedTuple):
    """A kind that can be listed."""

    group: str
    version: str
    resource: str
    kind: str
    is_namespaced: bool

    @property
    def name(self) -> str:
        """`deployments.apps`, or `pods`."""
        return kinds.full_name(self.group, self.resource)

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1`."""
        return kinds.api_version(self.group, self.version)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Returns the path of an object, or of all objects."""
        within = namespace if self.is_namespaced else ""
        path = "/".join(paths.join(self.group, self.version, self.resource, within or None, name or None))
        return f"/{path}/{subresource}" if subresource else f"/{path}"


class Api:
    """Requests by one user. Threads may share it."""

    def __init__(self, kubeconfig: Path) -> None:
        load: Any = config.new_client_from_config  # the client does not annotate it
        client = load(config_file=str(kubeconfig))
        self._host = client.configuration.host
        self._pool = client.rest_client.pool_manager

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Sends one request. Raises urllib3's errors if there is no answer."""
        url = self._host + path + (f"?{urlencode(query)}" if query else "")
        answer = self._pool.request(
            method,
            url,
            body=None if body is None else orjson.dumps(body),
            headers={"Content-Type": content_type, "Accept": "application/json", **(headers or {})},
            timeout=_SECONDS,
            retries=False,
        )
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return Answer(answer.status, orjson.loads(answer.data) if is_json else answer.data.decode(errors="replace"))

    def get(self, path: str, **query: str) -> Any:
        """Returns the content at a path. Raises ApiError."""
        answer = self.send("GET", path, query=query)
        if not answer.is_success:
            raise ApiError(f"GET {path}: {answer.status} {_message(answer.content)}")
        return answer.content

    def apply(
        self,
        kind: Kind,
        thing: Object,
        headers: dict[str, str] | None = None,
        subresource: str = "",
        *,
        is_dry_run: bool = False,
    ) -> Object:
        """Creates or changes an object by server-side apply, regardless of who owns its fields. The default namespace
        is `default`. Raises ApiError."""
        metadata = thing["metadata"]
        path = kind.path(metadata.get("namespace") or "default", metadata["name"], subresource)
        answer = self.send(
            "PATCH",
            path,
            thing,
            content_type="application/apply-patch+yaml",
            query={"fieldManager": "kubescript-safety", "force": "true"} | ({"dryRun": "All"} if is_dry_run else {}),
            headers=headers,
        )
        if not answer.is_success:
            raise ApiError(f"{kind.kind} {metadata['name']}: {answer.status} {_message(answer.content)}")
        found: Object = answer.content
        return found

    def kinds(self) -> tuple[Kind, ...]:
        """Returns every kind that can be listed, in the API server's preferred version."""
        found: list[Kind] = []
        for start in ("/api", "/apis"):
            answer = self.send("GET", start, headers={"Accept": _DISCOVERY})
            for group in answer.content["items"]:
                name = group.get("metadata", {}).get("name", "")
                seen: set[str] = set()
                for version in group["versions"]:
                    for resource in version.get("resources", ()):
                        kind = _kind(name, version["version"], resource)
                        if {"list", "delete"} <= set(resource["verbs"]) and kind.name not in seen:
                            seen.add(kind.name)
                            found.append(kind)
        return tuple(sorted(found))


def key(kind: Kind, thing: Object) -> str:
    """Returns an object's key in a snapshot: `deployments.apps/shop/web`, `nodes//node-0`."""
    metadata = thing["metadata"]
    return f"{kind.name}/{metadata.get('namespace', '')}/{metadata['name']}"


def _kind(group: str, version: str, resource: Object) -> Kind:
    return Kind(
        group, version, resource["resource"], resource["responseKind"]["kind"], resource["scope"] == "Namespaced"
    )


def _message(content: Any) -> str:
    return str(content.get("message", "") if isinstance(content, dict) else content)[:500]
