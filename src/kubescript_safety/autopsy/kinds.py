"""Kinds of Kubernetes and their names: `Deployment`, `deploy` and `deployments.apps` are one resource."""

from __future__ import annotations

from typing import Final

from kubescript.safety import transcript

__all__ = ["CLUSTER", "group_of", "is_kind", "resource"]

_MAX_NAME: Final = 253
"""Attack: a kind of a megabyte, and ten thousand names of that kind."""
_TABLE: Final = """
- pods pod po, services service svc, configmaps configmap cm, secrets secret, endpoints endpoint ep, events event ev
- serviceaccounts serviceaccount sa, persistentvolumeclaims persistentvolumeclaim pvc, limitranges limitrange limits
- resourcequotas resourcequota quota, replicationcontrollers replicationcontroller rc, podtemplates podtemplate
- nodes node no, namespaces namespace ns, persistentvolumes persistentvolume pv
apps deployments deployment deploy, statefulsets statefulset sts, daemonsets daemonset ds, replicasets replicaset rs
apps controllerrevisions controllerrevision
batch jobs job, cronjobs cronjob cj
autoscaling horizontalpodautoscalers horizontalpodautoscaler hpa
networking.k8s.io ingresses ingress ing, networkpolicies networkpolicy netpol, ingressclasses ingressclass
policy poddisruptionbudgets poddisruptionbudget pdb
rbac.authorization.k8s.io roles role, rolebindings rolebinding, clusterroles clusterrole
rbac.authorization.k8s.io clusterrolebindings clusterrolebinding
storage.k8s.io storageclasses storageclass sc, csidrivers csidriver, csinodes csinode
storage.k8s.io volumeattachments volumeattachment
scheduling.k8s.io priorityclasses priorityclass pc
node.k8s.io runtimeclasses runtimeclass
coordination.k8s.io leases lease
discovery.k8s.io endpointslices endpointslice
certificates.k8s.io certificatesigningrequests certificatesigningrequest csr
apiregistration.k8s.io apiservices apiservice
apiextensions.k8s.io customresourcedefinitions customresourcedefinition crd crds
admissionregistration.k8s.io mutatingwebhookconfigurations mutatingwebhookconfiguration
admissionregistration.k8s.io validatingwebhookconfigurations validatingwebhookconfiguration
admissionregistration.k8s.io validatingadmissionpolicies validatingadmissionpolicy
argoproj.io rollouts rollout
"""
CLUSTER: Final = frozenset({
    "apiservices", "certificatesigningrequests", "clusterrolebindings", "clusterroles", "csidrivers", "csinodes",
    "customresourcedefinitions", "ingressclasses", "mutatingwebhookconfigurations", "namespaces", "nodes",
    "persistentvolumes", "priorityclasses", "runtimeclasses", "storageclasses", "validatingadmissionpolicies",
    "validatingwebhookconfigurations", "volumeattachments",
})  # fmt: skip
"""Resources whose objects are in no namespace."""


def _read(table: str) -> tuple[dict[str, str], dict[str, str]]:
    names, groups = {}, {}
    for line in table.strip().splitlines():
        group, _, rest = line.partition(" ")
        for part in rest.split(","):
            words = part.split()
            groups[words[0]] = "" if group == "-" else group
            names.update(dict.fromkeys(words, words[0]))
    return names, groups


_NAMES, _GROUPS = _read(_TABLE)


def resource(name: str) -> str:
    """Returns the plural of a kind or a resource under any of its names, without its group."""
    last = name.strip().rpartition("/")[2][:_MAX_NAME]  # apps/v1/Deployment
    word = last.split(".")[0]
    lower = word.lower()
    if lower in _NAMES:
        return _NAMES[lower]
    if not word[:1].isupper() and lower.endswith("s"):
        return lower
    return transcript.resource_of(word) if word else ""


def is_kind(name: str) -> bool:
    """Says whether a word is a name of a kind that Kubernetes itself has."""
    return name.strip().split(".")[0].lower() in _NAMES


def group_of(plural: str) -> str:
    """Returns the group of a resource; empty for the core group, and for resources that are not known."""
    return _GROUPS.get(plural, "")
