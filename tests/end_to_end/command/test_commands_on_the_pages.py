"""Every command on a page works: it is run here, or its flags are those of the real program; else a table says why not,
and what tests it instead."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import pytest

import kubescript
from kubescript.cli import main
from kubescript_safety.cli import main as safety
from tests.kit import commands, paths, reader, typed_commands
from tests.kit.typed_commands import Command

PROGRAMS: Final[Mapping[str, click.Command]] = {"kubescript": main.cli, "kubescript-safety": safety.main}
ONLY_READ: Final[Mapping[str, str]] = {
    "kubescript --config ~/.config/kubescript/server.toml": "serves until it is ended: test_deploy_docs.py",
    "kubescript --config server.toml": "likewise",
    "kubescript doctor --config ~/.config/kubescript/server.toml": "an account of the reader's: test_deploy_docs.py",
    "kubescript doctor --config server.toml": "sources of the reader's: test_doctor_of_sources.py",
    "kubescript --config kubescript.toml": "likewise: test_migrate.py",
    "kubescript --toolsets code --port 8080": "likewise: test_endpoints.py",
    "kubescript --toolsets openshift --port 8080": "likewise: test_openshift_cli.py",
    "kubescript --toolsets openstack --port 8080": "likewise: test_openstack_cli.py",
    "kubescript --toolsets code --audit /var/lib/kubescript/audit.jsonl": "a service's folder: test_audit.py",
    "kubescript --toolsets kubectl,shop": "the package is not installed: test_toolset_packages.py",
    "kubescript approve 'p-54b02c46…' --writes plan": "a plan of the reader's: test_ways_to_decide.py",
    "kubescript audit show audit.jsonl --plan p-54b0": "a plan of the reader's: below",
    "kubescript audit verify replica-a.jsonl replica-b.jsonl replica-c.jsonl": "security_tests/test_replica_records.py",
    "kubescript policy test cases.yaml": "judges by the reader's rules: test_policy_command.py",
    "kubescript runbooks list": "settings of the reader's: test_runbook_commands.py",
    "kubescript runbooks run restart-web namespace=team-a name=web --config FILE": "test_scripts_on_the_pages.py",
    'kubescript run --writes plan -c \'k8s.scale("deployments/web", 5, namespace="shop")\'': "test_scripts_on_the_pages.py",
    "kubescript snapshot saved/ --sources": "sources of the reader's: test_captured_sources.py",
    "kubescript": "settings of the reader's: test_rhos_config.py",
}
"""Commands of ours whose flags are parsed by the real program and which are not run, and why."""
NOT_RUN: Final[Mapping[str, str]] = {
    "claude": "no registry has it; what it would start is read here, and run by test_client_snippets.py",
    "cosign": "test_signature.py verifies a release with it, and that a changed byte fails",
    "curl": "the servers are examples: test_deploy_docs.py, test_tls.py, test_openshift_cli.py, test_openstack_cli.py",
    "docker": "test_image.py, with podman; what the image would run is read here",
    "kcadm.sh": "comes with Keycloak's server; test_oidc.py logs in at one that has this client and these scopes",
    "gemini": "test_manifests.py starts what its manifest names",
    "helm": "test_operate.py and tests/end_to_end/chart, with the real Helm and API server",
    "install": "test_one_file.py runs the file under that name",
    "kubectl exec": "test_operate.py, beside simulated nodes; what the pod would run is read here",
    "kubectl krew": "test_kubectl_plugin.py, with the real krew",
    "kubectl kubescript": "likewise",
    "kubectl logs": "of the reader's cluster",
    "openssl": "test_tls.py and test_deploy_docs.py make the same certificates and tokens",
    "pg_dump": "test_operate.py",
    "pipx": "test_installs.py, in clean systems",
    "psql": "test_operate.py",
    "python -m pip install": "test_installs.py",
    "python -m benchmarks": "takes minutes: test_benchmarks.py checks its names",
    "python -m kubescript_masking": "its input is the reader's",
    "python -m kubescript_sandbox": "its input is the reader's",
    "python3 -c": "test_signature.py, for openssl",
    "python3 -m venv": "test_installs.py",
    "sha256sum": "test_signature.py checks a release with it; deploy.md's hash of a token is made by test_deploy_docs.py",
    "uv": "test_installs.py",
    "uvx": "test_installs.py; what it would run is read here",
}
"""Commands of others, by their first words, that are not run here, and why; or which test runs them."""
STUBS: Final = frozenset({name.split()[0] for name in NOT_RUN} | set(PROGRAMS) | {"kubectl", "make"})
INNER: Final = re.compile(
    r"^(?:claude .* -- |docker run .* (?=kubescript )|kubectl exec .* -- |uvx --from \S+ )(?P<command>.+)$"
)
"""What a program is told to start."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, list[Command]]:
    """The commands of each page that has some, as a shell understands them."""
    found = {}
    for page in typed_commands.PAGES:
        commands = typed_commands.record(page, tmp_path_factory.mktemp("typed"), STUBS)
        if commands:
            found[page] = commands
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, kubeconfig: Path) -> Path:
    """A reader's home."""
    home = tmp_path_factory.mktemp("reader") / "home"
    reader.furnish(home, kubeconfig)
    return home


