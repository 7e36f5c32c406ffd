"""Volumes of pods, sources of PersistentVolumes, which are described in the same way, and volume claims."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells

__all__ = ["claim", "claim_templates", "phase", "source", "volumes"]


class Kind(NamedTuple):
    """The description of a kind of volume."""

    title: str
    fields: tuple[tuple[str, str, Any], ...]
    """Each field's name, its JSON key, and the string for a missing value."""


_READ_ONLY: Final = ("ReadOnly", "readOnly", False)
_FS_TYPE: Final = ("FSType", "fsType", "")
_SECRET: Final = ("SecretRef", "secretRef", "nil")

_KINDS: Final[dict[str, Kind]] = {
    "hostPath": Kind(
        "HostPath (bare host directory volume)", (("Path", "path", ""), ("HostPathType", "type", "<none>"))
    ),
    "emptyDir": Kind(
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (("Medium", "medium", ""), ("SizeLimit", "sizeLimit", "<unset>")),
    ),
    "gcePersistentDisk": Kind(
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        (("PDName", "pdName", ""), _FS_TYPE, ("Partition", "partition", 0), _READ_ONLY),
    ),
    "awsElasticBlockStore": Kind(
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        (("VolumeID", "volumeID", ""), _FS_TYPE, ("Partition", "partition", 0), _READ_ONLY),
    ),
    "gitRepo": Kind(
        "GitRepo (a volume that is pulled from git when the pod is created)",
        (("Repository", "repository", ""), ("Revision", "revision", "")),
    ),
    "secret": Kind(
        "Secret (a volume populated by a Secret)",
        (("SecretName", "secretName", ""), ("Optional", "optional", False)),
    ),
    "configMap": Kind(
        "ConfigMap (a volume populated by a ConfigMap)", (("Name", "name", ""), ("Optional", "optional", False))
    ),
    "nfs": Kind(
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server", "server", ""), ("Path", "path", ""), _READ_ONLY),
    ),
    "iscsi": Kind(
        "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        (
            ("TargetPortal", "targetPortal", ""),
            ("IQN", "iqn", ""),
            ("Lun", "lun", 0),
            ("ISCSIInterface", "iscsiInterface", ""),
            _FS_TYPE,
            _READ_ONLY,
            ("Portals", "portals", []),
            ("DiscoveryCHAPAuth", "chapAuthDiscovery", False),
            ("SessionCHAPAuth", "chapAuthSession", False),
            _SECRET,
            ("InitiatorName", "initiatorName", "<none>"),
        ),
    ),
    "glusterfs": Kind(
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        (("EndpointsName", "endpoints", ""), ("Path", "path", ""), _READ_ONLY),
    ),
    "persistentVolumeClaim": Kind(
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName", "claimName", ""), _READ_ONLY),
    ),
    "rbd": Kind(
        "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        (
            ("CephMonitors", "monitors", []),
            ("RBDImage", "image", ""),
            _FS_TYPE,
            ("RBDPool", "pool", ""),
            ("RadosUser", "user", ""),
            ("Keyring", "keyring", ""),
            _SECRET,
            _READ_ONLY,
        ),
    ),
    "azureDisk": Kind(
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        (
            ("DiskName", "diskName", ""),
            ("DiskURI", "diskURI", ""),
            ("Kind", "kind", ""),
            _FS_TYPE,
            ("CachingMode", "cachingMode", ""),
            _READ_ONLY,
        ),
    ),
    "vsphereVolume": Kind(
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        (("VolumePath", "volumePath", ""), _FS_TYPE, ("StoragePolicyName", "storagePolicyName", "")),
    ),
    "cinder": Kind(
        "Cinder (a Persistent Disk resource in OpenStack)",
        (("VolumeID", "volumeID", ""), _FS_TYPE, _READ_ONLY, _SECRET),
    ),
    "cephfs": Kind(
        "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        (
            ("Monitors", "monitors", []),
            ("Path", "path", ""),
            ("User", "user", ""),
            ("SecretFile", "secretFile", ""),
            _SECRET,
            _READ_ONLY,
        ),
    ),
    "fc": Kind(
        "FC (a Fibre Channel disk)",
        (("TargetWWNs", "targetWWNs", []), ("LUN", "lun", "<none>"), _FS_TYPE, _READ_ONLY),
    ),
    "azureFile": Kind(
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        (("SecretName", "secretName", ""), ("ShareName", "shareName", ""), _READ_ONLY),
    ),
    "flexVolume": Kind(
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        (("Driver", "driver", ""), _FS_TYPE, _SECRET, _READ_ONLY, ("Options", "options", {})),
    ),
    "local": Kind("LocalVolume (a persistent volume backed by local storage on a node)", (("Path", "path", ""),)),
    "image": Kind(
        "Image (a container image or OCI artifact)", (("Reference", "reference", ""), ("PullPolicy", "pullPolicy", ""))
    ),
}
_CSI: Final = "CSI (a Container Storage Interface (CSI) volume source)"
_PROJECTED: Final = "Projected (a volume that contains injected data from multiple sources)"
_DOWNWARD: Final = "DownwardAPI (a volume populated by information about the pod)"
_EPHEMERAL: Final = "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)"


