"""The process that runs `openstack` as a library: a fork of one that has loaded it, with one call's credentials.

It needs the network, and a name resolver. Landlock and seccomp therefore restrict the rest: it can read Python's
libraries, CAs and the resolver's files, but write no files, start no processes and accept no connections.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from pathlib import Path
from typing import Final, NoReturn

from kubescript.launcher import openstack_command, streams
from kubescript.wire import orders
from kubescript_sandbox.confinement import command_filter, command_lockdown, landlock, lockdown
from kubescript_sandbox.wire import protocol

__all__ = ["run", "warm"]

_SYSTEM: Final = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo",
    # host name resolution: resolv.conf(5), hosts(5), nsswitch.conf(5), gai.conf(5)
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    # CAs, but no keys
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
    "/dev/urandom",
)  # fmt: skip


def warm() -> None:
    """Loads openstackclient, and does the work common to all processes."""
    openstack_command.warm()
    command_filter.program(executes=False)


def run(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
    """Confines this process, and runs one command line."""
    sock = socket.socket(fileno=descriptor)
    order, outputs = orders.receive(sock, orders.OpenStackOrder)
    streams.attach(outputs, kept=(sock.fileno(),))
    # An entry that is not absolute would refer to the current folder.
    libraries = [entry for entry in sys.path if Path(entry).is_absolute()]
    paths = dict.fromkeys((*_SYSTEM, *libraries, *order.readable), landlock.READ)
    paths["/dev/null"] = landlock.READ | landlock.WRITE
    steps = command_lockdown.client_steps(paths)
    layers = inherited + lockdown.apply(steps, confinement)
    orders.send(sock, orders.Confined(layers))
    # The host checks the layers first.
    if sock.recv(len(orders.GO)) != orders.GO:
        os._exit(1)
    sock.close()
    gc.enable()
    code = openstack_command.run(order)
    os._exit(code)
