"""The warm-up of a worker: a script that runs before the real one, on a canned answer in place of a cluster.

worker/main.py calls it. A worker shares its memory with the fork server until it writes to it, and the first write to
each page costs a copy. A script that compiles, lists, reads fields and encodes a result touches a few hundred pages;
after the warm-up these are copied already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kubescript.wire import framing, protocol
from kubescript.worker import channel
from kubescript.worker.language import compiler
from kubescript.worker.sdk import client, context, serialize, session

__all__ = ["exchange_frames", "run_script", "send_host_frames"]

_SCRIPT: Final = """
rows = []
for pod in k8s.coreV1().list_namespaced_pod("warmup"):
    rows.append((pod.metadata.name, sum(c.restart_count for c in pod.status.container_statuses)))
[{"name": name, "restarts": f"{n}"} for name, n in sorted(rows)]
"""

_POD: Final = (
    b'{"metadata":{"name":"web","namespace":"warmup","labels":{"app":"web"}},"spec":{"nodeName":"n"},'
    b'"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":1}]}}'
)
_LIST: Final = (
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[' + _POD + b"," + _POD + b"]}"
)


class _CannedExchange:
    """The canned answer to any call."""

    reply = protocol.Reply(200, "OK", "application/json")

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole body."""
        yield _LIST

    def stop(self) -> None:
        """Does nothing: the whole answer is here."""


class _CannedTransport:
    """A transport without a host."""

    left = context.Left(1, 1, 1)

    def call(self, call: protocol.Call) -> _CannedExchange:
        """Encode the call as if it were sent, and return the canned answer."""
        serialize.encode(call.query)
        return _CannedExchange()

    def batch(self, calls: Sequence[protocol.Call]) -> list[_CannedExchange]:
        """Return a canned answer to each call."""
        return [self.call(call) for call in calls]


def run_script(globals_of: Callable[[client.K8s], Mapping[str, object]]) -> None:
    """Compile the script, run it in the globals that `globals_of` builds around a `k8s`, and encode its result."""
    program = compiler.compile_script(_SCRIPT)
    k8s = client.K8s(session.Session(_CannedTransport()))
    value = compiler.run(program, dict(globals_of(k8s)))
    serialize.encode(value)


def send_host_frames(host: framing.FrameSocket) -> None:
    """Send all frames that a host sends to a worker whose script makes one call."""
    start = protocol.Start(
        script=_SCRIPT,
        namespace="warmup",
        context="warmup",
        contexts=("warmup",),
        timeout_ms=1000,
        memory_bytes=1 << 30,
        depth=1000,
        output_bytes=1 << 16,
        api_calls=1,
        response_bytes=1 << 20,
    )
    host.send_message(protocol.FrameType.START, start)
    host.send_message(protocol.FrameType.REPLY, _CannedExchange.reply)
    host.send(protocol.FrameType.BODY, _LIST)
    host.send_message(protocol.FrameType.END, protocol.End())


def exchange_frames(link: channel.Channel) -> None:
    """Exchange the worker's frames for those."""
    # The script does not run here: at its end a megabyte is freed, after which the C library would hand out such
    # blocks already touched, page by page.
    link.start()
    exchange = link.call(protocol.Call("GET", ("api", "v1", "pods")))
    body = b"".join(exchange.chunks())
    link.finish(protocol.Done(result=msgspec.Raw(body)))
