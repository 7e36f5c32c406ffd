"""What an operator and a caller are told where command lines cannot run, or no service answers."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from tests.kit import clients, commands, kubectl

pytestmark = pytest.mark.usefixtures("kubectl_program")

NOBODY = "http://127.0.0.1:9"


def doctor(**settings: str) -> tuple[int, dict[str, str]]:
    """Its exit code, and what it says of each toolset."""
    variables = {f"KUBESCRIPT_{name}": value for name, value in settings.items()}
    flags = ("--offline", "--json", "--toolsets", "openstack,openshift")
    done = commands.run("doctor", *flags, environment=variables)
    said = {row["toolset"]: f"{row['ok']}: {row['detail']}" for row in json.loads(done.stdout)["commands"]}
    return done.returncode, said


def test_doctor_runs_both_programs_confined_and_says_whose_credentials_count() -> None:
    """It names each one's version; one that cannot run is a fault, with what to do."""
    named = {"OPENSHIFT__BINARY": str(kubectl.program()), "OPENSTACK__AUTH_URLS": f'["{NOBODY}/v3"]'}
    code, said = doctor(**named)
    assert "Client Version" in said["openshift"] and "the kubeconfig" in said["openshift"]
    assert "openstack 1" in said["openstack"] and f"of each request, for {NOBODY}/v3" in said["openstack"]
    assert {text[:4] for text in said.values()} == {"True"} and code == 0
    assert "oc is not installed" not in said["openshift"]  # a setting names this kubectl

    code, said = doctor(OPENSHIFT__BINARY="/nowhere/oc", OPENSTACK__CLOUDS_FILE="/nowhere/clouds.yaml")
    assert "/nowhere/oc cannot be executed; install oc" in said["openshift"]
    assert "/nowhere/clouds.yaml cannot be read" in said["openstack"]
    assert {text[:5] for text in said.values()} == {"False"} and code == 1


def test_an_api_server_that_cannot_be_reached_is_named_under_the_answer(tmp_path: Path) -> None:
    """`oc` says only that the server cannot handle the request. The next command line is answered."""
    cluster = {"name": "dead", "cluster": {"server": NOBODY}}
    context = {"name": "dead", "context": {"cluster": "dead", "user": ""}}
    kubeconfig = {"clusters": [cluster], "contexts": [context], "current-context": "dead"}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **kubeconfig}))
    variables = {"KUBESCRIPT_OPENSHIFT__BINARY": str(kubectl.program())}
    flags = ("--toolsets", "openshift", "--kubeconfig", str(file))

    async def ask() -> None:
        async with clients.connect("memory", flags, environment=variables) as client:
            told = await client.call_tool("openshift-cli", {"command_str": "get pods"})
            assert told.is_error and "cluster.unreachable: the API server at 127.0.0.1:9" in clients.whole(told)
            told = await client.call_tool("openshift-cli", {"command_str": "version --client"})
            assert not told.is_error and "cluster.unreachable" not in clients.whole(told)

    anyio.run(ask)
