"""Rules with levels: what each level does where a person reads findings and where none does, and rights that a plan
would give by another form of a role or a binding than a rule expects."""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from kubernetes import client

from kubescript import config, errors, redaction
from kubescript.changes import attempt, bound_roles, plan
from kubescript.changes.rules import effects, table, write_settings, writes
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from tests.kit import app_objects, planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

RBAC: Final = "apis/rbac.authorization.k8s.io/v1"
ROLES: Final = f"{RBAC}/namespaces/shop/roles"
BINDINGS: Final = f"{RBAC}/namespaces/shop/rolebindings"
WEB: Final = "apis/apps/v1/namespaces/shop/deployments/web"
READ: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
JANE: Final = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
VIEW: Final = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}


@pytest.fixture(scope="module")
def engine() -> Iterator[redaction.Engine]:
    found = redaction.Engine(config.Redaction())
    yield found
    found.close()


def ask(method: str, path: str, body: Any = None) -> request.Request:
    content_type: Any = {"PATCH": "merge-patch", "APPLY": "apply-patch"}.get(method, "json")
    raw = msgspec.Raw(json.dumps(body or {"metadata": {"name": "a"}}).encode())
    verb: Any = {"APPLY": "PATCH"}.get(method, method)
    return request.parse(exchanges.Call(verb, tuple(path.split("/")), (), raw, content_type))


def judge(
    engine: redaction.Engine, call: request.Request, before: Any, after: Any, rules: writes.Policy
) -> tuple[set[str], dict[str, str]]:
    """The rules that refuse a write, and the levels of those that the approver reads."""
    objection = writes.find_objection(call, rules)
    if objection is not None:
        return {objection.rule}, {}
    documents = [b"" if each is None else json.dumps(each).encode() for each in (before, after)]
    changes = engine.changes(call, documents[0], documents[1], lambda _: None)
    found = effects.findings(call, changes, rules)
    return {denial.rule for denial in found.denials}, {notice.rule: notice.level for notice in found.notices}


def pods(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"template": {"spec": spec}}}


def named(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, **fields}


NODE: Final = named(spec={"podCIDR": "10.0.0.0/24"})
PRIVILEGED: Final = {"name": "a", "securityContext": {"privileged": True}}
OWNED: Final = {"metadata": {"name": "web", "ownerReferences": [{"kind": "Job", "name": "a", "uid": "1"}]}}
CASES: Final[dict[str, tuple[str, str, Any, Any]]] = {
    "writes.secrets": ("PATCH", "api/v1/namespaces/shop/secrets/a", named(), named(data={})),
    "writes.rbac": ("POST", f"{RBAC}/clusterroles", None, named(rules=[READ])),
    "writes.roles": ("POST", ROLES, None, named(rules=[READ])),
    "writes.escalation": ("POST", ROLES, None, named(rules=[READ | {"verbs": ["*"]}])),
    "writes.webhooks": ("DELETE", "apis/apiregistration.k8s.io/v1/apiservices/a", named(), None),
    "writes.crds": ("DELETE", "apis/apiextensions.k8s.io/v1/customresourcedefinitions/a", named(), None),
    "writes.namespaces.create": ("APPLY", "api/v1/namespaces/a", None, named()),
    "writes.namespaces.change": ("APPLY", "api/v1/namespaces/a", named(), named(spec={"finalizers": ["a"]})),
    "writes.namespaces.delete": ("DELETE", "api/v1/namespaces/a", named(), None),
    "writes.nodes": ("PATCH", "api/v1/nodes/a", NODE, named(spec={**NODE["spec"], "unschedulable": True})),
    "writes.nodes.other": ("PATCH", "api/v1/nodes/a", NODE, named(spec={"podCIDR": "10.0.1.0/24"})),
    "writes.cluster": (
        "PATCH",
        "apis/operator.openshift.io/v1/etcds/cluster",
        named(),
        named(spec={"logLevel": "Trace"}),
    ),
    "writes.service_account": ("PATCH", WEB, pods(), pods(serviceAccountName="admin")),
    "writes.finalizers": ("PATCH", WEB, {"metadata": {"name": "web", "finalizers": ["a/b"]}}, pods()),
    "writes.owners": ("PATCH", WEB, pods(), OWNED),
    "writes.privileged": ("PATCH", WEB, pods(), pods(containers=[PRIVILEGED])),
    "writes.host_path": ("PATCH", WEB, pods(), pods(volumes=[{"name": "a", "hostPath": {"path": "/"}}])),
    "writes.host_namespaces": ("PATCH", WEB, pods(), pods(hostPID=True)),
    "writes.subresource": ("PATCH", f"{WEB}/status", pods(), pods()),
}
"""For each rule a write, and its object before and after."""
MODES: Final = {"direct": ("direct", "person"), "argument": ("plan", "argument"), "plan": ("plan", "person")}
SAID: Final = {"warn": "warning", "critical": "critical"}


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_does_at_each_level_what_the_level_says(rule: str, engine: redaction.Engine) -> None:
    """A person who reads findings gets a warning or a critical one; where no person does, only `allow` permits."""
    assert CASES.keys() == {each.id for each in table.RULES}
    method, path, before, after = CASES[rule]
    lifted = {each.id: "allow" for each in table.RULES}
    default = {each.id: each.level for each in table.RULES}[rule]
    for mode, (how, approval) in MODES.items():
        for level in ("refuse", "critical", "warn", "allow", default):
            given = config.WritePolicy.model_validate({"levels": lifted | {rule: level}})
            rules = write_settings.read(given, how, approval)
            refused, told = judge(engine, ask(method, path), before, after, rules)
            is_read = mode == "plan" and level in SAID
            assert told == ({rule: SAID[level]} if is_read else {}), (mode, level)
            assert refused == (set() if is_read or level == "allow" else {rule}), (mode, level)


