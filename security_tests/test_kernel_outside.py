"""Layer 2, seen from outside: root looks into the memory, the descriptors and the end of live workers and their fork
server."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from security_tests import benches, outside

Count = Callable[[int], None]

CONTAINER = str(Path(__file__).with_name("container.py"))

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may read the memory of a process that is not dumpable"
)


@pytest.fixture(scope="module")
def alone() -> Iterator[benches.Bench]:
    """A hostile bench without spares: its fork server's only child is the worker in question."""
    with benches.opened(benches.HOSTILE, spares=0) as bench:
        yield bench


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
        with outside.host(folder, canary, order, prefix) as process:
            assert process.stdin and process.stdout
            for _ in range(2):
                pids = json.loads(process.stdout.readline())
                assert outside.occurrences(process.pid, needles) == {needles[0]}, "the search itself finds nothing"
                for pid in pids:
                    assert outside.occurrences(pid, needles) == set()
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
        found = list(outside.regions(pid))
        assert len(found) > 50
        assert [region for region in found if "w" in region[2] and "s" in region[2]] == []
        assert [region for region in found if "w" in region[2] and "x" in region[2]] == []

    assert alone.during(benches.WAIT, look).fault is None
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

    assert alone.during(benches.WAIT, look).fault is None
    assert alone.works()


@pytest.mark.promise("K-14")
def test_a_worker_is_nobody_and_can_become_no_one(alone: benches.Bench) -> None:
    """The kernel's own account: not root, no group, no capability in effect, no new privilege, a filter, one thread."""

    def look(pid: int) -> None:
        state = outside.facts(pid)
        assert "0" not in state["Uid"].split() + state["Gid"].split()
        assert {state[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
        assert (state["NoNewPrivs"], state["Seccomp"], state["Threads"]) == ("1", "2", "1")
        if os.geteuid() == 0:
            assert state["Groups"].split() == []

    assert alone.during(benches.WAIT, look).fault is None
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

    assert alone.during(benches.WAIT, look).fault is None
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

    assert alone.during(benches.WAIT, look).fault is None
    assert alone.works()


@pytest.mark.promise("K-16")
def test_the_kernel_takes_a_worker_before_the_host(alone: benches.Bench) -> None:
    """When memory runs out, the worker is the kernel's first choice."""

    def look(pid: int) -> None:
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
        assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"

    assert alone.during(benches.WAIT, look).fault is None
    assert alone.works()


KILLS: dict[str, Callable[[int, int], None]] = {
    "the fork server": lambda _host, server: outside.kill(server),
    "the host": lambda host_pid, _server: outside.kill(host_pid),
    "both": outside.kill_both,
}


@pytest.mark.promise("K-15")
@pytest.mark.parametrize("name", KILLS)
def test_no_orphan_is_left(name: str, tmp_path: Path) -> None:
    """kill -9 of the fork server, of the host, or of both leaves no worker, even one that spins."""
    assert outside.orphans(tmp_path, KILLS[name]) == set()
