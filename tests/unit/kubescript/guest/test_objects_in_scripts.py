"""Objects in a script's hands: whatever Python does with dicts, lists and attributes works on them, or says why not."""

from __future__ import annotations

from typing import Any

import pytest

from kubescript_sandbox.library import stdlib
from tests.kit import cases
from tests.kit.first_reader import failure, result


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


PYTHON: dict[str, Any] = {
    # equality
    'pod == core.read_namespaced_pod("web", "shop"), pod != core.read_namespaced_pod("web", "shop")': [True, False],
    'pod.metadata.labels == {"app": "web"}, {"app": "web"} == pod.metadata.labels': [True, True],
    "pod.metadata.labels != {'app': 'web'}, pod.metadata.labels != {'app': 'x'}, pod.spec.containers != pod.spec.containers": [False, True, False],
    "pod.spec.containers != [], pod.spec.tolerations != [], pod != None, pod == None, pod.spec.containers == None": [True, False, True, False, False],
    "core.list_namespaced_pod('shop') != core.list_namespaced_pod('shop'), core.list_namespaced_pod('shop') == []": [False, False],
    "pod.spec.containers == list(pod.spec.containers), pod.spec.tolerations == [], pod.spec.node_selector == {}": [True] * 3,
    "import copy\ncopy.deepcopy(pod) == pod": True,
    # membership, length, truth
    '"app" in pod.metadata.labels, "x" in pod.metadata.labels, "x" in pod.spec.node_selector': [True, False, False],
    '"phase" in pod.status, "podIP" in pod.status, "pod_ip" in pod.status, "hostIP" in pod.status': [True, True, True, False],
    'pod in core.list_namespaced_pod("shop"), "Running" in [p.status.phase for p in core.list_namespaced_pod("shop")]': [True, True],
    'len(pod), len(pod.metadata.labels), len(pod.spec.containers), len(core.list_namespaced_pod("shop"))': [5, 1, 1, 2],
    "bool(pod.spec.tolerations), bool(pod.spec.node_selector), bool(pod.status.conditions), bool(pod)": [False, False, False, True],
    'pod.spec.init_containers or "none"': "none",
    # iteration, unpacking, mapping protocol
    "list(pod.metadata.labels), dict(pod.metadata.labels), {**pod.metadata.labels, 'b': 1}": [["app"], {"app": "web"}, {"app": "web", "b": 1}],
    "(lambda **k: k)(**pod.metadata.labels), dict(**pod.metadata.labels), pod.metadata.labels | {'b': 1}": [
        *({"app": "web"}, {"app": "web"}, {"app": "web", "b": 1})
    ],
    "list(pod.metadata.labels.items()), list(pod.metadata.labels.keys()), list(pod.metadata.labels.values())": [[["app", "web"]], ["app"], ["web"]],
    "sorted(pod.metadata.labels.items()), ','.join(f'{k}={v}' for k, v in pod.metadata.labels.items())": [[["app", "web"]], "app=web"],
    "[*pod.spec.containers, *pod.spec.init_containers][0].name, (pod.spec.containers + pod.spec.init_containers)[0].name": ["app", "app"],
    "first, *rest = core.list_namespaced_pod('shop')\n[first.metadata.name, len(rest)]": ["web", 1],
    "{c.name: c.restart_count for c in pod.status.container_statuses}, list(map(lambda c: c.image, pod.spec.containers))": [{"app": 3}, ["i:1"]],
    "[s.restart_count for c, s in zip(pod.spec.containers, pod.status.container_statuses)], list(enumerate(pod.metadata.labels))": [[3], [[0, "app"]]],
    "{'app': 'web'}.items() <= pod.metadata.labels.items(), {'app': 'a'}.items() <= pod.metadata.labels.items()": [True, False],
    "pod.metadata.labels.items() <= {'app': 'web', 'z': 1}.items(), pod.metadata.labels.items() <= {'zone': 'a'}.items()": [True, False],
    "pod.metadata.labels.items() <= pod.metadata.labels.items(), pod.metadata.labels.items() & {('app', 'web')}": [True, [["app", "web"]]],
    "pod.toDict()['kind'], len(core.list_namespaced_pod('shop').toDict()['items'])": ["Pod", 2],
    # `items` is the list of a list, and callable on maps
    "core.list_namespaced_pod('shop').items[0].metadata.name, core.list_namespaced_pod('shop')['items'][0]['metadata']['name']": ["web", "web"],
    "len(core.list_namespaced_pod('shop').items), dict(core.list_namespaced_pod('shop').items())['kind']": [2, "PodList"],
    "core.list_namespaced_pod('shop').get('items', [])[0].metadata.name, core.list_namespaced_pod('shop').to_dict()['items'][1]['kind']": ["web", "Pod"],
    "[each.key for each in pod.spec.volumes[0].config_map.items]": ["k"],
    # sorting and grouping
    "sorted(core.list_namespaced_pod('shop'), key=lambda p: (p.metadata.namespace, p.metadata.name))[0].metadata.name": "web",
    "max(core.list_namespaced_pod('shop').items, key=lambda p: p.metadata.creation_timestamp).metadata.name": "web",
    "from itertools import groupby\n{n: len(list(g)) for n, g in groupby(core.list_namespaced_pod('shop'), key=lambda p: p.spec.node_name)}": {"n1": 2},
    # JSON
    "json.loads(json.dumps(pod))['status']['phase'], json.dumps(pod.metadata.labels), json.loads(json.dumps(pod.to_dict(), default=str))['kind']": [
        *("Running", '{"app": "web"}', "Pod")
    ],
    "len(json.loads(json.dumps([p for p in core.list_namespaced_pod('shop')])))": 2,
    # what is missing
    "pod.status.host_ip, pod.metadata.deletion_timestamp, pod.spec.affinity, pod.metadata.labels.get('x'), pod.metadata.labels.get('x', 'd')": [
        *(None, None, None, None, "d")
    ],
    "list(pod.metadata.owner_references), dict(pod.spec.node_selector), pod.spec.node_selector.get('disk'), [t.key for t in pod.spec.tolerations]": [
        *([], {}, None, [])
    ],
    "pod.spec.get('affinity', {}).get('nodeAffinity'), pod.status.get('initContainerStatuses', []), pod.status.get('initContainerStatuses')": [
        *(None, [], None)
    ],
    "pod.get('status', {}).get('containerStatuses', [])[0].get('restartCount', 0), (pod.spec.affinity or {}).get('x')": [3, None],
    "pod.spec.volumes[0].secret and pod.spec.volumes[0].secret.secret_name": None,
    "pod.spec.containers[0].resources.requests.get('cpu'), quantity(pod.spec.containers[0].resources.requests.get('cpu'))": [None, 0],
    # an absent list or map is empty, and `is None` is true of it as of the official client's
    "pod.metadata.owner_references is None, pod.spec.node_selector is None, pod.spec.containers is None, pod.metadata.labels is None": [
        *(True, True, False, False)
    ],
    "pod.metadata.owner_references is not None, pod.spec.containers is not None, pod.status.host_ip is None, None is None": [
        *(False, True, True, True)
    ],
    "pod.metadata.owner_references == None, pod.spec.node_selector != None, pod.spec.containers == None": [True, False, False],
    "[p.metadata.name for p in core.list_namespaced_pod('shop') if p.metadata.owner_references is None]": ["web", "web"],
    "t = pod.spec.tolerations\nt.append({'key': 'a'})\n[t is None, t == None, pod.spec.tolerations is None, len(pod.spec.tolerations)]": [
        *(False, False, False, 1)
    ],
    "getattr(pod.spec, 'init_containers', None) is None, [x for x in (None, [], {}, 0) if x is not None]": [True, [[], {}, 0]],
    "x = None\ny = x is None and 'a'\nclass A:\n    _stands_in = True\n    _home = 1\n[y, (lambda z: z is not None)(x)]": ["a", False],
    # hasattr and getattr: a field of the kind is there, None or not; a name the kind does not have is not
    "hasattr(pod.status, 'host_ip'), hasattr(pod.status, 'nope'), hasattr(pod, 'spec'), hasattr(pod.status, 'podIP')": [True, False, True, True],
    "getattr(pod.status, 'host_ip', 'x'), getattr(pod.status, 'nope', None), getattr(pod.status, 'nope', 'x'), getattr(pod.status, 'pod_ip')": [
        *(None, None, "x", "10.0.0.1")
    ],
    "w = k8s.get('webs', 'w', 'shop')\n[hasattr(w, 'status'), getattr(w, 'status', None), w.get('status', {}).get('conditions', []), hasattr(w, 'spec'), w.status, getattr(w, 'status', 'x')]": [
        *(False, None, [], True, None, "x")
    ],
    # to_dict(): either spelling, asked in any way; iterating gives the official one
    "[d['spec'][k] for k in ('nodeName', 'node_name')], [k in d['status'] for k in ('podIP', 'pod_ip')], list(d['status'])": [
        *(["n1", "n1"], [True, True], ["phase", "pod_ip", "container_statuses"])
    ],
    # what kr8s and kubectl have beside the metadata
    "pod.name, pod.namespace, pod.labels, pod.annotations['keep'], pod.raw['status']['podIP']": ["web", "shop", {"app": "web"}, "1", "10.0.0.1"],
    "w = k8s.get('webs', 'w', 'shop')\n[w.name, w.raw['spec'], k8s.list('pods', 'shop')[0].name]": ["w", {"observedThing": 1}, "web"],
    # text and time
    "str(pod), f'{pod}', str(core.list_namespaced_pod('shop')), str(pod.metadata.labels), '%s' % pod.status.phase": [
        *("<V1Pod shop/web Running>", "<V1Pod shop/web Running>", "<V1PodList of 2>", "{'app': 'web'}", "Running")
    ],
    "pod.metadata.creation_timestamp.strftime('%Y'), pod.metadata.creationTimestamp, pod['metadata']['creationTimestamp'][:4]": [
        *("2026", "2026-01-02T03:04:05Z", "2026")
    ],
    "(datetime.now(timezone.utc) - pod.metadata.creation_timestamp) > timedelta(days=1)": True,
}  # fmt: skip


