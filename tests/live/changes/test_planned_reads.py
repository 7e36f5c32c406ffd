"""In plan mode, what a script reads after a write is what the plan would leave: on a real API server, which has none of
it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit import plan_mode, tools
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

CORE = "core, apps = k8s.coreV1(), k8s.appsV1()\n"
DESCRIBED = """
def names(found):
    return [x.metadata.name for x in found]
def made(name, **labels):
    return {"metadata": {"name": name, "labels": labels}, "data": {"a": "1"}}
def status(call, *args, **options):
    try:
        call(*args, **options)
        return 200
    except ApiException as error:
        return error.status
"""


def config_map(name: str, **labels: str) -> Object:
    """A ConfigMap with these labels."""
    metadata = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def deployment(name: str) -> Object:
    """A Deployment with two containers."""
    containers = [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template},
    }  # fmt: skip


def pod(name: str) -> Object:
    """A pod without a node."""
    spec = {"containers": [{"name": "web", "image": "web:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


@pytest.fixture(scope="module")
def plan(scratch: ControlPlane, namespace: str) -> Iterator[plan_mode.Planner]:
    """For a namespace of four ConfigMaps, two Deployments, two pods."""
    writer = Writer(scratch.kubeconfig)
    tiers = {"b": "front", "d": "back", "f": "front", "h": "back"}
    maps = [config_map(name, tier=tier) for name, tier in tiers.items()]
    for each in (*maps, deployment("web"), deployment("api"), pod("one"), pod("two")):
        writer.create(plan_mode.placed(each, namespace))
    with plan_mode.planner(scratch.kubeconfig, "test", "other", namespace=namespace) as made:
        yield made


def value(plan: plan_mode.Planner, script: str) -> Any:
    """What a script returns."""
    return plan.value(CORE + DESCRIBED + script)


LISTS = {
    "created, at its place": (
        "core.create_namespaced_config_map('shop', made('c', tier='front'))",
        "names(core.list_namespaced_config_map('shop'))",
        ["b", "c", "d", "f", "h"],
    ),
    "created, in all namespaces": (
        "core.create_namespaced_config_map('shop', made('zz'))",
        "[x for x in names(core.list_config_map_for_all_namespaces()) if x == 'zz']",
        ["zz"],
    ),
    "created, counted": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "len(core.list_namespaced_config_map('shop'))",
        5,
    ),
    "created, by label": (
        "core.create_namespaced_config_map('shop', made('c', tier='front'))",
        "names(core.list_namespaced_config_map('shop', label_selector='tier=front'))",
        ["b", "c", "f"],
    ),
    "created, by a set": (
        "core.create_namespaced_config_map('shop', made('c', tier='middle'))",
        "names(core.list_namespaced_config_map('shop', label_selector='tier in (middle, back), !x'))",
        ["c", "d", "h"],
    ),
    "created, by name": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "names(core.list_config_map_for_all_namespaces(field_selector='metadata.name=c,metadata.namespace=shop'))",
        ["c"],
    ),
    "created pod, by a field": (
        "core.create_namespaced_pod('shop', {'metadata': {'name': 'x'}, 'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'i'}]}})",
        "names(core.list_namespaced_pod('shop', field_selector='spec.restartPolicy=Never'))",
        ["x"],
    ),
    "changed, in its place": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})",
        "[(x.metadata.name, x.data['a']) for x in core.list_namespaced_config_map('shop', label_selector='tier')]",
        [["b", "1"], ["d", "2"], ["f", "1"], ["h", "1"]],
    ),
    "changed, so that a selector no longer finds it": (
        "core.patch_namespaced_config_map('d', 'shop', {'metadata': {'labels': {'tier': None}}})",
        "names(core.list_namespaced_config_map('shop', label_selector='tier'))",
        ["b", "f", "h"],
    ),
    "changed, so that a selector finds it": (
        "core.patch_namespaced_config_map('d', 'shop', {'metadata': {'labels': {'tier': 'front'}}})",
        "names(core.list_namespaced_config_map('shop', label_selector={'tier': 'front'}))",
        ["b", "d", "f"],
    ),
    "replaced": (
        "m = core.read_namespaced_config_map('d', 'shop')\nm.data['a'] = '3'\ncore.replace_namespaced_config_map('d', 'shop', m)",
        "[x.data['a'] for x in core.list_namespaced_config_map('shop', field_selector='metadata.name=d')]",
        ["3"],
    ),
    "deleted and made anew": (
        "core.delete_namespaced_config_map('d', 'shop')\ncore.create_namespaced_config_map('shop', made('d', tier='middle'))",
        "[core.read_namespaced_config_map('d', 'shop').metadata.labels.to_dict(), names(core.list_namespaced_config_map('shop', label_selector='tier=middle'))]",
        [{"tier": "middle"}, ["d"]],
    ),
    "deleted": (
        "core.delete_namespaced_config_map('d', 'shop')",
        "names(core.list_namespaced_config_map('shop', label_selector='tier'))",
        ["b", "f", "h"],
    ),
    "evicted": (
        "core.create_namespaced_pod_eviction('one', 'shop', {'metadata': {'name': 'one', 'namespace': 'shop'}})",
        "names(core.list_namespaced_pod('shop'))",
        ["two"],
    ),
    "scaled": (
        "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 7}})",
        "{x.metadata.name: x.spec.replicas for x in apps.list_namespaced_deployment('shop')}",
        {"api": 2, "web": 7},
    ),
    "by the dynamic client": (
        "k8s.dynamic().resource('configmaps').create(made('c'), 'shop')",
        "names(k8s.get('configmaps', namespace='shop', label_selector='!tier'))",
        ["c"],
    ),
    "applied": (
        "k8s.dynamic().resource('configmaps').patch(made('c') | {'kind': 'ConfigMap', 'apiVersion': 'v1'}, namespace='shop', content_type='application/apply-patch+yaml', field_manager='x')",
        "names(core.list_namespaced_config_map('shop'))",
        ["b", "c", "d", "f", "h"],
    ),
    "metadata alone": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "found = k8s.dynamic().resource('configmaps').get(namespace='shop', header_params={'Accept': 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'})\n[(x.metadata.name, x.kind, 'data' in x) for x in found][1]",
        ["c", "PartialObjectMetadata", False],
    ),
    "several writes": (
        "core.create_namespaced_config_map('shop', made('a'))\ncore.create_namespaced_config_map('shop', made('z'))\ncore.delete_namespaced_config_map('b', 'shop')",
        "names(core.list_namespaced_config_map('shop'))",
        ["a", "d", "f", "h", "z"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "read", "expected"), LISTS.values(), ids=LISTS)
def test_a_list_is_as_the_plan_would_leave_it(write: str, read: str, expected: Any, plan: plan_mode.Planner) -> None:
    """The same read without the write gives something else."""
    assert value(plan, f"{write}\n{read}") == expected
    assert value(plan, read) != expected


OBJECTS = {
    "created": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "core.read_namespaced_config_map('c', 'shop').data['a']",
        "1",
    ),
    "created, by k8s.get": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "[k8s.get('cm', 'c', 'shop').data.a, k8s.get('cm/c', namespace='shop').kind]",
        ["1", "ConfigMap"],
    ),
    "changed": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})",
        "core.read_namespaced_config_map('d', 'shop').data",
        {"a": "2"},
    ),
    "its status": (
        "apps.patch_namespaced_deployment_status('web', 'shop', {'status': {'replicas': 5}})",
        "[apps.read_namespaced_deployment('web', 'shop').status.replicas, apps.read_namespaced_deployment_status('web', 'shop').status.replicas]",
        [5, 5],
    ),
    "scaled": (
        "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 7}})",
        "[apps.read_namespaced_deployment('web', 'shop').spec.replicas, apps.read_namespaced_deployment_scale('web', 'shop').spec.replicas]",
        [7, 7],
    ),
    "scaled to nothing": (
        "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 0}})",
        "[apps.read_namespaced_deployment('web', 'shop').spec.replicas, apps.read_namespaced_deployment_scale('web', 'shop').spec.replicas]",
        [0, 0],
    ),
    "scaled by its spec": (
        "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'replicas': 7}})",
        "apps.read_namespaced_deployment_scale('web', 'shop').spec.replicas",
        7,
    ),
    "deleted": (
        "core.delete_namespaced_config_map('d', 'shop')",
        "[status(core.read_namespaced_config_map, 'd', 'shop'), status(core.read_namespaced_config_map, 'f', 'shop')]",
        [404, 200],
    ),
    "evicted": (
        "core.create_namespaced_pod_eviction('one', 'shop', {'metadata': {'name': 'one', 'namespace': 'shop'}})",
        "[status(core.read_namespaced_pod, 'one', 'shop'), status(core.read_namespaced_pod, 'two', 'shop')]",
        [404, 200],
    ),
    "a namespace": (
        "core.create_namespace({'metadata': {'name': 'new'}})",
        "[core.read_namespace('new').metadata.name, 'new' in names(core.list_namespace())]",
        ["new", True],
    ),
    "read at the same time": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})",
        "[x.data['a'] for x in k8s.parallel([lambda n=n: core.read_namespaced_config_map(n, 'shop') for n in ('b', 'd')])]",
        ["1", "2"],
    ),
    "written at the same time": (
        "k8s.parallel([lambda n=n: core.patch_namespaced_config_map(n, 'shop', {'data': {'a': n}}) for n in ('b', 'd')])",
        "[core.read_namespaced_config_map(n, 'shop').data['a'] for n in ('b', 'd', 'f')]",
        ["b", "d", "1"],
    ),
    "written in the future": (
        "t = core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}}, async_req=True)\nt.get()",
        "core.read_namespaced_config_map('d', 'shop').data['a']",
        "2",
    ),
    "not in another namespace": (
        "core.create_namespaced_config_map('shop', made('c'))",
        "'c' in names(core.list_namespaced_config_map('default'))",
        False,
    ),
    "created, not by another label": (
        "core.create_namespaced_config_map('shop', made('c', tier='front'))",
        "names(core.list_namespaced_config_map('shop', label_selector='tier notin (front)'))",
        ["d", "h"],
    ),
    "not in another cluster": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})",
        "[k8s.context(c).coreV1().read_namespaced_config_map('d', 'shop').data['a'] for c in k8s.contexts()]",
        ["2", "1"],
    ),
    "not after a dry run": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}}, dry_run='All')\ncore.delete_namespaced_config_map('f', 'shop')",
        "core.read_namespaced_config_map('d', 'shop').data['a']",
        "1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "read", "expected"), OBJECTS.values(), ids=OBJECTS)
def test_an_object_is_as_the_plan_would_leave_it(write: str, read: str, expected: Any, plan: plan_mode.Planner) -> None:
    """By every way that reads one."""
    assert value(plan, f"{write}\n{read}") == expected


def test_the_cluster_has_none_of_it(scratch: ControlPlane, namespace: str, plan: plan_mode.Planner) -> None:
    """A planned write is one call of the script's, and it changes nothing."""

    def stored() -> str:
        return tools.typed_by_kubectl(scratch.kubeconfig, "get", "-n", namespace, "cm/d", "pod/one", "-o", "json")

    before = stored()
    value(
        plan,
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})\ncore.delete_namespaced_pod('one', 'shop')\n1",
    )
    assert stored() == before
    assert [call.method for call in plan.calls] == ["PATCH", "DELETE"]