def test_nothing_is_lifted_where_nothing_is_set(engine: redaction.Engine) -> None:
    """No rule's own level counts where no person reads what it finds."""
    for rule, (method, path, before, after) in CASES.items():
        for how, approval in (MODES["direct"], MODES["argument"]):
            rules = write_settings.read(config.WritePolicy(), how, approval)
            refused, told = judge(engine, ask(method, path), before, after, rules)
            assert refused and not told, rule


def test_an_apply_is_judged_by_what_it_turns_out_to_be(engine: redaction.Engine) -> None:
    """Where only creations of namespaces are permitted, it creates one and changes none; and the other way round."""
    apply = ask("APPLY", "api/v1/namespaces/a")
    changed = named(metadata={"name": "a", "labels": {"a": "b"}})
    for allowed, other in (("create", "change"), ("change", "create")):
        given = {"levels": {f"writes.namespaces.{allowed}": "allow"}}
        rules = write_settings.read(config.WritePolicy.model_validate(given), "direct")
        created, _ = judge(engine, apply, None, changed, rules)
        updated, _ = judge(engine, apply, named(), changed, rules)
        assert (created or updated) == {f"writes.namespaces.{other}"} and not (created and updated)


OF_THE_CLUSTER: Final = {
    "config.openshift.io/v1/oauths/cluster": "writes.rbac",
    "config.openshift.io/v1/authentications/cluster": "writes.rbac",
    "config.openshift.io/v1/apiservers/cluster": "writes.rbac",
    "config.openshift.io/v1/proxies/cluster": "writes.rbac",
    "operator.openshift.io/v1/kubeapiservers/cluster": "writes.rbac",
    "config.openshift.io/v1/featuregates/cluster": "writes.cluster",
    "machineconfiguration.openshift.io/v1/machineconfigs/99-worker": "writes.cluster",
    "machineconfiguration.openshift.io/v1alpha1/machineosconfigs/worker": "writes.cluster",
    "machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets/worker": "writes.cluster",
}
"""Settings of an OpenShift cluster, and the rules that cover them."""


@pytest.mark.parametrize("path", OF_THE_CLUSTER)
def test_what_decides_about_a_whole_openshift_cluster_has_a_rule(path: str, engine: redaction.Engine) -> None:
    """No script plans identity providers, trusted certificates, or units and files of all nodes like a ConfigMap."""
    for method, before, after in (
        ("APPLY", None, named()),
        ("PATCH", named(), named(spec={})),
        ("DELETE", named(), None),
    ):
        refused, told = judge(engine, ask(method, f"apis/{path}"), before, after, DEFAULT)
        assert refused | told.keys() == {OF_THE_CLUSTER[path]}, method
        assert bool(refused) == (OF_THE_CLUSTER[path] == "writes.rbac") and set(told.values()) <= {"critical"}


