"""`kubescript migrate FILE` prints a configuration of kubernetes-mcp-server as one that this server loads, and says of
every setting what differs."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import click.testing
import pytest

from kubescript import config, errors
from kubescript.cli import demo, foreign, migrate
from tests.kit import commands, paths

HERE = Path(__file__).parent
EXAMPLES = dict(
    block.split("\n", 1) for block in (HERE / "migration_examples.txt").read_text("utf-8").split("##### ")[1:]
)
EVERY_KEY = (HERE / "migration_every_key.toml").read_text("utf-8")
OF_A_CLIENT = "docs/getting-started-claude-code.md 1"
"""The one example that is no configuration of the server."""
TABLE = foreign.read_table()
KEYS = {name for row in TABLE.rows for name in row.names}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("KUBESCRIPT_"):
            monkeypatch.delenv(name)


def migrated(folder: Path, text: str) -> str:
    """What the command prints for a file of theirs, in this process."""
    file = folder / "theirs.toml"
    file.write_text(text, "utf-8")
    done = click.testing.CliRunner().invoke(migrate.migrate, [str(file)])
    assert done.exit_code == 0, done.output
    return done.stdout


def loaded(folder: Path, text: str) -> config.Settings:
    """The settings that the loader makes of their file, migrated."""
    ours = folder / "ours.toml"
    ours.write_text(migrated(folder, text), "utf-8")
    return config.load({}, ours)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One command to its end, without settings of the person who runs the tests."""
    return commands.run(*arguments, environment=commands.BARE)


# --- what is printed loads ---


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {OF_A_CLIENT}))
def test_every_documented_example_becomes_a_file_that_loads(name: str, tmp_path: Path) -> None:
    """And permits no writes without a plan."""
    assert set(loaded(tmp_path, EXAMPLES[name]).modes) <= {"off", "plan"}


def test_an_empty_file_has_the_defaults_that_are_not_ours(tmp_path: Path) -> None:
    """Their default toolsets; writes, which are on there, stay off."""
    settings = loaded(tmp_path, "")
    assert (settings.toolsets, settings.mode, settings.transport) == (("kubectl", "cluster"), "off", "stdio")


def flat(file: Mapping[str, object]) -> set[str]:
    """The names of its settings."""
    names = set()
    for name, value in file.items():
        is_table = name in {"http", "telemetry", "toolset_configs"} and isinstance(value, dict)
        names |= {f"{name}.{member}" for member in value} if is_table and isinstance(value, dict) else {name}
    return names


def test_every_setting_is_named_and_what_means_the_same_is_set(tmp_path: Path) -> None:
    """A file with all of them loads. Secrets of theirs are not repeated."""
    assert flat(tomllib.loads(EVERY_KEY)) == KEYS
    text = migrated(tmp_path, EVERY_KEY)
    unnamed = {name for name in KEYS if not re.search(rf"\b{re.escape(name)}\b", text)}
    assert not unnamed
    assert "hunter2" not in text
    settings = loaded(tmp_path, EVERY_KEY)
    assert (settings.port, settings.host, settings.transport, settings.log_level) == (8443, "0.0.0.0", "http", "debug")
    assert (settings.http.url, settings.http.stateless) == ("https://mcp.example.com/mcp", True)
    assert (settings.tls.cert_file, settings.tls.key_file) == (Path("/path/tls.crt"), Path("/path/tls.key"))
    assert (settings.auth.issuer, settings.auth.audience) == ("https://id.example.com/realms/x", ("mcp-server",))
    assert (settings.auth.ca_file, settings.auth.token_review) == (Path("/path/ca.crt"), False)
    assert (settings.acts_as, settings.mode, settings.insecure_no_auth) == ("caller", "plan", False)
    assert settings.toolsets == ("kubectl", "cluster", "helm")
    assert settings.write_policy.verbs == {"*": ("create",)}
    assert [(rule.group, rule.kind, rule.serve) for rule in settings.denied_resources] == [
        ("", "Secret", "nothing"),
        ("rbac.authorization.k8s.io", "", "nothing"),
    ]


