"""Keys under which a request's scope holds facts about the request."""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWER", "CERTIFICATE", "CONNECTION", "CREDENTIAL", "LENGTH", "PART", "SESSION", "WEIGHT"]

CREDENTIAL: Final = "kubescript.credential"
"""The caller's `user.Credential`; missing if none is needed."""
CERTIFICATE: Final = "kubescript.certificate"
"""The client's certificate, verified by TLS, in the format of `ssl.SSLSocket.getpeercert`."""
CONNECTION: Final = "kubescript.connection"
"""The `http_connections.Connection` on which the request arrived."""
SESSION: Final = "kubescript.session"
"""The name of the request's session; not a handle, so a client that knows it cannot join the session."""
LENGTH: Final = "kubescript.length"
"""The size of the request's body in bytes."""
WEIGHT: Final = "kubescript.weight"
"""How many bytes the request's body takes once decoded."""
PART: Final = "kubescript.part"
"""The request's part of its caller's budget, as `retained.Part`."""
ANSWER: Final = "kubescript.answer"
"""The answer to a person's request for a page, as `answers.Answer`."""
