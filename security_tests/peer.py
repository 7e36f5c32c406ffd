"""The product's conversation with a peer that sends any bytes."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

from kubescript import programs
from kubescript.output import render
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation
from kubescript_sandbox.wire import framing
from security_tests import benches

JOB = runs.Limits(timeout_ms=60_000, api_calls=5, output_bytes=1_000)


def converse(data: bytes, on_call: conversation.OnCall = benches.no_cluster) -> runs.Outcome:
    """A conversation with a peer that says `data` and hangs up, whatever the host answers."""
    ours, theirs = socket.socketpair()
    job = conversation.Job("1", JOB, exchanges.Parameters("default", "test"), on_call)

    def drain() -> None:
        with contextlib.suppress(OSError):
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            while theirs.recv(1 << 16):
                pass

    reader = threading.Thread(target=drain)
    with theirs, ours:
        reader.start()
        talk = conversation.Conversation(job, framing.FrameSocket(ours), programs.SCRIPTS)
        outcome = talk.outcome(talk.run(), None, None)
        ours.shutdown(socket.SHUT_RDWR)
        reader.join()
    return outcome


def sound(outcome: runs.Outcome) -> None:
    """An outcome the rest of the host can live with."""
    answer = render.render(outcome, JOB)
    assert len(answer.text.encode()) <= JOB.output_bytes
    if outcome.result is not None:
        json.loads(outcome.result)