@pytest.mark.parametrize("mode", ["passthrough", "kubeconfig", ""])
def test_callers_act_for_themselves_only_where_they_log_in(mode: str, tmp_path: Path) -> None:
    """Without an issuer neither the address nor the mode counts; no other way in is opened beside it."""
    text = f'require_oauth = true\nvalidate_token = true\nbind_address = "0.0.0.0"\ncluster_auth_mode = "{mode}"\n'
    settings = loaded(tmp_path, text)
    assert (settings.host, settings.acts_as) == ("127.0.0.1", "server")
    settings = loaded(tmp_path, f'{text}authorization_url = "https://id.example.com"\n')
    assert (settings.host, settings.auth.token_review) == ("0.0.0.0", False)
    assert settings.acts_as == ("server" if mode == "kubeconfig" else "caller")


@pytest.mark.parametrize(("theirs", "ours"), [("true", {"*": ("create",)}), ("false", {})])
def test_a_value_with_a_counterpart_is_set(theirs: str, ours: dict[str, object], tmp_path: Path) -> None:
    """And one without is left out."""
    assert loaded(tmp_path, f"disable_destructive = {theirs}").write_policy.verbs == ours


@pytest.mark.parametrize("name", ["port", "http_port", "sse_port"])
def test_a_port_without_a_login_stays_on_loopback(name: str, tmp_path: Path) -> None:
    """Theirs listens on all addresses then. Another address is a comment."""
    text = f'{name} = "81"' if name == "port" else f"{name} = 81"
    settings = loaded(tmp_path, text)
    assert (settings.port, settings.transport, settings.host) == (81, "http", "127.0.0.1")
    assert '# host = "0.0.0.0"' in migrated(tmp_path, f'{text}\nbind_address = "0.0.0.0"')


def test_a_setting_in_the_wrong_table_is_pointed_out(tmp_path: Path) -> None:
    """Their own complete example has `read_only` below [http], where nobody reads it."""
    text = migrated(tmp_path, "[http]\nmax_body_bytes = 1\nread_only = true\n")
    assert "http.read_only: kubernetes-mcp-server has no such setting at this place" in text


