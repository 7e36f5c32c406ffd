"""A warm process that the `kubescript` of the tests is forked from, so that a command costs 0.1 s of start and not 1.3 s.

`program()` is a file to start in place of the installed program: same arguments, environment, folder, streams, signals
and exit code. What runs is the command's own `main`, in a process that has imported its modules before. Tests of the
start itself, of process trees and of what is in memory use the installed program (`clients.INSTALLED`).
"""

from __future__ import annotations

import array
import atexit
import contextlib
import faulthandler
import functools
import gc
import io
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from tests.kit import background

__all__ = ["pid", "program"]

_STUB: Final = Path(__file__).with_name("warm_stub.py")
_STARTED: Final[list[tuple[int, int]]] = []
"""The warm process, and the pipe by which it hears of our end."""
_RIGHTS: Final = socket.CMSG_SPACE(3 * array.array("i").itemsize)


@functools.cache
def program() -> str:
    """The file to start. The first start of it starts the warm process, which ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="kubescript-warm-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(128)
    file = folder / "kubescript"
    # -P and -S: nothing of the folder the command is started in, and no time for packages.
    source = _STUB.read_text("utf-8")
    file.write_text(f"#!{sys.executable} -IS\n{source}\n\nmain({str(folder / 'socket')!r})\n")
    file.chmod(0o700)
    threading.Thread(target=_serve_when_asked, args=(listener,), daemon=True).start()
    return str(file)


def pid() -> int:
    """The number of the warm process; 0 when no command was started."""
    return _STARTED[0][0] if _STARTED else 0


def _serve_when_asked(listener: socket.socket) -> None:
    """Starts the warm process when the first command waits."""
    select.select([listener], [], [])
    ours, theirs = os.pipe()
    descriptors = (listener.fileno(), ours)
    started = background.start("tests.kit.warm", *map(str, descriptors), inherited=descriptors)
    os.close(ours)
    listener.close()
    _STARTED.append((started, theirs))  # the kernel closes the pipe when this process ends, however it ends


class _Warm:
    """The warm process: forks a child for each command, and reports its end."""

    def __init__(self, listener: socket.socket, keeper: int) -> None:
        self._listener = listener
        self._keeper = keeper
        self._children: dict[int, socket.socket] = {}
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        self._poll.register(keeper, select.POLLIN)
        self._connections: dict[int, tuple[socket.socket, int]] = {}
        self._woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        self._poll.register(self._woken, select.POLLIN)
        self._wakes = wakes

    def serve(self) -> None:
        """Serves until the process that started this one ends."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._keeper:
                    return
                if descriptor == self._listener.fileno():
                    self._accept()
                elif descriptor == self._woken.fileno():
                    self._woken.recv(4096)
                    self._reap()
                elif descriptor in self._connections:
                    self._pass_signal(descriptor)

    def _accept(self) -> None:
        """Forks the command of one connection."""
        sock, _ = self._listener.accept()
        head, rights, _, _ = sock.recvmsg(1, _RIGHTS)
        while not head.endswith(b" ") or head.count(b" ") < 2:
            part = sock.recv(1)
            if not part:  # the stub was killed before it had said what it wants
                sock.close()
                return
            head += part
        size, streams = map(int, head.split())
        payload = bytearray()
        while len(payload) < size and (part := sock.recv(size - len(payload))):
            payload += part
        given = array.array("i")
        for _, _, data in rights:
            given.frombytes(data)
        pid = os.fork()
        if pid == 0:
            _become(self, bytes(payload), streams, list(given))
        for each in given:
            os.close(each)
        self._children[pid] = sock
        self._connections[sock.fileno()] = (sock, pid)
        self._poll.register(sock, select.POLLIN)

    def _pass_signal(self, descriptor: int) -> None:
        """Sends the child what the stub was sent; a stub that is gone was killed, and so is its child."""
        sock, pid = self._connections[descriptor]
        with contextlib.suppress(ConnectionError, ProcessLookupError):
            got = sock.recv(1)
            os.kill(pid, got[0] if got else signal.SIGKILL)
            if got:
                return
        self._poll.unregister(descriptor)
        del self._connections[descriptor]

    def _reap(self) -> None:
        """Tells the stubs how their commands ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            sock = self._children.pop(pid, None)
            if sock is None:
                continue
            if sock.fileno() in self._connections:
                self._poll.unregister(sock)
                del self._connections[sock.fileno()]
            with contextlib.suppress(OSError):
                sock.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, sys.byteorder, signed=True))
            sock.close()

    def forget(self) -> None:
        """Leaves a child with nothing of this process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for sock in (self._listener, self._woken, self._wakes, *self._children.values()):
            sock.close()
        os.close(self._keeper)


