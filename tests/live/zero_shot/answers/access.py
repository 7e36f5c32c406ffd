"""Answers about roles, bindings and service accounts."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, Object, answer, key, name, space

# Kind of subject that lives in a namespace.
ACCOUNT = "ServiceAccount"


def _allows(rule: Object, group: str, resource: str, verbs: set[str]) -> bool:
    return bool(
        {group, "*"} & set(rule.get("apiGroups") or [])
        and {resource, "*"} & set(rule.get("resources") or [])
        and verbs & set(rule["verbs"])
    )


def _account(subject: Object) -> str:
    return f"{subject['namespace']}/{subject['name']}"


@answer
def secret_readers(cluster: Cluster) -> Any:
    able = {
        name(role)
        for role in cluster.clusterroles
        for rule in role.get("rules") or []
        if _allows(rule, "", "secrets", {"get", "list", "*"}) and not rule.get("resourceNames")
    }
    return sorted(
        {
            _account(subject)
            for binding in cluster.clusterrolebindings
            if binding["roleRef"]["name"] in able
            for subject in binding.get("subjects") or []
            if subject["kind"] == ACCOUNT and subject["namespace"] != "kube-system"
        }
    )


@answer
def cluster_admins(cluster: Cluster) -> Any:
    return sorted(
        f"{subject['kind']}:{_account(subject) if subject['kind'] == ACCOUNT else subject['name']}"
        for binding in cluster.clusterrolebindings
        if binding["roleRef"]["name"] == "cluster-admin"
        for subject in binding.get("subjects") or []
    )


@answer
def dangling_rolebindings(cluster: Cluster) -> Any:
    there = {("Role", key(one)) for one in cluster.roles} | {("ClusterRole", name(one)) for one in cluster.clusterroles}
    found = {}
    for one in cluster.rolebindings:
        kind, role = one["roleRef"]["kind"], one["roleRef"]["name"]
        if (kind, f"{space(one)}/{role}" if kind == "Role" else role) not in there:
            found[key(one)] = f"{kind}/{role}"
    return found


@answer
def ghost_subjects(cluster: Cluster) -> Any:
    named = {
        _account(subject)
        for one in [*cluster.rolebindings, *cluster.clusterrolebindings]
        for subject in one.get("subjects") or []
        if subject["kind"] == ACCOUNT and subject["namespace"] != "kube-system"
    }
    return sorted(named - set(map(key, cluster.accounts)))


@answer
def wildcard_roles(cluster: Cluster) -> Any:
    return sorted(
        key(one)
        for one in cluster.roles
        if not space(one).startswith("kube-")
        and any("*" in rule["verbs"] and "*" in rule.get("resources", []) for rule in one.get("rules") or [])
    )


@answer
def exec_payments(cluster: Cluster) -> Any:
    roles = {("Role", name(one)): one for one in cluster.within("roles", "payments")}
    roles |= {("ClusterRole", name(one)): one for one in cluster.clusterroles}
    found = set()
    for binding in cluster.within("rolebindings", "payments"):
        role = roles.get((binding["roleRef"]["kind"], binding["roleRef"]["name"]), {})
        if any(_allows(rule, "", "pods/exec", {"create", "*"}) for rule in role.get("rules") or []):
            found |= {f"{subject['kind']}:{subject['name']}" for subject in binding.get("subjects") or []}
    return sorted(found)


@answer
def default_sa_bindings(cluster: Cluster) -> Any:
    wanted = (ACCOUNT, "default")
    return sorted(
        key(one)
        for one in cluster.rolebindings
        if wanted in [(subject["kind"], subject["name"]) for subject in one.get("subjects") or []]
    )


@answer
def missing_service_accounts(cluster: Cluster) -> Any:
    used = {f"{space(pod)}/{pod['spec'].get('serviceAccountName') or 'default'}" for pod in cluster.pods}
    return sorted(used - set(map(key, cluster.accounts)))