def volumes(out: Writer, found: list[Object] | None, space: str = "") -> None:
    """Writes a pod's volumes or, with `space`, those of a template."""
    if not found:
        out.field(f"{space}Volumes", "<none>")
        return
    out.title(f"{space}Volumes")
    # As in kubectl, a template's volumes are indented by one more space.
    indent = " " if space else ""
    for volume in found:
        out.title(f"{indent}{volume.get('name', '')}", 1)
        source(out, volume)


def source(out: Writer, volume: Object) -> None:
    """Writes a volume's source."""
    for key, write in _WRITERS.items():
        details = volume.get(key)
        if details is not None:
            write(out, details)
            return
    for key, kind in _KINDS.items():
        details = volume.get(key)
        if details is not None:
            out.field("Type", kind.title, 2)
            _write_fields(out, kind, details)
            return
    _write_unknown(out, volume)


def _write_unknown(out: Writer, volume: Object) -> None:
    """Writes a volume of a kind that this module does not know."""
    # The source of a PersistentVolume has no name: it is next to other fields of the volume's spec.
    if "name" not in volume:
        out.row("<unknown>", level=2)
        return
    for key, value in volume.items():
        if isinstance(value, dict):
            out.row(key, level=1)
            return
    out.row("<unknown>", level=1)


def _write_fields(out: Writer, kind: Kind, found: Object) -> None:
    """Writes the fields of a volume's source, in kubectl's order."""
    for name, key, absent in kind.fields:
        value = found.get(key)
        # kubectl prints this reference as Go prints a struct.
        if key == "secretRef" and isinstance(value, dict):
            value = value.get("name")
        if key == "targetWWNs":
            value = texts.join(value, "", ", ")
        if value is None:
            value = absent
        out.field(name, value, 2)


def _write_csi(out: Writer, csi: Object) -> None:
    """Writes a volume of a storage driver."""
    out.field("Type", _CSI, 2)
    out.field("Driver", csi.get("driver"), 2)
    out.field("FSType", csi.get("fsType"), 2)
    out.optional_field("VolumeHandle", csi.get("volumeHandle"), 2)
    read_only = bool(csi.get("readOnly"))
    out.field("ReadOnly", read_only, 2)
    out.labels("VolumeAttributes", csi.get("volumeAttributes"), 2)


def _write_projected(out: Writer, projected: Object) -> None:
    """Writes a volume that shows several objects in one directory."""
    out.field("Type", _PROJECTED, 2)
    for each in projected.get("sources") or ():
        _write_projected_object(out, "SecretName", each.get("secret"))
        _write_projected_object(out, "ConfigMapName", each.get("configMap"))
        if each.get("downwardAPI") is not None:
            out.field("DownwardAPI", True, 2)
        token = each.get("serviceAccountToken")
        if token is not None:
            out.field("TokenExpirationSeconds", token.get("expirationSeconds"), 2)


def _write_projected_object(out: Writer, title: str, found: Object | None) -> None:
    """Writes a Secret or ConfigMap in a projected volume."""
    if found is None:
        return
    name = found.get("name")
    optional = bool(found.get("optional"))
    out.field(title, name, 2)
    out.field("Optional", optional, 2)


