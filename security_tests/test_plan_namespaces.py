"""Plans that create a namespace and fill it, on a real API server: what they would do where they may not, and a namespace
that is not the plan's own by the time it is filled."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from tests.kit import planned
from tests.kit.controlplane import official_client, shared

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

PREFIX: Final = f"filled-{secrets.token_hex(3)}"
POLICY: Final = {"approvals": [{"namespaces": [f"{PREFIX}-two"], "count": 2}]}


@dataclass(frozen=True)
class Place:
    """Plans, the cluster, and what a server needs for others."""

    plans: planned.Plans
    core: Any
    kubeconfig: Path
    folder: Path


def fills(name: str, *names: str, labels: str = "own") -> str:
    """A script that creates the namespace of this name, and ConfigMaps in it."""
    metadata = {"name": f"{PREFIX}-{name}", "labels": {"made-by": labels}}
    create = f"core.create_namespaced_config_map('{PREFIX}-{name}', {{'metadata': {{'name': each}}}})"
    return f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {metadata!r}}})\nfor each in {names!r}:\n    {create}\n1"


@pytest.fixture(scope="module")
def place(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    kubeconfig = shared.attach("scratch", run_folder, run_process).kubeconfig
    folder = tmp_path_factory.mktemp("namespaces")
    with planned.opened(kubeconfig, folder, PREFIX, write_policy=POLICY) as plans:
        yield Place(plans, client.CoreV1Api(official_client.connect(kubeconfig)), kubeconfig, folder)


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)


def list_maps(place: Place, name: str) -> set[str]:
    """The ConfigMaps in the namespace of this name."""
    found = place.core.list_namespaced_config_map(f"{PREFIX}-{name}").items
    return {each.metadata.name for each in found}


def make(place: Place, name: str) -> str:
    """Makes a namespace as another client; returns its uid."""
    made = place.core.create_namespace({"metadata": {"name": f"{PREFIX}-{name}", "labels": {"made-by": "own"}}})
    uid: str = made.metadata.uid
    return uid


def test_nothing_is_tried_in_default_where_nothing_may_be_changed(place: Place) -> None:
    """A script plans a namespace only to have the API server try its writes in `default`; and it may create none that is
    beyond what may be changed, although the path of its creation names none."""
    scope = {"namespaces": [f"{PREFIX}-*"]}
    with planned.opened(place.kubeconfig, place.folder, PREFIX, write_policy=scope) as plans:
        answer = plans.answer(fills("probe", "kube-root-ca.crt"))
        assert answer.is_error and "writes.scope" in answer.text, answer.text
        assert "in namespace default, where it would be tried" in answer.text, answer.text
        foreign = fills("probe").replace(PREFIX, "foreign")
        answer = plans.answer(foreign)
        assert answer.is_error and "writes.scope" in answer.text, answer.text
        assert len(plans.steps(fills("probe"))) == 1
    scope = {"namespaces": [f"{PREFIX}-*", "default"]}
    with planned.opened(place.kubeconfig, place.folder, PREFIX, write_policy=scope) as plans:
        assert len(plans.steps(fills("probe", "kube-root-ca.crt"))) == 2


def test_a_namespace_that_two_people_must_approve_is_not_created_by_one(place: Place) -> None:
    """Its name is only in the body."""
    assert place.plans.of(fills("two")).approvals == 2
    assert place.plans.of(fills("one")).approvals == 1


def test_an_object_of_default_is_neither_told_nor_touched(place: Place) -> None:
    """Each cluster has a Service `kubernetes` there; its address is not in the plan, and it stays as it is."""
    before = place.core.read_namespaced_service("kubernetes", "default")
    service = {"metadata": {"name": "kubernetes"}, "spec": {"ports": [{"port": 80}]}}
    script = fills("named")[:-1] + f"core.create_namespaced_service('{PREFIX}-named', {service!r})\n1"
    shown = place.plans.of(script)
    assert shown.steps[1].precondition is None
    assert before.spec.cluster_ip not in {row.new.strip('"') for row in shown.steps[1].rows if row.new}
    assert place.plans.apply(shown).state == "applied"
    assert place.core.read_namespaced_service("kubernetes", "default").to_dict() == before.to_dict()
    assert place.core.read_namespaced_service("kubernetes", f"{PREFIX}-named").spec.ports[0].port == 80


def test_a_namespace_that_another_client_has_made_is_not_filled(place: Place) -> None:
    """It has other labels, which decide what pods in it may do; so has that of another plan, which comes first."""
    shown = place.plans.of(fills("taken", "a"))
    other = place.plans.of(fills("taken", "b", labels="other"))
    assert place.plans.apply(other).state == "applied"
    ended = place.plans.apply(shown)
    assert ended.state == "stopped" and "0 of 2 changes were made" in ended.text, ended.text
    assert list_maps(place, "taken") == {"b"}
    assert place.plans.apply(place.plans.of(fills("free", "a"))).state == "applied"


def test_a_namespace_that_is_made_anew_in_between_is_not_filled(place: Place) -> None:
    """Another client deletes the plan's own, and makes one of that name."""
    shown = place.plans.of(fills("anew", "a", "b"))
    name = f"{PREFIX}-anew"

    def remake(done: int) -> None:
        if done == 2:
            place.core.delete_namespace(name)
            finalized = {"metadata": {"name": name}, "spec": {"finalizers": []}}
            place.core.replace_namespace_finalize(name, finalized)
            place.core.create_namespace({"metadata": {"name": name}})

    ended = place.plans.apply(shown, remake)
    assert ended.state == "stopped" and "is not, or not certainly, the one that the plan has made" in ended.text
    assert "2 of 3 changes were made" in ended.text and "b" not in list_maps(place, "anew")


def test_a_server_that_takes_over_fills_only_the_namespace_that_the_plan_has_made(place: Place) -> None:
    """The first server died when it had made the namespace."""
    shown = place.plans.of(fills("left", "a"))
    make(place, "left")
    ended = place.plans.take_over(shown, "another")
    assert ended.state == "stopped" and not list_maps(place, "left"), ended.text
    shown = place.plans.of(fills("right", "a"))
    assert place.plans.take_over(shown, make(place, "right")).state == "applied"
    assert list_maps(place, "right") == {"a"}


def test_nothing_goes_into_a_namespace_that_the_plan_deletes(place: Place) -> None:
    """The API server would try it, since the namespace is still there; and the plan would stop in the middle."""
    make(place, "doomed")
    into = f"core.create_namespaced_config_map('{PREFIX}-doomed', {{'metadata': {{'name': 'a'}}}})"
    script = f"core = k8s.coreV1()\ncore.delete_namespace('{PREFIX}-doomed')\n{into}\n1"
    answer = place.plans.answer(script)
    assert answer.is_error and "already deletes the namespace" in answer.text, answer.text
    assert len(place.plans.steps(f"core = k8s.coreV1()\n{into}\n1")) == 1
