"""docs/audit.md says what is so: its commands exist, its settings are all, its programs run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from kubescript import config
from tests.kit import audit_page, trails


def test_the_settings_are_all_and_valid() -> None:
    """The page's example names every setting of [audit] and loads."""
    (example,) = re.findall(r"```toml\n(.*?)```", audit_page.PAGE, re.DOTALL)
    given = tomllib.loads(example)["audit"]
    assert set(given) == set(config.Audit.model_fields)
    config.Audit(**given)


def test_the_commands_are_there() -> None:
    """Every sub-command and flag the page names is one of the program's."""
    for name in set(re.findall(r"kubescript audit ([a-z]+)", audit_page.PAGE)):
        told = trails.run("audit", name, "--help")
        assert told.returncode == 0, name
    every = "".join(
        trails.run("audit", name, "--help").stdout for name in ("verify", "show", "stats", "role", "replay")
    )
    for flag in ("--session", "--script", "--since", "--denied", "--json", "--key", "--heads", "--snapshot"):
        assert flag in every and flag in audit_page.PAGE


def test_the_page_s_own_check_finds_what_verify_finds(tmp_path: Path) -> None:
    """Nine lines of Python without our code agree with `audit verify`, on a whole chain and on a changed one."""
    file = tmp_path / "audit.jsonl"
    trails.run("run", "-", "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file), script=trails.COUNT)
    assert trails.verified(file).split("head ")[1][:64] in audit_page.run(audit_page.CHECK, file).stdout
    whole = file.read_bytes()
    for broken in (
        whole.replace(b'"list"', b'"gets"'),
        b"".join(whole.splitlines(keepends=True)[:2] + whole.splitlines(keepends=True)[3:]),
    ):
        file.write_bytes(broken)
        assert trails.run("audit", "verify", str(file)).returncode == 1
        assert "AssertionError" in audit_page.run(audit_page.CHECK, file).stderr


def test_show_and_stats_tell_what_was_done(tmp_path: Path) -> None:
    """A line per record, chosen by session, script, time and decision; sums of the same."""
    file = tmp_path / "audit.jsonl"
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file))
    trails.run("run", "-", *flags, script=trails.COUNT)
    trails.run("run", "-", *flags, script="k8s.coreV1().list_namespaced_secret('shop', field_selector='data.a=b')")
    (first, second) = trails.records(file, "script")
    shown = trails.run("audit", "show", str(file)).stdout.splitlines()
    assert len(shown) == len(trails.records(file))
    assert "list pods shop" in "".join(shown)
    (denied,) = trails.run("audit", "show", str(file), "--denied").stdout.splitlines()
    assert "list secrets shop" in denied and "deny policy.denied_resource" in denied
    one = trails.run("audit", "show", str(file), "--script", first["script"][:12]).stdout
    assert len(one.splitlines()) == 2 and "secrets" not in one
    assert trails.run("audit", "show", str(file), "--session", second["session"], "--json").stdout.count('"hash"') == 2
    assert trails.run("audit", "show", str(file), "--since", "2999-01-01T00:00:00Z").stdout == ""
    said = trails.run("audit", "stats", str(file)).stdout
    for words in (
        "scripts        2",
        "ok 1, script.exception 1",
        "list pods 1, list secrets 1",
        "policy.denied_resource 1",
    ):
        assert words in said, said
    wrong = trails.run("audit", "show", str(file), "--since", "yesterday")
    assert wrong.returncode != 0 and "Traceback" not in wrong.stderr and "2026-01-31T12:00:00Z" in wrong.stderr
    file.write_bytes(file.read_bytes() + b'{"type":"call","time":"2026-01-31T12:00:00Z"}\n')
    wrong = trails.run("audit", "stats", str(file))
    assert wrong.returncode == 1 and "audit verify" in wrong.stderr and "Traceback" not in wrong.stderr
    wrong = trails.run("audit", "stats", str(file), "--unverified")
    assert (
        wrong.returncode == 1
        and "lacks a field or has a wrong value" in wrong.stderr
        and "Traceback" not in wrong.stderr
    )
