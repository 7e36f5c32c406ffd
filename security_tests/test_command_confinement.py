"""The process that becomes `oc`, as an attacker would have it: bash in place of `oc`, with scripts of its builtins.

Each script says what it could do; where the kernel knows Landlock's rules for ports only, the same holds without a
network namespace. Scripts open what they name as a new descriptor (`exec 3<`): all other redirections of bash duplicate
one, which the filter refuses.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

import pytest

from kubescript.commands import confined_process
from kubescript.wire import orders
from kubescript_sandbox.confinement import landlock
from kubescript_sandbox.host import spawner
from security_tests import benches
from tests.kit import patience, pids

BASH: Final = shutil.which("bash") or "/bin/bash"
SPAWNED: Final = (sys.executable, "-I", "-m", "kubescript.launcher.start", "openshift")
WITHOUT_NETWORK: Final = (sys.executable, "-I", str(Path(__file__).with_name("no_network.py")), "openshift")
"""As on a machine where no namespace can be made."""
MEMORY: Final = 64 << 20
SECONDS: Final = 240
"""For what takes a second or two where a processor is free: a command has the lowest priority."""
CONNECT: Final = "k=$(<$KUBECONFIG); k=${k#*http://}; p=${k#*:}; exec 3<>/dev/tcp/${k%%:*}/${p%%/*}"
"""Connects to the command's own proxy, as its descriptor 3."""
REACHED: Final = "REACHED"
"""What a script writes that has done what it must not do."""


@pytest.fixture(scope="module", autouse=True)
def _slow_starts() -> Iterator[None]:
    """A command's process has the lowest priority: beside other work, it may start later than a server would wait."""
    with mock.patch.object(confined_process, "_START_S", SECONDS):
        yield


@dataclass(frozen=True)
class Attacker:
    """Starts processes in which bash runs a script."""

    source: spawner.Spawner
    name: str

    def __call__(self, script: str, *, seconds: float = SECONDS, limit: int = 1 << 20) -> confined_process.Output:
        """What the script writes, and how it ends."""
        with self.started(script) as running:
            return running.read(time.monotonic() + seconds, limit)

    @contextlib.contextmanager
    def started(self, script: str) -> Iterator[confined_process.Process]:
        order = orders.OpenShiftOrder(["-c", script], BASH, "default")
        with confined_process.start(self.source.spawn(MEMORY, 2), order, strict=True) as running:
            yield running

    def check(self, script: str) -> confined_process.Output:
        """Fails when the script reaches what it tries to reach, or when the next one does not run."""
        output = self(script)
        assert REACHED not in output.stdout, (script, output)
        assert self("echo works").stdout == "works\n"
        return output


@pytest.fixture(scope="module", params=["own network", "landlock only"])
def attacker(request: pytest.FixtureRequest) -> Iterator[Attacker]:
    if request.param == "landlock only" and not landlock.knows_ports():
        pytest.skip("this kernel's Landlock knows no ports: oc does not run here without a network namespace")
    source = spawner.Spawner(SPAWNED if request.param == "own network" else WITHOUT_NETWORK)
    with benches.crowd():
        source.start()
    yield Attacker(source, request.param)
    source.close()


# --- the network ---


