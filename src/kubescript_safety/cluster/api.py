"""A client of an API server for one user: JSON in, JSON out, no retries."""

from __future__ import annotations

from collections.abc import Iterator
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
        # This way, the caller need not know which kinds are cluster-wide.
        within = namespace if self.is_namespaced else ""
        parts = paths.join(self.group, self.version, self.resource, within or None, name or None)
        path = "/".join(("", *parts))
        return f"{path}/{subresource}" if subresource else path


class Api:
    """Sends requests as one user. Threads may share an instance."""

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
        # A proxy's refusal and the answer to a health check are plain text.
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return Answer(answer.status, orjson.loads(answer.data) if is_json else answer.data.decode(errors="replace"))

    def get(self, path: str, **query: str) -> Any:
        """Returns the content at a path. Raises ApiError."""
        answer = self.send("GET", path, query=query)
        if not answer.is_success:
            why = _message(answer.content)
            raise ApiError(f"GET {path}: {answer.status} {why}")
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
        query = {"fieldManager": "kubescript-safety", "force": "true"}
        if is_dry_run:
            query["dryRun"] = "All"
        answer = self.send(
            "PATCH", path, thing, content_type="application/apply-patch+yaml", query=query, headers=headers
        )
        if not answer.is_success:
            raise ApiError(f"{kind.kind} {metadata['name']}: {answer.status} {_message(answer.content)}")
        found: Object = answer.content
        return found

    def kinds(self) -> tuple[Kind, ...]:
        """Returns every kind that can be listed, in the API server's preferred version."""
        found: dict[str, Kind] = {}
        for start in ("/api", "/apis"):
            answer = self.send("GET", start, headers={"Accept": _DISCOVERY})
            groups = answer.content["items"]
            for group in groups:
                for kind in _list_kinds(group):
                    # Discovery lists the preferred version of a group first.
                    found.setdefault(kind.name, kind)
        return tuple(sorted(found.values()))


def key(kind: Kind, thing: Object) -> str:
    """Returns an object's key in a snapshot: `deployments.apps/shop/web`, `nodes//node-0`."""
    metadata = thing["metadata"]
    name = metadata["name"]
    namespace = metadata.get("namespace", "")
    return f"{kind.name}/{namespace}/{name}"


def _list_kinds(group: Object) -> Iterator[Kind]:
    """Yields the kinds of a group that can be listed, in all versions."""
    # The core group has no name.
    name = group.get("metadata", {}).get("name", "")
    for version in group["versions"]:
        for resource in version.get("resources", ()):
            if {"list", "delete"} <= set(resource["verbs"]):
                yield Kind(
                    name,
                    version["version"],
                    resource["resource"],
                    resource["responseKind"]["kind"],
                    resource["scope"] == "Namespaced",
                )


def _message(content: Any) -> str:
    """Returns the message of a refusal."""
    # A refusal may quote the whole object.
    said = content.get("message", "") if isinstance(content, dict) else content
    return str(said)[:500]