def _become(warm: _Warm, payload: bytes, streams: int, given: list[int]) -> None:
    """Is the command, in a process of its own."""
    code = 70
    try:
        warm.forget()
        count, _, rest = payload.partition(b"\0")
        parts = rest.split(b"\0")
        words, folder, variables = parts[: int(count)], parts[int(count)], parts[int(count) + 1 :]
        _take_streams(streams, given)
        os.chdir(folder)
        os.environ.clear()
        os.environb.update(dict(variable.split(b"=", 1) for variable in variables if variable))
        sys.argv[:] = ["kubescript", *map(os.fsdecode, words)]
        _read_environment()
        code = _run()
    finally:
        os._exit(code)


def _take_streams(streams: int, given: list[int]) -> None:
    """Puts the stub's standard streams in their places; one that it did not have is closed here too."""
    places = [number for number in (0, 1, 2) if streams >> number & 1]
    kept = [os.dup(descriptor) for descriptor in given]  # none of them is below 3
    for descriptor in given:
        os.close(descriptor)
    for number in (0, 1, 2):
        if number not in places:
            with contextlib.suppress(OSError):
                os.close(number)
    for number, descriptor in zip(places, kept, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w", errors="backslashreplace", always=True)


def _stream(number: int, mode: str, errors: str = "strict", *, always: bool = False) -> Any:
    """What Python makes of a descriptor when it starts."""
    try:
        raw = open(number, f"{mode}b", closefd=False)  # noqa: SIM115 - it stays open as long as the process lives
    except OSError:
        return None
    return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=always or (mode == "w" and raw.isatty()))


def _read_environment() -> None:
    """Does what Python and the official client do with the environment when they start."""
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
    time.tzset()
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    from kubernetes.config import kube_config

    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = os.environ.get("KUBECONFIG", "~/.kube/config")


def _run() -> int:
    """Runs the command line as the installed program does; returns its exit code."""
    from kubescript.cli import main as cli

    code: object = 0
    try:
        cli.main()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    return int(code or 0)


def _import_all() -> None:
    """Imports what commands import, the MCP SDK in the product's own way."""
    import kubernetes.client
    import kubernetes.config
    import uvicorn

    import kubescript.cli.main
    from kubescript import config
    from kubescript.toolsets import sdk

    sdk.skip_conveniences()
    with config.defer_models():
        import mcp_types

        import kubescript.transports.serving
        from kubescript.server import served
    # What commands about plans import, 0.3 s of it.
    import sqlalchemy.dialects.sqlite

    from kubescript.changes.page import links, page, serving
    from kubescript.changes.store import store
    from kubescript.changes.view import plain

    del kubernetes, uvicorn, kubescript, mcp_types, served, sqlalchemy, links, page, plain, serving, store


def main() -> None:
    """Imports everything, then serves."""
    listener, keeper = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    atexit._clear()
    with contextlib.suppress(ImportError):
        _import_all()
    gc.collect()
    gc.freeze()
    _Warm(listener, keeper).serve()


if __name__ == "__main__":
    main()
