"""Makes the fleet of the settings."""

from __future__ import annotations

from kubescript import config, errors
from kubescript.cluster import live
from kubescript.fleet import cluster_api, cluster_profiles, fleet, folder, open_cluster_management, secrets

__all__ = ["open_fleet"]


def open_fleet(settings: config.Settings) -> fleet.Fleet:
    """Returns the fleet of these settings, not yet started."""
    return fleet.Fleet(_source(settings), settings.fleet.max_clusters)


def _source(settings: config.Settings) -> fleet.Source | None:
    """Returns the source that the settings name; None without one."""
    named = settings.fleet
    if named.source is None:
        return None
    if named.source == "kubeconfig-dir":
        assert named.folder is not None  # the settings are checked
        return folder.Folder(named.folder)
    hub = live.Live(named.kubeconfig or settings.kubeconfig, named.context)
    selector, most = named.label_selector, named.max_clusters
    match named.source:
        case "secrets":
            return secrets.Secrets(hub, named.namespace or _own_namespace(hub), selector, most)
        case "cluster-api":
            return cluster_api.ClusterApi(hub, named.namespace or "", selector, most)
        case "open-cluster-management":
            return open_cluster_management.OpenClusterManagement(hub, named.managed_service_account, selector, most)
        case "cluster-profiles":
            return cluster_profiles.ClusterProfiles(hub, named.namespace or _own_namespace(hub), selector, most)


def _own_namespace(hub: live.Live) -> str:
    """Returns the namespace of the hub's context, or the pod's own. Raises ConfigError."""
    try:
        return hub.namespace
    except errors.ClusterError as error:
        raise errors.ConfigError(f"fleet: {error.message}", remedy=error.remedy) from None
