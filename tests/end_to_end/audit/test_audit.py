"""The audit record of real sessions: one record per script and per call, chained, whole after whatever happens."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest

from kubescript.audit import plan_records, script_records
from kubescript.changes.store import record as plan_record
from tests.kit import approval_page, clients, trails


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return trails.snapshot(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("transport", clients.TRANSPORTS)
def test_a_session_is_on_record(transport: str, mode: str, saved: Path, file: Path) -> None:
    """Every script and every call beneath it has a record that says who asked, what was asked and what came of it."""

    async def talk() -> None:
        async with clients.connect(transport, ["--snapshot", str(saved), "--audit", str(file)], mode) as client:
            assert clients.text(await clients.evaluate(client, trails.COUNT)) == "1"
            denied = await clients.evaluate(client, trails.DENIED)
            assert denied.is_error

    anyio.run(talk)
    trails.verified(file)
    first, second = trails.records(file, "script")
    allowed, refused = trails.records(file, "call")
    assert (first["code"], first["calls"], first["answer_bytes"]) == ("ok", 1, 1)
    assert (second["code"], second["not_allowed"]) == ("script.exception", 1)
    assert (allowed["decision"], allowed["verb"], allowed["resource"], allowed["namespace"]) == (
        "allow", "list", "pods", "shop"
    )  # fmt: skip
    assert (allowed["status"], allowed["evaluation"], allowed["script"]) == (200, first["evaluation"], first["script"])
    assert (refused["decision"], refused["rule"], refused["name"]) == ("deny", "policy.denied_resource", "db")
    assert first["client"] == "mcp" and first["client_version"] and first["session"]
    # Over HTTP the newest protocol has no sessions: each call is one of its own.
    assert (first["session"] == second["session"]) == ((transport, mode) != ("http", "auto"))
    assert first["tool"] == allowed["tool"] == "evaluate_script"
    for one in trails.records(file):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"])


def test_every_record_names_its_cluster(file: Path, tmp_path: Path) -> None:
    """With several contexts each call says which it went to, one for no known context is on record as well, and the roles
    are made per context."""
    (tmp_path / "east").mkdir()
    (tmp_path / "west").mkdir()
    east, west = trails.snapshot(tmp_path / "east"), trails.snapshot(tmp_path / "west")
    settings = tmp_path / "two.toml"
    settings.write_text(f'[contexts.east]\nsnapshot = "{east}"\n[contexts.west]\nsnapshot = "{west}"\n')
    script = (
        "n = [len(k8s.context(name).coreV1().list_namespaced_pod('shop')) for name in ('east', 'west')]\n"
        "try:\n    k8s.context('north').coreV1().list_node()\nexcept Exception as error:\n    print(type(error).__name__)\nn"
    )
    flags = ("--config", str(settings), "--audit", str(file), "--audit-keep", "responses")
    done = trails.run("run", "-", *flags, script=script)
    assert trails.run("audit", "replay", str(file)).stdout.endswith(" same\n")
    assert done.stdout.splitlines()[1:2] == ["[1,1]"], done.stdout + done.stderr
    calls = trails.records(file, "call")
    assert [one["context"] for one in calls if one["decision"] == "allow"] == ["east", "west"]
    roles = trails.run("audit", "role", str(file)).stdout
    assert "# context east\n" in roles and "# context west\n" in roles
    trails.verified(file)


def test_the_end_of_a_long_plan_says_how_many_steps_it_leaves_out() -> None:
    """A record has room for a hundred."""
    made = approval_page.plan_of(*[approval_page.step(f"web-{number}") for number in range(103)])
    done = plan_record.Record(made, "applied", (), (plan_record.Application("done"),) * 103, "103 of 103")
    fields = plan_records.describe_application(done, script_records.TextFilter(lambda text, *_: text))
    assert (len(fields["steps"]), fields["more_steps"]) == (100, 3)
