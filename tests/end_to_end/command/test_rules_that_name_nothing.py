"""Rules of `[[denied_resources]]` that name nothing: who is told, and what is denied meanwhile.

By the command line, before a real API server, a saved cluster, and a dead one.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import socketserver
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import kubernetes
import pytest
import yaml

from tests.kit import clients, commands
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane

CERTIFICATES = "len(k8s.get('certificates.cert-manager.io'))"
NAMESPACES = "len(k8s.coreV1().list_namespace()) > 0"
PODS = "len(k8s.coreV1().list_pod_for_all_namespaces()) > 0"
DEPLOYMENTS = "len(k8s.appsV1().list_deployment_for_all_namespaces()) > 0"


def command(kubeconfig: Path, *arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """One command to its end, with that cluster unless the arguments say otherwise."""
    return commands.run(*arguments, script=script, environment={"KUBECONFIG": str(kubeconfig)})


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file for the settings of one test."""
    return tmp_path / "rules.toml"


def write(file: Path, **fields: str) -> tuple[str, str]:
    """One rule into the file; gives the flags that name it."""
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
    file.write_text(f"[[denied_resources]]\n{lines}")
    return "--config", str(file)


MATCHES = {
    "as in manifests": {"group": "cert-manager.io", "kind": "Certificate"},
    "another case": {"group": "Cert-Manager.io", "kind": "certificate"},
    "the plural for the kind": {"group": "cert-manager.io", "kind": "certificates"},
    "a version that is not served": {"group": "cert-manager.io", "version": "v9", "kind": "Certificate"},
    "a resource in another case": {"group": "cert-manager.io", "resource": "Certificates"},
    "no group": {"kind": "Certificate"},
}


@pytest.mark.parametrize("case", MATCHES)
def test_a_rule_that_names_something_denies_it_and_nothing_is_said(case: str, kubeconfig: Path, rules: Path) -> None:
    """Case and plural are no slips, and a version does not narrow a rule; other kinds are served."""
    flags = write(rules, **MATCHES[case])
    refused = command(kubeconfig, "run", "-", *flags, script=CERTIFICATES)
    assert refused.returncode == 1 and "policy.denied_resource" in refused.stderr
    allowed = command(kubeconfig, "run", "-", *flags, script=PODS)
    assert allowed.stdout.startswith("true") and "rule " not in allowed.stderr
    assert "→ rule" not in command(kubeconfig, "doctor", *flags).stdout


SLIPS = {
    "kind": ({"group": "cert-manager.io", "kind": "Certificat"}, CERTIFICATES, PODS, "did you mean Certificate?"),
    "resource": ({"group": "cert-manager.io", "resource": "certificat"}, CERTIFICATES, PODS, "certificates"),
    "kind for the resource": ({"group": "cert-manager.io", "resource": "certificate"}, CERTIFICATES, PODS, "certificates"),
    "subresource": ({"group": "apps", "resource": "deployments/scal"}, DEPLOYMENTS, PODS, "deployments/scale"),
    "built-in kind": ({"group": "apps", "kind": "Deploymnt"}, DEPLOYMENTS, PODS, "did you mean Deployment?"),
    "core kind": ({"group": "", "kind": "ConfigMapp"}, PODS, DEPLOYMENTS, "did you mean ConfigMap?"),
    "a kind that is not of the resource": ({"group": "apps", "kind": "Deployment", "resource": "replicasets"}, DEPLOYMENTS, PODS, "matches nothing in the group apps"),
    "unlike anything": ({"group": "cert-manager.io", "kind": "Zebra"}, CERTIFICATES, PODS, "cert-manager.io; until it is fixed"),
}  # fmt: skip


@pytest.mark.promise("P-12")
@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_denies_its_whole_group_and_is_told(case: str, kubeconfig: Path, rules: Path) -> None:
    """The script is refused, the log and `doctor` say what was meant, doctor's exit code is 1; other groups go on."""
    fields, refused, allowed, words = SLIPS[case]
    flags = write(rules, **fields)
    done = command(kubeconfig, "run", "-", *flags, script=refused)
    assert done.returncode == 1 and "policy.mistaken_rule" in done.stderr
    assert words in done.stderr
    done = command(kubeconfig, "run", "-", *flags, script=allowed)
    assert done.stdout.startswith("true") and words in done.stderr
    report = command(kubeconfig, "doctor", *flags)
    assert report.returncode == 1 and words in report.stdout
    (cluster,) = json.loads(command(kubeconfig, "doctor", "--json", *flags).stdout)["contexts"]
    assert [(each["wrong"], each["told"]) for each in cluster["rules"]] == [(True, True)]


