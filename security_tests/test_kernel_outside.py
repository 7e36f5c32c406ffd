"""Layer 2, seen from outside: root looks into the memory, the descriptors and the end of live workers and their fork
server."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from security_tests import benches
from tests.kit import patience

pytestmark = pytest.mark.slow

Count = Callable[[int], None]

CONTAINER = str(Path(__file__).with_name("container.py"))
WAIT = "link.progress(1, 1, '')\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end:\n    pass\nresult = 1"

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may read the memory of a process that is not dumpable"
)


@pytest.fixture(scope="module")
def alone() -> Iterator[benches.Bench]:
    """A hostile bench without spares: its fork server's only child is the worker in question."""
    with benches.opened(benches.HOSTILE, spares=0) as bench:
        yield bench


LOOKS = 5
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


HOST = textwrap.dedent("""
    import sys, threading, json
    from kubescript import spawner, types
    from kubescript.executor import conversation, executor
    from kubescript.cluster import live
    from kubescript.broker import broker, summary
    from kubescript.policy import policy
    import os, signal, time
    from pathlib import Path

    source = spawner.Spawner(sys.argv[2:] or spawner.COMMAND)
    early = sys.argv[1] == "early"
    def read_secrets():
        cluster = live.Live(Path(os.environ["KUBECONFIG"]))
        return cluster, (os.environ["CANARY"] + "-in-memory") * 3
    kept = read_secrets() if early else None   # worse than the product: secrets first, fork server second
    source.start()
    kept = kept or read_secrets()
    pool = executor.Executor(source, memory_bytes=256 << 20, cpu_seconds=60, spares=0, strict=True)
    door = broker.Broker(kept[0], policy.Policy("off", (), ()))
    def found(_):
        pid, = open(f"/proc/{source.pid}/task/{source.pid}/children").read().split()
        print(json.dumps([source.pid, int(pid)]), flush=True)
    def run(script, timeout=30_000):
        return pool.run(conversation.Job(script, types.Limits(timeout_ms=timeout, memory_bytes=256 << 20), "default", "test",
            lambda call, left: door.handle(call, summary.Summary(), left), found))
    call = "\\ntry:\\n    k8s.coreV1().list_node()\\nexcept Exception as e: print(e)\\nctx.progress(1)\\nwhile True: pass"
    threading.Thread(target=run, args=(call,), daemon=True).start()
    sys.stdin.readline()
    old = source.pid
    os.kill(old, signal.SIGKILL)
    time.sleep(0.3)
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


@needs_root
@pytest.mark.promise("K-12")
@pytest.mark.parametrize("user", ["root", "unprivileged"])
@pytest.mark.parametrize("order", ["late", "early"])
def test_no_credential_is_in_the_memory_of_worker_or_fork_server(user: str, order: str, attacks: Count) -> None:
    """A token in the host's environment, kubeconfig and memory is in no mapping of a worker or a fork server, restarted
    ones included."""
    canary = secrets.token_hex(16)
    needles = (canary.encode(), canary.encode()[::-1], canary.encode("utf-16-le"))
    prefix = (sys.executable, CONTAINER) if user == "unprivileged" else ()
    folder = Path(f"/var/tmp/canary-{canary}")
    folder.mkdir(mode=0o755)
    try:
        with host(folder, canary, order, prefix) as process:
            assert process.stdin and process.stdout
            for _ in range(2):
                pids = json.loads(process.stdout.readline())
                assert occurrences(process.pid, needles) == {needles[0]}, "the search itself finds nothing"
                for pid in pids:
                    assert occurrences(pid, needles) == set()
                process.stdin.write("again\n")
                process.stdin.flush()
    finally:
        (folder / "config").unlink()
        folder.rmdir()
    attacks(4)


@needs_root
@pytest.mark.promise("K-13")
def test_no_mapping_of_a_worker_is_shared_or_writable_code(alone: benches.Bench) -> None:
    """Each writable page is the worker's own copy, and no page is both writable and executable."""

    def look(pid: int) -> None:
        found = list(regions(pid))
        assert len(found) > 50
        assert [region for region in found if "w" in region[2] and "s" in region[2]] == []
        assert [region for region in found if "w" in region[2] and "x" in region[2]] == []

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


@needs_root
@pytest.mark.promise("K-10")
def test_a_workers_only_descriptor_is_its_socket(alone: benches.Bench) -> None:
    """/proc/PID/fd has one entry, a socket."""

    def look(pid: int) -> None:
        folder = f"/proc/{pid}/fd"
        assert {number: os.readlink(f"{folder}/{number}").split(":")[0] for number in os.listdir(folder)} == {
            "3": "socket"
        }

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


@pytest.mark.promise("K-14")
def test_a_worker_is_nobody_and_can_become_no_one(alone: benches.Bench) -> None:
    """The kernel's own account: not root, no group, no capability in effect, no new privilege, a filter, one thread."""

    def look(pid: int) -> None:
        state = facts(pid)
        assert "0" not in state["Uid"].split() + state["Gid"].split()
        assert {state[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
        assert (state["NoNewPrivs"], state["Seccomp"], state["Threads"]) == ("1", "2", "1")
        if os.geteuid() == 0:
            assert state["Groups"].split() == []

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


PEEK = """
import ctypes, os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
for name in ("mem", "environ", "maps", "fd/3", "root", "cwd", "exe"):
    try:
        open(f"/proc/{sys.argv[1]}/{name}", "rb").read(0) if name in {"mem", "environ", "maps"} else os.readlink(f"/proc/{sys.argv[1]}/{name}")
    except PermissionError:
        continue
    print(name)
"""


@needs_root
@pytest.mark.promise("K-05")
def test_no_process_of_the_same_user_looks_into_a_worker(alone: benches.Bench) -> None:
    """Another process that is nobody as well cannot read a worker's memory, descriptors or environment."""

    def look(pid: int) -> None:
        finished = subprocess.run(
            ["/usr/bin/env", sys.executable, "-c", PEEK, str(pid)], capture_output=True, text=True, check=False
        )
        if "Permission denied" in finished.stderr:
            pytest.skip("this interpreter is not readable for nobody")
        assert (finished.stdout, finished.stderr) == ("", "")

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


@needs_root
@pytest.mark.promise("K-03")
def test_a_workers_network_has_no_way_out(alone: benches.Bench) -> None:
    """Its network namespace is not the host's and has nothing but a downed loopback."""

    def look(pid: int) -> None:
        assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
        assert os.readlink(f"/proc/{pid}/ns/ipc") != os.readlink("/proc/self/ns/ipc")
        interfaces = [line.split(":")[0].strip() for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]]
        assert [
            name
            for name in interfaces
            if name in {"lo", "eth0"} or not name.startswith(("tunl", "sit", "ip6", "gre", "erspan"))
        ] == ["lo"]
        assert Path(f"/proc/{pid}/net/route").read_text().count("\n") <= 1

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


@pytest.mark.promise("K-16")
def test_the_kernel_takes_a_worker_before_the_host(alone: benches.Bench) -> None:
    """When memory runs out, the worker is the kernel's first choice."""

    def look(pid: int) -> None:
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
        assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"

    assert alone.during(WAIT, look).fault is None
    assert alone.works()


def alive(pid: int) -> bool:
    """Whether `pid` still runs; a zombie does not."""
    with contextlib.suppress(OSError):
        return facts(pid)["State"][0] not in "ZX"
    return False


def kill_both(host_pid: int, server: int) -> None:
    """The fork server first stopped, so that it cannot tidy up, then neither is left."""
    os.kill(server, signal.SIGSTOP)
    os.kill(host_pid, signal.SIGKILL)
    time.sleep(0.1)
    os.kill(server, signal.SIGKILL)


KILLS: dict[str, Callable[[int, int], None]] = {
    "the fork server": lambda _host, server: os.kill(server, signal.SIGKILL),
    "the host": lambda host_pid, _server: os.kill(host_pid, signal.SIGKILL),
    "both": kill_both,
}


def orphans(
    folder: Path, kill: Callable[[int, int], None], seconds: float = 5.0, command: tuple[str, ...] = ()
) -> set[int]:
    """The processes of a host that are left some time after `kill` had its way."""
    with host(folder, "none", "late", command=command) as process:
        assert process.stdout
        server, worker = json.loads(process.stdout.readline())
        kill(process.pid, server)
        left = {worker} if process.poll() is None else {server, worker}
        end = time.monotonic() + patience.scaled(seconds)
        while any(map(alive, left)) and time.monotonic() < end:
            time.sleep(0.02)
        return {pid for pid in left if alive(pid)}


@pytest.mark.promise("K-15")
@pytest.mark.parametrize("name", KILLS)
def test_no_orphan_is_left(name: str, tmp_path: Path) -> None:
    """kill -9 of the fork server, of the host, or of both leaves no worker, even one that spins."""
    assert orphans(tmp_path, KILLS[name]) == set()
