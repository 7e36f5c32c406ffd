"""The policy for writes: what each rule refuses and what it lets pass, on requests and on what they would change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubescript import config, errors
from kubescript.changes.rules import effects, table, write_settings, writes
from kubescript.kube import images
from kubescript.policy import decisions
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from tests.kit import tokens

WEB = "apis/apps/v1/namespaces/shop/deployments/web"
POD = {"metadata": {"name": "web-0"}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}


def ask(method: str, path: str, body: Any = None, query: tuple[tuple[str, str], ...] = ()) -> request.Request:
    """A call as the broker reads it."""
    if body is None and method != "DELETE":
        body = {}
    content_type: Any = "merge-patch" if method == "PATCH" else "json"
    raw = msgspec.Raw(json.dumps(body).encode())
    return request.parse(exchanges.Call(method, tuple(path.split("/")), query, raw, content_type))  # type: ignore[arg-type]


DIRECT = "direct"
LIFTED = {each.id: "allow" for each in table.RULES}


def rules(mode: str = DIRECT, **given: Any) -> writes.Policy:
    """The policy of these settings; by default of a server that asks nobody, so that each rule refuses."""
    return write_settings.read(config.WritePolicy.model_validate(given), mode)


def denied(call: request.Request, **given: Any) -> str:
    """The rule that refuses the request; empty when none does."""
    decision = writes.find_objection(call, rules(**given))
    return "" if decision is None else short(call, decision)


def short(call: request.Request, decision: decisions.Decision) -> str:
    """The rule of a denial that says in few words why, and what to do."""
    assert decision.verdict == "deny" and decision.reason
    told = "; ".join(filter(None, (decision.reason, decision.instead)))
    text = f"ForbiddenException: 403 {decision.rule}: {request.describe(call)}: {told} (line 1)"
    assert tokens.count(text) <= 48, text
    return decision.rule


def facts(
    labels: dict[str, str] | None = None, replicas: int | None = None, images: tuple[str, ...] = ()
) -> inspection.Facts:
    """What a masking process tells of an object."""
    return inspection.Facts("uid", "1", "0" * 64, labels or {}, replicas, images)


def found(call: request.Request, shown: inspection.Changes, **given: Any) -> list[str]:
    """The rules that refuse the changes."""
    return [short(call, denial) for denial in effects.findings(call, shown, rules(**given)).denials]


PATCH = ask("PATCH", WEB)
SCALE = ask("PATCH", f"{WEB}/scale")
DELETE = ask("DELETE", WEB)
CREATE = ask("POST", "api/v1/namespaces/shop/pods", POD)
EVICT = ask("POST", "api/v1/namespaces/shop/pods/web-0/eviction", {"metadata": {"name": "web-0"}})


@pytest.mark.parametrize("call", [PATCH, SCALE, DELETE, CREATE, EVICT, ask("PUT", WEB)])
def test_ordinary_writes_pass_without_any_setting(call: request.Request) -> None:
    """Creating, changing, scaling, evicting and deleting one object by its name is what plans are for."""
    assert denied(call) == ""


FORBIDDEN = {
    "a Secret": ("writes.secrets", ask("PATCH", "api/v1/namespaces/shop/secrets/db")),
    "a cluster role binding": ("writes.rbac", ask("POST", "apis/rbac.authorization.k8s.io/v1/clusterrolebindings", POD)),
    "an approval of a certificate": (
        "writes.rbac", ask("PUT", "apis/certificates.k8s.io/v1/certificatesigningrequests/x"),
    ),
    "a webhook": (
        "writes.webhooks", ask("DELETE", "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x"),
    ),
    "an aggregated API": ("writes.webhooks", ask("DELETE", "apis/apiregistration.k8s.io/v1/apiservices/v1.x")),
    "a definition": ("writes.crds", ask("DELETE", "apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.io")),
    "a new namespace": (
        "writes.namespaces.create", ask("POST", "api/v1/namespaces", {"metadata": {"name": "shop"}}),
    ),
    "a namespace": ("writes.namespaces.change", ask("PATCH", "api/v1/namespaces/shop")),
    "the end of a namespace": ("writes.namespaces.delete", ask("DELETE", "api/v1/namespaces/shop")),
    "a role": ("writes.roles", ask("PATCH", "apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/web")),
    "a node": ("writes.nodes", ask("PATCH", "api/v1/nodes/a")),
    "a service account": ("writes.service_account", ask("PATCH", "api/v1/namespaces/shop/serviceaccounts/default")),
    "a status": ("writes.subresource", ask("PATCH", f"{WEB}/status")),
    "an ephemeral container": (
        "writes.subresource", ask("PATCH", "api/v1/namespaces/shop/pods/web-0/ephemeralcontainers"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FORBIDDEN)
def test_what_is_forbidden_is_refused_until_its_rule_is_lifted_by_name(case: str) -> None:
    """Each such rule has an id, and an operator who names it lifts it and no other."""
    rule, call = FORBIDDEN[case]
    assert denied(call) == rule
    assert denied(call, levels={rule: "allow"}) == ""
    assert denied(call, levels=LIFTED | {rule: "refuse"}) == rule


NEVER = {
    "many objects": ("writes.collections", ask("DELETE", "api/v1/namespaces/shop/pods")),
    "a write without a name": ("writes.collections", ask("PATCH", "api/v1/namespaces/shop/pods")),
    "a selector": ("writes.selector", ask("DELETE", WEB, query=(("labelSelector", "a=b"),))),
    "a binding": ("writes.dry_run", ask("POST", "api/v1/namespaces/shop/bindings", POD)),
    "the binding of a pod": ("writes.dry_run", ask("POST", "api/v1/namespaces/shop/pods/web-0/binding")),
    "a name that the server makes up": (
        "writes.generate_name", ask("POST", "api/v1/namespaces/shop/pods", {"metadata": {"generateName": "web-"}}),
    ),
    "the last of a namespace": ("writes.subresource", ask("PUT", "api/v1/namespaces/shop/finalize")),
    "what nobody knows": ("writes.subresource", ask("PUT", "apis/example.com/v1/namespaces/shop/widgets/a/restart")),
    "a token": ("writes.subresource", ask("POST", "api/v1/namespaces/shop/serviceaccounts/default/token")),
}  # fmt: skip


@pytest.mark.parametrize("case", NEVER)
def test_some_writes_are_refused_whatever_is_lifted(case: str) -> None:
    """What names no object, or cannot be tried first, is never part of a plan."""
    rule, call = NEVER[case]
    assert denied(call, levels=LIFTED) == rule


def test_namespaces_on_the_list_may_be_changed_and_no_others() -> None:
    """A list of namespaces leaves out all others, and what has no namespace unless "" is listed."""
    volume = ask("DELETE", "api/v1/persistentvolumes/data")
    assert denied(PATCH, namespaces=["shop"]) == denied(PATCH, namespaces=["sh*"]) == ""
    assert denied(PATCH, namespaces=["prod-*"]) == "writes.scope"
    assert denied(volume) == denied(volume, namespaces=["shop", ""]) == ""
    assert denied(volume, namespaces=["*"]) == "writes.scope"


def test_verbs_are_permitted_by_resource() -> None:
    """The entry for the resource decides, or else the one for all; a resource without either may not be changed."""
    verbs = {"deployments.apps": ["patch"], "pods": ["delete"]}
    assert denied(PATCH, verbs=verbs) == denied(SCALE, verbs=verbs) == denied(EVICT, verbs=verbs) == ""
    assert denied(DELETE, verbs=verbs) == denied(CREATE, verbs=verbs) == "writes.verbs"
    assert denied(CREATE, verbs={**verbs, "*": ["create"]}) == "writes.verbs"
    assert denied(ask("PATCH", "apis/apps/v1/namespaces/shop/statefulsets/db"), verbs=verbs) == "writes.verbs"
    assert denied(SCALE, verbs={"deployments.apps": ["patch"], "deployments.apps/scale": []}) == "writes.verbs"
    assert denied(SCALE, verbs={"deployments.apps/scale": ["patch"]}) == ""


def test_an_apply_that_creates_needs_the_verb_create() -> None:
    """A patch of what does not exist is a creation."""
    made = inspection.Changes(after=facts())
    assert found(PATCH, made, verbs={"*": ["patch"]}) == ["writes.verbs"]
    assert found(PATCH, made, verbs={"*": ["patch", "create"]}) == []
    assert found(PATCH, inspection.Changes(facts(), facts()), verbs={"*": ["patch"]}) == []


def test_only_targets_may_be_changed_and_no_change_makes_one() -> None:
    """The labels of the object decide, before the change and after it; a new object is no target."""
    stable, canary = facts({"track": "stable"}), facts({"track": "canary"})
    for call in (PATCH, DELETE, EVICT):
        after = None if call is not PATCH else stable
        assert found(call, inspection.Changes(stable, after), targets="track!=canary") == []
        after = None if call is not PATCH else canary
        assert found(call, inspection.Changes(canary, after), targets="track!=canary") == ["writes.targets"]
    assert found(PATCH, inspection.Changes(canary, stable), targets="track!=canary") == ["writes.targets"]
    assert found(PATCH, inspection.Changes(stable, canary), targets="track!=canary") == ["writes.targets"]
    assert found(CREATE, inspection.Changes(after=canary), targets="track!=canary") == []


def test_a_scale_is_judged_by_the_labels_of_what_is_scaled() -> None:
    """A Scale has no labels of its own, which neither opens nor closes the way."""
    scaled = facts(replicas=3)
    assert found(SCALE, inspection.Changes(facts({"track": "stable"}), scaled), targets="track=stable") == []
    assert found(SCALE, inspection.Changes(facts({"track": "canary"}), scaled), targets="track!=canary") == [
        "writes.targets"
    ]


def test_replicas_stay_within_their_bounds() -> None:
    """A number that is set is judged; one that stays as it was is not."""

    def scaled(old: int, new: int) -> inspection.Changes:
        return inspection.Changes(facts(replicas=old), facts(replicas=new))

    assert found(SCALE, scaled(2, 100)) == found(SCALE, scaled(2, 0)) == found(PATCH, scaled(500, 500)) == []
    assert found(SCALE, scaled(2, 101)) == found(SCALE, scaled(500, 400)) == ["writes.replicas"]
    assert found(SCALE, scaled(2, 0), replicas=[1, 5]) == ["writes.replicas"]
    row = inspection.Row("spec.maxReplicas", "5", "1000")
    assert found(PATCH, inspection.Changes(facts(), facts(), (row,))) == ["writes.replicas"]


def test_new_images_come_from_the_listed_registries() -> None:
    """Images that the object has already may stay."""
    old, new = facts(images=("nginx:1",)), facts(images=("nginx:1", "registry.example.com/team/web:2"))
    assert found(PATCH, inspection.Changes(old, new), registries=["registry.example.com/team"]) == []
    assert found(PATCH, inspection.Changes(old, new), registries=["registry.example.com/other"]) == [
        "writes.registries"
    ]
    assert found(CREATE, inspection.Changes(after=old), registries=["docker.io/library"]) == []
    assert found(CREATE, inspection.Changes(after=old)) == []


NAMES = {
    "nginx": "docker.io/library/nginx",
    "nginx:1.27": "docker.io/library/nginx",
    "nginx@sha256:" + "0" * 64: "docker.io/library/nginx",
    "team/web": "docker.io/team/web",
    "docker.io/nginx": "docker.io/library/nginx",
    "index.docker.io/nginx": "docker.io/library/nginx",
    "localhost/web": "localhost/web",
    "localhost:5000/web:1": "localhost:5000/web",
    "registry.example.com:5000/team/web:1@sha256:" + "0" * 64: "registry.example.com:5000/team/web",
    "Registry.Example.com/team/web": "registry.example.com/team/web",
    "[2001:db8::1]:5000/web": "[2001:db8::1]:5000/web",
}


@pytest.mark.parametrize("image", NAMES)
def test_an_image_is_completed_as_container_runtimes_do(image: str) -> None:
    """A short name means the Docker Hub, and tag and digest say nothing about the registry."""
    full = NAMES[image]
    host = full.partition("/")[0]
    assert images.is_from(image, [full]) and images.is_from(image, [host])
    assert not images.is_from(image, [f"{full}x"]) and not images.is_from(image, ["other.example.com"])


def test_each_risk_has_a_rule_that_refuses_it_until_it_is_lifted() -> None:
    """No risk that the masking process can name is without a rule."""
    for risk in inspection.RISKS:
        shown = inspection.Changes(facts(), facts(), risks=(risk,))
        (rule,) = found(PATCH, shown)
        assert found(PATCH, shown, levels={rule: "allow"}) == []
    assert found(PATCH, inspection.Changes(facts(), facts(), risks=("moonlight",))) == ["writes.risks"]


def test_doctor_is_told_what_the_levels_that_are_set_do() -> None:
    """A level that no person can follow refuses, and that is said."""
    given = {"levels": {"writes.roles": "warn", "writes.nodes": "allow"}}
    assert write_settings.describe_levels(rules("plan", **given)) == ("writes.roles warn", "writes.nodes allow")
    told = ("writes.roles refuse (warn needs a person who reads it)", "writes.nodes allow")
    assert write_settings.describe_levels(rules("direct", **given)) == told
    assert write_settings.describe_levels(rules("plan")) == ()


OWN = [
    {"id": "few", "expression": "true", "resources": ["deployments.apps"]},
    {"id": "owner", "expression": "true", "action": "warn"},
    {"id": "read", "expression": "true", "action": "critical"},
    {"id": "kept", "expression": "true", "operations": ["DELETE"]},
]


def objected(*ids: str, before: bool = True, after: bool = True) -> inspection.Changes:
    objections = tuple(inspection.Objection(name, f"{name}!") for name in ids)
    return inspection.Changes(facts() if before else None, facts() if after else None, objections=objections)


def test_an_operator_s_rule_refuses_or_warns_as_its_action_says() -> None:
    """What warns is told to the approver, and nothing is refused."""
    for mode in ("plan", "direct"):
        judged = effects.findings(PATCH, objected("few", "owner"), rules(mode, expressions=OWN))
        assert [(denial.rule, denial.reason) for denial in judged.denials] == [("writes.expressions.few", "few!")]
        assert judged.notices == (effects.Notice("writes.expressions.owner", "owner!"),)


def test_an_operator_s_critical_rule_refuses_where_no_person_overrides_it() -> None:
    """A person who does gives a reason."""
    critical = effects.Notice("writes.expressions.read", "read!", "critical")
    judged = effects.findings(PATCH, objected("read"), rules("plan", expressions=OWN))
    assert judged.notices == (critical,) and not judged.denials
    assert found(PATCH, objected("read"), expressions=OWN) == ["writes.expressions.read"]


def test_an_operator_s_rule_holds_for_its_resources_and_operations() -> None:
    """A rule says what it is about; one of another cluster's says nothing here."""
    pod = ask("PATCH", "api/v1/namespaces/shop/pods/web-0")
    assert found(pod, objected("few"), expressions=OWN) == found(SCALE, objected("few"), expressions=OWN) == []
    assert found(PATCH, objected("kept", "of another cluster"), expressions=OWN) == []
    for call in (DELETE, EVICT):
        assert found(call, objected("kept", after=False), expressions=OWN) == ["writes.expressions.kept"]
    assert found(DELETE, objected("few", after=False), expressions=OWN) == []