HOSTILE = (
    '"x\\nread_only = false\\n" = 1\nlog_level = 1',
    '"\\u2028read_only = false" = 1\nlog_level = 1',
    'toolsets = ["a\\nread_only = false\\n", "\\u0085\\u007f\\u001b[2J"]',
    'kubeconfig = "a\\"\\nread_only = false\\n#"',
    'denied_resources = [{kind = "a\\"\\n[x]\\nread_only = false\\n"}]',
    "\"'''\" = 1\nlog_file = '\\\"'\nlog_level = 1",
    '[telemetry]\n"a\\nb" = 1\nendpoint = "http://a:4317/\\nread_only=false"',
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_and_no_value_ends_a_comment(text: str, tmp_path: Path) -> None:
    """A line break in one would make a setting of the rest."""
    file = tmp_path / "theirs.toml"
    file.write_text(text, "utf-8")
    done = click.testing.CliRunner().invoke(migrate.migrate, [str(file)])
    if done.exit_code:
        assert done.exit_code == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
        return
    assert all(line.isprintable() for line in done.stdout.splitlines())
    settings = loaded(tmp_path, text)
    assert settings.mode == "off"
    assert set(tomllib.loads(done.stdout)) <= {"toolsets", "log_level", "log_file", "kubeconfig", "denied_resources"}


# --- the command ---


WRONG = {
    "log_level = ": "it is not TOML",
    "a = " + "[" * 20_000: "it is not TOML",
    "[limits]\napi_calls = 5": "it has no setting of kubernetes-mcp-server",
    EXAMPLES[OF_A_CLIENT]: "it has no setting of kubernetes-mcp-server",
}


@pytest.mark.parametrize("text", WRONG, ids=WRONG.values())
def test_a_wrong_file_is_an_error_in_words(text: str, tmp_path: Path) -> None:
    """In one line that names the file; nothing is printed."""
    file = tmp_path / "theirs.toml"
    file.write_text(text, "utf-8")
    done = click.testing.CliRunner().invoke(migrate.migrate, [str(file)])
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert f"{file}: {WRONG[text]}" in line


def test_a_file_that_cannot_be_read_is_an_error_in_words(tmp_path: Path) -> None:
    """One that is not there, a folder, and one that is no text."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name, reason in (("none", "No such file"), ("binary", "not UTF-8"), (".", "is a directory")):
        done = command("migrate", str(tmp_path / name))
        assert done.returncode in {1, 2} and done.stdout == "" and reason in done.stderr
        assert "Traceback" not in done.stderr


UNTRANSLATABLE = (
    "port = 70000",
    "kubeconfig = 2026-01-01",
    "log_file = nan",
    "denied_resources = [{kind = 1}]",
    "denied_resources = 1",
    "denied_resources = [1]",
    "tls_cert = 1\ntls_key = 1",
)


@pytest.mark.parametrize("text", UNTRANSLATABLE)
def test_a_value_of_a_wrong_type_is_printed_and_refused_by_the_loader(text: str, tmp_path: Path) -> None:
    """As in a file of ours: it names the setting."""
    with pytest.raises(errors.ConfigError, match="setting"):
        loaded(tmp_path, text)


@pytest.mark.parametrize("text", ["toolsets = [[1], {}, 2]", "log_level = true", "log_level = nan"])
def test_a_value_that_theirs_does_not_take_is_left_out(text: str, tmp_path: Path) -> None:
    """The comment is all that remains."""
    assert not loaded(tmp_path, text).model_fields_set - {"toolsets"}


def test_the_printed_file_is_taken(tmp_path: Path) -> None:
    """By every command, in a folder too."""
    theirs = tmp_path / "the config.toml"
    theirs.write_text(EXAMPLES["README.md 1"])
    printed = command("migrate", str(theirs))
    assert (printed.returncode, printed.stderr) == (0, "")
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10.toml").write_text(printed.stdout)
    done = command("run", "-c", "6 * 7", "--config-dir", str(folder), "--snapshot", str(demo.SNAPSHOT))
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


# --- the page ---

TOOLS = (
    "configuration_contexts_list configuration_view events_list namespaces_list nodes_log nodes_stats_summary nodes_top "
    "pods_delete pods_exec pods_get pods_list pods_list_in_namespace pods_log pods_run pods_top projects_list "
    "resources_create_or_update resources_delete resources_get resources_list resources_scale helm_install helm_list "
    "helm_uninstall"
)

PAGE = (paths.ROOT / "docs" / "migration.md").read_text("utf-8")


def test_the_page_says_of_every_setting_and_flag_what_the_table_says() -> None:
    """docs/migration.md, row for row."""
    rows = [f"| {', '.join(f'`{name}`' for name in row.names)} | {row.meaning} |" for row in TABLE.rows]
    flags = [f"| `--{name}` | {meaning} |" for name, meaning in TABLE.flags.items()]
    for heading, wanted in (("## Settings of the file", rows), ("## Flags", flags)):
        section = PAGE.partition(f"{heading}\n")[2].partition("\n## ")[0]
        assert [line for line in section.splitlines() if line.startswith("| `")] == wanted, heading


def test_the_table_and_the_page_name_only_settings_that_are_there() -> None:
    """Ours, theirs that another needs, and every tool of theirs."""
    for row in TABLE.rows:
        field: object = config.Settings
        for name in filter(None, row.ours.split(".")):
            field = field.model_fields[name].annotation  # type: ignore[attr-defined]
        assert not row.needs or row.needs in KEYS
    assert set(TOOLS.split()) <= set(re.findall(r"`([\w.-]+)", PAGE))
