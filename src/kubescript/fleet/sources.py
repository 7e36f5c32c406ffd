"""Makes the fleet of the settings."""

from __future__ import annotations

from kubescript import config
from kubescript.fleet import fleet, folder

__all__ = ["open_fleet"]


def open_fleet(settings: config.Fleet) -> fleet.Fleet:
    """Returns the fleet of these settings, not yet started."""
    return fleet.Fleet(_source(settings), settings.max_clusters)


def _source(settings: config.Fleet) -> fleet.Source | None:
    """Returns the source that the settings name; None without one."""
    if settings.source == "kubeconfig-dir" and settings.folder is not None:
        return folder.Folder(settings.folder)
    return None
