"""The control plane of the tests: that of the benchmark, with containers that log what the tests ask for."""

from __future__ import annotations

from kubescript_safety.controlplane import server
from tests.kit.controlplane import logs

__all__ = ["ControlPlane", "StartError"]

StartError = server.StartError


class ControlPlane(server.ControlPlane):
    """One API server with its own store, certificates and port; `flags` are added to kube-apiserver's own."""

    def __init__(self, flags: tuple[str, ...] = ()) -> None:
        super().__init__(flags, logs.written)

    def authority_key(self) -> bytes:
        """Returns the key that signs for this server's users."""
        return self._authority.private_key()