COMBINED = {
    "two patches": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'b': '2'}})",
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'c': '3'}})",
        "core.read_namespaced_config_map('d', 'shop').data",
        {"a": "1", "b": "2", "c": "3"},
    ),
    "one that adds and one that removes": (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'b': '2'}})",
        "core.patch_namespaced_config_map('d', 'shop', {'metadata': {'labels': {'tier': None}}})",
        "m = core.read_namespaced_config_map('d', 'shop')\n[m.data, m.metadata.labels]",
        [{"a": "1", "b": "2"}, {}],
    ),
    "annotations of both": (
        "core.patch_namespaced_config_map('d', 'shop', {'metadata': {'annotations': {'x': '1'}}})",
        "core.patch_namespaced_config_map('d', 'shop', {'metadata': {'annotations': {'y': '2'}}})",
        "core.read_namespaced_config_map('d', 'shop').metadata.annotations",
        {"x": "1", "y": "2"},
    ),
    "two containers": (
        "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'template': {'spec': {'containers': [{'name': 'web', 'image': 'web:2'}]}}}})",
        "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'template': {'spec': {'containers': [{'name': 'log', 'image': 'log:2'}]}}}})",
        "[c.image for c in apps.read_namespaced_deployment('web', 'shop').spec.template.spec.containers]",
        ["web:2", "log:2"],
    ),
    "a container more, and one changed": (
        "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'template': {'spec': {'containers': [{'name': 'new', 'image': 'new:1'}]}}}})",
        "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'template': {'spec': {'containers': [{'name': 'log', 'image': 'log:2'}]}}}})",
        "sorted(c.image for c in apps.read_namespaced_deployment('web', 'shop').spec.template.spec.containers)",
        ["log:2", "new:1", "web:1"],
    ),
    "a scale and a patch": (
        "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 7}})",
        "apps.patch_namespaced_deployment('web', 'shop', {'metadata': {'labels': {'x': 'y'}}})",
        "d = apps.read_namespaced_deployment('web', 'shop')\n[d.spec.replicas, d.metadata.labels['x']]",
        [7, "y"],
    ),
    "a patch and a scale": (
        "apps.patch_namespaced_deployment('web', 'shop', {'metadata': {'labels': {'x': 'y'}}})",
        "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 7}})",
        "d = k8s.get('deployments', 'web', 'shop')\n[d.spec.replicas, d.metadata.labels['x']]",
        [7, "y"],
    ),
    "a patch and a status": (
        "apps.patch_namespaced_deployment('web', 'shop', {'metadata': {'labels': {'x': 'y'}}})",
        "apps.patch_namespaced_deployment_status('web', 'shop', {'status': {'replicas': 5}})",
        "d = apps.read_namespaced_deployment('web', 'shop')\n[d.status.replicas, d.metadata.labels['x']]",
        [5, "y"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "read", "expected"), COMBINED.values(), ids=COMBINED)
