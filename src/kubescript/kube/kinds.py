"""The resources that are built into Kubernetes: their kinds, names, whether they are namespaced, and subresources.

The table was generated once from the API paths of the official client 37.0.2, and is kept short enough to read. Its
last line is a resource of kubescript's own (`releases`), which no API server has.
`policy` uses it to match rules that name a kind, and the snapshot backend to answer as kube-apiserver would. A group
that is listed here is "built in": a resource of it that the table does not have is unknown, and never a custom
resource.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = [
    "BUILT_IN",
    "NAMESPACED",
    "READ_SUBRESOURCES",
    "SHORT_NAMES",
    "SUBRESOURCE_KINDS",
    "WRITE_SUBRESOURCES",
    "Place",
    "api_version",
    "full_name",
    "group_of",
    "guess_plural",
    "kind_of",
    "places",
    "plural_of",
    "pluralize",
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
helm.sh: Release=releases
"""
"""Lines of `group: Kind=plural …`. A minus marks a kind that is not namespaced; the core group has no name."""

_ABBREVIATIONS: Final = (
    "po=pods svc=services deploy=deployments ds=daemonsets sts=statefulsets rs=replicasets cm=configmaps ns=namespaces "
    "no=nodes pv=persistentvolumes pvc=persistentvolumeclaims sa=serviceaccounts ing=ingresses netpol=networkpolicies "
    "hpa=horizontalpodautoscalers cj=cronjobs pdb=poddisruptionbudgets sc=storageclasses quota=resourcequotas "
    "limits=limitranges ep=endpoints ev=events rc=replicationcontrollers crd=customresourcedefinitions "
    "crds=customresourcedefinitions csr=certificatesigningrequests pc=priorityclasses"
)
SHORT_NAMES: Final = dict(each.split("=") for each in _ABBREVIATIONS.split())
"""What kubectl also calls a resource → the resource."""

# The body of these subresources has another kind than their parent; a rule against that kind covers them.
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
"""Subresource → kind."""

READ_SUBRESOURCES: Final = frozenset({"log", "status", "scale", "approval", "ephemeralcontainers", "resize"})
"""Subresources that GET may read in a built-in group. Every other one is unknown, or acts on GET."""

WRITE_SUBRESOURCES: Final = READ_SUBRESOURCES - {"log"} | {"eviction", "binding", "finalize", "token"}
"""Subresources that a write may name in a built-in group, where writes are permitted at all."""


def _parse(table: str) -> tuple[dict[str, dict[str, str]], frozenset[tuple[str, str]]]:
    """Returns group → plural → kind, and what is namespaced."""
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
"""(group, plural) of the resources that are namespaced."""


def kind_of(group: str, resource: str) -> str | None:
    """Returns the kind of a built-in resource; None when the table does not have it."""
    return BUILT_IN.get(group, {}).get(resource)


def plural_of(group: str, kind: str) -> str | None:
    """Returns the resource name of a built-in kind; None when the table does not have it."""
    for plural, known in BUILT_IN.get(group, {}).items():
        if known == kind:
            return plural
    return None


class Place(NamedTuple):
    """A group and a resource under which objects are served."""

    group: str
    plural: str
    kind: str | None
    """None when it is not known without asking discovery."""


# API servers call these cohabitating resources, and up to 1.21 served the older ones too. OpenShift's servers show
# rights, namespaces and security constraints under groups of their own as well. Its paths below /oapi are not parsed.
_STORED_TOGETHER: Final = """
Event=events: core events.k8s.io
DaemonSet=daemonsets: apps extensions
Deployment=deployments: apps extensions
ReplicaSet=replicasets: apps extensions
HorizontalPodAutoscaler=horizontalpodautoscalers: autoscaling extensions
Job=jobs: batch extensions
Ingress=ingresses: networking.k8s.io extensions
NetworkPolicy=networkpolicies: networking.k8s.io extensions
PodSecurityPolicy=podsecuritypolicies: policy extensions
SecurityContextConstraints=securitycontextconstraints: core security.openshift.io
Role=roles: rbac.authorization.k8s.io authorization.openshift.io
RoleBinding=rolebindings: rbac.authorization.k8s.io authorization.openshift.io
ClusterRole=clusterroles: rbac.authorization.k8s.io authorization.openshift.io
ClusterRoleBinding=clusterrolebindings: rbac.authorization.k8s.io authorization.openshift.io
"""
"""Lines of `Kind=plural: group …`, of which each is the same objects: a rule about one of them holds for all."""


def _parse_places(table: str) -> dict[tuple[str, str], tuple[Place, ...]]:
    """Returns all places of each resource that is served in several."""
    # A namespace of OpenShift has another name in its own group.
    found: list[tuple[Place, ...]] = [
        (Place("", "namespaces", "Namespace"), Place("project.openshift.io", "projects", "Project"))
    ]
    for line in table.strip().splitlines():
        names, _, groups = line.partition(":")
        kind, _, plural = names.partition("=")
        named = ["" if group == "core" else group for group in groups.split()]
        found.append(tuple(Place(group, plural, kind) for group in named))
    return {(place.group, place.plural): places for places in found for place in places}


_PLACES: Final = _parse_places(_STORED_TOGETHER)


def places(group: str, plural: str) -> tuple[Place, ...]:
    """Returns all groups and resources under which the objects of a resource are served, itself among them."""
    known = _PLACES.get((group, plural))
    if known is not None:
        return known
    return (Place(group, plural, kind_of(group, plural)),)


_GROUPS: Final = {plural: places(group, plural)[0].group for group, known in BUILT_IN.items() for plural in known}


def group_of(plural: str) -> str:
    """Returns the group that a built-in resource has today; empty for the core group, and for unknown resources."""
    return _GROUPS.get(plural, "")


def guess_plural(kind: str) -> str:
    """Guesses the resource name of a custom kind: `networkpolicies` of NetworkPolicy."""
    return pluralize(kind.lower())


def pluralize(word: str) -> str:
    """Returns the plural of a word, as authors of custom resources write it."""
    # meta.UnsafeGuessKindToResource turns Gateway into `gatewaies`, which no API has: a rule that denies `gateways`
    # would not match it.
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
        return f"{word[:-1]}ies"
    return f"{word}s"


def full_name(group: str, resource: str) -> str:
    """Returns a resource with its group, as kubectl and RBAC write it: `deployments.apps`, and `pods` of the core."""
    return f"{resource}.{group}" if group else resource


def api_version(group: str, version: str) -> str:
    """Returns group and version as an object's apiVersion has them: `apps/v1`, and `v1` of the core."""
    return f"{group}/{version}" if group else version
