"""The process that becomes `oc`: it can reach only the address of this server's proxy, and has no credentials.

`oc` cannot evade the policy, whatever its arguments are.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import socket
import sys
from typing import Final, NoReturn

from kubescript.launcher import streams
from kubescript.wire import orders
from kubescript_sandbox.confinement import command_filter, command_lockdown, landlock, lockdown
from kubescript_sandbox.wire import protocol

__all__ = ["run", "warm"]

_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""The folders with libraries, including the loader, which is executed too."""
_DATA: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
_BACKLOG: Final = 64
_NAME: Final = "oc"
_MAX_PROCESSORS: Final = 4
_SETTINGS: Final = {
    # Otherwise each answer reports that `oc` may not read its preferences, if there is a folder /.kube.
    "KUBERC": "off",
    # Otherwise the C library reserves 64 MiB of address space per thread.
    "MALLOC_ARENA_MAX": "1",
    # Go starts a thread per processor, and would fail at the limit on threads.
    "GOMAXPROCS": str(min(_MAX_PROCESSORS, os.cpu_count() or 1)),
}
_CANNOT_EXECUTE: Final = 126
"""The exit code of shells for a program that cannot be executed."""


def warm() -> None:
    """Does the work common to all processes, and finds out how to cut them off from other networks."""
    command_filter.program(executes=True)
    _network_steps()


@functools.cache
def _network_steps() -> lockdown.Steps:
    """Returns the steps into a separate network; no steps if they fail, which is tried out in a child process."""
    # Where AppArmor restricts user namespaces, a process can enter one, but may then be unable to bring up its loopback
    # interface.
    pid = os.fork()
    if pid == 0:
        trial = lockdown.Confinement(os.getppid(), 0, 0)
        (layer,) = lockdown.apply(command_lockdown.LOOPBACK_STEPS, trial)
        os._exit(0 if layer.active else 1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        return ()
    return command_lockdown.LOOPBACK_STEPS


def run(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
    """Confines this process, and executes `oc` in it."""
    sock = socket.socket(fileno=descriptor)
    order, outputs = orders.receive(sock, orders.OpenShiftOrder)
    layers = inherited + lockdown.apply(_network_steps(), confinement)
    secret = secrets.token_hex(16)
    # Created here and handed to the host; where this machine permits it, in a network namespace that nothing leads
    # out of.
    listener = socket.create_server((_draw_address(), 0), backlog=_BACKLOG)
    host, port = listener.getsockname()
    streams.attach(outputs, kept=(sock.fileno(), listener.fileno()))
    try:
        # The program is opened now, since it may be in a folder that only the current user can read.
        binary = os.open(order.binary, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        _give_up(order, error)
    server = f"http://{host}:{port}/{secret}"
    kubeconfig = _in_memory(_kubeconfig(server, order.namespace))
    execution = command_filter.Execution(binary)
    steps = command_lockdown.program_steps(_paths(binary), port, execution)
    layers += lockdown.apply(steps, confinement)
    layers += (_egress(layers),)
    orders.send(sock, orders.Confined(layers, secret), (listener.fileno(),))
    if sock.recv(len(orders.GO)) != orders.GO:
        os._exit(1)
    listener.close()
    sock.close()
    try:
        environment = _SETTINGS | {"KUBECONFIG": f"/proc/self/fd/{kubeconfig}"}
        execution.run([_NAME, *order.arguments], environment)
    except OSError as error:
        _give_up(order, error)


def _draw_address() -> str:
    """Returns one of the 16 million loopback addresses."""
    # Attack: without a network namespace, another process finds the proxy at 127.0.0.1 by trying ports, and takes all
    # its connections.
    drawn = [1 + secrets.randbelow(254) for _ in range(3)]
    return socket.inet_ntoa(bytes([127, *drawn]))


def _paths(binary: int) -> dict[str, int]:
    """Returns the paths that the program may open, each with its rights; `binary` is its own descriptor."""
    runs = landlock.READ | landlock.EXECUTE
    paths = dict.fromkeys(_LIBRARIES, runs)
    paths |= dict.fromkeys(_DATA, landlock.READ)
    paths[f"/proc/self/fd/{binary}"] = runs
    paths["/dev/null"] = landlock.READ | landlock.WRITE
    return paths


def _egress(layers: tuple[protocol.Layer, ...]) -> protocol.Layer:
    """Returns the layer that says whether this process can reach only the proxy: because of its separate network, or
    because of Landlock."""
    active = {layer.name for layer in layers if layer.active}
    has_own_network = "network" in active
    has_one_port = "landlock" in active and landlock.knows_ports()
    return protocol.Layer("egress", active=has_own_network or has_one_port)


def _kubeconfig(server: str, namespace: str) -> bytes:
    """Returns a kubeconfig without a user: the proxy requires none."""
    entry = {"cluster": _NAME, "user": "", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": {"server": server}}],
        "contexts": [{"name": _NAME, "context": entry}],
        "current-context": _NAME,
    }
    return json.dumps(config).encode()


def _in_memory(content: bytes) -> int:
    """Returns the descriptor of a file without a name, which the program inherits."""
    descriptor = os.memfd_create("kubeconfig", 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _give_up(order: orders.OpenShiftOrder, error: OSError) -> NoReturn:
    """Ends this process with the message and exit code of a shell that cannot execute a program."""
    sys.stderr.write(f"{order.binary} cannot be executed: {error.strerror}\n")
    sys.stderr.flush()
    os._exit(_CANNOT_EXECUTE)