def test_a_node_changes_in_four_ways_alone_with_a_warning(engine: redaction.Engine) -> None:
    """Whatever comes beside a label, a taint or `unschedulable` is critical; so is a node that is made or deleted, and
    its status, where that may be written at all."""
    rules = write_settings.read(config.WritePolicy.model_validate({"levels": {"writes.subresource": "allow"}}))
    node = {
        "metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {}, "resourceVersion": "1"},
        "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {"phase": "a"},
    }

    def level(method: str, path: str, **parts: Any) -> set[str]:
        after = copy.deepcopy(node)
        for part, fields in parts.items():
            after[part] |= fields
        changed = None if method == "DELETE" else after
        refused, told = judge(engine, ask(method, path), None if method == "POST" else node, changed, rules)
        assert not refused
        return set(told.values())

    one = "api/v1/nodes/a"
    label: dict[str, Any] = {"labels": {}}
    taints, cordon = {"taints": None}, {"unschedulable": True}
    assert level("PATCH", one, metadata=label | {"resourceVersion": "2"}, spec=cordon) == {"warning"}
    assert level("PUT", one, metadata={"annotations": {"a": "b"}}, spec=taints, status={"phase": "b"}) == {"warning"}
    for more in ({"podCIDR": "10.0.1.0/24"}, {"podCIDR": None}, {"providerID": "a"}, {"externalID": ""}):
        assert "critical" in level("PATCH", one, spec=cordon | more), more
    others: tuple[dict[str, Any], ...] = ({"finalizers": ["a"]}, {"ownerReferences": []}, {"selfLink": "a"})
    for meta in others:
        assert "critical" in level("PATCH", one, metadata=label | meta), meta
    assert "critical" in level("PATCH", f"{one}/status", status={"phase": "b"})
    assert "critical" in level("DELETE", one) and "critical" in level("POST", "api/v1/nodes")


def rule(*resources: str, verbs: tuple[Any, ...] = ("get",), groups: tuple[Any, ...] = ("",), **more: Any) -> Any:
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs), **more}


