"""What a newcomer types: short flags, paths with `~`, ports without a transport, code on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from kubescript import config
from kubescript.cli import demo, main
from kubescript.cli import flags as command_line
from tests.kit import clients, commands

SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT))


def command(*arguments: str, script: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """One command to its end, without a kubeconfig of the person who runs the tests."""
    environment = {**commands.BARE, "XDG_CACHE_HOME": clients.CACHE, **variables}
    return commands.run(*arguments, script=script, environment=environment)


# --- scripts ---


def test_run_takes_code_as_python_does() -> None:
    """`-c CODE`, `-` and the module's name all run one script; none or two of them are a mistake, and nothing runs."""
    assert command("run", "-c", "6 * 7", *SNAPSHOT).stdout == "42\n"
    assert command("run", "-", *SNAPSHOT, script="6 * 7").stdout == "42\n"
    module = subprocess.run(
        [sys.executable, "-m", "kubescript", "run", "-c", "6 * 7", *SNAPSHOT],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert (module.returncode, module.stdout) == (0, "42\n"), module.stderr
    for wrong in (("run",), ("run", "-", "-c", "1")):
        done = command(*wrong, *SNAPSHOT, script="2")
        assert (done.returncode, done.stdout) == (2, "") and "give one script" in done.stderr


def test_the_version_has_a_short_flag() -> None:
    """As `-V` of Python."""
    assert command("-V").stdout == command("--version").stdout != ""


# --- completion ---


def test_completion_prints_a_script_that_the_shell_takes() -> None:
    """And that asks the command for what may follow."""
    for shell in ("bash", "zsh", "fish"):
        script = command("completion", shell).stdout
        assert "_KUBESCRIPT_COMPLETE" in script, shell
        if shell == "bash":
            assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    asked = command(_KUBESCRIPT_COMPLETE="bash_complete", COMP_WORDS="kubescript doc", COMP_CWORD="1")
    assert asked.stdout == "plain,doctor\n"


# --- paths ---


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a snapshot, a configuration and a script in it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {}}
    (tmp_path / "saved.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    (tmp_path / "k.toml").write_text('snapshot = "~/saved.json"\n[audit]\nfile = "~/audit.jsonl"\n')
    (tmp_path / "several.toml").write_text('[contexts.a]\nsnapshot = "~/saved.json"\n')
    return tmp_path


NODES = "[n.metadata.name for n in k8s.coreV1().list_node()]"


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (["--snapshot=~/saved.json"], {}),
        (["--config=~/k.toml"], {}),
        (["--config=~/several.toml"], {}),
        ([], {"KUBESCRIPT_CONFIG": "~/k.toml"}),
        ([], {"KUBESCRIPT_SNAPSHOT": "~/saved.json"}),
        (["--snapshot=~/saved.json", "--audit=~/audit.jsonl"], {}),
        (["--snapshot=~/saved.json"], {"KUBESCRIPT_AUDIT__FILE": "~/audit.jsonl"}),
    ],
)
def test_a_tilde_is_the_home_in_every_path(flags: list[str], variables: dict[str, str], home: Path) -> None:
    """In flags that no shell expands, in variables, and in the file."""
    done = command("run", "-c", NODES, *flags, HOME=str(home), **variables)
    assert (done.returncode, done.stdout) == (0, '["n1"]\n'), done.stderr
    if "audit" in str(flags) + str(variables):
        assert (home / "audit.jsonl").stat().st_size
        assert command("audit", "verify", "~/audit.jsonl", HOME=str(home)).returncode == 0
    assert not Path("~").exists()


def test_a_tilde_is_the_home_in_kubeconfig_paths(home: Path) -> None:
    """In the flag, the variable, and where a home is nobody's: then it is a file that is not there."""
    for flags, variables in ((["--kubeconfig=~/kc"], {}), ([], {"KUBECONFIG": "~/kc"})):
        done = command("doctor", *flags, HOME=str(home), **variables)
        assert done.returncode == 1 and f"{home}/kc" in done.stdout
    done = command("doctor", "--kubeconfig=~nobody-of-that-name/kc")
    assert done.returncode == 1 and "~nobody-of-that-name/kc" in done.stdout and "Traceback" not in done.stderr


