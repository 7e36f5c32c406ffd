"""What the real Helm makes of the chart, and that a real API server takes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubescript
from tests.kit import chart, helm, kubectl, paths
from tests.kit.controlplane.server import ControlPlane

_EXAMPLE = paths.ROOT / "examples" / "kubernetes" / "kubescript.yaml"
_DIGEST = f"sha256:{'a' * 64}"


def bare(each: dict[str, Any]) -> dict[str, Any]:
    """An object without what only Helm adds, and without the settings, which the tests look at alone."""
    found: dict[str, Any] = json.loads(json.dumps(each))
    found["metadata"].pop("labels", None)
    found.pop("data", None)
    for labels in _labels(found):
        for name in ("instance", "version", "managed-by"):
            labels.pop(f"app.kubernetes.io/{name}", None)
    if found["kind"] == "Deployment":
        template = found["spec"]["template"]
        template["metadata"].pop("annotations", None)
        for key in ("affinity", "topologySpreadConstraints"):
            template["spec"].pop(key, None)  # the example has one pod
        template["spec"]["containers"][0].pop("imagePullPolicy", None)
    return found


def _labels(each: dict[str, Any]) -> list[dict[str, str]]:
    spec = each.get("spec", {})
    selectors = [spec.get("podSelector", {}), spec.get("selector", {})]
    found = [one.get("matchLabels", one) for one in selectors]
    return [*found, spec.get("template", {}).get("metadata", {}).get("labels", {})]


def test_the_chart_makes_the_example(tmp_path: Path) -> None:
    """Both ways into a cluster are one: the same objects, the same settings, and an image of this version."""
    ours = chart.by_kind(chart.render(tmp_path, "--set", "rbac.clusterRole=view"))
    example = chart.by_kind(_EXAMPLE.read_text())
    example.pop("Namespace")
    ours.pop("PodDisruptionBudget")
    assert {kind: bare(each) for kind, each in ours.items()} == {kind: bare(each) for kind, each in example.items()}
    assert chart.settings(ours, tmp_path).model_dump() == chart.settings(example, tmp_path).model_dump()
    (container,) = ours["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f":{kubescript.__version__}")
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == kubescript.__version__


def check_accepted(scratch: ControlPlane, text: str) -> None:
    """Fails if the API server refuses an object, or does not know a field."""
    command = [str(kubectl.program()), "--kubeconfig", str(scratch.kubeconfig), "create", "--validate=strict"]
    command += ["--dry-run=server", "--output=name", "--filename=-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("release", ["kubescript", "my.app", "1st", "1" + "a" * 52])
def test_an_api_server_takes_what_it_makes(tmp_path: Path, scratch: ControlPlane, namespace: str, release: str) -> None:
    """No field is unknown or wrong, also for names of releases that Helm takes and a Service does not."""
    check_accepted(scratch, chart.render(tmp_path, "--namespace", namespace, release=release))


def test_releases_of_one_name_do_not_meet(tmp_path: Path) -> None:
    """What belongs to no namespace is named after the namespace of the release, so that both can be installed."""
    flags = ("--set", "config.acts_as=impersonate,config.auth.token_review=true")
    found = [
        {
            (each["kind"], each["metadata"]["name"])
            for each in yaml.safe_load_all(chart.render(tmp_path, "--namespace", namespace, *flags, release=release))
            if "namespace" not in each["metadata"]
        }
        # With a hyphen between the two names, these would be one.
        for namespace, release in (("a", "b-kubescript"), ("a-b", "kubescript"))
    ]
    assert len(found[0]) == len(found[1]) == 3 and found[0].isdisjoint(found[1])


def test_names_that_look_like_numbers_stay_names(tmp_path: Path, scratch: ControlPlane, namespace: str) -> None:
    """Those of the role, the account and the secrets."""
    values = "rbac.clusterRole=123,serviceAccount.name=456,secret=789,tls.secret=1,store.secret=2,audit.claim=3"
    text = chart.render(tmp_path, "--namespace", namespace, "--set-string", values)
    check_accepted(scratch, text)
    assert chart.by_kind(text)["ClusterRoleBinding"]["roleRef"]["name"] == "123"


def test_a_server_that_impersonates_may_do_nothing_else(tmp_path: Path) -> None:
    """The account gets no role of its own, and the groups with the prefix that the server sends; a pattern is refused,
    and so is a group of Kubernetes itself, which the server never sends."""
    who = "config.acts_as=impersonate,config.impersonation.group_prefix=team:"
    text = chart.render(tmp_path, "--set", f"{who},config.impersonation.groups={{platform,payments}}")
    objects = chart.by_kind(text)
    role, binding = objects["ClusterRole"], objects["ClusterRoleBinding"]
    assert [each["verbs"] for each in role["rules"]] == [["impersonate"], ["impersonate"]]
    assert role["rules"][1]["resourceNames"] == ["team:platform", "team:payments"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"] and text.count("kind: ClusterRoleBinding") == 1
    refused = chart.render(tmp_path, "--set", f"{who},config.impersonation.groups={{team-*}}", fails=True)
    assert "RBAC knows no patterns" in refused
    for reserved in (
        "system:,config.impersonation.groups={masters}",
        ",config.impersonation.groups={kubeadm:cluster-admins}",
    ):
        prefix = "config.acts_as=impersonate,config.impersonation.group_prefix="
        assert "the server never sends" in chart.render(tmp_path, "--set", prefix + reserved, fails=True)


def test_clients_come_from_the_namespaces_that_are_named(tmp_path: Path) -> None:
    """Labels that a person gives replace the chart's own: with both, no namespace of an ingress controller would match."""
    given = {"kubernetes.io/metadata.name": "ingress-nginx"}, {"team": "observers"}
    flags = ("networkPolicy.clients.kubernetes\\.io/metadata\\.name=ingress-nginx", "metrics.clients.team=observers")
    usual = {"kubescript-clients": "true"}, {"kubernetes.io/metadata.name": "monitoring"}
    for expected, more in ((given, flags), (usual, ())):
        text = chart.render(tmp_path, *(word for each in ("metrics.enabled=true", *more) for word in ("--set", each)))
        ingress = chart.by_kind(text)["NetworkPolicy"]["spec"]["ingress"]
        assert tuple(rule["from"][0]["namespaceSelector"]["matchLabels"] for rule in ingress) == expected


