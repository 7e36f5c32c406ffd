"""Folders that are removed when the server ends. A container with a read-only root may have no place for them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kubescript import errors

__all__ = ["folder"]


def folder(name: str) -> Path:
    """Returns a new folder that only this user can access. Raises ClusterError."""
    try:
        return Path(tempfile.mkdtemp(prefix=f"kubescript-{name}-"))
    except OSError as error:
        raise errors.ClusterError(
            f"there is no folder for temporary files ({error.strerror})",
            code="cluster.config",
            remedy="mount a tmpfs at /tmp (in a pod, an emptyDir), or set TMPDIR to a folder of this user's",
        ) from None
