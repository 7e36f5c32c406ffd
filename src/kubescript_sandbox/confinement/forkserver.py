"""The fork server: the warm parent of confined processes. It forks and reaps them on request, and holds no credential.

The host (host/spawner.py) starts it with an empty environment and one descriptor: its end of a SOCK_SEQPACKET control
socket. It reads messages from the host only, never a byte from a child. When the host has ended, reading the control
socket returns nothing; the fork server then kills its children and ends, so that no orphan remains even after `kill -9`
of the host.
"""

from __future__ import annotations

import array
import contextlib
import gc
import os
import selectors
import signal
import socket
import threading
from collections.abc import Callable
from typing import NoReturn

import msgspec

from kubescript_sandbox import unused_memory
from kubescript_sandbox.confinement import lockdown, seccomp
from kubescript_sandbox.wire import control, protocol

__all__ = ["Child", "serve"]

Child = Callable[[int, lockdown.Confinement, tuple[protocol.Layer, ...]], NoReturn]
"""Runs in a child, given its socket's descriptor. It applies the rest of the confinement itself."""


def serve(descriptor: int, child: Child, steps: lockdown.Steps | None = None) -> NoReturn:
    """Confines this warm process by these steps (by default those of workers), and forks children until the host closes
    the control socket."""
    if threading.active_count() > 1:  # a lock that it holds would stay locked in each child: see fork_hooks.py
        raise RuntimeError("a module that the fork server has imported has started a thread")
    link = socket.socket(fileno=descriptor)
    with contextlib.suppress(OSError):  # each child's own step reports a missing libseccomp
        seccomp.program(lockdown.WORKER_FD)
    unused_memory.give_back()  # a masker frees 12 MiB while it warms up, which would count as mapped
    server = _Server(link, child)
    server.confine(lockdown.SERVER_STEPS if steps is None else steps)
    gc.freeze()  # otherwise the collector writes to pages shared with children, and each write copies a page
    gc.disable()
    server.serve()
    os._exit(0)  # nothing is left to do, and finalizing the interpreter takes 20 ms


class _Server:
    """Holds the control socket and one pidfd per running child."""

    def __init__(self, link: socket.socket, child: Child) -> None:
        self._link = link
        self._child = child
        self._layers: tuple[protocol.Layer, ...] = ()
        self._selector = selectors.DefaultSelector()
        self._selector.register(link, selectors.EVENT_READ)
        self._children: dict[int, tuple[int, int]] = {}
        """The process id and the ticket of each running child, by pidfd."""
        self._own_address_space = lockdown.address_space()
        self._decoder = msgspec.json.Decoder(control.Order)

    def confine(self, steps: lockdown.Steps) -> None:
        """Locks this process down as far as it can still fork; its children inherit that. It can open no files from
        then on."""
        confinement = lockdown.Confinement(os.getppid(), 0, 0)
        self._layers = lockdown.apply(steps, confinement)

    def serve(self) -> None:
        """Handles requests until the host closes the control socket, then kills the remaining children."""
        try:
            while self._handle_events():
                pass
        finally:
            for pid, _ in self._children.values():
                os.kill(pid, signal.SIGKILL)

    def _handle_events(self) -> bool:
        for key, _ in self._selector.select():
            if key.fd == self._link.fileno():
                if not self._handle_request():
                    return False
            else:
                self._reap(key.fd)
        return True

    def _handle_request(self) -> bool:
        payload, descriptors = _receive(self._link)
        if not payload:
            return False
        order = self._decoder.decode(payload)
        if isinstance(order, control.ForkRequest):
            (child_socket,) = descriptors
            self._fork(order, child_socket)
        return True

    def _fork(self, request: control.ForkRequest, descriptor: int) -> None:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            # Attack: a script starts processes up to its user's limit, which once ended the fork server and all its
            # children.
            os.close(descriptor)
            self._send(control.Refused(request.ticket, error.errno or 0))
            return
        if pid == 0:
            try:
                address_space = self._own_address_space + request.memory_bytes
                confinement = lockdown.Confinement(parent, address_space, request.cpu_seconds)
                self._child(descriptor, confinement, self._layers)
            finally:
                # Attack: a child raises an exception that would propagate to `serve`, which would end the running
                # children in its copy of the list.
                os._exit(1)
        os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (pid, request.ticket)
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._send(control.Forked(request.ticket, pid), pidfd)

    def _reap(self, pidfd: int) -> None:
        """Reaps a child that has ended, and reports its end to the host."""
        pid, ticket = self._children.pop(pidfd)
        _, status, usage = os.wait4(pid, 0)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        exit_code = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        peak_bytes = usage.ru_maxrss * 1024
        exited = control.Exited(ticket, exit_code, cpu_s * 1000, peak_bytes)
        self._send(exited)

    def _send(self, message: control.Message, *descriptors: int) -> None:
        payload = msgspec.json.encode(message)
        ancillary = []
        if descriptors:
            rights = array.array("i", descriptors)
            ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, rights))
        # The host may have ended, perhaps with unread reports; the next read from the socket will detect that.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._link.sendmsg([payload], ancillary)


def _receive(link: socket.socket) -> tuple[bytes, list[int]]:
    payload, descriptors, _, _ = socket.recv_fds(link, control.MAX_MESSAGE, 1)
    return payload, descriptors
