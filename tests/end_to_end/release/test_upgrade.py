"""What an older version has written goes on with the new one: plans, the audit file, and the tokens of users."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

from kubernetes import client

import kubescript
from tests.kit import clients, distributions, people
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane

TOKEN: Final = "0123456789abcdef0123456789abcdef"
MADE: Final = "1 of 1 changes"


def make(namespace: str, name: str) -> str:
    """A script that makes a ConfigMap."""
    return f"k8s.coreV1().create_namespaced_config_map({namespace!r}, {{'metadata': {{'name': {name!r}}}}})"


def test_an_upgrade_keeps_plans_and_audit(
    scratch: ControlPlane, namespace: str, tmp_path: Path, run_folder: Path
) -> None:
    """A plan that waits is approved, one that was applied is undone, its author hears of it, and the chain is whole."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f"{TOKEN},alice,uid-alice\n")
    tokens.chmod(0o600)
    flags = people.flags(tmp_path, scratch.kubeconfig, f'[auth]\ntokens_file = "{tokens}"\n[plans]\nfollow_s = 0\n')
    flags += ["--audit", str(tmp_path / "audit.jsonl")]
    environment = people.environment(tmp_path)
    old = str(distributions.install(distributions.built_before(), tmp_path / "venv"))
    assert "0.1.0" in run(old, "--version")
    with (
        clients.running(("--toolsets", "code", *flags), program=(old,), **environment) as (port, _),
        people.joined(port, token=TOKEN) as alice,
    ):
        waiting = alice.plan(make(namespace, "waiting"))
        applied = alice.plan(make(namespace, "applied"))
    code, screen = people.typed(["approve", applied, *flags], environment, program=old)
    assert code == 0 and MADE in screen, screen

    new = str(distributions.install(distributions.built(run_folder)[0], tmp_path / "venv"))
    assert kubescript.__version__ in run(new, "--version")
    listed = run(new, "plans", "list", *flags, **environment)
    states = {line.split()[0]: line for line in listed.splitlines() if line.startswith("p-")}
    assert "pending" in states[waiting] and "applied" in states[applied], listed
    assert "applied" in run(new, "plans", "show", applied, *flags, **environment)
    code, screen = people.typed(["approve", waiting, *flags], environment, program=new)
    assert code == 0 and MADE in screen, screen
    code, screen = people.typed(["plans", "undo", applied, *flags], environment, program=new)
    assert code == 0 and MADE in screen, screen
    core: Any = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
    names = {each.metadata.name for each in core.list_namespaced_config_map(namespace).items}
    assert "waiting" in names and "applied" not in names
    with (
        clients.running(("--toolsets", "code", *flags), program=(new,), **environment) as (port, _),
        people.joined(port, token=TOKEN) as alice,
    ):
        news = clients.text(alice.ask("1 + 1"))
        assert waiting in news and applied in news, news
        assert clients.text(alice.ask("1 + 1")) == "2"
    run(new, "audit", "verify", str(tmp_path / "audit.jsonl"))


def run(*command: str, **environment: str) -> str:
    """The output of a command that succeeds."""
    done = subprocess.run(command, env=environment or None, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
