"""Layer 4: ways round the rules for writes: other names of the same objects, look-alikes, and values that are read in
two ways. What objects hold is judged by a real masking process."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from kubescript import config, errors, redaction
from kubescript.changes.rules import effects, table, write_settings, writes
from kubescript.guest.sdk.values import operations
from kubescript.kube import images
from kubescript.request import request
from kubescript.wire import exchanges, inspection

pytestmark = pytest.mark.promise("P-16")

FORBIDDEN: Final = re.compile(
    r"/(secrets|namespaces|nodes|serviceaccounts|bindings|binding|status|token|finalize|approval|ephemeralcontainers"
    r"|resize|tokenreviews|exec|attach|portforward|proxy|roles|rolebindings|clusterroles|clusterrolebindings"
    r"|customresourcedefinitions|apiservices|\w*webhookconfigurations|\w*admissionpolic(y|ies)|\w*admissionpolicybindings"
    r"|certificatesigningrequests|clustertrustbundles|podcertificaterequests|\w*accessreviews|\w*rulesreviews"
    r"|selfsubjectreviews)(/|$)"
)
"""Written down a second time, independently of changes/rules/writes.py: what of a path no write without permission may name."""
WRITES: Final = {"POST", "PUT", "PATCH", "DELETE"}
BODY: Final = {"metadata": {"name": "a"}}


def call(method: str, path: str, body: Any = None, query: tuple[tuple[str, str], ...] = ()) -> request.Request:
    content_type: Any = "merge-patch" if method == "PATCH" else "json"
    given = BODY if body is None and method != "DELETE" else body
    parts = tuple(path.strip("/").split("/"))
    raw = msgspec.Raw(json.dumps(given).encode())
    return request.parse(exchanges.Call(method, parts, query, raw, content_type))  # type: ignore[arg-type]


LIFTED: Final = {each.id: "allow" for each in table.RULES}


def rules(**given: Any) -> writes.Policy:
    """The policy of a server that asks nobody, so that each rule refuses."""
    return write_settings.read(config.WritePolicy.model_validate(given), "direct")


def refused(asked: request.Request, **given: Any) -> str:
    """The rule that refuses the request; empty when none does."""
    decision = writes.find_objection(asked, rules(**given))
    return decision.rule if decision is not None else ""


@pytest.fixture(scope="module")
def engine() -> Iterator[redaction.Engine]:
    found = redaction.Engine(config.Redaction())
    yield found
    found.close()


def judged(engine: redaction.Engine, asked: request.Request, before: Any, after: Any, **given: Any) -> set[str]:
    """The rules that refuse what a write changes, as a masking process tells it."""
    documents = [b"" if each is None else json.dumps(each).encode() for each in (before, after)]
    shown = engine.changes(asked, documents[0], documents[1], lambda _: None)
    return {denial.rule for denial in effects.findings(asked, shown, rules(**given)).denials}


def official() -> Iterator[tuple[str, str]]:
    """(HTTP method, path) of each write of the official client."""
    for api in operations.apis():
        for name in operations.operations(api):
            found = operations.operation(api, name)
            if found.verb in WRITES:
                yield found.verb, found.path


def test_every_write_of_the_official_client_meets_its_rule() -> None:
    """Of all methods, those pass that change one plain object, its scale, or evict a pod."""
    passed = 0
    for method, template in official():
        path = re.sub(r"\{[^}]*\}", "x", template)
        try:
            asked = call(method, path)
        except errors.RequestError:
            continue
        is_collection = method != "POST" and not template.endswith(("name}", "scale"))
        # A namespace as a place is no namespace as an object.
        about = template.replace("/namespaces/{namespace}", "")
        expected = bool(FORBIDDEN.search(about)) or is_collection
        rule = refused(asked)
        assert bool(rule) == expected, (method, template, rule)
        passed += not rule
    assert passed > 100


KINDS: Final = {
    "writes.secrets": ("", ["secrets"]),
    "writes.rbac": (
        "rbac.authorization.k8s.io",
        ["clusterroles", "clusterrolebindings", "new"],
    ),
    "writes.roles": ("rbac.authorization.k8s.io", ["roles", "rolebindings"]),
    "writes.webhooks": (
        "admissionregistration.k8s.io",
        ["validatingwebhookconfigurations", "mutatingwebhookconfigurations", "mutatingadmissionpolicies", "new"],
    ),
    "writes.crds": ("apiextensions.k8s.io", ["customresourcedefinitions", "new"]),
    "writes.namespaces": ("", ["namespaces"]),
    "writes.nodes": ("", ["nodes"]),
    "writes.service_account": ("", ["serviceaccounts"]),
}


@pytest.mark.parametrize("rule", KINDS)
@pytest.mark.parametrize("version", ["v1", "v1beta1", "v2alpha1", "v99"])
def test_no_version_or_subresource_of_a_forbidden_object_is_another_object(rule: str, version: str) -> None:
    """The rule covers the group and the plural, whatever stands around them, and permits of others do not help."""
    group, plurals = KINDS[rule]
    others = {name: level for name, level in LIFTED.items() if not name.startswith(rule)}
    root = f"apis/{group}/{version}" if group else f"api/{version}"
    for plural in plurals:
        for below in ("", "/status", "/finalize") if plural == "namespaces" else ("", "/status", "/scale", "/approval"):
            for place in ("",) if plural in {"namespaces", "nodes"} else ("", "namespaces/shop/"):
                for method in ("PUT", "PATCH", "DELETE", "POST"):
                    asked = call(method, f"{root}/{place}{plural}/a{below}")
                    assert refused(asked), asked
                    if below != "/finalize":
                        assert refused(asked, levels=others).startswith(rule), asked


GROUPS: Final = {
    "authorization.openshift.io": ("v1/namespaces/shop/rolebindings/a", "writes.rbac"),
    "security.openshift.io": ("v1/securitycontextconstraints/privileged", "writes.rbac"),
    "user.openshift.io": ("v1/groups/admins", "writes.rbac"),
    "oauth.openshift.io": ("v1/oauthclients/a", "writes.rbac"),
    "project.openshift.io": ("v1/projects/shop", "writes.namespaces.change"),
    "certificates.k8s.io": ("v1beta1/clustertrustbundles/a", "writes.rbac"),
    "apiregistration.k8s.io": ("v1/apiservices/v1.apps", "writes.webhooks"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_groups_that_serve_the_same_rights_are_covered(group: str) -> None:
    """Other names of roles, namespaces and trust are refused as these are."""
    path, rule = GROUPS[group]
    assert refused(call("PATCH", f"apis/{group}/{path}")) == rule


def test_no_subresource_that_nobody_knows_is_written() -> None:
    """Also where an operator has lifted every rule that can be lifted."""
    for below in ("restart", "exec", "rollback", "finalize", "token", "binding", "instantiate", "Status", "eviction"):
        try:
            asked = call("POST", f"apis/apps/v1/namespaces/shop/deployments/web/{below}")
        except errors.RequestError:
            continue
        assert refused(asked, levels=LIFTED) == "writes.subresource", below


SELECTORS: Final = (
    (("labelSelector", "app=web"),),
    (("fieldSelector", "metadata.name=web"),),
    (("labelSelector", "!a"), ("fieldSelector", "metadata.name=web")),
)


@pytest.mark.parametrize("query", SELECTORS)
def test_a_selector_never_stands_for_a_name(query: tuple[tuple[str, str], ...]) -> None:
    """A deletion that a field selector limits to one object is still a deletion of many."""
    assert refused(call("DELETE", "api/v1/namespaces/shop/pods", query=query)) == "writes.collections"
    assert refused(call("PATCH", "api/v1/namespaces/shop/pods/a", query=query)) == "writes.selector"
    assert refused(call("POST", "api/v1/namespaces/shop/pods", query=query)) == "writes.selector"


NAMES: Final[tuple[Any, ...]] = (
    {},
    {"name": ""},
    {"name": None},
    {"name": ["a"]},
    {"name": {"a": 1}},
    {"generateName": "a-"},
    [],
    "a",
    None,
    7,
)


@pytest.mark.parametrize("metadata", NAMES)
def test_a_name_that_is_none_is_no_name(metadata: Any) -> None:
    """What a plan makes has a name that can be shown, compared and deleted."""
    asked = call("POST", "api/v1/namespaces/shop/pods", {"metadata": metadata})
    assert refused(asked) == "writes.generate_name"


LOOKALIKES: Final = ("shop-evil", "shopx", "xshop", "sho", "s", "shop-", "shops", "kube-system", "sh-op", "0shop")


@pytest.mark.parametrize("namespace", LOOKALIKES)
def test_a_namespace_that_looks_like_a_permitted_one_is_another(namespace: str) -> None:
    """A name matches whole, and a pattern only what it stands for."""
    for listed in (["shop"], ["shop", "web-*"], ["sho?"], ["?hop"]):
        try:
            asked = call("DELETE", f"api/v1/namespaces/{namespace}/pods/a")
        except errors.RequestError:
            continue
        assert refused(asked, namespaces=listed) == "writes.scope"


@pytest.mark.parametrize("namespace", ["Shop", "sh\u043ep", "shop ", "shop/../prod", "shop%2f", "*", "shop\n", "."])
def test_a_namespace_in_other_characters_reaches_no_rule(namespace: str) -> None:
    """It is no namespace, and is refused before."""
    with pytest.raises(errors.RequestError):
        request.parse(exchanges.Call("DELETE", ("api", "v1", "namespaces", namespace, "pods", "a")))


def test_a_namespaced_object_without_a_namespace_is_outside_of_every_list() -> None:
    """A path without one does not stand for all of them."""
    for path in ("api/v1/pods/a", "apis/apps/v1/deployments/a", "api/v1/persistentvolumes/a"):
        assert refused(call("DELETE", path), namespaces=["*"]) == "writes.scope"


DIGEST: Final = "@sha256:" + "0" * 64
EVIL: Final = (
    "registry.example.com.evil.org/team/web",
    "registry.example.evil.com/team/web",
    "registry.example.com-evil.org/team/web",
    "evil.org/registry.example.com/team/web",
    "registry.example.com@evil.org/team/web",
    "registry.example.com:443@evil.org/team/web",
    "user:registry.example.com@evil.org/team/web",
    "evil.org#registry.example.com/team/web",
    "registry.example.com:5000/team/web",
    "registry.example.com:5000@sha256/team/web",
    "registry.example.com/team-evil/web",
    "registry.example.com/teamx/web",
    "registry.example.com/team/../evil/web",
    "registry.example.com/team//web",
    "registry.example.com/./team/web",
    "registry.example.com//team/web",
    "/registry.example.com/team/web",
    "https://registry.example.com/team/web",
    "registry.example.com/TEAM/web",
    "registry.example.com./team/web",
    "registry.example.com/other/web:registry.example.com/team/web",
    "evil.org/x:1@registry.example.com/team/web",
    "evil.org/x" + DIGEST + "/registry.example.com/team/web",
    "registry.example.com\\team\\web",
    "registry.example.com%2fteam/web",
    "registry.example.com/team/web evil.org/x",
    " registry.example.com/team/web",
    "registry.example.com/team/web\n",
    "registry.example.com/team/web\0evil",
    "r\u0435gistry.example.com/team/web",
    "registry\u3002example.com/team/web",
    "registry.example.com/team/web@sha256:beef",
    "registry.example.com/team/web@",
    "registry.example.com/team/web:",
    "registry.example.com/team/web:-x",
    "registry.example.com/team/",
    "registry.example.com/team",  # the repository `team` itself is not below it, and yet is covered
    "team/web",
    "library/team",
    "nginx",
    "docker.io/nginx",
    "index.docker.io/nginx",
    "localhost",
    "localhost/team/web",
    "0" * 64,
    "",
    "a" * 5_000,
    "registry.example.com/" + "team/" * 400 + "web",
)


@pytest.mark.parametrize("image", EVIL)
def test_no_image_of_another_registry_passes_for_one_of_ours(image: str, engine: redaction.Engine) -> None:
    """Whatever its name begins with, contains or looks like."""
    listed = ["registry.example.com/team"]
    is_ours = image == listed[0]
    assert images.is_from(image, listed) == is_ours
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": image}]}}
    if image and not is_ours:
        asked = call("POST", "api/v1/namespaces/shop/pods", pod)
        assert judged(engine, asked, None, pod, registries=listed) == {"writes.registries"}


WEB: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"track": "stable"}, "finalizers": ["example.com/a"]},
    "spec": {
        "replicas": 2,
        "template": {"spec": {"containers": [{"name": "web", "image": "registry.example.com/team/web:1"}]}},
    },
}
PATCH: Final = call("PATCH", "apis/apps/v1/namespaces/shop/deployments/web")
SCALE: Final = call("PATCH", "apis/apps/v1/namespaces/shop/deployments/web/scale")


def with_pod(**fields: Any) -> dict[str, Any]:
    after = copy.deepcopy(WEB)
    after["spec"]["template"]["spec"] |= fields
    return after


def with_metadata(**fields: Any) -> dict[str, Any]:
    after = copy.deepcopy(WEB)
    after["metadata"] |= fields
    return after


HIDDEN: Final = {
    "an init container": {"initContainers": [{"name": "a", "image": "evil.org/x"}]},
    "an ephemeral container": {"ephemeralContainers": [{"name": "a", "image": "evil.org/x"}]},
    "a second container": {"containers": [*WEB["spec"]["template"]["spec"]["containers"], {"name": "a", "image": "x"}]},
    "the first container's tag": {"containers": [{"name": "web", "image": "evil.org/team/web:1"}]},
    "a volume": {"volumes": [{"name": "a", "image": {"reference": "evil.org/x"}}]},
}


@pytest.mark.parametrize("case", HIDDEN)
def test_an_image_is_found_wherever_a_pod_has_one(case: str, engine: redaction.Engine) -> None:
    """Each place from which a pod runs files of an image is judged."""
    assert judged(engine, PATCH, WEB, with_pod(**HIDDEN[case]), registries=["registry.example.com"]) == {
        "writes.registries"
    }


COUNTS: Final = ("1000", "1e9", "ten", "", 101, -1, 10**30, 1e9, 2.5, 100.0, True)


@pytest.mark.parametrize("count", COUNTS)
def test_replicas_are_judged_as_whatever_they_are_written(count: Any, engine: redaction.Engine) -> None:
    """A custom resource may take a text or a fraction for a number; none is out of bounds unseen."""
    for field in ("replicas", "maxReplicas", "minReplicas", "parallelism"):
        before = {"metadata": {"name": "a"}, "spec": {field: 1}}
        after = {"metadata": {"name": "a"}, "spec": {field: count}}
        asked = call("PATCH", "apis/example.com/v1/namespaces/shop/widgets/a")
        assert judged(engine, asked, before, after) == {"writes.replicas"}, field
        assert judged(engine, asked, None, after) == {"writes.replicas"}, field
    deep = {"metadata": {"name": "a"}, "spec": {"parts": [{"name": "x", "replicas": count}]}}
    assert judged(engine, asked, before, deep) == {"writes.replicas"}


def test_a_scale_is_judged_beside_the_object_that_it_scales(engine: redaction.Engine) -> None:
    """Neither its number nor the labels of what it scales escape a rule."""
    scale = {"kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5000}}
    assert judged(engine, SCALE, WEB, scale) == {"writes.replicas"}
    scale["spec"] = {"replicas": 3}
    assert judged(engine, SCALE, WEB, scale) == set()
    assert judged(engine, SCALE, WEB, scale, targets="track!=stable") == {"writes.targets"}


TARGETS: Final = {
    "track!=canary": [{"track": "canary"}],
    "track": [{}, {"Track": "stable"}, {"track ": "stable"}, {"example.com/track": "stable"}],
    "!protected": [{"protected": ""}, {"protected": "false"}],
    "track in (stable)": [
        {},
        {"track": "canary"},
        {"track": "stable "},
        {"track": "stable,canary"},
        {"track": "STABLE"},
    ],
    "track notin (canary,beta)": [{"track": "beta"}],
    "tier>3": [{}, {"tier": "3"}, {"tier": "x"}, {"tier": "\u0665"}, {"tier": "9" * 70}, {"tier": "4.5"}],
    "track=stable,!protected": [{"track": "stable", "protected": "yes"}, {"track": "canary"}],
}


@pytest.mark.parametrize("selector", TARGETS)
def test_no_labels_but_the_selected_ones_make_a_target(selector: str, engine: redaction.Engine) -> None:
    """Before a change and after it, also where the change is what takes a label away."""
    for labels in TARGETS[selector]:
        other = with_metadata(labels=labels)
        assert judged(engine, PATCH, other, other, targets=selector) == {"writes.targets"}, labels
        assert judged(engine, PATCH, WEB, other, targets=f"track,{selector}") == {"writes.targets"}, labels
        deletion = call("DELETE", "apis/apps/v1/namespaces/shop/deployments/web")
        assert judged(engine, deletion, other, None, targets=selector) == {"writes.targets"}, labels
        eviction = call("POST", "api/v1/namespaces/shop/pods/web/eviction")
        assert judged(engine, eviction, other, None, targets=selector) == {"writes.targets"}, labels


def test_a_protected_label_behind_many_others_is_seen(engine: redaction.Engine) -> None:
    """An object with more labels than are looked at is not written at all."""
    labels = {f"a{number}": "" for number in range(5_000)} | {"track": "canary"}
    with pytest.raises(errors.RedactionError):
        judged(engine, PATCH, with_metadata(labels=labels), with_metadata(labels=labels), targets="track!=canary")
    few = {f"a{number}": "" for number in range(500)} | {"track": "canary"}
    assert judged(engine, PATCH, with_metadata(labels=few), with_metadata(labels=few), targets="track!=canary")


def test_an_apply_is_no_way_to_create_where_only_changes_are_permitted(engine: redaction.Engine) -> None:
    """Nor is a replacement of what does not exist."""
    for asked in (PATCH, call("PUT", "apis/apps/v1/namespaces/shop/deployments/web", WEB)):
        assert judged(engine, asked, None, WEB, verbs={"*": ["patch", "update"]}) == {"writes.verbs"}


PRIVILEGED: Final = {"name": "a", "image": "a", "securityContext": {"privileged": True}}
SYS_ADMIN: Final = {"name": "a", "image": "a", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
RISKS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "a privileged container": ("writes.privileged", with_pod(containers=[PRIVILEGED])),
    "a privileged init container": ("writes.privileged", with_pod(initContainers=[PRIVILEGED])),
    "a host process on Windows": (
        "writes.privileged", with_pod(securityContext={"windowsOptions": {"hostProcess": True}}),
    ),
    "a capability": ("writes.privileged", with_pod(containers=[SYS_ADMIN])),
    "a capability of an ephemeral container": ("writes.privileged", with_pod(ephemeralContainers=[SYS_ADMIN])),
    "the whole of /proc": (
        "writes.privileged", with_pod(initContainers=[{"name": "a", "securityContext": {"procMount": "Unmasked"}}]),
    ),
    "the node's files": ("writes.host_path", with_pod(volumes=[{"name": "a", "hostPath": {"path": "/"}}])),
    "the node's network": ("writes.host_namespaces", with_pod(hostNetwork=True)),
    "the node's processes": ("writes.host_namespaces", with_pod(hostPID=True)),
    "another account": ("writes.service_account", with_pod(serviceAccountName="admin")),
    "another account by its old name": ("writes.service_account", with_pod(serviceAccount="admin")),
    "no finalizer": ("writes.finalizers", with_metadata(finalizers=[])),
    "finalizers of null": ("writes.finalizers", with_metadata(finalizers=None)),
    "another finalizer": ("writes.finalizers", with_metadata(finalizers=["example.com/b"])),
    "an owner": ("writes.owners", with_metadata(ownerReferences=[{"kind": "Job", "name": "a", "uid": "1"}])),
}  # fmt: skip


@pytest.mark.parametrize("case", RISKS)
def test_each_risk_is_refused_until_its_own_rule_is_lifted(case: str, engine: redaction.Engine) -> None:
    """Lifting any other rule does not help."""
    rule, after = RISKS[case]
    assert judged(engine, PATCH, WEB, after) == {rule}
    assert judged(engine, PATCH, WEB, after, levels=LIFTED | {rule: "refuse"}) == {rule}
    assert judged(engine, PATCH, WEB, after, levels={rule: "allow"}) == set()
    assert judged(engine, PATCH, after, after) == set()


def test_a_risk_in_a_custom_resource_or_a_volume_of_the_cluster_is_found(engine: redaction.Engine) -> None:
    """A pod's template may be anything's, and a volume needs no pod."""
    rollout: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"parts": [{"template": WEB["spec"]["template"]}]}}
    hidden = copy.deepcopy(rollout)
    hidden["spec"]["parts"][0]["template"]["spec"]["hostNetwork"] = True
    asked = call("PATCH", "apis/example.com/v1/namespaces/shop/rollouts/a")
    assert judged(engine, asked, rollout, hidden) == {"writes.host_namespaces"}
    for spec in ({"hostPath": {"path": "/etc"}}, {"local": {"path": "/etc"}, "nodeAffinity": {"required": {}}}):
        volume = {"metadata": {"name": "a"}, "spec": spec}
        assert judged(engine, call("POST", "api/v1/persistentvolumes", volume), None, volume) == {"writes.host_path"}


def test_a_masking_process_that_lies_about_a_risk_or_a_rule_permits_nothing() -> None:
    """An unknown risk is refused, and an objection of no rule changes nothing."""
    facts = inspection.Facts("uid", "1", "0" * 64)
    lie = inspection.Changes(facts, facts, risks=("harmless",), objections=(inspection.Objection("writes.rbac", "x"),))
    assert [denial.rule for denial in effects.findings(PATCH, lie, rules()).denials] == ["writes.risks"]
