"""Keys under which a request's scope has what was found out about it."""

from __future__ import annotations

from typing import Final

__all__ = ["CREDENTIAL", "SESSION", "SUBJECT"]

CREDENTIAL: Final = "kubescript.credential"
"""Who sends it, as `user.Credential`; missing where nobody has to say."""
SUBJECT: Final = "kubescript.subject"
"""The subject of the client's certificate, which TLS has verified."""
SESSION: Final = "kubescript.session"
"""The name of its session; no handle that would let anybody join it."""