def grants(text: str) -> set[tuple[str, str]]:
    """What the chart's own ClusterRole permits: verbs on resources."""
    rules = chart.by_kind(text)["ClusterRole"]["rules"]
    return {(verb, resource) for rule in rules for verb in rule["verbs"] for resource in rule["resources"]}


def test_the_role_is_that_of_the_toolsets_and_the_mode(tmp_path: Path) -> None:
    """Scripts of a reading server get no right to change, and none to Secrets unless a person gives it."""
    reading = grants(chart.render(tmp_path))
    assert {"delete", "patch", "update"}.isdisjoint(verb for verb, _ in reading) and ("get", "secrets") not in reading
    planning = grants(chart.render(tmp_path, "--set", "config.writes=plan,rbac.secrets=true"))
    assert planning > reading and {("patch", "deployments"), ("list", "secrets")} <= planning
    assert grants(chart.render(tmp_path, "--set", "config.read_only=false")) < planning
    assert grants(chart.render(tmp_path, "--set", "config.read_only=true,config.writes=plan")) == reading
    assert grants(chart.render(tmp_path, "--set", "config.toolsets={cluster}")) == {("list", "nodes"), ("list", "pods")}
    for setting in ("logs", "summary"):
        nodes = grants(chart.render(tmp_path, "--set", f"config.nodes.{setting}=true"))
        assert nodes - reading == {("get", "nodes/proxy")}
    custom = chart.by_kind(chart.render(tmp_path, "--set", "config.writes=direct,rbac.customGroups={argoproj.io}"))
    found = [rule["verbs"] for rule in custom["ClusterRole"]["rules"] if rule["apiGroups"] == ["argoproj.io"]]
    assert found == [["get", "list", "watch"], ["create", "delete", "patch", "update"]]


def test_a_source_gets_the_least_right_and_its_port(tmp_path: Path) -> None:
    """The proxy to that port of that Service alone, in its namespace; as callers, only if the account itself asks."""
    flags = ("--values", str(chart.value_sets()["sources"]))
    text = chart.render(tmp_path, *flags)
    roles = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "Role"]
    right = {"apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"]}
    assert [(each["metadata"]["namespace"], each["rules"]) for each in roles] == [
        ("default", [right | {"resourceNames": [name]}]) for name in ("alertmanager:9093", "https:thanos-querier:web")
    ]
    bindings = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "RoleBinding"]
    assert [each["roleRef"]["name"] for each in bindings] == [each["metadata"]["name"] for each in roles]
    egress = chart.by_kind(text)["NetworkPolicy"]["spec"]["egress"][0]["ports"]
    assert [each["port"] for each in egress] == [53, 53, 443, 6443, 3100]
    as_callers = chart.render(tmp_path, *flags, "--set", "config.acts_as=impersonate")
    assert as_callers.count("resources: [services/proxy]") == 1
    assert "https://tempo.example.com/tempo" in str(chart.settings(chart.by_kind(text), tmp_path).sources)


def test_helm_says_what_pods_without_a_database_lack(tmp_path: Path, scratch: ControlPlane) -> None:
    """Where there are or may be several; one pod, or three with a database, lack nothing."""
    said = "The pods share nothing, for want of `store.secret`"
    for values, is_said in (
        ("replicas=1", False),
        ("replicas=3", True),
        ("autoscaling.enabled=true", True),
        ("replicas=3,store.secret=kubescript-store", False),
    ):
        flags = ("--dry-run=server", "kubescript", str(chart.CHART), "--set", values)
        assert (said in helm.run(scratch.kubeconfig, tmp_path, "install", *flags)) == is_said, values


def test_a_person_may_choose(tmp_path: Path, scratch: ControlPlane, namespace: str) -> None:
    """Another account, no role, no tokens, and an image by digest."""
    values = "secret=,config.auth=null,rbac.create=false,serviceAccount.create=false,serviceAccount.name=default"
    flags = ("--namespace", namespace, "--set", f"{values},image.digest={_DIGEST},image.pullSecrets[0]=registry")
    text = chart.render(tmp_path, *flags)
    check_accepted(scratch, text)
    objects = chart.by_kind(text)
    assert {"ServiceAccount", "ClusterRoleBinding"}.isdisjoint(objects)
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"].endswith(f"/kubescript@{_DIGEST}")
    assert {volume["name"] for volume in spec["volumes"]} == {"config", "tmp"}
    assert chart.settings(objects, tmp_path).auth.tokens_file is None