OWN: Final = "rbac.authorization.k8s.io"
FURTHER: Final[dict[str, Any]] = {
    "all verbs": rule("pods", verbs=("get", "*")),
    "all resources": rule("*"),
    "all resources of a group": rule("*", groups=("batch",)),
    "all groups": rule("pods", groups=("apps", "*")),
    "all of all": rule("*", verbs=("*",), groups=("*",)),
    "Secrets": rule("secrets"),
    "one Secret by name": rule("secrets", resourceNames=["db"]),
    "Secrets after others": rule("pods", "configmaps", "secrets", verbs=("list",), groups=("apps", "")),
    "exec": rule("pods/exec", verbs=("create",)),
    "exec by a GET": rule("pods/exec"),
    "exec into anything": rule("*/exec", verbs=("create",)),
    "anything of a pod": rule("pods/*"),
    "attach": rule("pods/attach", verbs=("create",)),
    "port-forward": rule("pods/portforward", verbs=("create",)),
    "a proxy": rule("services/proxy"),
    "a node's proxy": rule("nodes/proxy"),
    "a node's files": rule("nodes/log"),
    "an ephemeral container": rule("pods/ephemeralcontainers", verbs=("patch",)),
    "tokens": rule("serviceaccounts/token", verbs=("create",)),
    "service accounts": rule("serviceaccounts", verbs=("create",)),
    "someone else's name": rule("users", verbs=("impersonate",)),
    "a service account's name": rule("serviceaccounts", verbs=("impersonate",)),
    "escalate": rule("roles", verbs=("escalate",), groups=(OWN,)),
    "bind": rule("clusterroles", verbs=("bind",), groups=(OWN,), resourceNames=["view"]),
    "roles": rule("roles", verbs=("patch",), groups=(OWN,)),
    "bindings": rule("rolebindings", verbs=("create",), groups=("apps", OWN)),
    "OpenShift's bindings": rule("rolebindings", verbs=("create",), groups=("authorization.openshift.io",)),
    "the namespace": rule("namespaces", verbs=("patch",), resourceNames=["shop"]),
    "a security policy": rule("podsecuritypolicies", verbs=("use",), groups=("policy",)),
    "a security constraint": rule("securitycontextconstraints", verbs=("use",), groups=("security.openshift.io",)),
    "identity providers": rule("oauths", verbs=("patch",), groups=("config.openshift.io",)),
    "files of nodes": rule("machineconfigs", verbs=("create",), groups=("machineconfiguration.openshift.io",)),
    "webhooks": rule("validatingwebhookconfigurations", verbs=("delete",), groups=("admissionregistration.k8s.io",)),
    "signing": rule("signers", verbs=("sign",), groups=("certificates.k8s.io",)),
    "a path": {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    "a path beside a resource": rule("pods", nonResourceURLs=["*"]),
    "verbs that are no list": rule("pods") | {"verbs": "get"},
    "resources that are no list": rule("pods") | {"resources": {"secrets": True}},
    "groups of another type": rule("pods", groups=([""],)),
    "a verb in capitals": rule("pods", verbs=("GET",)),
    "a rule that is none": "get pods",
}
ORDINARY: Final = (
    READ,
    rule("pods", "pods/log", "configmaps", "services", verbs=("get", "list", "watch")),
    rule("deployments", "deployments/scale", groups=("apps",), verbs=("get", "patch", "update", "create", "delete")),
    rule("pods/eviction", verbs=("create",)),
    rule("roles", "rolebindings", groups=(OWN,), verbs=("get", "list")),
    rule("serviceaccounts", "namespaces", verbs=("get",)),
    rule("certificates", "certificates/status", groups=("cert-manager.io",), verbs=("get", "update")),
    rule("secrets", groups=("example.com",)),
)
DEFAULT: Final = write_settings.read(config.WritePolicy())


@pytest.mark.parametrize("case", FURTHER)
def test_a_rule_that_leads_further_is_refused_in_every_way_to_write_it(case: str, engine: redaction.Engine) -> None:
    """A new Role, a Role that gets one more rule, one whose rule gets more, and a ClusterRole where those are planned;
    not one that has the rule already and gets a label."""
    further = FURTHER[case]
    own = named(rules=[READ])
    more = named(rules=[READ, further])
    for method, path, before, after in (
        ("POST", ROLES, None, more),
        ("APPLY", f"{ROLES}/a", None, more),
        ("APPLY", f"{ROLES}/a", own, more),
        ("PATCH", f"{ROLES}/a", own, more),
        ("PUT", f"{ROLES}/a", own, named(rules=[further])),
        ("PATCH", f"{ROLES}/a", named(rules=[rule("secrets", verbs=("watch",))]), more),
    ):
        refused, _ = judge(engine, ask(method, path), before, after, DEFAULT)
        assert refused == {"writes.escalation"}, (method, path)
    lifted = write_settings.read(config.WritePolicy.model_validate({"levels": {"writes.rbac": "critical"}}))
    assert judge(engine, ask("POST", f"{RBAC}/clusterroles"), None, more, lifted)[0] == {"writes.escalation"}
    labelled = more | {"metadata": {"name": "a", "labels": {"a": "b"}}}
    refused, told = judge(engine, ask("PATCH", f"{ROLES}/a"), more, labelled, DEFAULT)
    assert not refused and told == {"writes.roles": "critical"}


def test_ordinary_roles_and_bindings_are_critical_and_no_more(engine: redaction.Engine) -> None:
    """A person may decide about them."""
    for one in ORDINARY:
        assert judge(engine, ask("POST", ROLES), None, named(rules=[one]), DEFAULT)[0] == set(), one
    own = {"kind": "ServiceAccount", "name": "web", "namespace": "shop"}
    for subject in (JANE, own, {"kind": "Group", "name": "shop-readers"}):
        for reference in (VIEW, VIEW | {"kind": "Role", "name": "reader"}):
            made = named(roleRef=reference, subjects=[subject])
            refused, told = judge(engine, ask("POST", BINDINGS), None, made, DEFAULT)
            assert not refused and told == {"writes.roles": "critical"}, made


def bound(*subjects: Any, **reference: Any) -> dict[str, Any]:
    return named(roleRef=VIEW | reference, subjects=list(subjects))


GIVEN: Final[dict[str, dict[str, Any]]] = {
    "everyone who logs in": bound({"kind": "Group", "name": "system:authenticated"}),
    "everyone": bound({"kind": "Group", "name": "system:unauthenticated"}),
    "nobody known": bound({"kind": "User", "name": "system:anonymous"}),
    "the cluster's masters": bound({"kind": "Group", "name": "system:masters"}),
    "every program": bound({"kind": "Group", "name": "system:serviceaccounts"}),
    "every program of a namespace": bound({"kind": "Group", "name": "system:serviceaccounts:ci"}),
    "a program of another namespace": bound({"kind": "ServiceAccount", "name": "web", "namespace": "ci"}),
    "a program of no namespace": bound({"kind": "ServiceAccount", "name": "web"}),
    "a program by its user": bound({"kind": "User", "name": "system:serviceaccount:ci:web"}),
    "a node": bound({"kind": "User", "name": "system:node:a"}),
    "another kind of subject": bound({"kind": "SystemGroup", "name": "a"}),
    "a subject without a name": bound({"kind": "User"}),
    "a subject that is none": bound("jane"),
    "someone after jane": bound(JANE, {"kind": "Group", "name": "system:masters"}),
    "admin": bound(JANE, name="admin"),
    "edit": bound(JANE, name="edit"),
    "cluster-admin": bound(JANE, name="cluster-admin"),
    "a view of its own": bound(JANE, name="view-all"),
    "another kind of role": bound(JANE, kind="Rolle"),
    "a role in capitals": bound(JANE, kind="clusterrole"),
    "no name of a role": bound(JANE, name=None),
    "no role": named(subjects=[JANE]),
    "subjects that are no list": named(roleRef=VIEW, subjects=JANE | {"name": "system:masters"}),
}


@pytest.mark.parametrize("case", GIVEN)
def test_a_binding_that_gives_more_than_it_says_is_refused(case: str, engine: redaction.Engine) -> None:
    """Also to one more subject of a binding that is there; not where it only gets a label."""
    made = GIVEN[case]
    without = made | {"subjects": []}
    for method, path, before in (
        ("POST", BINDINGS, None),
        ("APPLY", f"{BINDINGS}/a", None),
        ("PATCH", f"{BINDINGS}/a", without),
    ):
        assert judge(engine, ask(method, path), before, made, DEFAULT)[0] == {"writes.escalation"}, method
    labelled = made | {"metadata": {"name": "a", "labels": {"a": "b"}}}
    assert judge(engine, ask("PATCH", f"{BINDINGS}/a"), made, labelled, DEFAULT)[0] == set()


def test_a_cluster_role_that_is_added_to_others_leads_further(engine: redaction.Engine) -> None:
    """By its labels, or by a rule that adds others to it; and each new rule of one that has such a label."""
    lifted = write_settings.read(config.WritePolicy.model_validate({"levels": {"writes.rbac": "critical"}}))
    own = named(rules=[READ])
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    for after in (
        own | {"metadata": {"name": "a", "labels": label}},
        own | {"aggregationRule": {"clusterRoleSelectors": [{}]}},
    ):
        for before in (None, own):
            method = "PATCH" if before else "POST"
            path = f"{RBAC}/clusterroles{'/a' if before else ''}"
            assert judge(engine, ask(method, path), before, after, lifted)[0] == {"writes.escalation"}
    assert judge(engine, ask("POST", f"{RBAC}/clusterroles"), None, own, lifted)[0] == set()
    metadata, more = {"name": "a", "labels": label}, rule("pods", verbs=("create",))
    patch = ask("PATCH", f"{RBAC}/clusterroles/a")
    added, plain = named(metadata=metadata, rules=[READ]), named(rules=[READ, more])
    assert judge(engine, patch, added, plain | {"metadata": metadata}, lifted)[0] == {"writes.escalation"}
    assert judge(engine, patch, plain | {"metadata": metadata}, added, lifted)[0] == set()
    assert judge(engine, patch, own, plain, lifted)[0] == set()


def test_roles_are_judged_in_the_time_of_their_size(engine: redaction.Engine) -> None:
    """As many groups as resources, as many subjects as there can be: no pair of them is looked at."""
    many = [f"group-{number}.example.com" for number in range(4_000)]
    wide = named(rules=[rule(*many, groups=tuple(many)), rule(*many, groups=tuple(many))])
    assert judge(engine, ask("POST", ROLES), None, wide, DEFAULT)[0] == set()
    crowd = [JANE | {"name": f"user-{number}"} for number in range(4_000)]
    assert judge(engine, ask("POST", BINDINGS), None, bound(*crowd), DEFAULT)[0] == set()


@pytest.mark.parametrize("name", ["../secrets/db", "a/token", "..", "", "a?watch=1", "a" * 300])
def test_a_masker_that_lies_about_a_role_makes_no_other_read(name: str) -> None:
    """What it tells of the Role that is bound is part of a path only if it can be a name."""
    facts = inspection.Facts("uid", "1", "0" * 64)
    call = ask("PATCH", f"{BINDINGS}/a")
    nothing: Any = None
    tried = attempt.Attempt(call, inspection.Changes(facts, facts, binds=name), nothing)
    if not name:
        assert bound_roles.add_risk(nothing, "", tried, nothing, nothing) is tried
        return
    with pytest.raises(errors.RequestError):
        bound_roles.add_risk(nothing, "", tried, nothing, nothing)


NAMESPACE: Final = f"levels-{secrets.token_hex(3)}"
NODE_NAME: Final = f"node-{NAMESPACE}"
HEADER: Final = f"""
rbac, core = k8s.rbacV1(), k8s.coreV1()
READ = {READ!r}
EXEC = {FURTHER["exec"]!r}
def role(name, *rules):
    return {{'metadata': {{'name': name}}, 'rules': list(rules)}}
def bind(name, role, kind='Role'):
    reference = {{'apiGroup': 'rbac.authorization.k8s.io', 'kind': kind, 'name': role}}
    rbac.create_namespaced_role_binding(NAMESPACE, {{'metadata': {{'name': name}}, 'roleRef': reference,
        'subjects': [{JANE!r}]}})
"""


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """A server with a node, and a namespace with two Roles: one that reads pods, and one that runs commands in them."""
    found = shared.attach("scratch", run_folder, run_process)
    writer = Writer(found.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    writer.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME}})
    for name, rules in (("reader", [READ]), ("runner", [READ, FURTHER["exec"]])):
        writer.create(placed_role(name, rules))
    return found