def test_two_writes_to_one_object_are_seen_together(
    first: str, second: str, read: str, expected: Any, plan: plan_mode.Planner
) -> None:
    """Although the dry run of the second begins with what the cluster has."""
    assert value(plan, f"{first}\n{second}\n{read}") == expected


def test_the_answer_to_the_second_write_has_both(plan: plan_mode.Planner) -> None:
    """And the cluster is asked once more for the object, however many writes follow."""
    patch = "core.patch_namespaced_config_map('d', 'shop', {'data': {%s}})"
    script = "\n".join(patch % f"'{name}': '1'" for name in "bcd")
    assert value(plan, f"{script}.data.keys()") == ["a", "b", "c", "d"]
    assert [call.method for call in plan.calls] == ["PATCH", "PATCH", "GET", "PATCH"]


PAGES = """
pages, token = [], None
while True:
    page = core.list_namespaced_config_map('shop', limit=2, _continue=token)
    pages.append([x.metadata.name + x.data.get('a', '') for x in page])
    token = page.metadata._continue
    if not token:
        break
pages
"""


def test_pages_show_each_planned_object_once(plan: plan_mode.Planner) -> None:
    """All of them on the first page, which may be longer then; the others without them."""
    write = (
        "core.create_namespaced_config_map('shop', made('g'))\ncore.delete_namespaced_config_map('b', 'shop')\n"
        "core.patch_namespaced_config_map('f', 'shop', {'data': {'a': '2'}})\n"
    )
    assert value(plan, write + PAGES) == [["d1", "f2", "g1"], ["h1"]]