@pytest.mark.parametrize(
    ("fields", "words", "code"),
    [
        ({"group": "nowhere.example", "kind": "Thing"}, "does not serve yet", 0),
        ({"group": "cert-manger.io", "kind": "Certificate"}, "did you mean cert-manager.io?", 1),
        ({"kind": "Certificat"}, "did you mean Certificate?", 1),
    ],
)
def test_a_group_that_is_not_there_is_told(
    fields: dict[str, str], words: str, code: int, kubeconfig: Path, rules: Path
) -> None:
    """It may come later, so nothing is denied; `doctor` tells, and calls a mistake what is all but equal to a group or has
    no group to wait for."""
    flags = write(rules, **fields)
    assert command(kubeconfig, "run", "-", *flags, script=CERTIFICATES).returncode == 0
    report = command(kubeconfig, "doctor", *flags)
    assert (report.returncode, words in report.stdout) == (code, True)


IMPOSSIBLE = [
    {"group": "cert-manager.io/v1", "kind": "Certificate"},
    {"group": "*.cert-manager.io"},
    {"kind": "certificates.cert-manager.io"},
    {"kind": "cert-manager.io/Certificate"},
    {"resource": "pods/*"},
]


@pytest.mark.parametrize("fields", IMPOSSIBLE, ids=str)
def test_a_name_that_no_cluster_can_have_stops_the_start(fields: dict[str, str], tmp_path: Path, rules: Path) -> None:
    """No cluster is needed to know that."""
    done = command(tmp_path / "none", "--toolsets", "code", *write(rules, **fields))
    assert done.returncode == 1 and "`denied_resources`" in done.stderr and "expected" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def later(scratch: ControlPlane) -> Iterator[Callable[[str], object]]:
    """Makes the definition of `parcels` in a group of the test's own; it is gone after the test."""
    with official_client.connect(scratch.kubeconfig) as api:
        definitions = kubernetes.client.ApiextensionsV1Api(api)
        made: list[str] = []

        def define(group: str) -> None:
            definitions.create_custom_resource_definition(definition(group))
            made.append(group)

        yield define
        for group in made:
            definitions.delete_custom_resource_definition(f"parcels.{group}")


def definition(group: str) -> Any:
    """A definition of the kind Parcel."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"parcels.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Parcel", "plural": "parcels", "listKind": "ParcelList", "singular": "parcel"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.mark.promise("P-12")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("rule", ["a kind of a group", "a kind of any group"])
def test_a_kind_that_is_installed_later_is_denied_when_it_comes(
    rule: str, scratch: ControlPlane, rules: Path, later: Callable[[str], object]
) -> None:
    """In the server that was there before, without a restart."""
    group = f"later-{secrets.token_hex(3)}.example"  # a definition that is deleted stays for a while
    fields = {"kind": "Parcel"} if "any" in rule else {"group": group, "kind": "Parcel"}
    flags = ("--kubeconfig", str(scratch.kubeconfig), *write(rules, **fields))
    script = f"[len(k8s.get('parcels.{group}')), 'RE' + 'AD']"

    async def scenario() -> None:
        async with clients.connect("memory", flags) as client:
            assert "READ" not in clients.text(await clients.evaluate(client, script))
            later(group)
            deadline = time.monotonic() + 60
            answer = ""
            while "policy.denied_resource" not in answer and time.monotonic() < deadline:
                answer = clients.text(await clients.evaluate(client, script))
                assert "READ" not in answer
                await anyio.sleep(0.2)
            assert "policy.denied_resource" in answer
            assert clients.text(await clients.evaluate(client, NAMESPACES)) == "true"

    anyio.run(scenario)


def test_each_of_several_contexts_has_its_own_findings(kubeconfig: Path, rules: Path) -> None:
    """A slip in one context's rules denies nothing in the other, and `doctor` says whose it is."""
    name = yaml.safe_load(kubeconfig.read_text())["current-context"]
    rules.write_text(
        f"[contexts.good]\ncontext = {json.dumps(name)}\n"
        f"[contexts.bad]\ncontext = {json.dumps(name)}\n"
        "denied_resources = [{group = 'cert-manager.io', kind = 'Certificat'}]\n"
    )
    done = command(kubeconfig, "run", "-", "--config", str(rules), script=CERTIFICATES)
    assert done.returncode == 0, done.stderr
    script = "len(k8s.context('bad').get('certificates.cert-manager.io'))"
    done = command(kubeconfig, "run", "-", "--config", str(rules), script=script)
    assert done.returncode == 1 and "policy.mistaken_rule" in done.stderr
    report = json.loads(command(kubeconfig, "doctor", "--json", "--config", str(rules)).stdout)
    assert {each["name"]: [one["wrong"] for one in each["rules"]] for each in report["contexts"]} == {
        "good": [],
        "bad": [True],
    }