def placed_role(name: str, rules: list[Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": f"{OWN}/v1", "kind": "Role", "metadata": metadata, "rules": rules}


@pytest.fixture(scope="module")
def rbac(plane: ControlPlane) -> Any:
    return client.RbacAuthorizationV1Api(official_client.connect(plane.kubeconfig))


@pytest.fixture(scope="module")
def plans(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[planned.Plans]:
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as made:
        yield made


def levels(step: plan.Step) -> dict[str, str]:
    """The levels of the findings of rules on a step."""
    return {each.rule: each.level for each in step.findings if each.rule.startswith("writes.")}


REFUSED: Final = {
    "a Role with a new rule, by a merge patch": "rbac.patch_namespaced_role('reader', NAMESPACE, {'rules': [READ, EXEC]})",
    "by a JSON patch": (
        "rbac.patch_namespaced_role('reader', NAMESPACE, [{'op': 'add', 'path': '/rules/-', 'value': EXEC}])"
    ),
    "by a JSON patch of one word": (
        "rbac.patch_namespaced_role('reader', NAMESPACE, "
        "[{'op': 'replace', 'path': '/rules/0/resources/0', 'value': 'secrets'}])"
    ),
    "by an apply of another manager": (
        "k8s.apply({'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'Role', 'metadata': {'name': 'reader', "
        "'namespace': NAMESPACE}, 'rules': [READ, EXEC]}, force=True, field_manager='another')"
    ),
    "by a replacement": "rbac.replace_namespaced_role('reader', NAMESPACE, role('reader', READ, EXEC))",
    "by a deletion before": (
        "rbac.delete_namespaced_role('reader', NAMESPACE)\n"
        "rbac.create_namespaced_role(NAMESPACE, role('reader', EXEC))\nbind('web', 'reader')"
    ),
    "a Role of long ago": "bind('web', 'runner')",
    "a ClusterRole": "bind('web', 'edit', 'ClusterRole')",
}  # fmt: skip


@pytest.mark.cluster
@pytest.mark.parametrize("case", REFUSED)
def test_rights_that_lead_further_are_no_part_of_a_plan(case: str, plans: planned.Plans, rbac: Any) -> None:
    """However they are written; the Role is as it was, and the next script's plan is made."""
    refused = plans.answer(f"{HEADER}{REFUSED[case]}\n1")
    assert refused.is_error and not refused.plan and "writes.escalation" in refused.text, refused.text
    assert len(rbac.read_namespaced_role("reader", NAMESPACE).rules) == 1
    (step,) = plans.steps(f"{HEADER}bind('web', 'reader')\n1")
    assert levels(step) == {"writes.roles": "critical"}


@pytest.mark.cluster
def test_one_more_subject_of_a_binding_gets_its_role(plans: planned.Plans, rbac: Any) -> None:
    """The Role is looked at again for that subject; not for a label of the binding."""
    reference = {"apiGroup": OWN, "kind": "Role", "name": "runner"}
    kept = {"metadata": {"name": "kept"}, "roleRef": reference, "subjects": [JANE]}
    rbac.create_namespaced_role_binding(NAMESPACE, kept)
    patch = "rbac.patch_namespaced_role_binding('kept', NAMESPACE, {!r})\n1"
    refused = plans.answer(HEADER + patch.format({"subjects": [JANE, JANE | {"name": "joe"}]}))
    assert refused.is_error and "writes.escalation" in refused.text
    (step,) = plans.steps(HEADER + patch.format({"metadata": {"labels": {"a": "b"}}}))
    assert levels(step) == {"writes.roles": "critical"}


@pytest.mark.cluster
def test_a_role_that_gets_more_after_its_binding_was_approved_stops_the_plan(
    plans: planned.Plans, plane: ControlPlane, rbac: Any
) -> None:
    """Somebody changes it meanwhile; a plan that is made of it then is refused, and one of a harmless Role applied."""
    Writer(plane.kubeconfig).create(placed_role("growing", [READ]))
    shown = plans.of(f"{HEADER}bind('late', 'growing')\n1")
    rbac.patch_namespaced_role("growing", NAMESPACE, {"rules": [READ, FURTHER["exec"]]})
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "writes.escalation" in ended.text, ended.text
    assert not rbac.list_namespaced_role_binding(NAMESPACE, field_selector="metadata.name=late").items
    applied = plans.apply(plans.of(f"{HEADER}bind('late', 'reader')\n1"))
    assert applied.state == "applied", applied.text


@pytest.mark.cluster
def test_what_an_operator_permits_is_told_of_the_binding_too(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A Role that is made anew in the plan leads further; so does its binding, and both are applied as they were shown."""
    given = {"write_policy": {"levels": {"writes.escalation": "critical"}}}
    Writer(plane.kubeconfig).create(placed_role("exchanged", [READ]))
    script = (
        f"{HEADER}rbac.delete_namespaced_role('exchanged', NAMESPACE)\n"
        "rbac.create_namespaced_role(NAMESPACE, role('exchanged', EXEC))\nbind('exchanged', 'exchanged')\n1"
    )
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("lifted"), NAMESPACE, **given) as lifted:
        shown = lifted.of(script)
        assert [levels(step).get("writes.escalation") for step in shown.steps] == [None, "critical", "critical"]
        ended = lifted.apply(shown)
    assert ended.state == "applied", ended.text


SAFE: Final = {
    f"core.patch_node('{NODE_NAME}', {{'spec': {{'unschedulable': True}}}})": {"writes.nodes": "warning"},
    f"core.delete_node('{NODE_NAME}')": {"writes.nodes": "warning", "writes.nodes.other": "critical"},
    f"core.create_namespace({{'metadata': {{'name': '{NAMESPACE}-new'}}}})": {"writes.namespaces.create": "warning"},
    f"k8s.apply({{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {{'name': '{NAMESPACE}-new'}}}})": {
        "writes.namespaces.create": "warning"
    },
    "core.patch_namespace(NAMESPACE, {'metadata': {'labels': {'pod-security.kubernetes.io/enforce': 'privileged'}}})": {
        "writes.namespaces.change": "critical"
    },
    "core.delete_namespace(NAMESPACE)": {"writes.namespaces.delete": "critical"},
}


@pytest.mark.cluster
@pytest.mark.parametrize("approval", ["person", "argument"])
def test_a_person_decides_about_nodes_and_namespaces_and_no_model_does(
    approval: str, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The finding's level is the rule's. With `approval = "argument"` the same writes are refused by the same rules."""
    folder = tmp_path_factory.mktemp("approval")
    with planned.opened(plane.kubeconfig, folder, NAMESPACE, approval=approval) as made:
        for write, expected in SAFE.items():
            script = f"{HEADER}{write}\n1"
            if approval == "person":
                (step,) = made.steps(script)
                found = levels(step)
                assert {rule: found[rule] for rule in expected} == expected, write
            else:
                refused = made.answer(script)
                assert refused.is_error and not refused.plan and "writes.n" in refused.text, refused.text
        assert made.steps(f"{HEADER}core.create_namespaced_config_map(NAMESPACE, {{'metadata': {{'name': 'a'}}}})\n1")


def on_node(node: str, name: str, *tolerations: Any, **metadata: Any) -> dict[str, Any]:
    """A running pod of a node."""
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "web:1"}], "tolerations": list(tolerations)}
    own = {"name": name, "namespace": NAMESPACE, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec, "status": {"phase": "Running"}}


TAINT: Final = {"key": "dedicated", "value": "db", "effect": "NoExecute"}
EXISTS: Final = {"key": "dedicated", "operator": "Exists"}
CONTROLLED: Final = {
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}]
}
TAINTED: Final = "core.patch_node('{node}', {{'spec': {{'taints': [{taint!r}]}}}})\n1"


