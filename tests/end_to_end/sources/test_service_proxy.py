"""A source that is a Service of the cluster is reached through the real API server's service proxy, with the least right
that RBAC can give for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes.client
import pytest
import yaml

from kubescript_safety.controlplane import pki
from tests.kit import clients, commands, identities, patience, trails
from tests.kit.controlplane import official_client, services
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines import prometheus

ANSWERED: Final = '"value":7'
NAMESPACE: Final = "monitoring"
QUEUE: Final = 'k8s.source("{}").query("queue")'

Start = Callable[..., prometheus.Prometheus]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server that reaches servers of this machine."""
    with ControlPlane((services.write_egress(tmp_path_factory.mktemp("egress")),)) as started:
        client: Any = kubernetes.client
        core = client.CoreV1Api(official_client.connect(started.kubeconfig))
        core.create_namespace({"metadata": {"name": NAMESPACE}})
        core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "kubescript"}})
        yield started


def account(plane: ControlPlane, path: Path) -> Path:
    """A kubeconfig with a token of the service account."""
    client: Any = kubernetes.client
    core = client.CoreV1Api(official_client.connect(plane.kubeconfig))
    asked = core.create_namespaced_service_account_token("kubescript", NAMESPACE, {"spec": {"expirationSeconds": 3600}})
    return identities.kubeconfig(plane, path, {"kubescript": {"token": asked.status.token}})


def grant(plane: ControlPlane, *names: str) -> None:
    """Lets the account use the proxy to these, and to nothing else."""
    client: Any = kubernetes.client
    rbac = client.RbacAuthorizationV1Api(official_client.connect(plane.kubeconfig))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sources"}
    rule = {"apiGroups": [""], "resources": ["services/proxy"], "resourceNames": list(names), "verbs": ["get"]}
    rbac.create_namespaced_role(NAMESPACE, {"metadata": {"name": "sources"}, "rules": [rule]})
    account = {"kind": "ServiceAccount", "name": "kubescript", "namespace": NAMESPACE}
    rbac.create_namespaced_role_binding(
        NAMESPACE, {"metadata": {"name": "sources"}, "roleRef": role, "subjects": [account]}
    )


def write(folder: Path, **services: str) -> Path:
    """Settings with these Services as sources, and a record."""
    tables = [f'[audit]\nfile = "{folder / "audit.jsonl"}"\n']
    tables += [
        f'[sources.{name}]\nkind = "prometheus"\nservice = "{NAMESPACE}/{each}"\n' for name, each in services.items()
    ]
    file = folder / "server.toml"
    file.write_text("".join(tables))
    return file


def test_a_service_needs_one_right_and_what_lacks_is_said(
    prometheus3: Start, plane: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The port is given by number or name, with TLS too. Without the right the log names it; RBAC takes the port as a part
    of the name. Scripts themselves still cannot use the proxy, and `audit role` asks for no path that is none."""
    web = prometheus.Web(pki.Authority())
    series = prometheus.gauge("queue", {'pod="a"': 7})
    for name, server in (
        ("prom", prometheus3(openmetrics=series, host=services.own_address())),
        ("safe", prometheus3(openmetrics=series, host=services.own_address(), web=web)),
    ):
        services.expose(plane, NAMESPACE, name, int(server.address.rpartition(":")[2]))
    right = ("prom:9090", "prom:web", "https:safe:9090")
    names = dict(zip(("number", "named", "safe"), right, strict=True)) | {"absent": "prom:9091", "plain": "safe:9090"}
    file = write(tmp_path, **names)
    flags = ("--config", str(file), "--kubeconfig", str(account(plane, tmp_path / "config")))
    with clients.asking(*flags) as ask:
        refused = clients.text(ask(QUEUE.format("safe")))
        assert 'cannot get resource "services/proxy"' in refused, refused
        assert f"Role in namespace {NAMESPACE}" in caplog.text and 'resourceNames ["https:safe:9090"]' in caplog.text
        told = commands.run("doctor", *flags).stdout
        assert (
            f"FAILED  source safe   prometheus at the Service {NAMESPACE}/https:safe:9090: it refuses us (403)" in told
        )
        grant(plane, *names.values())
        patience.until(lambda: ANSWERED in clients.text(ask(QUEUE.format("number"))))
        assert "no service port 9091" in clients.text(ask(QUEUE.format("absent")))
        assert "400" in clients.text(ask(QUEUE.format("plain")))
        for name in ("named", "safe", "number"):
            assert ANSWERED in clients.text(ask(QUEUE.format(name))), name
        path = f'"prom:9090", "{NAMESPACE}", "api/v1/query"'
        denied = clients.text(ask(f"k8s.coreV1().connect_get_namespaced_service_proxy_with_path({path})"))
        assert "policy.tunnel" in denied, denied
        assert ANSWERED in clients.text(ask(QUEUE.format("number")))
    told = commands.run("doctor", *flags).stdout
    assert f"prometheus at the Service {NAMESPACE}/https:safe:9090: version 3." in told, told
    done = trails.run("audit", "role", str(tmp_path / "audit.jsonl"))
    assert "# sources asked: named, number, plain, safe;" in done.stdout
    assert not any(yaml.safe_load_all(done.stdout)), done.stdout
