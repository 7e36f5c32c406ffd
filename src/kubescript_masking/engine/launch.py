"""The masking process: the fork server, each masker that it forks, and the check of an operator's rules.

`python -m kubescript_masking.engine.start [PROGRAM] DESCRIPTOR` compiles the rules and serves; `... check` prints
errors in the settings. The host starts both with an empty environment, and they read the settings (wire/masking.py)
from standard input; neither learns anything about a cluster. A masker holds only the rules and the key of its masks: no
credentials, files or network. It reads hostile bytes, so the host treats its answers as hostile.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

import msgspec

from kubescript_masking.engine import bodies, conversation, program, warmup
from kubescript_masking.rules.probes import RuleError
from kubescript_masking.wire import masking
from kubescript_masking.wire.lists import ReasonError
from kubescript_sandbox.confinement import forkserver, lockdown
from kubescript_sandbox.wire import protocol

__all__ = ["main"]


def main() -> None:
    """Runs the command line."""
    given = sys.stdin.buffer.read()
    if not given:  # the host has ended, or needs no masker: it starts this process before it reads the settings
        return
    settings = msgspec.json.decode(given, type=masking.Settings)
    *named, last = sys.argv[1:]
    second = program.load("".join(named))
    if last == "check":
        try:
            bodies.Rules(settings, second).check()
        except RuleError as error:
            sys.stdout.write(str(error))
        return
    rules = bodies.Rules(settings, second)
    # Before the forks, so that all maskers share the compiled rules.
    warmup.rehearse(rules)

    def serve(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
        sock = lockdown.adopt_socket(descriptor)
        layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
        _serve(conversation.Conversation(sock, rules), layers)

    forkserver.serve(int(last), serve)


def _serve(talk: conversation.Conversation, layers: tuple[protocol.Layer, ...]) -> NoReturn:
    """Masks one body or text after another in this process, which is locked down. Exits when the host closes the
    socket, and after any failure."""
    gc.enable()
    reserve = [bytes(1 << 20)]  # freed when memory runs out, so that there is room for the report
    try:
        talk.begin(layers)
        while True:
            talk.serve_one()
    except MemoryError:
        reserve.clear()
        talk.fail("memory")
    except ReasonError as error:
        talk.fail(error.reason)
    except (OSError, EOFError):  # the host closed the socket
        pass
    except Exception as error:  # the message may quote a secret, so only the type is reported
        talk.fail("bug", type(error).__name__)
    os._exit(1)
