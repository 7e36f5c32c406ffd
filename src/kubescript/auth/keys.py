"""The published keys of an issuer. They are fetched again every five minutes, and when a token names an unknown key,
but then at most every few seconds.

While the provider is unavailable, the last keys stay valid for an hour.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt

from kubescript import errors

__all__ = ["ALGORITHMS", "Keys"]

# Attack: a caller uses `none`, or HS256 with the public key as its secret.
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Algorithms for signatures."""

_FRESH_S: Final = 300.0
"""Seconds after which keys are fetched again."""
_KEPT_S: Final = 3_600.0
"""Seconds for which keys stay valid while the provider is unavailable."""
# Attack: a caller names unknown keys, to cause a request to the provider for each of its calls.
_COOLDOWN_S: Final = 5.0
"""Seconds after a fetch before an unknown key can cause another."""


class Keys:
    """The keys of one issuer by id. Used by many threads at once."""

    def __init__(self, fetch: Callable[[], Mapping[str, Any]]) -> None:
        """`fetch` returns the issuer's key set (RFC 7517); it blocks, and may raise AuthError."""
        self._fetch = fetch
        self._lock = threading.Lock()
        """Held while the keys are being fetched."""
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._fetched = float("-inf")
        """When keys last arrived."""
        self._asked = float("-inf")
        """When they were last requested."""
        self.problem = ""
        """Why the issuer gave no keys when last asked; empty if it gave some, or was not asked yet."""

    def get(self, key_id: str) -> jwt.PyJWK | None:
        """Returns a key at once; None if it is unknown. Old keys are fetched again in the background."""
        if not self.are_known:
            return None
        # No request waits for a renewal: the last keys are still valid.
        self.renew()
        return self._keys.get(key_id)

    def renew(self) -> None:
        """Fetches the keys in the background if there are none, if they are old, or if the issuer gave none when last
        asked."""
        is_old = time.monotonic() - self._fetched > _FRESH_S
        is_being_fetched = self._lock.locked()
        if (is_old or self.problem) and self._may_ask() and not is_being_fetched:
            renewal = threading.Thread(target=self._fetch_late, name="kubescript-keys", daemon=True)
            renewal.start()

    def wants(self, key_id: str) -> bool:
        """Says whether the issuer should be asked for a key."""
        return self._may_ask() and self.get(key_id) is None

    def fetch(self) -> None:
        """Fetches the keys, unless that was just done. Raises AuthError when the issuer gives no keys."""
        with self._lock:
            if not self._may_ask():
                return
            try:
                self._keys = _usable(self._fetch())
                self._fetched = time.monotonic()
                self.problem = ""
            except errors.AuthError as error:
                self.problem = error.explained
                raise
            finally:
                self._asked = time.monotonic()

    @property
    def are_known(self) -> bool:
        """Whether there are valid keys."""
        return time.monotonic() - self._fetched <= _KEPT_S

    def _may_ask(self) -> bool:
        since_asked = time.monotonic() - self._asked
        return since_asked >= _COOLDOWN_S

    def _fetch_late(self) -> None:
        with contextlib.suppress(errors.AuthError):  # the last keys stay valid
            self.fetch()


def _usable(found: Mapping[str, Any]) -> Mapping[str, jwt.PyJWK]:
    """Returns the keys for signatures. Raises AuthError when there are none."""
    try:
        every = jwt.PyJWKSet.from_dict(dict(found)).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
        every = []
    # Attack: the key set contains an `oct` key, whose secret is public, under another algorithm's name.
    keys = {
        key.key_id: key
        for key in reversed(every)
        if key.key_id and key.public_key_use in {"sig", None} and key.algorithm_name in ALGORITHMS
    }
    if not keys:
        raise errors.AuthError("the identity provider publishes no keys that can be used", code="auth.unavailable")
    return keys
