"""The mutation check: each step of the lockdown is switched off, and an attack that it alone stopped comes through."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript_sandbox.confinement import lockdown
from security_tests import benches, mutations, outside, syscalls

pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0, reason="identity and capabilities can only be switched off for a host that has them"
    ),
]


@pytest.fixture(scope="module", autouse=True)
def set_uid_program() -> Iterator[None]:
    """A set-uid root copy of sleep, for as long as these tests run."""
    path = Path(mutations.set_uid_program())
    yield
    path.unlink()


@pytest.mark.promise("K-19")
@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.step)
def test_each_step_alone_stops_an_attack(mutation: mutations.Mutation) -> None:
    """With the other walls gone the step still holds; without it as well, the attack succeeds: the attack is real."""
    assert not mutation.succeeds(*mutation.others)
    assert mutation.succeeds(*mutation.others, mutation.step)


@pytest.mark.promise("K-19")
def test_every_step_has_a_mutation() -> None:
    """No step of the lockdown is left unproven; the death signal has its own test below."""
    steps = {name for name, _ in (*lockdown.SERVER_STEPS, *lockdown.WORKER_STEPS)}
    assert {mutation.step for mutation in mutations.MUTATIONS} | {"parent_death"} == steps


@pytest.mark.promise("K-15", "K-19")
def test_without_the_death_signal_an_orphan_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When host and fork server are killed together, only the death signal ends a worker that spins."""
    script = outside.HOST.replace("k8s.coreV1().list_node()", "pass").replace(
        "ctx.progress(1)", "link.progress(1, 1, '')"
    )
    monkeypatch.setattr(outside, "HOST", script)
    assert outside.orphans(tmp_path, outside.kill_both, command=benches.hostile()) == set()
    left = outside.orphans(tmp_path, outside.kill_both, 0.5, command=benches.hostile("parent_death"))
    for pid in left:
        os.kill(pid, 9)
    assert len(left) == 1


@pytest.mark.promise("K-19")
def test_the_kernel_tests_go_red_without_the_filter() -> None:
    """The same helper that judges test_kernel.py judges otherwise for a worker without seccomp."""
    with benches.opened(benches.hostile("seccomp")) as bench:
        red = [name for name, call in SAMPLE.items() if not syscalls.is_stopped(bench(syscalls.script(name, call)))]
    assert red == list(SAMPLE)


TABLES = (
    syscalls.FILES, syscalls.NETWORK, syscalls.PROCESSES, syscalls.OTHERS, syscalls.CONFINEMENT, syscalls.SURFACE,
)  # fmt: skip
HARMLESS = (
    "getsockname", "getpeername", "getsockopt", "prctl", "prlimit64", "personality", "dup", "umask", "timer_create", "getpgid", "getsid",
    "epoll_create1", "eventfd2", "memfd_create", "mincore", "msync", "modify_ldt", "set_robust_list", "statfs", "socketpair",
)  # fmt: skip
SAMPLE = {name: table[name] for table in TABLES for name in HARMLESS if name in table}
"""Calls of test_kernel.py that do no harm when they are answered."""
