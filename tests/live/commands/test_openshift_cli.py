"""Command lines of `oc` through a real MCP client, on a real API server, beside the plain kubectl."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.kit import clients, kubectl, openshift
from tests.kit.openshift import NOTE, Talk

pytestmark = pytest.mark.timeout(300)

LINES: Final = r"""
get pods -n shop -o name
oc get po -n shop -o wide --no-headers
-n shop get pods
get -n shop pods --selector app=cart -o name
get pods -A --field-selector status.phase=Pending -o name
get pods -n shop --sort-by=.metadata.name -o name
get pods -A -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,PHASE:.status.phase
get nodes -o wide
get deploy,svc -n shop -o name
get deployment storefront -n shop -o yaml
get deployment storefront -n shop -o json --show-managed-fields
get cm common -n shop -o kyaml
get svc -n shop -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}'
get pods -n shop -o jsonpath-as-json='{.items[*].metadata.name}'
get ns -o go-template='{{range .items}}{{.metadata.name}}{{"\n"}}{{end}}'
get certificates -A
get pods -n nowhere
get pod missing -n shop
get deployment storefront missing -n shop -o name
get foo
get pods -o jsonpath='{'
describe deployment storefront -n shop
describe configmap common -n shop
describe node node-a1
logs -n shop deployment/cart --tail=3
logs -n shop missing
events -n shop
events -n shop --types=Warning --for=pod/missing
explain pods.spec.containers
explain deployment --recursive
api-resources -o name
api-resources --namespaced=false
version -o json
auth can-i list pods -n shop
auth can-i --list -n shop
auth whoami
auth whoami -o json
top pods -n shop
rollout status deployment/catalog -n shop
rollout status deployment/storefront -n shop --timeout=1s
rollout history deployment/storefront -n shop
wait --for=condition=Available deployment/catalog -n shop --timeout=1s
wait --for=delete pod/missing -n shop --timeout=1s
help get
get --help
"""
"""Of what has no secret in it."""
NOTED: Final = {"get pods -n nowhere": "\n[no such namespace: nowhere]"}
"""What kubectl does not say."""
WIDE: Final = """
[limits]
output_kib = 4096
output_lines = 100000
[output]
mark_untrusted = false
"""


@pytest.fixture(scope="module")
def talk(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with openshift.talking(openshift.configured(tmp_path_factory.mktemp("cli"), kubeconfig, more=WIDE)) as talk:
        yield talk


def expected(line: str, kubeconfig: Path) -> str:
    """What the tool is to say of what kubectl says. An answer does not end in empty lines."""
    done = openshift.plain(line.removeprefix("oc "), kubeconfig)
    if done.returncode:
        return f"{done.stdout}error command.failed: {done.stderr.strip()}"
    return (done.stdout + done.stderr).rstrip("\n") or "(no result: the command has succeeded and written nothing)"


def without_ages(text: str) -> str:
    """A text with zeros for the numbers of its ages."""
    return re.sub(r"\b(?:\d+[smhd])+\b", lambda age: re.sub(r"\d+", "0", age[0]), text)


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_a_command_line_is_answered_byte_for_byte_as_kubectl_answers_it(
    line: str, talk: Talk, kubeconfig: Path
) -> None:
    for _ in range(10):  # ages tick between the two
        wanted = expected(line, kubeconfig) + NOTED.get(line, "")
        answer = talk.ask(line)
        said = clients.whole(answer)
        if said == wanted:
            break
    assert without_ages(said) == without_ages(wanted)  # on a slow machine, they have ticked each time
    assert answer.is_error == ("error command.failed: " in wanted)


def test_there_are_more_than_32_lines_of_every_kind() -> None:
    lines = LINES.strip().splitlines()
    assert len(lines) == len(set(lines)) > 32


def test_a_failure_is_an_error_with_what_kubectl_said_before_and_after(talk: Talk) -> None:
    """What was found is printed, what was not is the error, and the next call works."""
    answer = talk.ask("get deployment -n shop storefront missing -o name")
    assert answer.is_error
    assert clients.whole(answer) == (
        "deployment.apps/storefront\n"
        'error command.failed: Error from server (NotFound): deployments.apps "missing" not found'
    )
    assert talk.text("get deployment -n shop storefront -o name") == "deployment.apps/storefront"


def test_a_command_that_writes_nothing_says_so(talk: Talk) -> None:
    answer = clients.whole(talk.ask("get pod missing -n shop --ignore-not-found"))
    assert answer == "(no result: the command has succeeded and written nothing)"


def test_a_very_long_output_is_cut_and_the_answer_says_so(kubeconfig: Path, tmp_path: Path) -> None:
    """Whole lines are kept, from its beginning, and the rest of the server's memory is its own."""
    small = "[limits]\noutput_kib = 4\noutput_lines = 50\n[output]\nmark_untrusted = false\n"
    with openshift.talking(openshift.configured(tmp_path, kubeconfig, more=small)) as talk:
        for line in ("get pods -A -o json", "get pods -A -o custom-columns=N:.metadata.name,U:.metadata.uid"):
            text = clients.whole(talk.ask(line))
            whole = openshift.plain(line, kubeconfig).stdout
            kept, _, told = text.partition("\n[")
            assert len(text) < 6 * 1024 < len(whole), line
            assert "cut" in told, told
            assert all(each in whole for each in kept.splitlines()[:3])
        assert talk.text("get ns shop -o name") == "namespace/shop"


