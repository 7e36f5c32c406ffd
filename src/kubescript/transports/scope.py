"""Keys under which a request's scope has what was found out about it."""

from __future__ import annotations

from typing import Final

__all__ = ["CERTIFICATE", "CONNECTION", "CREDENTIAL", "LENGTH", "PART", "SESSION", "WEIGHT"]

CREDENTIAL: Final = "kubescript.credential"
"""Who sends it, as `user.Credential`; missing where nobody has to say."""
CERTIFICATE: Final = "kubescript.certificate"
"""The client's certificate, which TLS has verified, as `ssl.SSLSocket.getpeercert` gives it."""
CONNECTION: Final = "kubescript.connection"
"""The `connections.Connection` on which it has come."""
SESSION: Final = "kubescript.session"
"""The name of its session; no handle with which another client could join it."""
LENGTH: Final = "kubescript.length"
"""Bytes of its body."""
WEIGHT: Final = "kubescript.weight"
"""Bytes that its body takes once it is decoded."""
PART: Final = "kubescript.part"
"""Its part of its caller's budget, as `retained.Part`."""
