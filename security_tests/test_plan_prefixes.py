"""Plans whose later steps hide what the earlier ones do, on a real API server. Each beginning of a plan really happens,
and stays where a later step fails, which the author of a plan can arrange.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.kit import app_objects, planned
from tests.kit.controlplane import shared
from tests.kit.controlplane.writer import Object, Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"prefixes-{secrets.token_hex(3)}"
ROLLING: Final = {"strategy": {"type": "RollingUpdate"}}
RECREATE: Final = {"strategy": {"type": "Recreate", "rollingUpdate": None}}
ON_DELETE: Final = {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}
WORKLOADS: Final[tuple[tuple[str, str, Object], ...]] = (
    ("Deployment", "rolling", {}),
    ("Deployment", "once", {"strategy": {"type": "Recreate"}}),
    ("StatefulSet", "set", {}),
    ("DaemonSet", "agent", {}),
)


@pytest.fixture(scope="module")
def writer(run_folder: Path, run_process: int) -> Writer:
    made = Writer(shared.attach("scratch", run_folder, run_process).kubeconfig)
    made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for kind, name, spec in WORKLOADS:
        made.create(app_objects.workload(NAMESPACE, kind, name, **spec))
    for app in ("agent", "web"):
        made.create(app_objects.service(NAMESPACE, app, app))
        for number in range(2):
            made.create(app_objects.pod(NAMESPACE, f"{app}-{number}", app))
    return made


@pytest.fixture(scope="module")
def plans(
    writer: Writer, run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[planned.Plans]:
    assert writer
    plane = shared.attach("scratch", run_folder, run_process)
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as made:
        yield made


def image(name: str) -> str:
    """A script that gives a workload another image."""
    own = name.partition("/")[2]
    return f"k8s.set_image({name!r}, namespace=NAMESPACE, {own}='web:2')\n"


def patch(api: str, kind: str, name: str, spec: Object) -> str:
    """A script that patches the spec of an object."""
    return f"k8s.{api}().patch_namespaced_{kind}({name!r}, NAMESPACE, {{'spec': {spec!r}}})\n1\n"


def create(api: str, made: Object) -> str:
    """A script that creates an object."""
    kind = made["kind"].lower()
    return f"k8s.{api}().create_namespaced_{kind}(NAMESPACE, {made!r})\n1\n"


HIDING: Final = {
    "Recreate until the last step": (
        image("deployments/once"), patch("appsV1", "deployment", "once", ROLLING),
        "stops all 3 pods before new ones start (Recreate)",
        "the rollout of an earlier change: replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
    ),
    "Recreate in the last step": (
        image("deployments/rolling"), patch("appsV1", "deployment", "rolling", RECREATE),
        "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
        "the rollout of an earlier change: stops all 3 pods before new ones start (Recreate)",
    ),
    "paused by the last step": (
        image("deployments/rolling"), patch("appsV1", "deployment", "rolling", {"paused": True}),
        "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
        "the rollout of an earlier change: no pod is replaced while it is paused",
    ),
    "OnDelete by the last step": (
        image("statefulsets/set"), patch("appsV1", "stateful_set", "set", ON_DELETE),
        "replaces 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
        "the rollout of an earlier change: no pod is replaced until it is deleted (OnDelete)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "last", "told", "then"), HIDING.values(), ids=HIDING)
def test_a_step_is_told_as_it_is_sent(first: str, last: str, told: str, then: str, plans: planned.Plans) -> None:
    """Not as it would be after a later step, which may fail; the later one says what it does to the rollout."""
    begun, ended = plans.steps(first + last)
    assert begun.effects == (told,)
    assert ended.effects == (then,)


def test_pods_that_a_daemon_set_leaves_are_told(plans: planned.Plans) -> None:
    """A node selector stops pods at once, whatever the strategy is; how many is unknown."""
    elsewhere = {"template": {"spec": {"nodeSelector": {"none": "x"}}}}
    (step,) = plans.steps(patch("appsV1", "daemon_set", "agent", elsewhere))
    assert step.effects[0] == "stops the pods on nodes that the new template does not fit, all at once"


def test_what_is_made_paused_starts_nothing(plans: planned.Plans) -> None:
    """A paused Deployment makes no pods."""
    made = app_objects.workload(NAMESPACE, "Deployment", "new", paused=True)
    (step,) = plans.steps(create("appsV1", made))
    assert step.effects == ("starts no pods while it is paused",)