@pytest.mark.cluster
def test_a_taint_tells_how_many_pods_it_evicts(plane: ControlPlane, plans: planned.Plans) -> None:
    """Those without the toleration, by key, value and effect; and one more when it is applied stops the plan. Cordoning
    and other taints say that running pods stay."""
    node = f"tainted-{NAMESPACE}"
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    for name, *tolerations in (
        ("bare",),
        ("by-key", EXISTS),
        ("by-everything", {"operator": "Exists"}),
        ("by-value", {"key": "dedicated", "value": "db", "effect": "NoExecute"}),
        ("for-a-while", EXISTS | {"effect": "NoExecute", "tolerationSeconds": 60}),
        ("of-another-value", {"key": "dedicated", "value": "web"}),
        ("of-another-effect", EXISTS | {"effect": "NoSchedule"}),
    ):
        writer.create(on_node(node, name, *tolerations))
    script = f"{HEADER}{TAINTED.format(node=node, taint=TAINT)}"
    shown = plans.of(script)
    (step,) = shown.steps
    assert "evicts 4 of the 7 pods on it (NoExecute), 1 of them only after their tolerationSeconds" in step.effects
    assert {each.level for each in step.findings if each.rule == "writes.evicted"} == {"warning", "critical"}
    writer.create(on_node(node, "new"))
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "evicts pods" in ended.text, ended.text
    cordoned = plans.steps(f"{HEADER}core.patch_node('{node}', {{'spec': {{'unschedulable': True}}}})\n1")[0]
    assert cordoned.effects == ("no new pods are scheduled on it; running pods stay",)
    kept = plans.steps(f"{HEADER}{TAINTED.format(node=node, taint=TAINT | {'effect': 'NoSchedule'})}")[0]
    assert "running ones stay" in kept.effects[0] and not any("evict" in line for line in kept.effects)
    ended = plans.apply(plans.of(script))
    assert ended.state == "applied", ended.text
    (labelled,) = plans.steps(f"{HEADER}core.patch_node('{node}', {{'metadata': {{'labels': {{'a': 'b'}}}}}})\n1")
    assert labelled.effects == ()


