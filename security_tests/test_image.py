"""The image of the working tree in a real container (podman, runc, the default seccomp profile, no capability): what
docs/install.md promises of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp.client.stdio import StdioServerParameters

from scripts import debian
from security_tests import again
from tests.kit import callers, clients, containers, extent, image

pytestmark = [
    pytest.mark.timeout(600),  # the first run on a machine makes the base of the image
    pytest.mark.skipif(os.geteuid() != 0, reason="NO IMAGE IS TESTED: only root can use podman's runc"),
]

Inside = Callable[..., subprocess.CompletedProcess[str]]

SNAPSHOT = "/usr/lib/python3/dist-packages/kubescript/cli/demo.tar.gz"
NODES = "6"
"""In that cluster."""
NAMESPACES = ("clone", "clone3", "setns", "unshare")
WITHOUT_NAMESPACES = {
    "names": ["clone"], "action": "SCMP_ACT_ALLOW",
    "args": [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}],
}  # fmt: skip
"""How the default profiles of Docker and containerd (`RuntimeDefault`) let programs fork; podman's lets them have user
namespaces."""


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[containers.Podman, str]]:
    """Podman, and the image's name."""
    with contextlib.ExitStack() as stack:
        try:
            podman, name = stack.enter_context(image.built())
        except debian.Missing as error:
            pytest.skip(f"NO IMAGE IS TESTED: {error}")
        tried = podman("run", *containers.CONFINED, "--network=none", name, "--version")
        if tried.returncode == containers.REFUSED:
            pytest.skip(f"NO IMAGE IS TESTED: this machine starts no container: {tried.stderr}")
        assert tried.returncode == 0, tried.stderr
        yield podman, name


@pytest.fixture
def inside(built: tuple[containers.Podman, str]) -> Inside:
    """Runs kubescript in a container to its end; `options` are podman's."""
    podman, name = built

    def run(*arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return podman("run", *containers.CONFINED, "--network=none", *options, name, *arguments)

    return run


STATE = """
import json, os, sys
writable = []
for folder, _, _ in os.walk("/"):
    if not folder.startswith(("/proc/", "/sys/")):
        try:
            open(folder + "/x", "w")
        except OSError:
            continue
        writable.append(folder)
programs = sorted(name for folder in os.environ["PATH"].split(":") if os.path.isdir(folder) for name in os.listdir(folder))
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps([status, writable, programs]))
"""


@pytest.mark.promise("K-17")
def test_the_container_has_no_rights_no_shell_and_no_disk(inside: Inside) -> None:
    """It is a user without name or power, finds Python and kubescript and no other program, and writes to memory
    only."""
    done = inside("-c", STATE, options=("--entrypoint=/usr/bin/python3",))
    status, writable, programs = json.loads(done.stdout)
    assert status["Uid"].split() == status["Gid"].split() == ["65532"] * 4
    assert {status[each] for each in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert set(writable) <= {"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run"}
    # /bin and /sbin are links to the folders below /usr
    assert set(programs) == {"kubescript", "python3", next(each for each in programs if each.startswith("python3."))}


@pytest.mark.promise("K-18")
def test_doctor_says_that_every_layer_holds_in_the_container(inside: Inside) -> None:
    """Under the default profile no required layer is missing, and without namespaces doctor says what to change."""
    report = json.loads(inside("doctor", "--offline", "--json").stdout)
    assert (report["healthy"], report["missing"]) == (True, [])
    assert [row["layer"] for row in report["layers"] if row["required"] and not row["active"]] == []
    rows = {row["layer"]: row for row in report["layers"]}
    assert rows["network"]["active"] or "user namespaces" in rows["network"]["remedy"]


@pytest.mark.promise("K-18")
def test_every_required_layer_holds_under_a_profile_without_namespaces(
    built: tuple[containers.Podman, str], inside: Inside, tmp_path: Path
) -> None:
    """Docker's and Kubernetes' default profiles forbid new namespaces; a strict server still runs scripts there."""
    profile = json.loads(built[0].profile.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in NAMESPACES]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]] + [WITHOUT_NAMESPACES]
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    options = (f"--security-opt=seccomp={tmp_path / 'profile.json'}",)
    report = json.loads(inside("doctor", "--offline", "--json", options=options).stdout)
    assert (report["healthy"], report["missing"]) == (True, [])
    assert [row["layer"] for row in report["layers"] if not row["active"]] == ["network"]
    done = inside("run", "--snapshot", SNAPSHOT, "-c", "len(k8s.coreV1().list_node())", options=options)
    assert (done.returncode, done.stdout.strip()) == (0, NODES), done.stderr