def test_the_strictest_rule_says_how_many_must_approve() -> None:
    """One person is enough where no rule says otherwise."""
    given = config.WritePolicy.model_validate(
        {"approvals": [{"namespaces": ["prod-*"], "count": 2}, {"namespaces": ["prod-eu", "*-eu"], "count": 3}]}
    )
    assert write_settings.approvals(given, ["shop", ""]) == write_settings.approvals(given, []) == 1
    assert write_settings.approvals(given, ["shop", "prod-us"]) == 2
    assert write_settings.approvals(given, ["prod-us", "prod-eu"]) == write_settings.approvals(given, [None]) == 3


def settings(**given: Any) -> config.Settings:
    return config.Settings(**given)


DECISIVE: dict[str, Any] = {
    "the mode": {"writes": "direct"},
    "who approves": {"approval": "argument"},
    "a rule": {"write_policy": {"targets": "a=b"}},
    "a lifted rule": {"write_policy": {"levels": {"writes.rbac": "warn"}}},
    "an expression": {"write_policy": {"expressions": [{"id": "a", "expression": "true"}]}},
    "a denied kind": {"denied_resources": [{"kind": "Pod"}]},
    "no default denials": {"deny_defaults": False},
}


def test_the_digest_changes_with_everything_that_decides_and_with_nothing_else() -> None:
    """A plan is bound to it."""
    base = {"writes": "plan"}
    digests = {write_settings.digest(settings(**{**base, **change})) for change in DECISIVE.values()}
    digests.add(write_settings.digest(settings(**base)))
    assert len(digests) == len(DECISIVE) + 1
    assert write_settings.digest(settings(**base, log_level="debug")) == write_settings.digest(settings(**base))


