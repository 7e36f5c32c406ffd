"""The command line, as other programs call it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from kubescript.cli import demo
from tests.kit import clients, commands


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot: one file as kubectl writes it."""
    file = tmp_path_factory.mktemp("snapshot") / "nodes.json"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {}}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    return file


kubescript = commands.run


def test_run_prints_the_result_and_exits_0(saved: Path) -> None:
    """`kubescript run -` reads a script from standard input; flags may stand before or after the sub-command. The program
    that is installed does the same."""
    script = "[n.metadata.name for n in k8s.coreV1().list_node()]"
    for arguments in (("run", "-", "--snapshot", str(saved)), ("--snapshot", str(saved), "run", "-")):
        done = kubescript(*arguments, script=script)
        assert (done.returncode, done.stdout, done.stderr) == (0, '["n1"]\n', "")
    command = [clients.INSTALLED, "run", "-", "--snapshot", str(saved)]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout, done.stderr) == (0, '["n1"]\n', "")


def test_run_reads_a_file(saved: Path, tmp_path: Path) -> None:
    """`kubescript run FILE` evaluates that file."""
    file = tmp_path / "script.py"
    file.write_text("6 * 7")
    assert kubescript("run", str(file), "--snapshot", str(saved)).stdout == "42\n"


def test_run_exits_1_with_the_error_on_stderr(saved: Path) -> None:
    """A failing script writes nothing to stdout."""
    done = kubescript("run", "-", "--snapshot", str(saved), script="1 / 0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ZeroDivisionError" in done.stderr


def test_run_takes_a_timeout(saved: Path) -> None:
    """--timeout bounds the script in milliseconds."""
    done = kubescript("run", "-", "--timeout", "300", "--snapshot", str(saved), script="while True: pass")
    assert done.returncode == 1
    assert "limit.time" in done.stderr


def test_doctor_tells_each_layer() -> None:
    """`doctor --json` lists every layer with its state; the exit code is 0 exactly when all required ones hold."""
    done = kubescript("doctor", "--offline", "--json")
    report = json.loads(done.stdout)
    assert {"seccomp", "landlock", "network", "rlimits", "descriptors"} <= {row["layer"] for row in report["layers"]}
    assert report["healthy"] == all(row["active"] for row in report["layers"] if row["required"])
    assert done.returncode == (0 if report["healthy"] else 1)
    assert "seccomp" in kubescript("doctor").stdout


def test_doctor_says_when_redaction_is_off(tmp_path: Path) -> None:
    """A line when secrets are not masked, another when they are; either way it is no fault."""
    file = tmp_path / "kubescript.toml"
    file.write_text("[redaction]\nenabled = false\n")
    off, on = kubescript("doctor", "--config", str(file)), kubescript("doctor")  # which miss a cluster
    assert "OFF     redaction" in off.stdout and "OFF" not in on.stdout
    assert off.returncode == on.returncode
    assert "ok      redaction" in on.stdout
    told = json.loads(kubescript("doctor", "--json", "--config", str(file)).stdout)
    assert told["redaction"] == {"enabled": False, "layers": []}


def test_doctor_says_which_tables_may_mean_namesakes(tmp_path: Path) -> None:
    """A table of users without their issuer, where several issuers vouch for callers; one that names it is none."""
    file = tmp_path / "kubescript.toml"
    tables = '[[access]]\nusers = ["ann"]\n[[approvers]]\nusers = ["bob"]\nissuer = "tokens"\nnamespaces = ["*"]\n'
    for auth, warned in (("token_review = true", 0), (f'token_review = true\ntokens.ann = "sha256:{"0" * 64}"', 1)):
        file.write_text(f"[auth]\n{auth}\n{tables}")
        told = json.loads(kubescript("doctor", "--offline", "--json", "--config", str(file)).stdout)
        assert [each.partition(" ")[0] for each in told["namesakes"]] == ["[[access]]"] * warned


def test_a_server_does_not_start_with_a_dead_rule(saved: Path, tmp_path: Path) -> None:
    """Nor with an exception for everything: the error names the setting. Mended, it serves."""
    file = tmp_path / "kubescript.toml"
    rule = '[[redaction.rules]]\nid = "acme"\nregex = "acme_[a-z0-9]{8}"\nprobe = "%s"\nexample = "acme_0123abcd"\n'
    for text, said in ((rule % "acme-", "redaction.rules"), ('[redaction]\nallow = [""]\n', "redaction.allow")):
        file.write_text(text)
        done = kubescript("run", "-", "--snapshot", str(saved), "--config", str(file), script="1")
        assert done.returncode != 0 and said in done.stderr, done
    file.write_text(rule % "acme_")
    done = kubescript("run", "-", "--snapshot", str(saved), "--config", str(file), script="'acme' + '_0123abcd'")
    assert done.stdout.startswith("«redacted:acme:"), done


def test_demo_answers_four_questions() -> None:
    """`kubescript demo` shows four scripts, their answers, bytes fetched and returned, and commands to go on with."""
    done = kubescript("demo")
    assert done.returncode == 0, done.stderr
    doctor = re.search("^Next: `(.+) doctor`", done.stdout, re.MULTILINE)
    assert doctor is not None, done.stdout
    version = subprocess.run([*shlex.split(doctor[1]), "--version"], capture_output=True, text=True, check=True)
    assert "kubescript" in version.stdout
    assert done.stdout.count("bytes fetched") == 4
    assert "CrashLoopBackOff" in done.stdout
    assert "cart, revision 3, shop/cart:2.4.1: 2 pods are full" in done.stdout
    assert 'level=warn msg="session cache has no limit"' in done.stdout
    assert "error" not in done.stdout.lower().replace("errimagepull", "").replace('"error"', "").replace(
        "init:error", ""
    )


def test_a_list_of_plans_needs_neither_plans_nor_a_store(tmp_path: Path) -> None:
    """`kubescript plans list` alone says that there are none, and where; it makes no file."""
    listed = kubescript("plans", "list", environment={"HOME": str(tmp_path), "XDG_STATE_HOME": None})
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith(f"There are no plans in {tmp_path}/.local/state/kubescript/plans.db.")
    assert not (tmp_path / ".local").exists()


MISTAKES = {
    "unknown toolset": (("--toolsets", "cod"), "unknown toolset `cod`"),
    "missing configuration file": (("--config", "/nowhere.toml"), "cannot read"),
    "unknown flag": (("--read-onyl",), "read-only"),
    "missing snapshot": (("--toolsets", "code", "--snapshot", "/nowhere"), "/nowhere"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_end_with_one_clear_message(case: str) -> None:
    """What the operator got wrong is said without a stack trace."""
    arguments, words = MISTAKES[case]
    done = kubescript(*arguments)
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_run_shows_a_person_the_bare_result() -> None:
    """`kubescript run` prints for a shell: nothing is fenced unless it is asked for; control characters are gone."""
    script = "print(k8s.coreV1().list_event_for_all_namespaces()[0].message + '\\x1b[31m and more words')"
    for variables, fenced in (({}, False), ({"KUBESCRIPT_OUTPUT__MARK_UNTRUSTED": "true"}, True)):
        done = kubescript("run", "-", "--snapshot", str(demo.SNAPSHOT), script=script, environment=variables)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("[untrusted ") is fenced
        assert "\x1b" not in done.stdout
        assert "and more words" in done.stdout
