"""The fork server of workers. It imports what scripts need, and nothing that ever holds a credential.

The host starts it before it reads any setting or kubeconfig. confinement/forkserver.py implements it.
"""

from __future__ import annotations

import importlib
import signal
import sys
from typing import NoReturn

from kubescript_sandbox.confinement import forkserver, lockdown
from kubescript_sandbox.guest import channel, contract
from kubescript_sandbox.guest import main as worker_main
from kubescript_sandbox.wire import protocol

__all__ = ["load", "main"]


def main(guest: contract.Guest, prepare: worker_main.Prepare = worker_main.prepare) -> None:
    """Warms up, confines this process, and serves. The program's last argument is the control socket's descriptor.

    `prepare` returns the function that runs a worker's script; the security tests pass one that runs scripts without
    RestrictedPython, as if the worker had been taken over.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    rehearse = worker_main.warm(guest)
    link = channel.Channel(guest.reply)
    evaluate = prepare(guest, link)

    def run(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
        worker_main.main(descriptor, confinement, inherited, link=link, rehearse=rehearse, evaluate=evaluate)

    forkserver.serve(int(sys.argv[-1]), run)


def load(module: str) -> contract.Guest:
    """Returns the guest of a module."""
    guest: contract.Guest = importlib.import_module(module).GUEST
    return guest