def test_the_digest_covers_what_the_file_of_safety_rules_says(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    digests = []
    for text in ("{}", '{"allowedNamespaces": ["shop"]}', "{}"):
        file.write_text(text)
        digests.append(write_settings.digest(settings(writes="plan", safety_rules=file)))
    without = write_settings.digest(settings(writes="plan"))
    assert digests[0] == digests[2] and len({*digests, without}) == 3
    file.unlink()
    with pytest.raises(errors.ConfigError, match="cannot read the safety rules"):
        write_settings.digest(settings(writes="plan", safety_rules=file))


def test_the_digest_is_the_same_in_every_process() -> None:
    """The server that applies a plan may be another than the one that made it."""
    script = (
        "from kubescript import config; from kubescript.changes.rules import write_settings;"
        "print(write_settings.digest(config.load({'writes': 'plan', 'write_policy': {'levels': {'writes.rbac': 'warn'},"
        " 'verbs': {'pods': ['patch'], '*': ['create']}}}, None)))"
    )
    seeds = ("1", "2")
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in seeds
    }
    assert len(printed) == 1 and len(printed.pop().strip()) == 64


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a rule that is none": ({"levels": {"writes.secret": "warn"}}, "writes.secrets"),
    "a rule that has no level": ({"levels": {"writes.collections": "warn"}}, "writes.collections"),
    "a namespace that is none": ({"namespaces": ["Prod"]}, "Prod"),
    "a selector that is none": ({"targets": "track in"}, "targets"),
    "a resource that is none": ({"verbs": {"deployments": ["patch"]}}, "deployments.apps"),
    "a resource of a rule that is none": (
        {"expressions": [{"id": "a", "expression": "true", "resources": ["pod"]}]}, "pods",
    ),
    "bounds the wrong way round": ({"replicas": [5, 1]}, "smaller one first"),
    "a registry without a host": ({"registries": ["team"]}, "docker.io/library"),
    "a registry with a tag": ({"registries": ["registry.example.com/team:1"]}, "registry.example.com"),
    "two rules of one name": (
        {"expressions": [{"id": "a", "expression": "true"}, {"id": "a", "expression": "false"}]}, "same id",
    ),
    "approvals of no namespace": ({"approvals": [{"namespaces": ["a b"], "count": 2}]}, "a b"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_rule_that_cannot_mean_what_it_says_is_an_error(case: str) -> None:
    """A mistake must not pass for a permission; the message names it and what is right."""
    given, expected = WRONG[case]
    with pytest.raises(errors.ConfigError) as caught:
        rules(**given)
    assert expected in caught.value.message


def test_a_cluster_s_own_table_completes_the_server_s() -> None:
    """What a context does not give has the server's value, rule by rule."""
    given = settings(
        writes="plan",
        write_policy={"registries": ["registry.example.com"], "objects": 5},
        contexts={"prod": {"write_policy": {"objects": 2}}, "test": {}},
    )
    assert given.of_context("prod").write_policy.registries == ("registry.example.com",)
    assert (given.of_context("prod").write_policy.objects, given.of_context("test").write_policy.objects) == (2, 5)


def test_the_rules_of_all_clusters_go_to_the_masking_processes() -> None:
    """Each once; one id for two rules is an error, and a cluster that is read only needs none."""
    rule = {"id": "a", "expression": "true"}
    both = {"one": {"write_policy": {"expressions": [rule]}}, "two": {"write_policy": {"expressions": [rule]}}}
    assert [each.id for each in write_settings.expressions(settings(writes="plan", contexts=both))] == ["a"]
    assert write_settings.expressions(settings(contexts=both)) == ()
    both["two"]["write_policy"]["expressions"] = [{**rule, "expression": "false"}]
    with pytest.raises(errors.ConfigError, match="`a`"):
        write_settings.expressions(settings(writes="plan", contexts=both))