def test_a_snapshot_tells_as_the_cluster_did(kubeconfig: Path, rules: Path, tmp_path: Path) -> None:
    """A whole capture has the cluster's discovery; one of loose files cannot tell what else the group had, so a rule for
    what it lacks is no slip."""
    saved = tmp_path / "saved"
    assert command(kubeconfig, "snapshot", str(saved)).returncode == 0
    flags = write(rules, group="cert-manager.io", kind="Certificat")
    done = command(kubeconfig, "run", "-", "--snapshot", str(saved), *flags, script=CERTIFICATES)
    assert done.returncode == 1 and "policy.mistaken_rule" in done.stderr
    assert command(kubeconfig, "doctor", "--snapshot", str(saved), *flags).returncode == 1
    loose = tmp_path / "loose.json"
    thing = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "a", "namespace": "b"}}
    loose.write_text(json.dumps(thing))
    flags = write(rules, group="cert-manager.io", kind="Issuer")
    done = command(kubeconfig, "run", "-", "--snapshot", str(loose), *flags, script=CERTIFICATES)
    assert (done.returncode, done.stdout.partition("\n")[0]) == (0, "1"), done.stderr


def test_what_a_slip_denies_is_not_captured(kubeconfig: Path, rules: Path, tmp_path: Path) -> None:
    """`snapshot` writes nothing of the group, and says why."""
    flags = write(rules, group="cert-manager.io", kind="Certificat")
    done = command(kubeconfig, "snapshot", str(tmp_path / "saved"), *flags)
    assert "not saved: certificates.cert-manager.io" in done.stdout and "matches nothing" in done.stdout
    assert not list(tmp_path.glob("saved/resources/cert-manager.io/*/*"))


def test_a_dead_cluster_keeps_no_server_from_starting(rules: Path, tmp_path: Path) -> None:
    """Whether its rules name anything cannot be told, and that is told; no rule counts as mistaken."""
    dead = tmp_path / "dead.yaml"
    dead.write_text(json.dumps({
        "current-context": "dead",
        "contexts": [{"name": "dead", "context": {"cluster": "dead", "user": "u"}}],
        "clusters": [{"name": "dead", "cluster": {"server": f"http://127.0.0.1:{clients.free_port()}"}}],
        "users": [{"name": "u", "user": {}}],
    }))  # fmt: skip
    flags = write(rules, group="cert-manager.io", kind="Certificat")
    assert command(dead, "run", "-", *flags, script="1 + 1").stdout == "2\n"
    done = command(dead, "run", "-", *flags, script=CERTIFICATES)
    assert done.returncode == 1 and "cluster.unreachable" in done.stderr
    report = command(dead, "doctor", *flags)
    assert "cannot be checked" in report.stdout and "→ rule" in report.stdout
    (cluster,) = json.loads(command(dead, "doctor", "--json", *flags).stdout)["contexts"]
    assert [(each["wrong"], each["told"]) for each in cluster["rules"]] == [(False, False)]


@contextlib.contextmanager
def forwarding(port: int, target: int) -> Iterator[None]:
    """Meanwhile this port leads to that one."""

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads, block_on_close = True, True, False

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", target)) as far:
                threading.Thread(target=copy, args=(far, self.request), daemon=True).start()
                copy(self.request, far)

    def copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65_536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    with Server(("127.0.0.1", port), Connection) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield
        server.shutdown()


def test_a_cluster_that_comes_back_is_asked_again(kubeconfig: Path, rules: Path, tmp_path: Path) -> None:
    """A slip is found by the first call that reaches the cluster, however many did not."""
    settings, port = yaml.safe_load(kubeconfig.read_text()), clients.free_port()
    reached = settings["clusters"][0]["cluster"]
    target = urllib.parse.urlsplit(reached["server"]).port
    assert target is not None
    reached["server"] = f"https://127.0.0.1:{port}"
    (tmp_path / "kubeconfig").write_text(json.dumps(settings))
    flags = ("--kubeconfig", str(tmp_path / "kubeconfig"), *write(rules, group="apps", kind="Deploymnt"))

    async def scenario() -> None:
        async with clients.connect("memory", flags) as client:
            answer = clients.text(await clients.evaluate(client, DEPLOYMENTS, timeout=5_000))
            assert "true" not in answer
            with forwarding(port, target):
                answer = clients.text(await clients.evaluate(client, DEPLOYMENTS))
                assert "policy.mistaken_rule" in answer
                assert clients.text(await clients.evaluate(client, PODS)) == "true"

    anyio.run(scenario)
