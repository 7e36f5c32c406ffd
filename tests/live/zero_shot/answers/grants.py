"""Answers about who may do what, through roles of every sort."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, Object, answer, labels, matches, name

ACCOUNT = "ServiceAccount"


def _deletes(role: Object) -> bool:
    return any(
        {"", "*"} & set(rule.get("apiGroups") or ())
        and {"pods", "*"} & set(rule.get("resources") or ())
        and {"delete", "*"} & set(rule["verbs"])
        and not rule.get("resourceNames")
        for rule in role.get("rules") or []
    )


def _counts(subject: Object) -> bool:
    system = subject["kind"] == ACCOUNT and subject["namespace"] == "kube-system"
    return not system and not subject["name"].startswith("system:")


def _told(subject: Object) -> str:
    where = f"{subject['namespace']}/" if subject["kind"] == ACCOUNT else ""
    return f"{subject['kind']}:{where}{subject['name']}"


@answer
def delete_pods_payments(cluster: Cluster) -> Any:
    able = {("ClusterRole", name(role)) for role in cluster.clusterroles if _deletes(role)}
    able |= {("Role", name(role)) for role in cluster.within("roles", "payments") if _deletes(role)}
    bindings = [*cluster.within("rolebindings", "payments"), *cluster.clusterrolebindings]
    good = [one for one in bindings if (one["roleRef"]["kind"], one["roleRef"]["name"]) in able]
    return sorted({_told(one) for binding in good for one in binding.get("subjects") or [] if _counts(one)})


@answer
def aggregated_roles(cluster: Cluster) -> Any:
    def gathered(into: Object) -> list[str]:
        selectors = into["aggregationRule"]["clusterRoleSelectors"]
        others = [one for one in cluster.clusterroles if name(one) != name(into)]
        return sorted(name(one) for one in others if any(matches(each, labels(one)) for each in selectors))

    return {name(one): gathered(one) for one in cluster.clusterroles if one.get("aggregationRule")}
