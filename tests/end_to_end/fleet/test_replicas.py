"""Three replicas behind a real HAProxy lose nothing that they promised: under scripts of many callers they are restarted
one after the other, and killed. What became of plans is judged by the API server's own audit log."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from tests.kit import crowd, extent, postgres, replicas, rollouts
from tests.kit.controlplane import logged, official_client

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow, pytest.mark.sampled]

TOKENS: Final = {f"caller-{number}": secrets.token_hex(16) for number in range(10)}
RULES: Final = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]}]
NAMESPACE: Final = f"replicas-{secrets.token_hex(3)}"
WORK: Final = f"""\
for _ in watch.Watch().stream(k8s.CoreV1Api().list_namespaced_config_map, {NAMESPACE!r}, timeout_seconds=3):
    pass
{{number}}
"""
CLIENTS: Final = extent.count(100, 30)


@pytest.fixture(scope="module")
def cluster(run_folder: Path, run_process: int) -> logged.Logged:
    """An API server with an audit log, on which each caller may make ConfigMaps."""
    found = logged.attach(run_folder, run_process)
    api = official_client.connect(found.plane.kubeconfig)
    core: Any = client.CoreV1Api(api)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "seen"}})
    rbac.create_namespaced_role(NAMESPACE, {"metadata": {"name": "caller"}, "rules": RULES})
    subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in TOKENS]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
    binding = {"metadata": {"name": "caller"}, "subjects": subjects, "roleRef": role}
    rbac.create_namespaced_role_binding(NAMESPACE, binding)
    return found


@pytest.fixture(scope="module")
def three(
    cluster: logged.Logged, postgresql: postgres.Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[replicas.Replicas]:
    folder = tmp_path_factory.mktemp("replicas")
    tokens = folder / "tokens.csv"
    tokens.write_text("".join(f"{token},{name},uid-{name}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    settings = f'acts_as = "impersonate"\n[impersonation]\ngroups = ["team"]\n[auth]\ntokens_file = "{tokens}"\n'
    settings += f'[replicas]\nstore = "{postgresql.database()}"\n[sandbox]\nmax_scripts = 60\n'
    kubeconfig = cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    with replicas.Replicas(folder, kubeconfig, settings, "requests_per_minute = 100000\n") as served:
        yield served


def test_a_rolling_restart_costs_no_client_an_answer(three: replicas.Replicas) -> None:
    """Each replica is told to end (SIGTERM) while clients of every kind wait for scripts on it; clients with sessions begin
    new ones."""
    with crowd.Crowd(three.port, list(TOKENS.values()), WORK, CLIENTS) as clients:
        for replica in extent.some(three.each, 1):
            replica.end()
            replica.start()
            replica.wait()
    assert not clients.failures
    assert clients.restarts and clients.answers > CLIENTS
    assert [line for replica in three.each for line in replica.complaints] == []
