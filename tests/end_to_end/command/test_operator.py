"""What an operator gets wrong, or has in the way: each ends with one clear message, the right exit code and no stack trace.

By the command line, with real sockets; as a process of its own where streams, signals and full disks are what is tested.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import yaml

from kubescript.cli import demo
from tests.kit import clients, commands
from tests.kit.controlplane.server import ControlPlane

SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT))
LOOP = "k8s.coreV1().list_node()\nwhile True: pass"
SOON_S = 30
"""Seconds for what happens at once, and what would take minutes, or for ever, if it did not."""
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


command = commands.run


def settings_of(folder: Path, server: str, **cluster: object) -> Path:
    """One context, current, with a token."""
    file = folder / "kubeconfig"
    file.write_text(json.dumps({
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "far", "user": "me"}}],
        "clusters": [{"name": "far", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "me", "user": {"token": "t0ken"}}],
    }))  # fmt: skip
    return file


# --- the command line ---


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of files that are wrong in one way each."""
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
    (tmp_path / "one.py").write_text("1 + 1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.toml").write_text("a = [")
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "list.yaml").write_text("- a")
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    (tmp_path / "junk.json").write_text("nonsense")
    settings_of(tmp_path, "https://127.0.0.1:1")
    return tmp_path


MISTAKES = {
    "a context that is not there": (1, "no context 'nonesuch'; there are: here", "--context nonesuch --kubeconfig kubeconfig"),
    "no such context": (1, "`kubectl config get-contexts` lists", "serve --contexts nonesuch --kubeconfig kubeconfig"),
    "the same before the command": (1, "there are: here", "--context nonesuch serve --kubeconfig kubeconfig"),
    "no such command": (2, "No such command 'sevre'", "sevre"),
    "no script": (2, "No such file", "run nowhere.py"),
    "a folder for a script": (2, "Is a directory", "run folder"),
    "a script that is no text": (1, "it is not UTF-8 text", "run binary.py"),
    "timeout 0": (2, "0 is not in the range x>=1", "run one.py --timeout 0"),
    "timeout below 0": (2, "-1 is not in the range x>=1", "run one.py --timeout -1"),
    "timeout too large": (2, "300001 is above the limit of 300000 (limits.max_timeout_ms)", "run one.py --timeout 300001"),
    "timeout in words": (2, "'soon' is not a valid integer", "run one.py --timeout soon"),
    "logs 0": (2, "0 is not in the range x>=1", "snapshot out --logs 0"),
    "no namespace named": (2, "names no namespace", "snapshot out -n ,"),
    "a port that is none": (1, "setting `port`", "serve --transport http --port 99999"),
    "a host for everybody": (1, "not a loopback address", "serve --host 0.0.0.0 --kubeconfig kubeconfig"),
    "broken TOML": (1, "broken.toml", "serve --config broken.toml"),
    "broken YAML": (1, "broken.yaml, line 1: ", "serve --config broken.yaml"),
    "no settings": (1, "expected settings at the top level, got list", "serve --config list.yaml"),
    "settings that are no text": (1, "latin.toml", "serve --config latin.toml"),
    "a folder for settings": (1, "Is a directory", "serve --config folder"),
    "a snapshot of junk": (1, "junk.json", "run one.py --snapshot junk.json"),
    "another file for a record": (1, "one.py holds no audit records", "audit stats one.py"),
    "an empty snapshot": (1, "holds no Kubernetes objects", "run one.py --snapshot folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named_in_few_lines(case: str, files: Path) -> None:
    """Exit code 2 for the command line, 1 for what it names; nothing on stdout, nobody is connected to."""
    code, words, line = MISTAKES[case]
    done = command(*line.split(), folder=files)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 7


def test_a_snapshot_of_nothing_is_a_failure(files: Path) -> None:
    """Where nothing could be saved, exit code and stderr say so; the same command saves what there is."""
    secret = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}'
    (files / "denied.json").write_text(secret)
    (files / "rules.toml").write_text('denied_resources = [{group = "", kind = "Secret"}]\n')
    done = command("snapshot", "out", "--snapshot", "denied.json", "--config", "rules.toml", folder=files)
    assert done.returncode == 1 and "the snapshot is empty" in done.stderr, done.stdout
    assert "0 objects" in done.stdout and "Traceback" not in done.stderr
    assert command("snapshot", "out2", *SNAPSHOT, folder=files).returncode == 0


@pytest.mark.parametrize("words", ["serve", "run -", "doctor"])
def test_an_unknown_toolset_is_refused_by_every_command(words: str, files: Path) -> None:
    """A misspelt `toolsets` in a file is one mistake, whoever reads the file."""
    (files / "cod.toml").write_text('toolsets = ["cod"]\n')
    done = command(*words.split(), "--config", "cod.toml", *SNAPSHOT, folder=files, script="1")
    assert (done.returncode, done.stdout) == (1, "") and "unknown toolset `cod`" in done.stderr, done.stderr
    (files / "cod.toml").write_text('toolsets = ["code"]\n')
    assert command(*words.split(), "--config", "cod.toml", *SNAPSHOT, folder=files, script="1").returncode == 0


UNUSABLE = {
    "not there": ("nowhere", "no such kubeconfig file: nowhere"),
    "a folder": ("folder", "no such kubeconfig file: folder"),
    "no YAML": ("broken.yaml", "the kubeconfig broken.yaml is not valid YAML"),
    "nested": ("nested", "the kubeconfig nested is not valid YAML"),
    "no mapping": ("list.yaml", "is empty or not a mapping"),
    "empty": ("empty", "is empty or not a mapping"),
    "no contexts": ("bare", "the kubeconfig has no contexts"),
    "no current context": ("idle", "the kubeconfig has no current context; pass --context, one of: here"),
    "no such cluster": ("torn", "context 'here' names the cluster 'far', which is not in the kubeconfig"),
}


@pytest.fixture
def kubeconfigs(files: Path) -> Path:
    """Kubeconfigs that are wrong in one way each."""
    whole = json.loads((files / "kubeconfig").read_text())
    (files / "empty").touch()
    # libyaml's composer falls over it, and the process with it.
    (files / "nested").write_text("a: " + "[" * 100_000)
    (files / "bare").write_text('{"apiVersion": "v1", "kind": "Config"}')
    (files / "idle").write_text(json.dumps(whole | {"current-context": ""}))
    (files / "torn").write_text(json.dumps(whole | {"clusters": []}))
    return files


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_kubeconfig_that_cannot_be_used_stops_a_server_at_once(case: str, kubeconfigs: Path) -> None:
    """In one line."""
    name, words = UNUSABLE[case]
    done = command("serve", "--kubeconfig", name, "--toolsets", "code", folder=kubeconfigs)
    assert (done.returncode, done.stdout) == (1, ""), done
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ") and words in line


def test_every_command_stops_at_a_kubeconfig_that_is_not_there_unless_it_may_come_later(kubeconfigs: Path) -> None:
    """Whether a flag or a variable names it; `doctor` says the same; with the flag, the call that needs it does."""
    named = {"KUBECONFIG": "nowhere"}
    done = command("run", "-", folder=kubeconfigs, environment=named, script="1")
    assert (done.returncode, done.stdout) == (1, "") and "no such kubeconfig file: nowhere" in done.stderr
    done = command("doctor", folder=kubeconfigs, environment=named)
    assert done.returncode == 1 and "WRONG" in done.stdout and "nowhere" in done.stdout
    later = command("serve", "--kubeconfig-later", folder=kubeconfigs, environment=named)
    assert later.returncode == 0 and "nowhere" not in later.stderr
    done = command("run", "-", "--kubeconfig-later", folder=kubeconfigs, environment=named, script=NODES)
    assert done.returncode == 1 and "cluster.config" in done.stderr and "Traceback" not in done.stderr


def test_no_kubeconfig_at_all_stops_a_server_and_no_script_that_needs_none(files: Path) -> None:
    """Outside a cluster there is nothing to serve; a pod has its service account, if it has a token."""
    bare = {**commands.BARE, "HOME": str(files), "XDG_CACHE_HOME": clients.CACHE}
    done = command("serve", "--toolsets", "code", environment=bare)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: there is no kubeconfig; ") and len(done.stderr.splitlines()) == 1
    assert command("run", "-", environment=bare, script="1 + 1").stdout == "2\n"
    done = command("run", "-", environment=bare, script=NODES)
    assert done.returncode == 1 and "there is no kubeconfig" in done.stderr
    done = command("serve", environment=bare | {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert done.returncode == 1 and "this pod has no service account token" in done.stderr


def doctor(*flags: str, home: Path, **variables: str) -> tuple[int, str]:
    """Exit code and report, without a kubeconfig of whoever runs the tests."""
    own = {**commands.BARE, "HOME": str(home), "XDG_CACHE_HOME": clients.CACHE}
    done = command("doctor", *flags, folder=home, environment=own | variables)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_doctor_says_what_it_has_not_asked(files: Path) -> None:
    """With `--offline` a live cluster is not connected to; a kubeconfig that is not there is wrong all the same, and
    without one that is said."""
    for code, said in (
        doctor("--offline", "--kubeconfig", "kubeconfig", home=files),
        doctor("--offline", home=files, KUBECONFIG="kubeconfig"),
    ):
        assert (code, "not asked: only its configuration was read" in said) == (0, True), said
        assert "context here" in said
    code, said = doctor("--offline", home=files, KUBECONFIG="nowhere.kc")
    assert (code, "WRONG   the cluster" in said, "nowhere.kc" in said) == (1, True, True), said
    assert "denied" not in said, "of a cluster that does not exist, nothing but the problem is said"
    code, said = doctor("--offline", home=files)
    assert (code, "not asked: no cluster; there is no kubeconfig" in said) == (0, True), said
    assert "the cluster of this pod" in doctor("--offline", home=files, KUBERNETES_SERVICE_HOST="10.0.0.1")[1]
    assert "not asked" not in doctor(*SNAPSHOT, home=files)[1]


def test_doctor_connects_and_says_who_we_are_and_what_we_may(control_plane: ControlPlane, tmp_path: Path) -> None:
    """With the context's name, the version, the user, RBAC, and a line for a client."""
    right = control_plane.kubeconfig
    code, said = doctor("--kubeconfig", str(right), home=tmp_path)
    assert code == 0, said
    assert f"kubeconfig {right}, context " in said and "(current)" not in said and "not asked" not in said
    assert re.search(r"server: Kubernetes v1\.[0-9]+", said) and "user:   admin (groups: system:masters" in said
    assert "RBAC:   allows list pods, get pods/log" in said and "forbids" not in said
    line = f"claude mcp add --scope user kubescript -- {clients.INSTALLED} --kubeconfig {right} --toolsets code"
    assert line in said
    code, said = doctor("--json", "--kubeconfig", str(right), home=tmp_path)
    (cluster,) = json.loads(said)["contexts"]
    assert code == 0 and cluster["answer"]["user"] == "admin" and json.loads(said)["connect"] == line


def test_doctor_calls_a_cluster_wrong_that_would_answer_no_script(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Nobody there, a token that is refused, nobody's token, a CA that is none, a login page, no cluster at all: each with
    what to do, exit code 1."""
    right = json.loads(json.dumps(yaml.safe_load(control_plane.kubeconfig.read_text())))
    right["users"][0]["user"] = {"token": "no-such-token"}
    (tmp_path / "token").write_text(json.dumps(right))
    right["users"][0]["user"] = {}
    (tmp_path / "nobody").write_text(json.dumps(right))
    settings_of(tmp_path, f"https://127.0.0.1:{clients.free_port()}").rename(tmp_path / "dead")
    cluster = {"certificate-authority-data": "Z2FyYmFnZQ=="}
    settings_of(tmp_path, "https://127.0.0.1:1", **cluster).rename(tmp_path / "ca")
    with answering(200, "text/html", b"<html>please log in</html>") as url:
        settings_of(tmp_path, url).rename(tmp_path / "page")
        for name, words in {
            "dead": "cannot be reached: [Errno 111] Connection refused; check the kubeconfig's server",
            "token": "refuses the credentials (401); they may have expired",
            "nobody": "sees us as system:anonymous; give the context's user",
            "ca": "certificate-authority(-data) of the kubeconfig cannot be used; it must be readable PEM",
            "page": "is not an API server's; check that `server`",
        }.items():
            code, said = doctor("--kubeconfig", name, home=tmp_path)
            assert code == 1 and "WRONG   the cluster" in said and "→ " in said and words in said, said
    code, said = doctor(home=tmp_path)
    assert code == 1 and "WRONG   the cluster: no cluster" in said and "pass --kubeconfig" in said, said


UNSTARTED = """
import os, resource, sys
from kubescript import programs
from kubescript.cli import main

def start(case):
    for number, stream in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{case}.{stream}", os.O_WRONLY | os.O_CREAT), number)
    program = "/tmp" if case == "no" else "/bin/true"  # another user may not reach this interpreter
    programs.WORKER = (program,)
    if case != "no":
        os.setgroups([])
        os.setuid(54_321)
        resource.setrlimit(resource.RLIMIT_NPROC, (int(case),) * 2)
    sys.argv = ["kubescript", "doctor"]
    main.main()

for case in sys.argv[1:]:
    if os.fork() == 0:
        start(case)
    print(case, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def test_a_sandbox_that_cannot_be_started_is_said_in_a_line(tmp_path: Path) -> None:
    """A limit on processes, or an interpreter that may not be executed: why, what to do, exit code 1."""
    cases = {"no": "execute"}
    if os.geteuid() == 0:  # only root may become a user without other processes
        cases |= {"1": "ulimit -u", "2": "ulimit -u"}
    done = subprocess.run(
        [sys.executable, "-c", UNSTARTED, *cases], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.stdout == "".join(f"{case} 1\n" for case in cases), done.stderr
    for case, words in cases.items():
        said = (tmp_path / f"{case}.err").read_text()
        assert (tmp_path / f"{case}.out").read_text() == ""
        assert "could not be started" in said and words in said and "Traceback" not in said, case


WITHOUT_LIBSECCOMP = """
for library in $(ldconfig -p | sed -n 's/.*libseccomp.so.2.* => //p'); do mount --bind /dev/null "$library"; done
exec "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hide a library")
def test_a_missing_libseccomp_is_named_with_its_package() -> None:
    """By `run` in one line, by `doctor`, and by a strict server, which does not start; with it nothing is said."""
    hidden = ["unshare", "--mount", "sh", "-ec", WITHOUT_LIBSECCOMP, "sh", clients.INSTALLED]
    done = subprocess.run([*hidden, "run", "-c", "1 + 1", *SNAPSHOT], capture_output=True, text=True, timeout=240)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("needs the right to mount")
    (line,) = done.stderr.splitlines()
    assert "NOT FULLY CONFINED: seccomp missing" in line and "apt install libseccomp2" in line
    done = subprocess.run([*hidden, "doctor", *SNAPSHOT], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1 and "(libseccomp is missing)" in done.stdout and "libseccomp2" in done.stdout
    done = subprocess.run([*hidden, "--port", "0", *SNAPSHOT], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot confine scripts: seccomp missing; install libseccomp" in done.stderr.splitlines()[-1]
    assert command("run", "-c", "1 + 1", *SNAPSHOT).stderr == ""


def test_the_http_server_says_where_it_listens(files: Path) -> None:
    """One line of the log has the URL, also of a port the kernel chose, the clusters and the toolsets."""
    server = subprocess.Popen(
        [clients.KUBESCRIPT, "--toolsets", "code", *SNAPSHOT, "--transport", "http", "--port", "0"],
        cwd=files, env={**os.environ, "KUBESCRIPT_SANDBOX__STRICT": "false"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        line = next(line for line in server.stderr if "http.listening" in line)
        url, rest = json.loads(line)["message"].removeprefix("listening at ").split(";", 1)
        assert httpx2.get(url.replace("/mcp", "/health"), timeout=60).json()["status"] == "healthy"
        assert "clusters: " in rest and rest.endswith("toolsets: code") and ":0/" not in url
    finally:
        server.terminate()
        server.communicate(timeout=240)


def test_serve_is_the_default(files: Path) -> None:
    """`serve` takes the flags and answers as no command does, until the client hangs up."""
    for arguments in ([], ["serve"]):
        done = command(*arguments, "--toolsets", "code", *SNAPSHOT)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "Traceback" not in done.stderr


def test_a_port_in_use_is_said_in_our_words() -> None:
    """With what to do, and exit code 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        flags = ("--transport", "http", "--port", port, "--toolsets", "code", *SNAPSHOT)
        done = subprocess.run([clients.KUBESCRIPT, "serve", *flags], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr and "--port" in done.stderr
    assert "uvicorn" not in done.stderr


# --- clusters ---


class _Fixed(http.server.BaseHTTPRequestHandler):
    answer = (200, "text/html", b"<html>please log in</html>")

    def do_GET(self) -> None:
        status, kind, body = self.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def answering(status: int, kind: str, body: bytes) -> Iterator[str]:
    """A server with one answer for everything; gives its address."""
    handler = type("Handler", (_Fixed,), {"answer": (status, kind, body)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


NODES = "len(k8s.coreV1().list_node())"
ANSWERS = {
    "a login page": (
        (200, "text/html", b"<html>please log in</html>"),
        "text/html instead of JSON",
        "text/html instead of JSON",
    ),
    "401": ((401, "application/json", b'{"kind":"Status","message":"who?"}'), "401", "401"),
    "403": ((403, "application/json", b'{"kind":"Status","message":"no"}'), "403", "403"),
    "a bad gateway": ((502, "text/html", b"<html>bad gateway</html>"), "502", "502"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_server_that_is_no_cluster_of_ours_is_named(case: str, tmp_path: Path) -> None:
    """By `run` and by `snapshot`, which leaves nothing behind."""
    answer, in_run, in_snapshot = ANSWERS[case]
    with answering(*answer) as url:
        flags = ("--kubeconfig", str(settings_of(tmp_path, url)))
        done = command("run", "-", *flags, script=NODES)
        assert (done.returncode, done.stdout) == (1, "") and in_run in done.stderr
        saved = command("snapshot", str(tmp_path / "out"), *flags)
    assert saved.returncode == 1 and in_snapshot in saved.stderr
    assert "Traceback" not in done.stderr + saved.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kubeconfig"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_cluster_that_hangs_is_a_timeout(scheme: str, tmp_path: Path) -> None:
    """And no fault of its certificates, with TLS neither."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        flags = ("--kubeconfig", str(settings_of(tmp_path, f"{scheme}://127.0.0.1:{silent.getsockname()[1]}")))
        done = command("run", "-", "--timeout", "5000", *flags, script=NODES)
    assert done.returncode == 1
    assert "cluster.timeout" in done.stderr and "tls" not in done.stderr.lower()


def test_tls_where_none_is_spoken_and_none_where_tls_is_are_named_as_that(
    kubeconfig: Path, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """And neither as a fault of certificates, nor as a proxy's; with the right address the next call works."""
    right = control_plane.kubeconfig.read_text()
    wrong = tmp_path / "wrong"
    wrong.write_text(right.replace("https://", "http://"))
    done = command("run", "-", "--kubeconfig", str(wrong), script=NODES)
    assert done.returncode == 1 and "it most likely speaks https" in done.stderr and "proxy between" not in done.stderr
    with answering(200, "application/json", b"{}") as url:
        flags = ("--kubeconfig", str(settings_of(tmp_path, url.replace("http://", "https://"))))
        done = command("run", "-", *flags, script=NODES)
    assert done.returncode == 1 and "does not speak TLS" in done.stderr and "certificate" not in done.stderr
    wrong.write_text(right)
    assert command("run", "-", "--kubeconfig", str(wrong), script=NODES).returncode == 0


ENTRIES = {
    "no scheme": ({"server": "nonsense"}, "the server of cluster 'far' is not the address"),
    "no server": ({"server": ""}, "the server of cluster 'far' is not the address"),
    "no such port": ({"server": "https://127.0.0.1:99999"}, "the server of cluster 'far' is not the address"),
    "no certificate": ({"server": "https://127.0.0.1:1", "certificate-authority-data": "Z2FyYmFnZQ=="},
                       "certificate-authority(-data) of the kubeconfig cannot be used"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENTRIES)
def test_a_wrong_entry_of_the_kubeconfig_is_named(case: str, tmp_path: Path) -> None:
    """Before anybody is connected to."""
    cluster, words = ENTRIES[case]
    file = settings_of(tmp_path, "")
    file.write_text(file.read_text().replace('{"server": ""}', json.dumps(cluster)))
    done = command("run", "-", "--kubeconfig", str(file), script=NODES)
    assert done.returncode == 1 and words in done.stderr and "cluster.config" in done.stderr
    assert "Warning" not in done.stderr


def test_a_namespace_that_is_not_there_is_no_empty_one(kubeconfig: Path, tmp_path: Path) -> None:
    """`snapshot -n` with a slip saves nothing; with the right name it does."""
    flags = ("--kubeconfig", str(kubeconfig))
    done = command("snapshot", str(tmp_path / "out"), "-n", "shop,shpo", *flags)
    assert done.returncode == 1 and "there is no namespace 'shpo'" in done.stderr
    assert not list(tmp_path.iterdir())
    assert command("snapshot", str(tmp_path / "out"), "-n", "shop", *flags).returncode == 0


def test_logs_that_cannot_be_had_are_told_together(kubeconfig: Path, tmp_path: Path) -> None:
    """A line for each reason, not for each log; a node that does not answer is not asked for all of its logs; the
    snapshot still knows each."""
    done = command("snapshot", str(tmp_path / "out"), "--logs", "5", "--kubeconfig", str(kubeconfig))
    assert done.returncode == 0, done.stderr
    missing = json.loads((tmp_path / "out" / "snapshot.json").read_text())["missing"]
    logs = [each for each in missing if each["what"].startswith("log ")]
    lines = [line for line in done.stdout.splitlines() if re.match("  not saved: [0-9]+ logs? ", line)]
    assert len(logs) > 40 and 0 < len(lines) < 12
    assert sum(int(line.split("not saved: ")[1].split()[0]) for line in lines) == len(logs)
    assert "so it was not asked again" in done.stdout
    assert "broker.call" not in done.stderr


# --- streams, signals, disks ---


def test_a_reader_that_goes_away_is_no_fault_to_print(tmp_path: Path) -> None:
    """`| head` and `| true` leave no stack trace."""
    script = tmp_path / "many.py"
    script.write_text("'x' * 60000")
    for words in (f"run {script} {' '.join(SNAPSHOT)}", "doctor", "--help"):
        line = f"{clients.KUBESCRIPT} {words} | true"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=240)
        assert done.stderr == ""


def test_output_that_cannot_be_written_is_said() -> None:
    """With exit code 1: a result that nobody got is no success."""
    for arguments in (("run", "-", *SNAPSHOT), ("doctor",)):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [clients.KUBESCRIPT, *arguments], input="1", stdout=full, stderr=subprocess.PIPE, text=True, timeout=240
            )
        assert done.returncode == 1
        assert done.stderr == "Error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str, tmp_path: Path) -> None:
    """Nothing that is opened takes their place, and each command ends as it should."""
    script = tmp_path / "one.py"
    script.write_text("len(k8s.coreV1().list_node()) > 0")
    program = clients.INSTALLED if " " in closed else clients.KUBESCRIPT
    for words in (f"run {script} {' '.join(SNAPSHOT)}", f"serve --toolsets code {' '.join(SNAPSHOT)}"):
        line = f"exec {program} {words} {closed}"
        done = subprocess.run(["bash", "-c", line], input="", capture_output=True, text=True, timeout=240)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@contextlib.contextmanager
def running(*arguments: str, program: str = clients.KUBESCRIPT) -> Iterator[subprocess.Popen[str]]:
    """A command in a process group of its own, as in a terminal, whose input stays open."""
    # Tests that a shell started in the background ignore SIGINT, and so would the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [program, *arguments], text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


ENDS = {
    "stdio": (0, 0, ("serve", "--toolsets", "code", *SNAPSHOT)),
    "http": (0, 0, ("serve", "--transport", "http", "--port", "0", "--toolsets", "code", *SNAPSHOT)),
    "run": (130, 143, ("run", "-c", LOOP, "--timeout", "300000", *SNAPSHOT)),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", ENDS)
def test_ctrl_c_and_sigterm_end_a_command_at_once(case: str, number: signal.Signals, tmp_path: Path) -> None:
    """In order, with the right exit code, without a stack trace, and without leaving a process: Ctrl-C reaches the whole
    group, SIGTERM the server alone, and the client's pipe stays open."""
    interrupted, terminated, arguments = ENDS[case]
    record = tmp_path / "audit.jsonl"
    with running(*arguments, "--audit", str(record), program=clients.INSTALLED) as process:
        wait_for(case, process, record)
        assert process.poll() is None
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        code, words = ended(process)
        assert code == (interrupted if number == signal.SIGINT else terminated), words
        assert "Traceback" not in words
        assert _is_empty(process.pid)


def wait_for(case: str, process: subprocess.Popen[str], record: Path) -> None:
    """Returns once the server serves, or the script of `run` is in its loop."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    if case == "stdio":
        process.stdin.write(_request(1, "initialize", **CLIENT))
        process.stdin.flush()
        assert process.stdout.readline()
    elif case == "http":
        assert any("http.listening" in line for line in process.stderr)
    else:
        wait_for_call(record)


def wait_for_call(record: Path) -> None:
    """Returns once a call of a script is on record."""
    deadline = time.monotonic() + 60
    while not (record.exists() and b'"type":"call"' in record.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and stderr. A process that goes on fails the test with the place where each of its threads is."""
    try:
        process.wait(timeout=SOON_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
    words = process.communicate(timeout=60)[1]
    assert process.returncode != -signal.SIGABRT, words
    return process.returncode, words


def _is_empty(group: int) -> bool:
    """Whether nobody of a process group is left, soon."""
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_snapshot_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM in the middle: no folder, half or hidden, stays."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        folder = tmp_path / "here"
        folder.mkdir()
        file = settings_of(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with running("snapshot", str(folder / "out"), "--kubeconfig", str(file)) as process:
            deadline = time.monotonic() + 60
            while not list(folder.iterdir()) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert list(folder.iterdir())
            process.terminate()
            assert process.wait(timeout=60) == 143
        assert not list(folder.iterdir())


def _request(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def test_a_script_that_sigterm_cuts_off_is_on_record(tmp_path: Path) -> None:
    """The server ends at once, and the chain is whole: the script that was answered, the one that was not, the stop."""
    record = tmp_path / "audit.jsonl"
    with running("serve", "--toolsets", "code", "--audit", str(record), *SNAPSHOT) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(_request(7, "initialize", **CLIENT))
        process.stdin.flush()
        process.stdout.readline()
        for number, script in enumerate(("1 + 1", LOOP)):
            arguments = {"name": "evaluate_script", "arguments": {"script": script, "timeout": 300_000}}
            process.stdin.write(_request(number, "tools/call", **arguments))
            process.stdin.flush()
            if number == 0:
                assert "2" in process.stdout.readline()
        wait_for_call(record)
        process.terminate()
        assert process.wait(timeout=SOON_S) == 0
    assert command("audit", "verify", str(record)).returncode == 0
    types = [json.loads(line)["type"] for line in record.read_text().splitlines()]
    assert types.count("script") == 2 and types[-1] == "stop"
