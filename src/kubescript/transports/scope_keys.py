"""Keys of a request's scope under which stands what is known of the request."""

from __future__ import annotations

from typing import Final

__all__ = ["CERTIFICATE", "CONNECTION", "CREDENTIAL", "LENGTH", "PART", "SESSION", "WEIGHT"]

CREDENTIAL: Final = "kubescript.credential"
"""The caller's `user.Credential`; missing where none is needed."""
CERTIFICATE: Final = "kubescript.certificate"
"""The client's certificate, which TLS has verified, as `ssl.SSLSocket.getpeercert` gives it."""
CONNECTION: Final = "kubescript.connection"
"""The `http_connections.Connection` on which it has come."""
SESSION: Final = "kubescript.session"
"""The name of its session; it is no handle, so knowing it lets no client join the session."""
LENGTH: Final = "kubescript.length"
"""Bytes of its body."""
WEIGHT: Final = "kubescript.weight"
"""Bytes that its body takes once it is decoded."""
PART: Final = "kubescript.part"
"""Its part of its caller's budget, as `retained.Part`."""