@pytest.mark.cluster
def test_pods_of_a_controller_are_evicted_with_a_warning(plane: ControlPlane, plans: planned.Plans) -> None:
    """They are made anew elsewhere; a pod that has ended is not counted."""
    node = f"controlled-{NAMESPACE}"
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    writer.create(app_objects.workload(NAMESPACE, "ReplicaSet", "web"))
    writer.create(on_node(node, "made", **CONTROLLED))
    writer.create(on_node(node, "ended") | {"status": {"phase": "Succeeded"}})
    (step,) = plans.steps(f"{HEADER}{TAINTED.format(node=node, taint=TAINT)}")
    assert "evicts 1 of the 1 pods on it (NoExecute)" in step.effects
    assert {each.level for each in step.findings if each.rule == "writes.evicted"} == {"warning"}


@pytest.mark.cluster
def test_two_changes_of_a_role_that_lead_further_only_together_stop_the_plan(
    plane: ControlPlane, plans: planned.Plans, rbac: Any
) -> None:
    """Each was tried alone; the second one is judged again right before it would be sent."""
    Writer(plane.kubeconfig).create(placed_role("halves", [rule("pods")]))
    half = "rbac.patch_namespaced_role('halves', NAMESPACE, [{{'op': 'replace', 'path': '/rules/0/{}/0', 'value': '{}'}}])\n"
    shown = plans.of(f"{HEADER}{half.format('verbs', 'create')}{half.format('resources', 'serviceaccounts')}1")
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "writes.escalation" in ended.text, ended.text
    assert [each.state for each in ended.steps] == ["done", "waiting"]
    (left,) = rbac.read_namespaced_role("halves", NAMESPACE).rules
    assert (left.resources, left.verbs) == (["pods"], ["create"])
    assert plans.apply(plans.of(f"{HEADER}{half.format('verbs', 'list')}1")).state == "applied"