# --- http ---


@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_a_port_means_http(how: str, tmp_path: Path) -> None:
    """Wherever it stands, unless a transport stands there too."""
    port = str(clients.free_port())
    (tmp_path / "port.toml").write_text(f"port = {port}\n")
    flags = {"flag": ["--port", port], "variable": [], "file": ["--config", str(tmp_path / "port.toml")]}[how]
    variables = {"KUBESCRIPT_PORT": port} if how == "variable" else {}
    environment = {**os.environ, **variables, "KUBESCRIPT_SANDBOX__STRICT": "false"}
    stdio = command(*flags, "--toolsets", "code", *SNAPSHOT, "--transport", "stdio", **variables)
    assert stdio.returncode == (1 if how == "flag" else 0), stdio.stderr
    assert ("--port is for the http transport" in stdio.stderr) == (how == "flag")
    server = subprocess.Popen([clients.KUBESCRIPT, *flags, "--toolsets", "code", *SNAPSHOT], env=environment)
    try:
        assert _healthy(int(port))
        assert httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=60).json()["status"] == "healthy"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _healthy(port: int) -> bool:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code == 200
        except httpx2.HTTPError:
            time.sleep(0.02)
    return False


# --- flags of kubernetes-mcp-server, and of the http transport ---


REFUSED = {
    "--bind-address 0.0.0.0": "--bind-address is a flag of kubernetes-mcp-server; here: --host",
    "--http-port 8080": "here: --port",
    "--tls-cert=c": "here: `tls.cert_file`",
    "--require-oauth": "here: `acts_as`; ",
    "--disable-destructive": "here: `write_policy.verbs`; ",
    "--sse-base-url https://a.example": "here: clients of /sse are told a path",
    "--skip-jwt-verification": "here: no token goes unread",
    "--profile full": "`--toolsets`",
    "--toolsets core": "use --toolsets kubectl",
    "--host 0.0.0.0 --toolsets code": "not a loopback address",
    "--config-dir nowhere": "cannot read the configuration folder nowhere",
}


@pytest.mark.parametrize("flags", REFUSED)
def test_what_is_not_served_is_refused_in_one_line(flags: str) -> None:
    """Which says what to write instead, before a command and behind it; nothing is served."""
    done = command("serve", *flags.split(), *SNAPSHOT)
    assert done.returncode in {1, 2} and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert REFUSED[flags] in line


TAKEN: dict[str, tuple[str, dict[str, object]]] = {
    "--stateless": ("http", {"stateless": True}),
    "--tokens-file ~/t": ("auth", {"tokens_file": Path.home() / "t"}),
    "--audit a --audit-keep scripts": ("audit", {"file": Path("a"), "scripts": True}),
}


def settings_of(line: str) -> config.Settings:
    """What the command line amounts to."""
    context = main.cli.make_context("kubescript", line.split())
    return command_line.settings(context, context.params)


@pytest.mark.parametrize("line", TAKEN)
def test_flags_of_tables_give_their_settings(line: str, tmp_path: Path) -> None:
    """What a file says of the same table stays."""
    table, given = TAKEN[line]
    file = tmp_path / "k.toml"
    file.write_text('[auth]\nuser_claim = "email"\n[http]\nmax_sessions = 5\n')
    settings = settings_of(f"{line} --config {file}")
    assert getattr(settings, table).model_dump(include=set(given)) == given
    assert (settings.auth.user_claim, settings.http.max_sessions) == ("email", 5)


def test_no_authentication_is_asked_for_in_so_many_words() -> None:
    """`--insecure-no-auth`."""
    assert settings_of("--port 0 --insecure-no-auth").insecure_no_auth
    assert not settings_of("--port 0").insecure_no_auth


