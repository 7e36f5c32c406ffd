"""Kubernetes' built-in resources: their kinds and names, whether they are namespaced, and their subresources.

The table was generated once from the API paths of the official client 37.0.2, and is kept short enough to read. Its
last line is kubescript's own resource (`releases`), which no API server has.

`policy` uses it to match rules that name a kind, and the snapshot backend to answer as kube-apiserver would. A group
listed here is "built in": any other resource in it is unknown, never a custom resource.
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
    "is_namespace",
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
"""kubectl's short name → the resource."""

# The bodies of these subresources have a different kind from their parent's; a rule against the body's kind covers the
# subresource.
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
"""Subresources that GET may read in a built-in group. All others are unknown, or have side effects even when requested
with GET."""

WRITE_SUBRESOURCES: Final = READ_SUBRESOURCES - {"log"} | {"eviction", "binding", "finalize", "token"}
"""Subresources that a write may name in a built-in group, where writes are permitted."""


def _parse(table: str) -> tuple[dict[str, dict[str, str]], frozenset[tuple[str, str]]]:
    """Returns group → plural → kind, and the namespaced resources."""
    groups: dict[str, dict[str, str]] = {}
    namespaced = set()
    for line in table.strip().splitlines():
        group, _, entries = line.partition(":")
        resources = groups.setdefault(group, {})
        for entry in entries.split():
            marked, _, plural = entry.partition("=")
            kind = marked.removeprefix("-")
            resources[plural] = kind
            if kind == marked:
                namespaced.add((group, plural))
    return groups, frozenset(namespaced)


BUILT_IN: Final = _parse(_TABLE)[0]
"""Group → plural → kind."""

NAMESPACED: Final = _parse(_TABLE)[1]
"""(group, plural) of the namespaced resources."""


def kind_of(group: str, resource: str) -> str | None:
    """Returns the kind of a built-in resource; None if it is not in the table."""
    return BUILT_IN.get(group, {}).get(resource)


def plural_of(group: str, kind: str) -> str | None:
    """Returns the resource name of a built-in kind; None if it is not in the table."""
    for plural, known in BUILT_IN.get(group, {}).items():
        if known == kind:
            return plural
    return None


class Place(NamedTuple):
    """A group and a resource under which objects are served."""

    group: str
    plural: str
    kind: str | None
    """None when only discovery can tell."""


# API servers call these "cohabitating resources", and up to 1.21 also served some of them under `extensions`.
# OpenShift's servers also show rights, namespaces and security constraints under their own groups. OpenShift's paths
# below /oapi are not parsed.
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
"""Lines of `Kind=plural: group …`. The groups of a line serve the same objects: a rule about one holds for all."""


def _parse_places(table: str) -> dict[tuple[str, str], tuple[Place, ...]]:
    """Returns all places of each resource that has several."""
    # OpenShift's own group has another name for namespaces.
    namespace = Place("", "namespaces", "Namespace")
    project = Place("project.openshift.io", "projects", "Project")
    # A request for a project makes a namespace.
    project_request = Place("project.openshift.io", "projectrequests", "ProjectRequest")
    stored_together = [[namespace, project, project_request]]
    for line in table.strip().splitlines():
        names, _, groups = line.partition(":")
        kind, _, plural = names.partition("=")
        places = []
        for name in groups.split():
            group = "" if name == "core" else name
            places.append(Place(group, plural, kind))
        stored_together.append(places)
    by_resource = {}
    for places in stored_together:
        for place in places:
            by_resource[place.group, place.plural] = tuple(places)
    return by_resource


_PLACES: Final = _parse_places(_STORED_TOGETHER)


def places(group: str, plural: str) -> tuple[Place, ...]:
    """Returns all groups and resources that serve the same objects, including the given one."""
    known = _PLACES.get((group, plural))
    if known is not None:
        return known
    return (Place(group, plural, kind_of(group, plural)),)


def is_namespace(group: str, plural: str) -> bool:
    """Says whether a resource is that of namespaces, under whatever name."""
    return any((place.group, place.plural) == ("", "namespaces") for place in places(group, plural))


_GROUPS: Final = {plural: places(group, plural)[0].group for group, known in BUILT_IN.items() for plural in known}


def group_of(plural: str) -> str:
    """Returns the current group of a built-in resource; empty for the core group, and for unknown resources."""
    return _GROUPS.get(plural, "")


def guess_plural(kind: str) -> str:
    """Guesses the resource name of a custom kind: NetworkPolicy gives `networkpolicies`."""
    return pluralize(kind.lower())


def pluralize(word: str) -> str:
    """Returns the plural of a word, as authors of custom resources form it."""
    # meta.UnsafeGuessKindToResource turns Gateway into `gatewaies`, which no API uses: a rule that denies `gateways`
    # would not match it.
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
        return f"{word[:-1]}ies"
    return f"{word}s"


def full_name(group: str, resource: str) -> str:
    """Returns a resource with its group, as in kubectl and RBAC: `deployments.apps`, but `pods` in the core group."""
    return f"{resource}.{group}" if group else resource


def api_version(group: str, version: str) -> str:
    """Returns group and version as in an object's apiVersion: `apps/v1`, but `v1` in the core group."""
    return f"{group}/{version}" if group else version
