"""Layer 2 again, for hosts that are not root: the same attacks, run as a container would run them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubescript import errors
from kubescript.cli import diagnosis
from security_tests import again, benches

Count = Callable[[int], None]

CONTAINER = Path(__file__).with_name("container.py")
NEIGHBOURS = Path(__file__).with_name("test_command_neighbours.py")
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", **again.ENVIRONMENT}

pytestmark = pytest.mark.timeout(1_000)  # whole runs of pytest, and more than one of them in a test

only_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root to give it up; this very run is the unprivileged one"
)


def contained(*command: str, user_namespaces: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command line as another user, without capabilities, on a read-only root."""
    forbid = [] if user_namespaces else ["--no-user-namespaces"]
    return subprocess.run(
        [sys.executable, str(CONTAINER), *forbid, sys.executable, *command],
        env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


FORKS = """
import json, resource, threading
from kubescript import errors
from security_tests import benches

go_on = threading.Event()
asked = threading.Event()
def on_call(call, left):
    asked.set()
    go_on.wait(60)
    return benches.no_cluster(call, left)

with benches.opened() as bench:
    bench.on_call, server, said, ended = on_call, bench.source.pid, [], []
    wait = "try: k8s.coreV1().list_node()\\nexcept ApiException: pass\\n'went on'"
    running = threading.Thread(target=lambda: ended.append(bench(wait, timeout_ms=60_000)))
    running.start()
    asked.wait(60)
    before = resource.prlimit(server, resource.RLIMIT_NPROC)
    resource.prlimit(server, resource.RLIMIT_NPROC, (1, before[1]))
    while not said:
        try:
            bench("1")
        except errors.WorkerError as error:
            said += [error.code, "ulimit -u" in error.remedy]
    go_on.set()
    running.join(60)
    resource.prlimit(server, resource.RLIMIT_NPROC, before)
    print(json.dumps([said, json.loads(ended[0].result or b"null"), bench.source.pid == server, bench.works()]))
"""


@only_root
@pytest.mark.promise("R-01")
def test_a_fork_that_fails_ends_no_other_script() -> None:
    """The limit on a user's processes once ended the fork server, and with it every script that was running."""
    done = contained("-c", FORKS)
    assert json.loads(done.stdout or "0") == [["worker.spawn", True], "went on", True, True], done.stderr


STATE = """
import os
print(open("/proc/self/status").read())
for path in ("/x", "/tmp/x", "/etc/x", "/dev/shm/x", os.getcwd() + "/x"):
    try:
        open(path, "w")
    except OSError:
        continue
    print("WRITABLE", path)
"""


@only_root
@pytest.mark.promise("K-17")
def test_the_contained_host_has_neither_privilege_nor_a_disk() -> None:
    """The second run is what it claims to be: another user, no capability, no place to write."""
    text = contained("-c", STATE).stdout
    facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    assert facts["Uid"].split() == ["10001"] * 4
    assert facts["Groups"].split() == []
    assert {facts[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert facts["NoNewPrivs"] == "1"
    assert "WRITABLE" not in text


@only_root
@pytest.mark.promise("K-17")
@pytest.mark.parametrize("user_namespaces", [True, False], ids=["with user namespaces", "without user namespaces"])
def test_every_kernel_attack_fails_against_an_unprivileged_host(user_namespaces: bool, attacks: Count) -> None:
    """The whole of test_kernel.py holds without privilege; without user namespaces, for a server that is not strict."""
    strict = "1" if user_namespaces else "0"
    tried, held, skipped = again.tally(
        contained("-m", "pytest", *again.ARGUMENTS, user_namespaces=user_namespaces, WALL_STRICT=strict)
    )
    attacks(tried)
    assert tried == held
    assert tried > 4_500
    assert skipped <= 2


@only_root
@pytest.mark.promise("X-05")
@pytest.mark.promise("X-10")
def test_no_command_takes_more_or_touches_another_at_an_unprivileged_host(attacks: Count) -> None:
    """Where no user can be chosen, a user namespace counts the threads, and the filter keeps neighbours apart."""
    tried, held, _ = again.tally(contained("-m", "pytest", *again.ARGUMENTS[:-1], str(NEIGHBOURS)))
    attacks(tried)
    assert tried == held > 90


BOTH = """
import sys
from kubescript.cli import main
from security_tests import benches
with benches.opened(strict=True) as bench:
    print(bench("1 + 1"), flush=True)
sys.argv = ["kubescript", "doctor", "--offline", "--json"]
main.main()
"""
"""A strict server that runs a script, and what doctor says: a process of its own costs seconds."""


@functools.cache
def both(*, user_namespaces: bool) -> tuple[str, int, str]:
    """What the server answered, doctor's exit code, and its report."""
    finished = contained("-c", BOTH, user_namespaces=user_namespaces)
    outcome, _, report = finished.stdout.partition("\n")
    return outcome, finished.returncode, report


@only_root
@pytest.mark.promise("K-18")
def test_a_strict_server_runs_where_only_namespaces_are_forbidden() -> None:
    """The default profile of a container forbids namespaces; seccomp and Landlock stand in, and a strict server
    starts."""
    assert "result=b'2'" in both(user_namespaces=False)[0]
    assert "result=b'2'" in both(user_namespaces=True)[0]


@only_root
@pytest.mark.promise("K-18")
def test_doctor_names_the_missing_layer_and_its_remedy() -> None:
    """`kubescript doctor` says what is missing and what to change, required or not."""
    _, code, text = both(user_namespaces=False)
    report = json.loads(text)
    assert (code, report["missing"]) == (0, [])
    (row,) = [row for row in report["layers"] if row["layer"] == "network"]
    assert (row["active"], row["required"]) == (False, False)
    assert "user namespaces" in row["remedy"]
    assert both(user_namespaces=True)[1] == 0


@pytest.mark.promise("K-18")
@pytest.mark.parametrize("step", ["landlock", "seccomp", "rlimits", "capabilities", "identity", "descriptors"])
def test_a_strict_server_runs_nothing_when_a_step_fails(step: str) -> None:
    """A step the kernel refuses is named by the error, and no script runs."""
    command = (*benches.HOSTILE, f"--fail={step}")
    with benches.opened(command, strict=True) as bench, pytest.raises(errors.WorkerError, match=step):
        bench("result = 1")
    assert diagnosis.Report(bench.pool.layers, redaction=False).missing == (step,)
    with benches.opened(command, strict=False) as bench:
        assert bench.works()
