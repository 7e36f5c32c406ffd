"""The runbook in examples/ is as it was locked and runs; the commands about runbooks say what is there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kubescript import config
from kubescript.runbooks import examination
from tests.kit import app_objects, commands, paths
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

EXAMPLE = paths.ROOT / "examples" / "runbooks"
NAME = "restart-deployment"
TEAM = "team-runbooks"
BOUNDS = {"users": ["*"], "namespaces": ["*"], "kinds": ["pods"], "verbs": ["delete"], "per_day": 1}


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A copy of the example, which a file of settings names."""
    folder = tmp_path / "books"
    shutil.copytree(EXAMPLE, folder)
    (tmp_path / "kubescript.toml").write_text(f'[runbooks]\nfolder = "{folder}"\n[plans]\npage = false\n')
    return folder


def run(books: Path, *words: str) -> Any:
    """Runs a command about this folder."""
    return commands.run(
        "runbooks", *words, "--config", str(books.parent / "kubescript.toml"), environment=commands.BARE
    )


def test_the_example_restarts_a_deployment(books: Path, scratch: ControlPlane, tmp_path: Path) -> None:
    """It makes a plan of one change, after checking its arguments and the rollout."""
    writer = Writer(scratch.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
    web = app_objects.workload(TEAM, "Deployment", "web", replicas=2)
    writer.create({**web, "status": {"replicas": 2, "updatedReplicas": 2, "observedGeneration": 1}})
    store = f"--config={books.parent / 'kubescript.toml'}"
    flags = ("--kubeconfig", str(scratch.kubeconfig), "--writes", "plan", store)
    state = {**commands.BARE, "XDG_STATE_HOME": str(tmp_path / "state")}

    def restart(*words: str) -> Any:
        return commands.run("runbooks", "run", NAME, *words, *flags, environment=state)

    made = restart(f"namespace={TEAM}", "name=web")
    assert made.returncode == 0, made.stderr
    assert f'"restarts":"{TEAM}/web","pods":2' in made.stdout and "kubescript approve p-" in made.stderr
    refused = restart("namespace=kube-system", "name=web")
    assert refused.returncode == 1 and "runbook.arguments" in refused.stderr
    assert "ARGUMENT=VALUE" in restart("web").stderr


def test_the_doctor_says_what_is_not_run_and_who_can_change_it(books: Path) -> None:
    """It warns of a folder that the server's user can write to, of a runbook that was changed after its review, and of an
    approval in advance of none, or for none of the server's clusters."""
    approved = {"folder": books, "approved": {"gone": BOUNDS}}
    settings = config.Settings.model_validate({"runbooks": approved, "contexts": ["lab"]})
    found = examination.examine(settings)
    assert [each.ok for each in found] == [True, False, False, False]
    assert "gone is approved in advance" in found[1].text and "can write to" in found[2].text
    assert "[runbooks.approved.gone] has none of the server's contexts (lab)" in found[3].text
    (books / f"{NAME}.py").write_text("1")
    assert "not as it was reviewed" in examination.examine(settings)[0].text
    told = commands.run(
        "doctor", "--offline", "--config", str(books.parent / "kubescript.toml"), environment=commands.BARE
    )
    assert f"WARNING {'runbooks':<13} runbook {NAME} is not as it was reviewed" in told.stdout


def test_locking_prints_what_has_changed(books: Path) -> None:
    """A changed, new or missing runbook is named; a faulty one locks nothing; the list says what is not run."""
    assert "nothing has changed: 1 runbooks" in run(books, "lock").stdout
    assert run(books, "list").stdout.startswith(NAME)
    source = (books / f"{NAME}.py").read_text()
    (books / f"{NAME}.py").write_text(source + "\n")
    listed = run(books, "list")
    assert listed.returncode == 1 and f"{NAME}: NOT RUN" in listed.stdout
    (books / "other.py").write_text("1")
    refused = run(books, "lock")
    assert refused.returncode == 1 and "other.py: the runbook's header" in refused.stderr
    assert run(books, "list").returncode == 1
    (books / "other.py").write_text(source)
    locked = run(books, "lock").stdout
    assert f"changed  {NAME}" in locked and "new      other" in locked
    assert "team-[a-z0-9-]{1,40}" in run(books, "show", "other").stdout
    (books / "other.py").unlink()
    assert "gone     other" in run(books, "lock").stdout
    (books / "runbooks.lock").write_text("{")
    repaired = run(books, "lock")
    assert "is not TOML" in repaired.stderr and f"new      {NAME}" in repaired.stdout
    assert run(books, "list").returncode == 0
