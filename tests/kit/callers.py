"""A server for several callers, in front of a real API server where each may do something else.

with Callers(kubeconfig, folder) as callers:
    with callers.serving(callers.tokens(), 'acts_as = "impersonate"') as port:
        async with callers.client(port, "alice") as client: ...
"""

from __future__ import annotations

import base64
import contextlib
import csv
import json
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import kubernetes.client
import kubernetes.config
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.kit import http_server

__all__ = ["GROUPS", "NAMESPACES", "Callers", "audiences", "connected", "write_kubeconfig"]

GROUPS: Final = {"alice": ("platform", "payments"), "bob": ("shop",), "eve": ()}
NAMESPACES: Final = {"alice": "callers-payments", "bob": "callers-shop"}
"""Where each may read."""
_RULES: Final = [
    {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list", "create", "patch", "delete"]}
]


class Callers:
    """Three users: two may read one namespace each, one may read nothing."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self.folder = folder
        self.secrets = {name: secrets.token_hex(16) for name in GROUPS}
        configuration: Any = kubernetes.client.Configuration()
        load: Any = kubernetes.config.load_kube_config
        load(str(kubeconfig), client_configuration=configuration)
        self.api = kubernetes.client.ApiClient(configuration)
        core = kubernetes.client.CoreV1Api(self.api)
        rbac = kubernetes.client.RbacAuthorizationV1Api(self.api)
        for name, namespace in NAMESPACES.items():
            _once(core.create_namespace, {"metadata": {"name": namespace}})
            _once(
                core.create_namespaced_config_map, namespace, {"metadata": {"name": f"of-{name}"}, "data": {"a": "1"}}
            )
            _once(core.create_namespaced_service_account, namespace, {"metadata": {"name": name}})
            _once(rbac.create_namespaced_role, namespace, {"metadata": {"name": "caller"}, "rules": _RULES})
            subjects = [
                {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": name, "namespace": namespace},
            ]
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
            binding = {"metadata": {"name": "caller"}, "subjects": subjects, "roleRef": role}
            _once(rbac.create_namespaced_role_binding, namespace, binding)

    def tokens(self) -> str:
        """The settings of a file with a token for each."""
        file = self.folder / "tokens.csv"
        with file.open("w") as opened:
            rows = csv.writer(opened)
            for name, groups in GROUPS.items():
                rows.writerow([self.secrets[name], name, f"uid-{name}", ",".join(groups)])
        file.chmod(0o600)
        return f'[auth]\ntokens_file = "{file}"\n'

    def account_token(self, name: str, *audiences: str) -> str:
        """A token of the caller's service account, from the API server."""
        spec = {"audiences": list(audiences), "expirationSeconds": 600} if audiences else {"expirationSeconds": 600}
        core: Any = kubernetes.client.CoreV1Api(self.api)
        made = core.create_namespaced_service_account_token(name, NAMESPACES[name], {"spec": spec})
        return str(made.status.token)

    @contextlib.contextmanager
    def serving(self, *tables: str, flags: Sequence[str] = ()) -> Iterator[int]:
        """A server with these settings; gives its port."""
        file = self.folder / f"settings-{secrets.token_hex(4)}.toml"
        file.write_text("\n".join(tables))
        given = ("--toolsets", "code", "--kubeconfig", str(self.kubeconfig), "--config", str(file), *flags)
        with http_server.serving(given) as port:
            yield port


def write_kubeconfig(path: Path, servers: Mapping[str, Mapping[str, Any]]) -> Path:
    """A context without a user for each of these servers."""
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(servers)),
        "clusters": [{"name": name, "cluster": cluster} for name, cluster in servers.items()],
        "users": [],
        "contexts": [{"name": name, "context": {"cluster": name, "user": ""}} for name in servers],
    }))  # fmt: skip
    return path


def audiences(token: str) -> list[str]:
    """For whom a service account's token says it is."""
    payload = token.split(".")[1]
    found: list[str] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["aud"]
    return found


def _once(create: Any, *arguments: Any) -> None:
    try:
        create(*arguments)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise


@contextlib.asynccontextmanager
async def connected(
    port: int, token: str, *, mode: str = "legacy", transport: str = "http", **more: Any
) -> AsyncIterator[Client]:
    """A client with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    if transport == "sse":
        async with Client(sse_client(f"http://127.0.0.1:{port}/sse", headers=headers), mode="legacy", **more) as client:
            yield client
        return
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        through = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(through, mode=mode, **more) as client:
            yield client