def test_a_client_that_starts_its_server_gets_no_flags_of_http() -> None:
    """They would only be refused or mean nothing there."""
    http = "--stateless --insecure-no-auth --tokens-file t"
    done = command("client", "claude-code", *http.split(), "--read-only", *SNAPSHOT)
    assert done.returncode == 0 and "--read-only" in done.stdout, done.stderr
    assert not any(word in done.stdout for word in http.split() if word.startswith("--"))


SUGGESTED = {
    "--toolset": "'--toolsets'",
    "--portt": "'--port', '--transport'",
}


@pytest.mark.parametrize("flag", SUGGESTED)
def test_a_misspelt_flag_gets_a_suggestion(flag: str) -> None:
    """Before a command, and behind it."""
    for words in ((flag,), ("serve", flag)):
        done = command(*words)
        assert done.returncode == 2 and SUGGESTED[flag] in done.stderr, done.stderr


def test_a_level_may_be_written_in_capitals() -> None:
    """`--log-level DEBUG` is what other programs take; the lines of that level come."""
    done = command("run", "-c", "1", "--log-level", "INFO", *SNAPSHOT)
    assert (done.returncode, done.stdout) == (0, "1\n") and '"level":"info"' in done.stderr, done.stderr


def test_the_commands_are_told_apart_by_whole_sentences() -> None:
    """In the list of commands no summary is cut off."""
    assert "..." not in command("--help").stdout.partition("Commands:")[2]


def test_files_of_a_folder_complete_the_configuration(home: Path) -> None:
    """In the order of their names; a later setting wins, tables are joined, hidden and other files are left out."""
    folder = home / "conf.d"
    folder.mkdir()
    (folder / "20-late.toml").write_text('snapshot = "~/saved.json"\n[limits]\ndepth = 100\n')
    (folder / "10-early.toml").write_text('snapshot = "/nowhere"\n[limits]\napi_calls = 1\n')
    (folder / ".99-hidden.toml").write_text("nonsense")
    (folder / "99-other.txt").write_text("nonsense")
    twice = f"{NODES} + {NODES}"
    done = command("run", "-c", twice, "--config-dir=~/conf.d", HOME=str(home))
    assert done.returncode == 1 and "more than 1 API calls" in done.stderr
    assert command("run", "-c", NODES, "--config-dir=~/conf.d", HOME=str(home)).stdout == '["n1"]\n'
    (folder / "30-wrong.toml").write_text("readonly = true\n")
    done = command("run", "-c", NODES, "--config-dir=~/conf.d", HOME=str(home))
    assert done.returncode == 1 and "unknown setting `readonly`" in done.stderr and "read_only" in done.stderr


SERVING = ("--toolsets", "--transport", "--host", "--port", "--stateless", "--tokens-file", "--insecure-no-auth")
HELP = {
    "run": "--kubeconfig",
    "snapshot": "--kubeconfig",
    "approve": "--writes",
    "plans list": "--config",
    "policy test": "--config",
    "runbooks list": "--config",
    "demo": "--log-level",
}


@pytest.mark.parametrize("words", HELP)
def test_help_has_the_flags_that_mean_something_to_a_command(words: str) -> None:
    """Those of a server's tools and listener are in the help of commands that are about a server."""
    said = command(*words.split(), "--help").stdout
    assert HELP[words] in said and not any(flag in said for flag in SERVING), said
    assert all(flag in command("doctor", "--help").stdout for flag in SERVING)


def test_a_command_takes_a_servers_flags_that_mean_nothing_to_it() -> None:
    """A person repeats them to approve a plan; one that does not exist is an error."""
    given = ("--toolsets", "code", "--port", "8080", "--host", "127.0.0.1", *SNAPSHOT)
    assert command("run", "-c", "1 + 1", *given).stdout == "2\n"
    assert command("run", "-c", "1 + 1", "--prot", "8080").returncode == 2