def _write_downward(out: Writer, downward: Object) -> None:
    """Writes which fields of the pod the volume's files contain."""
    out.field("Type", _DOWNWARD, 2)
    out.title("Items", 2)
    for item in downward.get("items") or ():
        shown = _downward_field(item)
        path = texts.text(item.get("path"))
        out.row(f"{shown} -> {path}", level=3)


def _downward_field(item: Object) -> str:
    """Returns a field of the pod such as `metadata.labels`, or a resource such as `limits.cpu`."""
    field = item.get("fieldRef")
    if field:
        return texts.text(field.get("fieldPath"))
    resource = item.get("resourceFieldRef") or {}
    return texts.text(resource.get("resource"))


def _write_ephemeral(out: Writer, ephemeral: Object) -> None:
    """Writes a volume with a claim that exists as long as the pod."""
    out.field("Type", _EPHEMERAL, 2)
    template = ephemeral.get("volumeClaimTemplate")
    if template is None:
        return
    metadata = template.get("metadata") or {}
    storage_class = cells.storage_class(template)
    out.field("StorageClass", storage_class, 2)
    _write_volume(out, template, 2)
    out.labels("Annotations", metadata.get("annotations"), 2)
    _write_capacity(out, template, 2)


_WRITERS: Final = {
    "csi": _write_csi,
    "projected": _write_projected,
    "downwardAPI": _write_downward,
    "ephemeral": _write_ephemeral,
}
"""The functions for kinds of volumes that need more than a list of fields, by the kind's JSON key."""


# --- claims -----------------------------------------------------------------------------------------------------------


def claim(out: Writer, about: Subject) -> None:
    """Writes a PersistentVolumeClaim."""
    metadata = about.metadata
    out.names(metadata)
    out.field("StorageClass", cells.storage_class(about.object))
    out.field("Status", phase(metadata, about.status))
    _write_volume(out, about.object, 0)
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Finalizers", metadata.get("finalizers") or [])
    _write_capacity(out, about.object, 0)


def phase(metadata: Object, status: Object) -> Any:
    """Returns the phase of a claim or a PersistentVolume, or since when it is being deleted."""
    deleted = metadata.get("deletionTimestamp")
    if not deleted:
        return status.get("phase")
    return f"Terminating (lasts {texts.since(deleted)})"


def _write_volume(out: Writer, found: Object, level: int) -> None:
    """Writes which volume a claim is bound to, and the claim's labels."""
    metadata = found.get("metadata") or {}
    spec = found.get("spec") or {}
    out.field("Volume", spec.get("volumeName"), level)
    out.labels("Labels", metadata.get("labels"), level)


def _write_capacity(out: Writer, found: Object, level: int) -> None:
    """Writes the capacity that a claim has received, and the source of its data."""
    spec = found.get("spec") or {}
    status = found.get("status") or {}
    capacity = ""
    modes = ""
    # An unbound claim has neither a capacity nor access modes.
    if spec.get("volumeName"):
        amounts = status.get("capacity") or {}
        capacity = amounts.get("storage", "0")
        modes = cells.access_modes(status.get("accessModes"))
    out.field("Capacity", capacity, level)
    out.field("Access Modes", modes, level)
    out.optional_field("VolumeMode", spec.get("volumeMode"), level)
    source = spec.get("dataSource")
    if source:
        out.title("DataSource", level)
        out.optional_field("APIGroup", source.get("apiGroup"), level + 1)
        out.field("Kind", source.get("kind"), level + 1)
        out.field("Name", source.get("name"), level + 1)


def claim_templates(out: Writer, found: list[Object] | None) -> None:
    """Writes the claims that a StatefulSet creates for each pod."""
    if not found:
        out.field("Volume Claims", "<none>")
        return
    out.title("Volume Claims")
    for template in found:
        _write_claim_template(out, template)


def _write_claim_template(out: Writer, template: Object) -> None:
    """Writes one claim that a StatefulSet creates for each pod."""
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    resources = spec.get("resources") or {}
    requests = resources.get("requests") or {}
    out.field("Name", metadata.get("name"), 1)
    out.field("StorageClass", cells.storage_class(template), 1)
    out.labels("Labels", metadata.get("labels"), 1)
    out.labels("Annotations", metadata.get("annotations"), 1)
    out.field("Capacity", requests.get("storage", "<default>"), 1)
    out.field("Access Modes", spec.get("accessModes") or [], 1)