def test_every_command_of_ours_runs_or_is_read(typed: Mapping[Path, list[Command]], home: Path) -> None:
    """Each once, in a home that has what the pages name: it ends well, or its flags are the program's."""
    lines = {str(each): each for page in typed.values() for each in page if each.program in PROGRAMS}
    assert len(lines) > 30
    for line, command in lines.items():
        if line in ONLY_READ or command.program == "kubescript-safety":  # whose runs take minutes: test_live_runs.py
            with contextlib.chdir(home):
                parse(line)
            continue
        variables = {name: value for name, value in command.environment.items() if name.startswith("OTEL_")}
        assert not any(word.startswith("/") for word in shlex.split(line)), f"{line}: outside of a reader's home"
        words = [word.replace(command.environment["HOME"], str(home)) for word in command.arguments]
        done = commands.run(*words, folder=home, environment={**reader.environment(home), **variables})
        assert done.returncode == 0, f"{line}\n{done.stdout[-500:]}{done.stderr[-2000:]}"


def test_every_other_command_is_of_a_real_program_or_a_table_says_why_it_is_not_run(
    typed: Mapping[Path, list[Command]], kubectl_program: Path
) -> None:
    """kubectl takes the flags, make has the target, and what another program is told to start is a command of ours."""
    targets = re.findall(r"^([a-z]+):", (paths.ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for command in (each for page in typed.values() for each in page if each.program not in PROGRAMS):
        line = str(command)
        inner = INNER.match(line)
        if inner and inner["command"].split()[0] in {"kubescript", "docker"}:
            parse(inner["command"])
        if is_listed(line):
            continue
        if command.program == "make":
            assert set(command.arguments) <= set(targets), line
            continue
        assert command.program == "kubectl", f"{line}: run it here, or say in NOT_RUN why not"
        read = subprocess.run([kubectl_program, *command.arguments, "--help"], capture_output=True, text=True)
        assert read.returncode == 0 and "Usage:" in read.stdout, f"{line}\n{read.stderr}"


def test_the_tables_name_commands_of_the_pages_and_tests_that_exist(typed: Mapping[Path, list[Command]]) -> None:
    lines = [str(each) for page in typed.values() for each in page]
    assert set(ONLY_READ) - set(lines) == set()
    assert [each for each in NOT_RUN if not any(line.startswith(each) for line in lines)] == []
    named = set(re.findall(r"\btest_\w+\.py", " ".join([*ONLY_READ.values(), *NOT_RUN.values()])))
    assert named - {file.name for file in paths.ROOT.rglob("test_*.py")} == set()


@pytest.mark.parametrize(
    ("typed", "words"), [("true && oneliner --now", "oneliner"), ("rm -r {outside}", "Permission denied")]
)
def test_a_block_that_a_reader_could_not_type_is_found(tmp_path: Path, typed: str, words: str) -> None:
    """A program that no table names, and one that would write to this machine; what is good is then recorded."""
    outside, page = tmp_path / "outside", tmp_path / "page.md"
    outside.mkdir()
    for number, line in enumerate((typed.format(outside=outside), "kubescript demo")):
        page.write_text(f"```console\n{line}\n```\n")
        home = tmp_path / f"home-{number}"
        home.mkdir()
        if number:
            assert [str(each) for each in typed_commands.record(page, home, STUBS)] == ["kubescript demo"]
            continue
        with pytest.raises(AssertionError, match=words):
            typed_commands.record(page, home, STUBS)
    assert outside.exists()


@pytest.mark.parametrize(
    "line", ["kubescript --toolset code", "kubescript audit prove a", "docker run kubescript --now"]
)
def test_a_flag_or_a_command_that_is_not_there_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line)
    parse("docker run kubescript --toolsets code")


def test_the_story_of_one_plan_is_shown_by_the_beginning_of_its_name(home: Path) -> None:
    """Its calls and no others; a plan that the record does not have is an error."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return commands.run(*words, folder=home, environment=reader.environment(home))

    script = 'k8s.scale("deployments/cart", 5, namespace="shop")'
    for code in ("len(k8s.coreV1().list_node())", script):
        made = run("run", "-c", code, "--writes", "plan", "--audit", "plans.jsonl")
        assert made.returncode == 0, made.stderr
    (name,) = set(re.findall(r"\bp-[0-9a-f]+", made.stderr))
    shown = run("audit", "show", "plans.jsonl", "--plan", name[:6])
    assert f"plan {name[:10]}" in shown.stdout and "nodes" not in shown.stdout
    assert run("audit", "show", "plans.jsonl", "--plan", "p-zz").returncode == 1


def test_the_pages_for_newcomers_name_the_files_of_this_version() -> None:
    """A reader copies the names of files."""
    for name in ("README.md", "docs/install.md"):
        text = (paths.ROOT / name).read_text("utf-8")
        assert set(re.findall(r"\bkubescript[-_]v?(\d+\.\d+\.\d+)", text)) <= {kubescript.__version__}, name


def is_listed(line: str) -> bool:
    """Whether NOT_RUN has this command, or the words with which it begins."""
    return any(f"{line} ".startswith(f"{beginning} ") for beginning in NOT_RUN)


def parse(line: str) -> None:
    """Parses a command line by the real program's definition. Raises UsageError for what it does not take."""
    words = shlex.split(line)
    if words[0] == "docker":
        words = words[words.index("kubescript", 2) :]
    command: click.Command = PROGRAMS[Path(words[0]).name]
    rest: Sequence[str] = words[1:]
    context: click.Context | None = None
    while True:
        try:
            context = command.make_context(command.name, list(rest), parent=context)
        except click.exceptions.Exit:  # after --version
            return
        rest = [*context._protected_args, *context.args]
        if not isinstance(command, click.Group) or not rest:
            return
        _, found, rest = command.resolve_command(context, list(rest))
        assert found, line
        command = found
