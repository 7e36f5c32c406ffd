"""Where a creation is tried if the API server cannot try it at its own place: under another name, where its own is
taken, and in another namespace, where only the plan has its own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from kubescript import types
from kubescript.changes import answers, requests
from kubescript.request import request

__all__ = ["StandIn", "make"]

_LEAST: Final = 16
"""How many characters a name that stands in has at least, so that no other text of an object is equal to it."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A name and a namespace that stand in for those of an object."""

    name: str
    namespace: str = ""
    """Empty: the object's own."""

    def move(self, call: request.Request) -> request.Request:
        """Returns a creation or an apply for this place. Raises RequestError."""
        renamed = requests.rename(call, self.name)
        return requests.move(renamed, self.namespace) if self.namespace else renamed

    def restore(self, answer: types.Response, call: request.Request) -> types.Response:
        """Returns the answer to a call that was moved here as if its object were at its own place. Raises PlanError,
        and ClusterError if the answer cannot be read."""
        if self.namespace and answer.status < 300:
            answer = answers.move(answer, self.name, self.namespace, call.namespace)
        return answers.rename(answer, self.name, requests.name(call))


def make(name: str, namespace: str = "") -> StandIn:
    """Returns the place that stands in for an object of this name: its name is as long, where that is long enough, and
    random."""
    length = max(_LEAST, len(name))
    # A Service's name begins with a letter.
    return StandIn(("k" + secrets.token_hex(length))[:length], namespace)
