"""The resources built into Kubernetes.

Which kind each one holds, whether it is namespaced, which subresources can be read.

Generated once from the API paths of the official client 37.0.2 and kept short enough to read. `policy` uses it to match
rules that name a kind, the snapshot backend to answer as kube-apiserver would. A group that is listed here is "built
in": what the table does not know about it is treated as unknown, never as a custom resource.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BUILT_IN",
    "NAMESPACED",
    "READ_SUBRESOURCES",
    "SUBRESOURCE_KINDS",
    "WRITE_SUBRESOURCES",
    "guess_plural",
    "kind_of",
    "plural_of",
]

_TABLE: Final = """
: Binding=bindings ConfigMap=configmaps Endpoints=endpoints Event=events LimitRange=limitranges
: PersistentVolumeClaim=persistentvolumeclaims Pod=pods PodTemplate=podtemplates
: ReplicationController=replicationcontrollers
: ResourceQuota=resourcequotas Secret=secrets ServiceAccount=serviceaccounts Service=services
: -ComponentStatus=componentstatuses -Namespace=namespaces -Node=nodes -PersistentVolume=persistentvolumes
admissionregistration.k8s.io: -MutatingAdmissionPolicy=mutatingadmissionpolicies
admissionregistration.k8s.io: -MutatingAdmissionPolicyBinding=mutatingadmissionpolicybindings
admissionregistration.k8s.io: -MutatingWebhookConfiguration=mutatingwebhookconfigurations
admissionregistration.k8s.io: -ValidatingAdmissionPolicy=validatingadmissionpolicies
admissionregistration.k8s.io: -ValidatingAdmissionPolicyBinding=validatingadmissionpolicybindings
admissionregistration.k8s.io: -ValidatingWebhookConfiguration=validatingwebhookconfigurations
apiextensions.k8s.io: -CustomResourceDefinition=customresourcedefinitions
apiregistration.k8s.io: -APIService=apiservices
apps: ControllerRevision=controllerrevisions DaemonSet=daemonsets Deployment=deployments ReplicaSet=replicasets
apps: StatefulSet=statefulsets
authentication.k8s.io: -SelfSubjectReview=selfsubjectreviews -TokenReview=tokenreviews
authorization.k8s.io: LocalSubjectAccessReview=localsubjectaccessreviews
authorization.k8s.io: -SelfSubjectAccessReview=selfsubjectaccessreviews
authorization.k8s.io: -SelfSubjectRulesReview=selfsubjectrulesreviews -SubjectAccessReview=subjectaccessreviews
autoscaling: HorizontalPodAutoscaler=horizontalpodautoscalers
batch: CronJob=cronjobs Job=jobs
certificates.k8s.io: -CertificateSigningRequest=certificatesigningrequests -ClusterTrustBundle=clustertrustbundles
certificates.k8s.io: PodCertificateRequest=podcertificaterequests
coordination.k8s.io: LeaseCandidate=leasecandidates Lease=leases
discovery.k8s.io: EndpointSlice=endpointslices
events.k8s.io: Event=events
extensions: Ingress=ingresses Deployment=deployments DaemonSet=daemonsets ReplicaSet=replicasets
extensions: NetworkPolicy=networkpolicies
flowcontrol.apiserver.k8s.io: -FlowSchema=flowschemas -PriorityLevelConfiguration=prioritylevelconfigurations
internal.apiserver.k8s.io: -StorageVersion=storageversions
lifecycle.k8s.io: EvictionRequest=evictionrequests Eviction=evictions
networking.k8s.io: -IngressClass=ingressclasses Ingress=ingresses -IPAddress=ipaddresses NetworkPolicy=networkpolicies
networking.k8s.io: -ServiceCIDR=servicecidrs
node.k8s.io: -RuntimeClass=runtimeclasses
policy: PodDisruptionBudget=poddisruptionbudgets -PodSecurityPolicy=podsecuritypolicies
rbac.authorization.k8s.io: -ClusterRoleBinding=clusterrolebindings -ClusterRole=clusterroles RoleBinding=rolebindings
rbac.authorization.k8s.io: Role=roles
resource.k8s.io: -DeviceClass=deviceclasses -DeviceTaintRule=devicetaintrules ResourceClaim=resourceclaims
resource.k8s.io: ResourceClaimTemplate=resourceclaimtemplates -ResourcePoolStatusRequest=resourcepoolstatusrequests
resource.k8s.io: -ResourceSlice=resourceslices
scheduling.k8s.io: CompositePodGroup=compositepodgroups PodGroup=podgroups -PriorityClass=priorityclasses
scheduling.k8s.io: Workload=workloads
storage.k8s.io: -CSIDriver=csidrivers -CSINode=csinodes CSIStorageCapacity=csistoragecapacities
storage.k8s.io: -StorageClass=storageclasses
storage.k8s.io: -VolumeAttachment=volumeattachments -VolumeAttributesClass=volumeattributesclasses
storagemigration.k8s.io: -StorageVersionMigration=storageversionmigrations
"""
"""`group: Kind=plural …`, a minus before what is not namespaced; the core group has no name."""

SUBRESOURCE_KINDS: Final = {
    "scale": "Scale",
    "eviction": "Eviction",
    "token": "TokenRequest",
    "binding": "Binding",
    "exec": "PodExecOptions",
    "attach": "PodAttachOptions",
    "portforward": "PodPortForwardOptions",
    "proxy": "ProxyOptions",
}
"""Subresources whose body is of another kind than their parent; a rule against the kind covers them."""

READ_SUBRESOURCES: Final = frozenset({"log", "status", "scale", "approval", "ephemeralcontainers", "resize"})
"""What GET may read below an object of a built-in group. Everything else there is unknown or acts."""

WRITE_SUBRESOURCES: Final = READ_SUBRESOURCES - {"log"} | {"eviction", "binding", "finalize", "token"}
"""What a write may name below an object of a built-in group, where writes are permitted at all."""


def _parse(table: str) -> tuple[dict[str, dict[str, str]], frozenset[tuple[str, str]]]:
    groups: dict[str, dict[str, str]] = {}
    namespaced = set()
    for line in table.strip().splitlines():
        group, _, entries = line.partition(":")
        for entry in entries.split():
            kind, _, plural = entry.partition("=")
            groups.setdefault(group, {})[plural] = kind.lstrip("-")
            if not kind.startswith("-"):
                namespaced.add((group, plural))
    return groups, frozenset(namespaced)


BUILT_IN: Final = _parse(_TABLE)[0]
"""Group → plural → kind."""

NAMESPACED: Final = _parse(_TABLE)[1]
"""(group, plural) of what lives in a namespace."""


def kind_of(group: str, resource: str) -> str | None:
    """The kind a built-in resource holds; None when the table does not know it."""
    return BUILT_IN.get(group, {}).get(resource)


def plural_of(group: str, kind: str) -> str | None:
    """The resource name of a built-in kind; None when the table does not know it."""
    return next((plural for plural, known in BUILT_IN.get(group, {}).items() if known == kind), None)


def guess_plural(kind: str) -> str:
    """The resource name Kubernetes' own tools would guess for a custom kind (meta.UnsafeGuessKindToResource)."""
    word = kind.lower()
    if word.endswith("s"):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") else word + "s"