FRESH: Final = f"{NAMESPACE}-fresh"
INSIDE: Final = f"""
core.create_namespace({{'metadata': {{'name': '{FRESH}'}}}})
rbac.create_namespaced_role('{FRESH}', role('reader', READ))
rbac.create_namespaced_role_binding('{FRESH}', {{'metadata': {{'name': 'reader'}},
    'roleRef': {{'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role', 'name': 'reader'}},
    'subjects': [{{'kind': 'ServiceAccount', 'name': 'web', 'namespace': PLACE}}]}})
1
"""


@pytest.mark.cluster
def test_rights_in_a_namespace_that_only_the_plan_has_are_judged_as_they_will_be(
    plans: planned.Plans, rbac: Any
) -> None:
    """They are tried in `default`; a program of that namespace is of another one all the same. The rest is applied."""
    for place in ("default", NAMESPACE):
        refused = plans.answer(HEADER + INSIDE.replace("PLACE", repr(place)))
        assert refused.is_error and not refused.plan and "writes.escalation" in refused.text, refused.text
    shown = plans.of(HEADER + INSIDE.replace("PLACE", repr(FRESH)))
    found = [levels(step) for step in shown.steps]
    assert found[0]["writes.namespaces.create"] == "warning" and found[2]["writes.roles"] == "critical"
    ended = plans.apply(shown)
    assert ended.state == "applied", ended.text
    assert [each.metadata.name for each in rbac.list_namespaced_role_binding(FRESH).items] == ["reader"]
