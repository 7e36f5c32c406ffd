"""Volumes of pods, sources of PersistentVolumes, which are described in the same way, and volume claims."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.describe import text_writer, texts
from kubescript.guest.kubectl.rows import cells

__all__ = ["claim_fields", "claim_templates", "source", "volumes"]


class Kind(NamedTuple):
    """The description of a kind of volume."""

    title: str
    fields: tuple[tuple[str, str, Any], ...]
    """Each field's name, its JSON key, and the text for a missing value."""


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


def volumes(out: text_writer.Writer, found: list[texts.Object] | None, space: str = "") -> None:
    """Writes a pod's volumes, or with `space` a template's."""
    if not found:
        out.field(f"{space}Volumes", "<none>")
        return
    out.title(f"{space}Volumes")
    for volume in found:
        out.title(f"{' ' if space else ''}{volume.get('name', '')}", 1)
        source(out, volume)


def source(out: text_writer.Writer, volume: texts.Object) -> None:
    """Writes a volume's source."""
    for key, write in _OF_THEIR_OWN.items():
        if volume.get(key) is not None:
            write(out, volume[key])
            return
    for key, kind in _KINDS.items():
        if volume.get(key) is not None:
            out.field("Type", kind.title, 2)
            _fields(out, kind, volume[key])
            return
    # A kind of volume that this list does not contain.
    kinds = [key for key, value in volume.items() if isinstance(value, dict)]
    out.row(kinds[0] if kinds and "name" in volume else "<unknown>", level=1 if "name" in volume else 2)


def _fields(out: text_writer.Writer, kind: Kind, found: texts.Object) -> None:
    for name, key, absent in kind.fields:
        value = found.get(key)
        if key == "secretRef" and isinstance(value, dict):
            value = value.get("name")
        if key == "targetWWNs":
            value = texts.join(value, "", ", ")
        out.field(name, absent if value is None else value, 2)


def _csi(out: text_writer.Writer, csi: texts.Object) -> None:
    out.field("Type", _CSI, 2)
    out.field("Driver", csi.get("driver"), 2)
    out.field("FSType", csi.get("fsType"), 2)
    out.optional_field("VolumeHandle", csi.get("volumeHandle"), 2)
    out.field("ReadOnly", bool(csi.get("readOnly")), 2)
    out.labels("VolumeAttributes", csi.get("volumeAttributes"), 2)


def _write_projected(out: text_writer.Writer, projected: texts.Object) -> None:
    out.field("Type", _PROJECTED, 2)
    for each in projected.get("sources") or ():
        for key, name in (("secret", "SecretName"), ("configMap", "ConfigMapName")):
            if (found := each.get(key)) is not None:
                out.field(name, found.get("name"), 2)
                out.field("Optional", bool(found.get("optional")), 2)
        if each.get("downwardAPI") is not None:
            out.field("DownwardAPI", True, 2)
        if (token := each.get("serviceAccountToken")) is not None:
            out.field("TokenExpirationSeconds", token.get("expirationSeconds"), 2)


def _downward(out: text_writer.Writer, downward: texts.Object) -> None:
    out.field("Type", _DOWNWARD, 2)
    out.title("Items", 2)
    for item in downward.get("items") or ():
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        told = field.get("fieldPath") if field else (resource or {}).get("resource")
        out.row(f"{texts.text(told)} -> {texts.text(item.get('path'))}", level=3)


def _ephemeral(out: text_writer.Writer, ephemeral: texts.Object) -> None:
    out.field("Type", _EPHEMERAL, 2)
    if (template := ephemeral.get("volumeClaimTemplate")) is not None:
        claim_fields(out, template, level=2)


_OF_THEIR_OWN: Final = {
    "csi": _csi,
    "projected": _write_projected,
    "downwardAPI": _downward,
    "ephemeral": _ephemeral,
}


def claim_fields(out: text_writer.Writer, found: texts.Object, level: int = 0, *, whole: bool = False) -> None:
    """Writes a claim; for a template, only the fields that a template has."""
    metadata, spec, status = (found.get(key) or {} for key in ("metadata", "spec", "status"))
    if whole:
        out.field("Name", metadata.get("name"))
        out.field("Namespace", metadata.get("namespace"))
    out.field("StorageClass", cells.storage_class(found), level)
    if whole:
        going = metadata.get("deletionTimestamp")
        out.field("Status", f"Terminating (lasts {texts.since(going)})" if going else status.get("phase"))
    out.field("Volume", spec.get("volumeName"), level)
    out.labels("Labels", metadata.get("labels"), level)
    if whole:
        out.annotations("Annotations", metadata.get("annotations"))
        out.field("Finalizers", metadata.get("finalizers") or [])
    else:
        out.labels("Annotations", metadata.get("annotations"), level)
    bound = bool(spec.get("volumeName"))
    out.field("Capacity", (status.get("capacity") or {}).get("storage", "0") if bound else "", level)
    out.field("Access Modes", cells.access_modes(status.get("accessModes")) if bound else "", level)
    out.optional_field("VolumeMode", spec.get("volumeMode"), level)
    if source := spec.get("dataSource"):
        out.title("DataSource", level)
        out.optional_field("APIGroup", source.get("apiGroup"), level + 1)
        out.field("Kind", source.get("kind"), level + 1)
        out.field("Name", source.get("name"), level + 1)


def claim_templates(out: text_writer.Writer, found: list[texts.Object] | None) -> None:
    """Writes the claims that a StatefulSet creates for each pod."""
    if not found:
        out.field("Volume Claims", "<none>")
        return
    out.title("Volume Claims")
    for template in found:
        metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
        requests = (spec.get("resources") or {}).get("requests") or {}
        out.field("Name", metadata.get("name"), 1)
        out.field("StorageClass", cells.storage_class(template), 1)
        out.labels("Labels", metadata.get("labels"), 1)
        out.labels("Annotations", metadata.get("annotations"), 1)
        out.field("Capacity", requests.get("storage", "<default>"), 1)
        out.field("Access Modes", spec.get("accessModes") or [], 1)
