"""What tests run that is no part of this repository: built or fetched once per machine, and never while a test's time
runs.

`build_all` goes beside the tests that need none of it; `wait_for` holds a test until its own are there.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

from kubescript_safety.controlplane import build, live, server
from scripts.release import mcpb, tools
from tests.kit import (
    browser,
    cluster_api,
    containers,
    debian,
    gosdk,
    haproxy,
    helm,
    kubeconform,
    kubectl,
    metrics_adapter,
    npm,
    prometheus,
    unchanged,
)
from tests.kit.controlplane import cluster
from tests.kit.engines import alertmanager, loki, prom_label_proxy, prometheus3
from tests.kit.keycloak import prepared
from tests.kit.openstack import build as openstack

__all__ = ["CLUSTERS", "are_ready", "build_all", "have_taken_time", "wait_for"]

Make = Callable[[], object]
_TAKEN_S: Final[list[float]] = []
_LONG_S: Final = 10.0
"""What is there already is found sooner."""

_SERVER: Final[tuple[Make, ...]] = (build.programs, kubectl.program)
_PODMAN: Final = functools.partial(debian.unpacked, "podman", *containers.PACKAGES)
_PROMETHEUS: Final[tuple[Make, ...]] = (prometheus.unpacked, prometheus3.program)
_NEEDED: Final[dict[str, tuple[Make, ...]]] = {
    "alertmanager": (alertmanager.program,),
    "control_plane": _SERVER,
    "dist": (
        functools.partial(tools.program, "cosign"),
        helm.program,
        functools.partial(npm.modules, mcpb.TOOL),
    ),
    "kubeconfig": _SERVER,
    "own_plane": _SERVER,
    "plane": _SERVER,
    "prometheus3": _PROMETHEUS,
    "scratch": _SERVER,
    "run_folder": _SERVER,
    "written": _SERVER,
    "kubectl_program": (kubectl.program,),
    "helm_program": (helm.program,),
    "custom_resources": (helm.program, kubeconform.program, kubeconform.definitions),
    "live_cluster": (*_SERVER, live.build_programs),
    "live_programs": (*_SERVER, live.build_programs),
    "identity_provider": (prepared.prepare,),
    "loki": (loki.program,),
    "openstack": (openstack.template,),
    "test_approval_page_in_a_browser": (browser.programs,),
    "test_conformance": (npm.modules,),
    "test_custom_metrics": (*_SERVER, metrics_adapter.program),
    "test_approval_page_attacks": (browser.programs,),
    "test_connections": (loki.program, haproxy.unpacked),
    "test_captured_sources": (*_PROMETHEUS, alertmanager.program, loki.program),
    "test_fleet_sources": (cluster_api.definition,),
    "test_image": (_PODMAN,),
    "test_kernel_outside": (_PODMAN,),
    "test_kubectl_plugin": (kubectl.program, functools.partial(tools.program, "krew")),
    "test_manifests": (functools.partial(debian.unpacked, "ruby", "ruby"),),
    "test_mcp_clients": (npm.modules, gosdk.program),
    "test_plans_are_refused": (browser.programs,),
    "test_plans_end_to_end": (browser.programs,),
    "test_prometheus": (prometheus.unpacked,),
    "test_proxy": (npm.modules,),
    "test_publish": (functools.partial(tools.program, "crane"), helm.program),
    "test_tenancy": (prom_label_proxy.program,),
    "test_workflows": (functools.partial(tools.program, "actionlint"),),
    "test_released_image": (_PODMAN,),
    "test_replicas": (haproxy.unpacked,),
    "test_report": (browser.programs,),
}
"""Fixture or file of tests ▶ what makes its programs, first what others wait for."""
CLUSTERS: Final = frozenset(name for name, makes in _NEEDED.items() if build.programs in makes)
"""Fixtures that start an API server: what asks for one of them, however indirectly, is marked `cluster`."""


def build_all(items: Iterable[pytest.Item]) -> None:
    """Makes what these tests need, one after the other. What stops a build is told by the tests that need it."""
    for make in dict.fromkeys(make for item in items for make in needed(item)):
        _make(make)


def wait_for(item: pytest.Item) -> None:
    """Returns when the programs of a test are there."""
    for make in needed(item):
        _make(make)


def are_ready(item: pytest.Item) -> bool:
    """Whether a test can begin without a build of the API server, which takes longest."""
    return _is_built() or build.programs not in needed(item)


def needed(item: pytest.Item) -> list[Make]:
    """What makes the programs of a test."""
    names = [*getattr(item, "fixturenames", ()), item.path.stem]
    made = [make for name in names for make in _NEEDED.get(name, ())]
    if not _is_built() and _imports_server(item.path):
        made += _SERVER
    return [make for make in made if make is not build.programs or not cluster.elsewhere()]


@functools.cache
def _is_built() -> bool:
    return (build.cache() / "controlplane" / build.key()).exists()


@functools.cache
def _imports_server(module: Path) -> bool:
    """Whether tests of a module may start an API server under another name, or ask for a fixture while they run. Finding
    out takes seconds for all modules, so only a machine asks on which the server is still to be built."""
    return Path(server.__file__) in unchanged.closure(module)


def have_taken_time() -> bool:
    """Whether this process has made programs, or waited for another one that did: what tests cost says nothing then."""
    return bool(_TAKEN_S) and max(_TAKEN_S) > _LONG_S


@functools.cache
def _make(make: Make) -> None:
    began = time.monotonic()
    with contextlib.suppress(Exception):
        make()
    _TAKEN_S.append(time.monotonic() - began)