@contextlib.contextmanager
def listening(address: str) -> Iterator[tuple[int, list[str]]]:
    """Somebody who answers on this machine; gives the port, and who has come."""
    met: list[str] = []
    with socket.create_server((address, 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    sock, peer = server.accept()
                    met.append(str(peer))
                    sock.sendall(b"welcome\n")
                    sock.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], met
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def addresses() -> list[str]:
    """Loopback, and the address with which this machine reaches others, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return ["127.0.0.1", "127.0.0.2", str(probe.getsockname()[0])]
    return ["127.0.0.1", "127.0.0.2"]


@pytest.mark.promise("X-01")
def test_nothing_that_listens_on_this_machine_is_reached(attacker: Attacker) -> None:
    """By no address of it, and nobody there hears anything."""
    for address in addresses():
        with listening(address) as (port, met):
            with socket.create_connection((address, port)) as sock:
                assert sock.recv(10) == b"welcome\n"  # the listener can be reached
            attacker.check(f"exec 3<>/dev/tcp/{address}/{port} && echo {REACHED}")
            attacker.check(f"exec 3<>/dev/tcp/::ffff:{address}/{port} && echo {REACHED}")
            assert len(met) == 1, met


@pytest.mark.promise("X-01")
@pytest.mark.parametrize("target", ["127.0.0.1/53", "192.0.2.1/53", "224.0.0.1/5353"])
def test_no_datagram_is_sent(attacker: Attacker, target: str) -> None:
    """No name can be asked for, nor anything be said that needs no answer."""
    attacker.check(f"exec 3<>/dev/udp/{target} && echo {REACHED}")


@pytest.mark.promise("X-01")
def test_a_command_reaches_no_proxy_but_its_own(attacker: Attacker) -> None:
    """Another one's is at another address and port, in another network where there is one, and behind a secret."""
    with attacker.started("while :; do :; done") as other:
        assert other.way_out is not None
        host, port = other.way_out.listener.getsockname()
        with attacker.started(f"exec 3<>/dev/tcp/{host}/{port} && echo {REACHED}") as running:
            assert running.way_out is not None
            if running.way_out.listener.getsockname()[1] == port:
                pytest.skip("both networks have chosen the same port")
            output = running.read(time.monotonic() + SECONDS, 1 << 16)
        assert running.way_out.secret != other.way_out.secret
        with contextlib.ExitStack() as held:  # this process is in the network of the machine
            held.enter_context(socket.socket()).connect_ex((host, port))
            # Somebody else of this machine may listen at that port: what counts is who hears of it.
            reached, _, _ = select.select([other.way_out.listener], [], [], 1)
        assert bool(reached) == (attacker.name == "landlock only")
    assert REACHED not in output.stdout
    assert "refused" in output.stderr or "denied" in output.stderr, output


@pytest.mark.promise("X-01")
def test_its_own_proxy_is_reached(attacker: Attacker) -> None:
    """The check of the checks: what is permitted works with the same words."""
    with attacker.started(f"{CONNECT} && read -u 3 x; echo $x") as running:
        assert running.way_out is not None
        sock, _ = running.way_out.listener.accept()
        with sock:
            sock.sendall(b"heard\n")
        assert running.read(time.monotonic() + SECONDS, 1 << 16).stdout == "heard\n"


# --- files ---

READ: Final = (
    "/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/resolv.conf", "/root/.bashrc", "/proc/1/environ",
    "/proc/1/cmdline", "/proc/self/environ", "/proc/self/maps", "/proc/self/status", "/proc/net/tcp", "/proc/meminfo",
    "/sys/class/net/lo/address", "/dev/urandom", "/dev/zero", "/dev/kmsg", "/bin/ls", str(Path(__file__).resolve()),
    sys.executable, "/var/run/secrets/kubernetes.io/serviceaccount/token",
)  # fmt: skip


@pytest.mark.promise("X-02")
def test_no_file_is_read(attacker: Attacker, tmp_path: Path) -> None:
    """Of the system, of other processes, of this repository; not even one that everybody may read."""
    tmp_path.chmod(0o755)
    everybodys = tmp_path / "everybodys"
    everybodys.write_text("a secret\n")
    for path in (*READ, str(everybodys)):
        attacker.check(f"exec 3< {path} && echo {REACHED}")


@pytest.mark.promise("X-02")
def test_no_folder_is_listed(attacker: Attacker) -> None:
    """A pattern stays as it is where nothing may be listed."""
    folders = ("/", "/etc", "/tmp", "/root", "/proc", "/proc/self/fd", "/dev", "/home", str(Path(__file__).parent))
    for folder in folders:
        output = attacker.check(f"for each in {folder}/*; do echo $each; done")
        assert output.stdout.split() == [f"{folder}/*"], output


@pytest.mark.promise("X-02")
def test_no_file_is_written(attacker: Attacker, tmp_path: Path) -> None:
    """Nor made, emptied, nor changed, wherever everybody may write."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    for each in (*tmp_path.parents, tmp_path, open_to_all):
        if each.owner() == tmp_path.owner() and each != Path("/"):
            with contextlib.suppress(PermissionError):
                each.chmod(each.stat().st_mode | 0o005)
    open_to_all.chmod(0o777)
    there = open_to_all / "there"
    there.write_text("before")
    there.chmod(0o666)
    for path in ("/tmp/x-oc", "/dev/shm/x-oc", "/var/tmp/x-oc", "x-oc", str(open_to_all / "new"), str(there)):
        attacker.check(f"exec 3> {path} && echo {REACHED}")
        attacker.check(f"exec 3>> {path} && echo {REACHED}")
    assert [each.name for each in open_to_all.iterdir()] == ["there"]
    assert there.read_text() == "before"
    assert not any(Path(each, "x-oc").exists() for each in ("/tmp", "/dev/shm", "/var/tmp", "/"))


# --- processes ---


@pytest.mark.promise("X-03")
@pytest.mark.parametrize(
    "script",
    [
        f"( echo {REACHED} )",
        f"echo {REACHED} & wait",
        f"echo x | echo {REACHED}",
        f"x=$( echo {REACHED} ); echo $x",
        f"coproc echo {REACHED}; wait",
        f"read x < <( echo {REACHED} ); echo $x",
        f"exec /bin/echo {REACHED}",
        f"/bin/echo {REACHED}",
        f"exec {BASH} -c 'echo {REACHED}'",
        f"/lib64/ld-linux-x86-64.so.2 /bin/echo {REACHED}",
        f"exec /lib64/ld-linux-x86-64.so.2 /bin/echo {REACHED}",
    ],
)
def test_no_process_and_no_other_program_is_started(attacker: Attacker, script: str) -> None:
    """No subshell, pipe or job, and no program but the one that is there."""
    if f"exec {BASH}" in script:
        # Once more the same program is the same program, with the same walls.
        assert attacker(f"exec {BASH} -c '( echo {REACHED} )'").stdout == ""
        return
    attacker.check(script)


@pytest.mark.promise("X-03")
def test_no_other_process_is_signalled_or_read(attacker: Attacker) -> None:
    """Not the host, the fork server, a neighbour or all."""
    with attacker.started("while :; do :; done") as neighbour:
        assert neighbour.way_out is not None
        for pid in (os.getpid(), attacker.source.pid, 1, -1):
            attacker.check(f"kill -9 -- {pid} && echo {REACHED}")
            attacker.check(f"kill -0 -- {pid} && echo {REACHED}")
            attacker.check(f"exec 3< /proc/{abs(pid)}/cmdline && echo {REACHED}")
        attacker.check(f"kill -9 $PPID && echo {REACHED}")
        attacker.check(f"exec 3< /proc/$PPID/environ && echo {REACHED}")


# --- what it is given ---


@pytest.mark.promise("X-04")
def test_it_has_no_credential_and_no_environment(attacker: Attacker) -> None:
    """Its kubeconfig names our proxy with a path that cannot be guessed, and no user."""
    output = attacker('export -p; echo; echo "$(<$KUBECONFIG)"')
    environment, _, kubeconfig = output.stdout.partition("\n\n")
    names = {line.split()[2].partition("=")[0] for line in environment.splitlines()}
    assert names == {"KUBECONFIG", "KUBERC", "MALLOC_ARENA_MAX", "GOMAXPROCS"} | {
        "OLDPWD",
        "PWD",
        "SHLVL",
    }  # these are bash's own
    config = json.loads(kubeconfig)
    assert "users" not in config
    (cluster,) = config["clusters"]
    assert set(cluster["cluster"]) == {"server"}
    address, secret = cluster["cluster"]["server"].rsplit("/", 1)
    assert address.startswith("http://127.") and len(secret) == 32


@pytest.mark.promise("X-04")
def test_it_has_no_descriptor_but_its_outputs_and_its_kubeconfig(attacker: Attacker) -> None:
    """Its input is empty."""
    with attacker.started(f"read x || {{ {CONNECT} && read -u 3 x; }}") as running:
        assert running.way_out is not None
        sock, _ = running.way_out.listener.accept()
        with sock:
            patience.until(lambda: len(pids.children(attacker.source.pid)) == 1)  # one before may still be ending
            (pid,) = pids.children(attacker.source.pid)
            # Once it has connected, it has opened all that it opens.
            patience.until(lambda: len(os.listdir(f"/proc/{pid}/fd")) == 5)
            opened = {int(each.name): os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
    (kubeconfig,) = set(opened) - {0, 1, 2, 3}
    assert "kubeconfig" in opened[kubeconfig]
    assert opened[3].startswith("socket:")  # to its proxy
    assert all(opened[number].startswith("pipe:") for number in (0, 1, 2))
    assert attacker("read x || echo empty").stdout == "empty\n"


@pytest.mark.promise("X-04")
def test_it_is_nobody_without_privilege(attacker: Attacker) -> None:
    """Whoever starts the server. One that is root chooses a user for each command, whom no account of a system has."""
    uid, effective = attacker("echo $UID $EUID").stdout.split()
    assert uid == effective
    if os.geteuid() == 0:
        assert 0x70000000 <= int(uid) < 0x7FFFFFFF
    else:
        assert uid in {str(os.geteuid()), "65534"}  # which stands for users who have none in a user namespace


# --- what it may use ---


@pytest.mark.promise("X-05")
def test_memory_processor_time_and_output_are_bounded(attacker: Attacker) -> None:
    """A bomb of each kind ends, and the next command runs."""
    bomb = attacker.check("x=x; while :; do x=$x$x; done")
    assert bomb.status not in {0, None}
    wait = attacker(f"{CONNECT} && read -u 3 x", seconds=1)  # nobody answers
    assert wait.is_over
    killed = attacker("while :; do :; done")
    assert killed.status is not None and killed.status < 0  # after two seconds of processor time
    flood = attacker("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", seconds=1.0, limit=10_000)
    assert len(flood.stdout) < 100_000 and flood.dropped > 0
    assert attacker("echo works").stdout == "works\n"


@pytest.mark.promise("X-05")
def test_its_limits_are_those_of_the_kernel(attacker: Attacker) -> None:
    """And it cannot raise them."""
    script = "for each in c d f l n q t; do ulimit -H$each; ulimit -S$each; done; ulimit -t 100 || echo kept"
    *limits, kept = attacker(script).stdout.split()
    found = dict(zip("cdflnqt", zip(limits[::2], limits[1::2], strict=True), strict=True))
    assert kept == "kept"
    assert {each: found[each] for each in "cflnqt"} == {
        "c": ("0", "0"), "f": ("0", "0"), "l": ("0", "0"), "n": ("64", "64"), "q": ("0", "0"), "t": ("2", "2"),
    }  # fmt: skip
    assert int(found["d"][0]) < 256 * 1024  # KiB


@pytest.mark.promise("X-05")
def test_an_order_that_cannot_be_read_ends_no_other_command(attacker: Attacker) -> None:
    """Its process ends alone, and those beside it go on."""
    with attacker.started(f"{CONNECT} && read -u 3 x; echo $x") as running:
        assert running.way_out is not None
        sock, _ = running.way_out.listener.accept()
        broken = attacker.source.spawn(MEMORY, 2)
        with contextlib.closing(broken):
            broken.socket.sendall(b"\xff" * 64)
            assert broken.wait(SECONDS)
        with sock:
            sock.sendall(b"works\n")
        assert running.read(time.monotonic() + SECONDS, 1000).stdout == "works\n"
    assert attacker("echo works").stdout == "works\n"
