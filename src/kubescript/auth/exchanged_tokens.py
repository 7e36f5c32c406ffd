"""The exchanged tokens of one caller, until shortly before they expire."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass
from typing import Final

from kubescript import errors
from kubescript.cluster import acting, background
from kubescript_sandbox.host import cancellation

__all__ = ["Exchange", "Exchanges"]

Exchange = Callable[[acting.Token, str], acting.Token]
"""Returns a token for an audience in exchange for another. Blocks. Raises AuthError."""

_EARLY_S: Final = 30.0
"""Seconds before its end at which a token is exchanged anew, so that no request arrives with an expired one."""
# Attack: a script asks a cluster again and again for which the provider gives no token, or one that soon expires.
_LEAST_S: Final = 5.0
"""Seconds for which a refusal is kept, and at least a token, unless it expires before."""
_MAX_BYTES: Final = 1 << 20
"""How many bytes of tokens are kept: 700 of 1,500 characters."""
_ENTRY_BYTES: Final = 256
"""What an entry takes besides its token."""
# Attack: a script gives up its calls at once, and each leaves a thread that waits for the provider.
_MOST_UNDER_WAY: Final = 64
"""How many exchanges may be under way."""

_Key = tuple[str, str]
"""A digest of the caller's token, and the audience."""


@dataclass(slots=True)
class _Entry:
    """An exchange: under way, or its result until a time (time.time)."""

    answer: futures.Future[acting.Token]
    until: float = float("inf")
    size: int = _ENTRY_BYTES


class Exchanges:
    """The tokens of one caller, who shares them with no other. Used by many threads at once."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._lock = threading.Lock()
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()

    def get(self, token: acting.Token, audience: str, deadline: float, cancel: cancellation.Cancellation) -> str:
        """Returns the token to send to a cluster with this audience. Raises ClusterError, also at the deadline
        (time.monotonic) and when the call is cancelled."""
        answer = self._find(token, audience)
        try:
            return background.wait(answer, deadline, cancel).text
        except errors.AuthError as error:
            raise errors.ClusterError(error.message, code="cluster.auth", remedy=error.remedy) from None
        except TimeoutError:
            raise errors.ClusterError(
                "the identity provider did not exchange the caller's token in time", code="cluster.auth"
            ) from None

    def _find(self, token: acting.Token, audience: str) -> futures.Future[acting.Token]:
        """Returns the exchange for this token and audience, which is begun unless it is under way or known."""
        key = (hashlib.sha256(token.text.encode()).hexdigest(), audience)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and time.time() < entry.until:
                self._entries.move_to_end(key)
                return entry.answer
            self._make_room()
            answer = background.start("kubescript-exchange", lambda: self._exchange(token, audience))
            entry = self._entries[key] = _Entry(answer)
        answer.add_done_callback(lambda done: self._keep(entry, done))
        return answer

    def _keep(self, entry: _Entry, done: futures.Future[acting.Token]) -> None:
        """Says how long the result of an exchange is kept."""
        if done.exception() is not None:
            entry.until = time.time() + _LEAST_S
            return
        made = done.result()
        assert made.expires is not None
        entry.size += len(made.text)
        left = made.expires - time.time()
        kept_s = max(left - _EARLY_S, left / 2, _LEAST_S)
        entry.until = min(time.time() + kept_s, made.expires)

    def _make_room(self) -> None:
        """Drops what is not valid any more, and the tokens that were used longest ago. Raises ClusterError when too
        many exchanges are under way."""
        now = time.time()
        for key in [key for key, entry in self._entries.items() if entry.until <= now]:
            del self._entries[key]
        done = [(key, entry) for key, entry in self._entries.items() if entry.answer.done()]
        if len(self._entries) - len(done) >= _MOST_UNDER_WAY:
            raise errors.ClusterError("too many tokens are being exchanged; try again", code="cluster.auth")
        size = sum(entry.size for _, entry in done)
        for key, entry in done:
            if size <= _MAX_BYTES:
                break
            size -= entry.size
            del self._entries[key]
