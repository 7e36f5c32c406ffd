"""The reads of what a write would change: its object, and the Scale of a custom resource. Each is on record."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubescript import errors, types
from kubescript.broker import call, operation
from kubescript.changes import answers, requests
from kubescript.cluster import base
from kubescript.kube import kinds
from kubescript.request import request

__all__ = ["Reads"]


@dataclass(frozen=True, slots=True)
class Reads:
    """The reads in one cluster. Safe for use from many threads."""

    cluster: base.Cluster

    def read_target(self, call: call.Call, asked: request.Request) -> bytes:
        """Returns the write's object; empty bytes if it does not exist. Raises PlanError if it cannot be read."""
        target = requests.target(asked)
        if target is None:
            return b""
        return self._read_object(call, asked, target)

    def read_scale(self, call: call.Call, asked: request.Request) -> bytes | None:
        """Returns the Scale that a scaling of a custom resource changes; empty bytes if it does not exist. Returns None
        for any other write. Raises PlanError if it cannot be read."""
        # Attack: a custom resource has its number of replicas in a field that the object itself does not tell. All
        # built-in kinds have it in `spec.replicas`.
        if asked.subresource != "scale" or kinds.kind_of(asked.group, asked.resource) is not None:
            return None
        return self._read_object(call, asked, requests.read(asked))

    def _read_object(self, call: call.Call, asked: request.Request, target: request.Request) -> bytes:
        """Returns what a write would change; empty bytes if it does not exist. Raises PlanError if it cannot be
        read."""
        answer = self.read(call, target)
        content = answers.read_whole(answer)
        if answer.status == 404:
            return b""
        what = request.describe(target)
        if answer.status == 429 or answer.status >= 500:
            raise errors.ClusterError(
                f"{what}: the API server answers {answer.status}; try again", code="cluster.broken"
            )
        if answer.status != 200:
            raise errors.PlanError(
                f"{request.describe(asked)}: what it would change cannot be read ({answer.status} to {what}), so it "
                "cannot be shown to anybody",
                code="plan.unreadable",
                remedy=f"permit `{what}` to the server's user",
            )
        return content

    def read(self, call: call.Call, asked: request.Request) -> types.Response:
        """Sends a read for a write. Each read is recorded separately, under its own id."""
        audit_id = str(uuid.uuid4())
        own = call.derive(replace(asked, audit_id=audit_id))
        try:
            response = self.cluster.perform(own.request, own.seconds_left, own.operation.cancellation)
        except errors.KubescriptError as error:
            own.fail(error)
            raise
        own.note_answer(response)
        own.end(response.status)
        chunks = _count(response.chunks, call.operation)
        return replace(response, chunks=chunks)


def _count(chunks: Iterator[bytes], operation: operation.Operation) -> Iterator[bytes]:
    """Yields a body, and counts its bytes like those of a script's own reads."""
    for chunk in chunks:
        operation.summary.take(len(chunk))
        yield chunk