def test_what_is_planned_between_two_pages_is_in_the_second(plan: plan_mode.Planner) -> None:
    """It has not been on the first."""
    script = (
        "first = core.list_namespaced_config_map('shop', limit=2)\n"
        "core.patch_namespaced_config_map('f', 'shop', {'data': {'a': '2'}})\n"
        "core.patch_namespaced_config_map('b', 'shop', {'data': {'a': '2'}})\n"
        "second = core.list_namespaced_config_map('shop', limit=2, _continue=first.metadata._continue)\n"
        "[[x.metadata.name + x.data['a'] for x in page] for page in (first, second)]"
    )
    assert value(plan, script) == [["b1", "d1"], ["f2", "h1"]]


DELETE = "k8s.coreV1().delete_namespaced_config_map('d', 'shop')"
CHANGE = "k8s.coreV1().patch_namespaced_config_map('d', 'shop', {'data': {'a': '7'}})"


def test_a_deleted_object_is_missed_in_the_words_of_the_api_server(plan: plan_mode.Planner) -> None:
    """Exception, status, body and text are those of an object that was never there."""
    read = """
def told(name):
    try:
        apps.read_namespaced_deployment(name, 'shop')
    except ApiException as error:
        body = json.loads(error.body)
        return [type(error).__name__, error.status, error.reason, body, str(error).partition(';')[0]]
"""
    planned, real = value(plan, f"{read}apps.delete_namespaced_deployment('web', 'shop')\n[told('web'), told('wab')]")
    assert json.dumps(planned) == json.dumps(real).replace("wab", "web")