@pytest.mark.promise("K-17")
def test_a_container_without_room_for_files_says_what_to_mount(inside: Inside) -> None:
    """Where nothing at all can be written, the command ends with a remedy in place of a traceback, and works with
    one."""
    for options, ended in (("--read-only-tmpfs=false",), 1), (("--read-only-tmpfs=false", "--tmpfs=/tmp"), 0):
        done = inside("demo", options=options)
        assert (done.returncode, "Traceback" in done.stderr) == (ended, False), done.stderr
        assert ("mount a tmpfs at /tmp" in done.stderr) == (ended == 1)


PYTEST = """
import ctypes.util, sys
ctypes.util.find_library = {"c": "libc.so.6", "seccomp": "libseccomp.so.2"}.get  # there is no ldconfig, which it runs
sys.path.extend(["/packages", "/repository/src"])
import kubescript, pytest
assert kubescript.__file__.startswith("/usr/"), kubescript.__file__
class Sample:
    def pytest_collection_modifyitems(self, items):
        items[:] = items[::EVERY]

sys.exit(pytest.main(sys.argv[1:], plugins=[Sample()]))
"""
"""kubescript and all it needs are the image's; pytest is this machine's, and what tests take from the benchmark, which is
not in the image, is the repository's."""


EVERY: Final = extent.count(1, 4)
"""Of this many tests of the kernel layer one is run: all of them in `make long`."""


@pytest.mark.sampled
@pytest.mark.promise("K-17")
def test_every_kernel_attack_fails_in_the_container(inside: Inside, attacks: Callable[[int], None]) -> None:
    """The whole of test_kernel.py holds where the image runs as it is meant to."""
    options = [f"--volume={image.REPOSITORY}:/repository:ro", f"--volume={sysconfig.get_path('purelib')}:/packages:ro"]
    options += [f"--env={key}={value}" for key, value in again.ENVIRONMENT.items()]
    options += ["--workdir=/repository", "--entrypoint=/usr/bin/python3"]
    code = PYTEST.replace("EVERY", str(EVERY))
    tried, held, skipped = again.tally(inside("-c", code, *again.ARGUMENTS, options=tuple(options)))
    attacks(tried)
    assert tried == held
    assert tried > extent.count(4_500, 500)
    assert skipped <= 2


@pytest.mark.promise("K-17")
def test_a_script_is_answered_over_http_by_the_container(built: tuple[containers.Podman, str], tmp_path: Path) -> None:
    """A strict server in the container answers known callers on all addresses, and ends well when the runtime says so."""
    podman, name = built
    port = clients.free_port()
    token = secrets.token_hex(16)
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f"{token},somebody,1\n")
    tokens.chmod(0o644)  # the container's user is another one
    flags = [
        "--toolsets=code",
        f"--snapshot={SNAPSHOT}",
        "--host=0.0.0.0",
        f"--port={port}",
        "--tokens-file=/tokens.csv",
    ]
    options = ("--network=host", f"--volume={tokens}:/tokens.csv:ro")
    with podman.running(*containers.CONFINED, *options, name, *flags) as process:
        _wait(port, process)
        assert httpx2.get(f"http://127.0.0.1:{port}/tools", timeout=60).status_code == 401
        assert asyncio.run(_asked(port, token, "len(k8s.coreV1().list_node())")) == NODES
        process.terminate()
        assert process.wait(timeout=60) == 0


@pytest.mark.promise("K-17")
def test_a_client_starts_the_container_as_its_server(built: tuple[containers.Podman, str]) -> None:
    """The command of docs/connect.md for people without Linux: a client that starts a container asks it over stdio."""
    podman, name = built
    program, *words = podman.command
    options = ("run", *containers.CONFINED, "--network=none", "--interactive", name)
    flags = ("--toolsets=code", f"--snapshot={SNAPSHOT}")
    started = StdioServerParameters(command=program, args=[*words, *options, *flags], env=dict(podman.environment))

    async def ask() -> str:
        async with clients.connected(started) as client:
            return clients.text(await clients.evaluate(client, "len(k8s.coreV1().list_node())"))

    assert asyncio.run(ask()) == NODES


async def _asked(port: int, token: str, script: str) -> str:
    async with callers.connected(port, token) as client:
        return clients.text(await clients.evaluate(client, script))


def _wait(port: int, process: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the container ended at start"
        with contextlib.suppress(httpx2.HTTPError):
            return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=10).raise_for_status()
        time.sleep(0.1)
    raise AssertionError("the server does not answer")
