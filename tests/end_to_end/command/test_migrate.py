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
from kubescript.cli import demo, flags, main, migrate, translation
from tests.kit import commands, paths

HERE = Path(__file__).parent
EXAMPLES = dict(
    block.split("\n", 1) for block in (HERE / "migration_examples.txt").read_text("utf-8").split("##### ")[1:]
)
EVERY_KEY = (HERE / "migration_every_key.toml").read_text("utf-8")
OF_A_CLIENT = "docs/getting-started-claude-code.md 1"
"""The one example that is no configuration of the server."""


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
    assert flat(tomllib.loads(EVERY_KEY)) == translation.KEYS
    text = migrated(tmp_path, EVERY_KEY)
    unnamed = {name for name in translation.KEYS if not re.search(rf"\b{re.escape(name)}\b", text)}
    assert not unnamed
    assert "hunter2" not in text
    settings = loaded(tmp_path, EVERY_KEY)
    assert (settings.port, settings.host, settings.transport, settings.log_level) == (8443, "0.0.0.0", "http", "debug")
    assert (settings.http.url, settings.http.stateless) == ("https://mcp.example.com/mcp", True)
    assert settings.http.requests_per_minute == 150
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
    assert settings.telemetry.otlp_endpoint == "http://localhost:4318"


@pytest.mark.parametrize("name", ["skip_jwt_verification", "validate_token"])
def test_a_token_that_nobody_verified_there_is_reviewed_by_the_cluster(name: str, tmp_path: Path) -> None:
    """`skip_jwt_verification` passes tokens on unread there. Beside an issuer, a review would be a second way in."""
    text = f"require_oauth = true\n{name} = true\n"
    settings = loaded(tmp_path, text)
    assert (settings.auth.token_review, settings.acts_as) == (True, "caller")
    settings = loaded(tmp_path, f'{text}authorization_url = "https://id.example.com"\n')
    assert (settings.auth.token_review, settings.acts_as) == (False, "caller")


@pytest.mark.parametrize("name", ["port", "http_port", "sse_port"])
def test_a_port_without_a_login_stays_on_loopback(name: str, tmp_path: Path) -> None:
    """Theirs listens on all addresses then. The file says so."""
    text = f'{name} = "81"' if name == "port" else f"{name} = 81"
    settings = loaded(tmp_path, text)
    assert (settings.port, settings.transport, settings.host) == (81, "http", "127.0.0.1")
    assert 'host = "0.0.0.0"' in migrated(tmp_path, text)
    assert loaded(tmp_path, f'{text}\nbind_address = "::1"').host == "::1"


def test_a_setting_in_the_wrong_table_is_pointed_out(tmp_path: Path) -> None:
    """Their own complete example has `read_only` below [http], where nobody reads it."""
    text = migrated(tmp_path, "[http]\nmax_body_bytes = 1\nread_only = true\n")
    assert "http.read_only: nothing reads it in the table [http]" in text


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
    'port = "http"': "`port`: expected a number up to 65535",
    'port = "70000"': "`port`: expected a number up to 65535",
    "port = 8080": "`port`: expected a text",
    "log_level = true": "`log_level`: expected a number",
    "log_level = nan": "`log_level`: expected a number",
    "[http]\nrate_limit_rps = inf": "`http.rate_limit_rps`: expected a number",
    f"[http]\nrate_limit_rps = 1{'0' * 400}": "`http.rate_limit_rps`: expected a number",
    "kubeconfig = 2026-01-01": "`kubeconfig`: expected a text",
    "http_port = -1": "`http_port`: expected a number up to 65535",
    'read_only = "yes"': "`read_only`: expected true or false",
    'toolsets = "core"': "`toolsets`: expected a list of texts",
    "toolsets = [1]": "`toolsets`: expected a list of texts",
    "denied_resources = [1]": "`denied_resources`: expected a list of tables",
    "denied_resources = [{kind = 1}]": "`denied_resources`: expected texts",
    "http = 1\nlog_level = 1": "`http`: expected a table",
    'authorization_url = "id.example.com"': "`authorization_url`: expected an http or https address",
    "[limits]\napi_calls = 5": "it has no setting of kubernetes-mcp-server",
    EXAMPLES[OF_A_CLIENT]: "it has no setting of kubernetes-mcp-server",
    "a = " + "[" * 20_000: "it is not TOML",
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


def test_a_server_that_gets_their_file_says_how_to_change_it(tmp_path: Path) -> None:
    """And what it says works: the printed file is taken."""
    theirs = tmp_path / "the config.toml"
    theirs.write_text(EXAMPLES["README.md 1"])
    wanted = f"this looks like kubernetes-mcp-server's configuration: run `kubescript migrate '{theirs}'`"
    snapshot = ("--snapshot", str(demo.SNAPSHOT))
    done = command("run", "-c", "1", "--config", str(theirs), *snapshot)
    assert done.returncode == 1 and wanted in done.stderr
    printed = command("migrate", str(theirs))
    assert (printed.returncode, printed.stderr) == (0, "")
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10.toml").write_text(printed.stdout)
    done = command("run", "-c", "6 * 7", "--config-dir", str(folder), *snapshot)
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    again = click.testing.CliRunner().invoke(migrate.migrate, [str(theirs)]).stdout
    assert "Files of conf.d were read by themselves there" in again


FILES = {
    "[http]\nrate_limit_rps = 1": True,
    "log_level = 2": True,
    'sts_audience = "x"': True,
    "readonly = true": False,
    "[http]\nx = 1": False,
    "a = ": False,
}


@pytest.mark.parametrize("text", FILES)
def test_the_hint_is_for_files_of_theirs_only(text: str, tmp_path: Path) -> None:
    """In a folder too. A setting of ours that is misspelt is only that."""
    (tmp_path / "a.toml").write_text(text)
    context = main.cli.make_context("kubescript", ["--config-dir", str(tmp_path)])
    with pytest.raises(errors.ConfigError) as raised:
        flags.settings(context, context.params)
    assert ("run `kubescript migrate" in raised.value.explained) == FILES[text]


# --- the page ---

TOOLS = (
    "configuration_contexts_list configuration_view events_list namespaces_list nodes_log nodes_stats_summary nodes_top "
    "pods_delete pods_exec pods_get pods_list pods_list_in_namespace pods_log pods_run pods_top projects_list "
    "resources_create_or_update resources_delete resources_get resources_list resources_scale helm_install helm_list "
    "helm_uninstall"
)
FLAGS = (
    "log-level log-file config config-dir port bind-address kubeconfig toolsets list-output read-only "
    "disable-destructive stateless require-oauth oauth-audience authorization-url skip-jwt-verification server-url "
    "certificate-authority disable-multi-cluster cluster-provider tls-cert tls-key require-tls"
)


def test_the_page_names_every_setting_flag_and_tool_of_theirs() -> None:
    """docs/migration.md, with what each is here."""
    page = (paths.ROOT / "docs" / "migration.md").read_text("utf-8")
    named = set(re.findall(r"`-{0,2}([\w.-]+)", page))
    assert translation.KEYS | set(TOOLS.split()) | set(FLAGS.split()) <= named, "missing in the page"