def test_what_a_script_does_to_an_object_it_has_read_stays_its_own(plan: plan_mode.Planner) -> None:
    """Each read gives another copy."""
    script = (
        "core.patch_namespaced_config_map('d', 'shop', {'data': {'a': '2'}})\n"
        "core.read_namespaced_config_map('d', 'shop').data['a'] = 'x'\n"
        "list(core.list_namespaced_config_map('shop'))[1].data['a'] = 'x'\n"
        "core.read_namespaced_config_map('d', 'shop').data['a']"
    )
    assert value(plan, script) == "2"


def test_a_write_to_an_object_that_is_only_planned_says_why_it_is_not_found(plan: plan_mode.Planner) -> None:
    """The API server has not seen it."""
    script = f"{CORE}{DESCRIBED}core.create_namespaced_config_map('shop', made('c'))\ncore.patch_namespaced_config_map('c', 'shop', {{}})"
    told = plan.error(script)
    assert "so far only the plan has this object: put the change into the object that it creates" in told
    script = f"{CORE}{DESCRIBED}core.create_namespaced_config_map('shop', made('c'))\ncore.delete_namespaced_config_map('c', 'shop')"
    assert "so far only the plan has this object: leave the creation out" in plan.error(script)


REPEATED = {
    "delete, then change": (DELETE, CHANGE, "already changes configmaps shop/d; create it anew with these values"),
    "delete twice": (DELETE, DELETE, "already changes configmaps shop/d; it is deleted already"),
    "change, then delete": (CHANGE, DELETE, "already changes configmaps shop/d; leave that out, since it is deleted"),
    "change twice": (CHANGE, CHANGE, "already changes configmaps shop/d (data.a); put both changes into one request"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPEATED)
def test_of_two_writes_to_one_object_it_is_said_how_both_can_be_made(case: str, plan: plan_mode.Planner) -> None:
    """Neither dry run shows what both do together."""
    first, second, words = REPEATED[case]
    assert words in plan.error(f"{first}\n{second}")


def test_watches_and_tables_are_the_clusters(plan: plan_mode.Planner) -> None:
    """sdk_docs/writes.md says so."""
    script = (
        "core.delete_namespaced_config_map('d', 'shop')\n"
        "w = watch.Watch().stream(core.list_namespaced_config_map, 'shop', timeout_seconds=1)\n"
        "table = k8s.tools.kubectl_get('configmaps', namespace='shop', output='table')\n"
        "['d' in [e['object'].metadata.name for e in w], [x.split()[0] for x in table.splitlines()]]"
    )
    assert value(plan, script) == [True, ["NAME", "b", "d", "f", "h"]]


def test_a_list_of_another_kind_is_not_held_up(plan: plan_mode.Planner) -> None:
    """It is read while the script loops over it, as ever."""
    script = (
        "core.delete_namespaced_config_map('d', 'shop')\nnext(iter(core.list_namespaced_pod('shop'))).metadata.name"
    )
    assert value(plan, script) == "one"