@cases.each(("script", "expected"), PYTHON.items())
def test_python_does_with_it_what_it_does_with_data(script: str, expected: Any) -> None:
    """Exactly this answer: a silent None or an empty list in its place would be a wrong one."""
    assert result(script) == expected


LOUD = {
    "{pod}": "TypeError: unhashable type: 'View'; take a name: p.metadata.name",
    "pod.spec.affinity.node_affinity": "AttributeError: 'NoneType' object has no attribute 'node_affinity': the value before "
    "`.node_affinity` is None, as missing fields are; write `x and x.node_affinity`",
    "pod.spec.containers[0].resources.requests['cpu']": "KeyError: this object has no key 'cpu'; it is empty; if it may be "
    "absent, use .get('cpu')",
    "pod.spec.name": "AttributeError: V1PodSpec has no field 'name'; it is in the object's metadata",
    "pod['name']": "KeyError: V1Pod has no field 'name'; it is in metadata",
    "core.list_namespaced_pod('shop').metadata.name": "AttributeError: V1ListMeta has no field 'name'; it is in the "
    "metadata of each item",
    "core.list_namespaced_pod('shop').name": "AttributeError: V1PodList has no field 'name'; loop over it: `for item in pods: item.metadata.name`",
    "core.list_namespaced_pod('shop')['web']": "KeyError: a list has no key 'web'; it has 'items', 'metadata', 'kind' and 'apiVersion'",
    "pod.spec.containers['app']": "TypeError: this is a list: use a number, not ['app'], or loop over it",
    "k8s.get('webs', 'w', 'shop').status.conditions": "AttributeError: 'NoneType' object has no attribute 'conditions': "
    "the value before `.conditions` is None, as missing fields are; write `x and x.conditions`",
    "k8s.get('webs', 'w', 'shop').spce": "AttributeError: this object has no field 'spce'; did you mean 'spec'? If it may be absent, use .get('spce')",
}  # fmt: skip


@cases.each(("script", "expected"), LOUD.items())
def test_what_is_not_there_is_loud(script: str, expected: str) -> None:
    """Exactly this text, naming where it is or how to ask."""
    assert failure(script) == expected