# --- which program ---


def copied(folder: Path, name: str) -> Path:
    """The real kubectl under another name."""
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(kubectl.program(), folder / name))


def test_an_answer_of_a_program_called_oc_has_no_note(kubeconfig: Path, tmp_path: Path) -> None:
    """Whether a setting names it, or it is in the PATH; and of kubectl that nobody has named it has one."""
    binary = copied(tmp_path / "bin", "oc")
    with openshift.talking(
        openshift.configured(tmp_path, kubeconfig, openshift=f'binary = "{binary}"', more=WIDE)
    ) as talk:
        assert clients.whole(talk.ask("get ns shop -o name")) == "namespace/shop"
        assert clients.whole(talk.ask("oc get ns shop -o name")) == "namespace/shop"
    found = openshift.configured(tmp_path, kubeconfig, openshift="#binary", more=WIDE)
    with openshift.talking(found, PATH=str(binary.parent)) as talk:
        assert clients.whole(talk.ask("get ns shop -o name")) == "namespace/shop"
    binary.rename(binary.with_name("kubectl"))
    with openshift.talking(found, PATH=str(binary.parent)) as talk:
        assert clients.whole(talk.ask("get ns shop -o name")) == f"namespace/shop\n{NOTE}"
    with openshift.talking(openshift.configured(tmp_path, kubeconfig, more=WIDE)) as talk:
        assert clients.whole(talk.ask("get ns shop -o name")) == "namespace/shop"


def check_unusable(talk: Talk, binary: Path, reason: str = "") -> None:
    """Fails unless the answer names the program and the reason."""
    answer = talk.ask("get ns shop -o name")
    said = clients.whole(answer)
    assert answer.is_error and f"{binary} cannot be executed" in said and reason in said, said


def test_a_program_that_is_missing_or_cannot_be_executed_is_named(kubeconfig: Path, tmp_path: Path) -> None:
    """With the reason; and once it is there, it is used, without a new server."""
    binary = tmp_path / "bin" / "oc"
    cases: dict[str, tuple[str, int, str]] = {
        "not executable": ("no program", 0o644, ""),
        "no program": ("no program", 0o755, "Exec format error"),
        "a script, whose interpreter is not permitted": ("#!/bin/sh\necho no\n", 0o755, ""),
    }
    binary.parent.mkdir()
    with openshift.talking(openshift.configured(tmp_path, kubeconfig, openshift=f'binary = "{binary}"')) as talk:
        check_unusable(talk, binary)
        for content, mode, reason in cases.values():
            binary.write_text(content)
            binary.chmod(mode)
            check_unusable(talk, binary, reason)
        binary.unlink()
        binary.mkdir()
        check_unusable(talk, binary)
        binary.rmdir()
        copied(binary.parent, "oc")
        assert "namespace/shop" in talk.text("get ns shop -o name")


def test_a_machine_without_oc_and_kubectl_says_so(kubeconfig: Path, tmp_path: Path) -> None:
    found = openshift.configured(tmp_path, kubeconfig, openshift="#binary")
    with openshift.talking(found, PATH=str(tmp_path)) as talk:
        answer = talk.ask("get ns shop -o name")
    assert answer.is_error
    assert "this server has neither oc nor kubectl" in clients.whole(answer)
