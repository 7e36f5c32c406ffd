"""What root sees of other processes: their memory, their account, their end; and a host with workers to look at."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.kit import patience, pids

__all__ = ["facts", "host", "kill", "kill_both", "occurrences", "orphans", "regions"]

LOOKS: Final = 5
"""How often the memory of a process is read, at most, until all of it could be."""


def facts(pid: int) -> dict[str, str]:
    """/proc/PID/status by name."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def regions(pid: int) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, permissions and name of each mapping."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, permissions, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in span.split("-"))
        yield start, end, permissions, name[0] if name else ""


def occurrences(pid: int, needles: tuple[bytes, ...]) -> set[bytes]:
    """Which needles are anywhere in the readable memory, environment or command line of `pid`."""
    # A mapping that its process gives back while we read cannot be read; the next look does not list it.
    for _ in range(LOOKS - 1):
        with contextlib.suppress(OSError):
            return _occurrences(pid, needles)
    return _occurrences(pid, needles)


def _occurrences(pid: int, needles: tuple[bytes, ...]) -> set[bytes]:
    found = {
        needle
        for name in ("environ", "cmdline")
        for needle in needles
        if needle in Path(f"/proc/{pid}/{name}").read_bytes()
    }
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, permissions, name in regions(pid):
            if "r" in permissions and name not in {"[vvar]", "[vvar_vclock]", "[vsyscall]"}:
                data = whole(memory.fileno(), start, end)
                found.update(needle for needle in needles if needle in data)
    return found


def whole(descriptor: int, start: int, end: int) -> bytes:
    """The bytes of one mapping."""
    pieces = []
    while start < end:
        piece = os.pread(descriptor, min(end - start, 1 << 24), start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


HOST: Final = textwrap.dedent("""
    import sys, threading, json
    from kubescript import programs
    from kubescript.wire import exchanges
    from kubescript_sandbox import runs
    from kubescript_sandbox.host import conversation, executor, spawner
    from kubescript.cluster import live
    from kubescript.broker import operation
    from kubescript.policy import policy
    from security_tests import outside
    from tests.kit import reading
    import os, signal
    from pathlib import Path

    source = spawner.Spawner(sys.argv[2:] or programs.WORKER)
    early = sys.argv[1] == "early"
    def read_secrets():
        cluster = live.Live(Path(os.environ["KUBECONFIG"]))
        return cluster, (os.environ["CANARY"] + "-in-memory") * 3
    kept = read_secrets() if early else None   # worse than the product: secrets first, fork server second
    source.start()
    kept = kept or read_secrets()
    pool = executor.Executor(source, programs.SCRIPTS, memory_bytes=256 << 20, cpu_seconds=60, spares=0, strict=True)
    door = reading.made(kept[0], policy.Policy("off", (), ()))
    def found(_):
        pid, = open(f"/proc/{source.pid}/task/{source.pid}/children").read().split()
        print(json.dumps([source.pid, int(pid)]), flush=True)
    def run(script, timeout=300_000):
        return pool.run(conversation.Job(script, runs.Limits(timeout_ms=timeout, memory_bytes=256 << 20), exchanges.Parameters("default", "test"),
            lambda call, left: door.handle(call, operation.Operation(), left), found))
    call = "\\ntry:\\n    k8s.coreV1().list_node()\\nexcept Exception as e: print(e)\\nctx.progress(1)\\nwhile True: pass"
    threading.Thread(target=run, args=(call,), daemon=True).start()
    sys.stdin.readline()
    old = source.pid
    os.kill(old, signal.SIGKILL)
    outside.patience.until(lambda: not outside.pids.is_alive(old))
    threading.Thread(target=run, args=(call,), daemon=True).start()
    sys.stdin.readline()
""")
"""A host that has used its credentials, with one honest worker at a time; on a line it kills its fork server and starts
again."""


@contextlib.contextmanager
def host(
    folder: Path, canary: str, order: str, prefix: tuple[str, ...] = (), command: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[str]]:
    """HOST with the canary in its environment, its kubeconfig and its memory."""
    config = folder / "config"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": canary + "-in-kubeconfig"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }))  # fmt: skip
    config.chmod(0o644)
    environment = {
        "CANARY": canary,
        "KUBECONFIG": str(config),
        "PATH": "/usr/bin:/bin",
        "TOKEN": canary + "-in-environment",
    }
    arguments = [*prefix, sys.executable, "-c", HOST, order, *command]
    with subprocess.Popen(
        arguments, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def kill(pid: int) -> None:
    """Ends a process, and waits until it has ended."""
    with contextlib.suppress(ProcessLookupError):  # the fork server may have ended with its host
        os.kill(pid, signal.SIGKILL)
    patience.until(lambda: not pids.is_alive(pid))


def kill_both(host_pid: int, server: int) -> None:
    """The fork server first stopped, so that it cannot tidy up, then neither is left."""
    os.kill(server, signal.SIGSTOP)
    kill(host_pid)
    kill(server)


def orphans(
    folder: Path, kill: Callable[[int, int], None], seconds: float = 30.0, command: tuple[str, ...] = ()
) -> set[int]:
    """The processes of a host that are left some time after `kill` had its way."""
    with host(folder, "none", "late", command=command) as process:
        assert process.stdout
        server, worker = json.loads(process.stdout.readline())
        kill(process.pid, server)
        left = {worker} if process.poll() is None else {server, worker}
        end = time.monotonic() + seconds
        while any(map(pids.is_alive, left)) and time.monotonic() < end:
            time.sleep(0.02)
        return {pid for pid in left if pids.is_alive(pid)}
