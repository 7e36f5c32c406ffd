"""docs/deploy.md says what is so: its settings load, its manifests fit them, its first ten minutes work. Settings on the
pages about other tasks load as well, and those that they name exist."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

import kubescript
from kubescript import config
from kubescript_safety.controlplane import build
from tests.kit import chart, clients, commands, http_server, paths, trails
from tests.kit.controlplane.server import ControlPlane

PAGES = {page.stem: page.read_text("utf-8") for page in sorted((paths.ROOT / "docs").glob("*.md"))}
SETTINGS = [text for page in PAGES.values() for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
PAGE = PAGES["deploy"]
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
MANIFESTS: list[dict[str, Any]] = [
    each for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) for each in yaml.safe_load_all(text)
]
NAMED = re.compile(r"`((?:auth|http|tls|impersonation|plans|limits|sandbox|audit)\.[a-z_]+)`")


def loaded(text: str, folder: Path) -> config.Settings:
    """A file of the page, as a server reads it."""
    file = folder / "server.toml"
    file.write_text(text)
    return config.load({}, file)


@pytest.mark.parametrize("text", SETTINGS, ids=lambda text: text.partition("\n")[0])
def test_every_file_of_settings_loads(text: str, tmp_path: Path) -> None:
    loaded(text, tmp_path)


def test_the_settings_that_are_named_exist() -> None:
    """Those in the prose, as `table.key`."""
    named = {name for task in ("deploy", "connect", "configure", "write") for name in NAMED.findall(PAGES[task])}
    assert {"http.url", "auth.issuer", "impersonation.groups"} <= named
    for table, key in (name.split(".") for name in named):
        assert key in type(getattr(config.Settings(), table)).model_fields, f"{table}.{key}"


def blocks(title: str) -> list[str]:
    """The commands of one section of the page."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```console\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def administrator(
    scratch: ControlPlane, kubectl_program: Path, tmp_path: Path, run_folder: Path
) -> Iterator[Callable[[str], subprocess.CompletedProcess[str]]]:
    """Runs commands in a shell of the cluster's administrator, whose home is empty; what they have made is gone
    afterwards."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl_program)
    (tmp_path / "examples").symlink_to(paths.ROOT / "examples")
    own = {"HOME": str(tmp_path), "KUBECONFIG": str(scratch.kubeconfig), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}

    def run(commands: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    # The page names the namespace, and all processes of a run share the API server.
    with build.lock(run_folder / "kubescript-namespace.lock"):
        # The API server of the tests runs without the controller that fills this role from the other one.
        run(
            "kubectl get clusterrole system:aggregate-to-view --output json"
            " | sed 's/system:aggregate-to-view/view/; /aggregate-to-edit/d; /resourceVersion/d; /uid/d'"
            " | kubectl replace --filename -"
        )
        yield run
        # Nor is there one that empties a namespace.
        kinds = "serviceaccount,configmap,secret,deployment,service,networkpolicy,poddisruptionbudget,ingress"
        run(f"kubectl delete {kinds} --all --namespace kubescript")
        run("kubectl delete clusterrolebinding kubescript kubescript:kubescript:view --ignore-not-found")
        gone = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubescript"}}
        (tmp_path / "gone.json").write_text(json.dumps(gone))
        run("kubectl delete namespace kubescript --ignore-not-found --wait=false")
        run(
            "! kubectl get namespace kubescript"
            " || kubectl replace --raw /api/v1/namespaces/kubescript/finalize -f gone.json"
        )


def test_the_first_ten_minutes_work(
    administrator: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From nothing, in the page's own words: an account with a kubeconfig of its own, a token, a server that `doctor`
    finds whole, and an answer of the cluster; every endpoint is on the page."""
    account, kubeconfig, tokens, _, asked, *_ = blocks("Ten minutes")
    token = administrator(account + kubeconfig + tokens).stdout.splitlines()[-1]
    folder = tmp_path / ".config" / "kubescript"
    assert token not in (folder / "tokens.csv").read_text()
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.iterdir())
    (folder / "server.toml").write_text(FILES[0])
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": clients.CACHE}
    flags = ("--config", "~/.config/kubescript/server.toml")
    found = commands.run("doctor", *flags, environment={**commands.BARE, **home})
    assert found.returncode == 0, found.stdout
    assert "user:   system:serviceaccount:kubescript:kubescript" in found.stdout and "CLEAR TEXT" in found.stdout
    with http_server.serving(flags, **home) as port:
        assert [each.getMessage()[:11] for each in caplog.records].count("CLEAR TEXT:") == 1
        here = f'curl() {{ command curl --silent --connect-to ::127.0.0.1:{port} "$@"; }}; token={token}\n'
        healthy, answer = administrator(here + asked.replace("/health\n", "/health; echo\n")).stdout.splitlines()
        assert json.loads(healthy) == {"status": "healthy"}
        assert int(json.loads(answer)["result"]["content"][0]["text"]) >= 4
        bearer = {"authorization": f"Bearer {token}", "host": "tools.example.com:8080"}
        assert httpx2.get(f"http://127.0.0.1:{port}/info", timeout=60).status_code == 401
        said = httpx2.get(f"http://127.0.0.1:{port}/info", headers=bearer, timeout=60).json()
        stranger = httpx2.get(
            f"http://127.0.0.1:{port}/info", headers=bearer | {"host": "elsewhere.example.com"}, timeout=60
        )
        assert stranger.status_code == 421
        assert all(f"`{path}`" in PAGE for path in said["endpoints"].values())


def test_the_example_is_set_up_by_the_pages_commands(
    administrator: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """What the commands make is what the pod mounts and the server reads; the image has this version's tag."""
    applied = next(block for block in blocks("In Kubernetes") if block.startswith("kubectl apply"))
    administrator(f"touch tokens.csv\n{applied}")
    got = administrator("kubectl get --namespace kubescript deployment,configmap,secret --output json").stdout
    made = {each["kind"]: each for each in json.loads(got)["items"] if each["metadata"]["name"] == "kubescript"}
    check_mounts(made, tmp_path)
    assert list(made["Secret"]["data"]) == ["tokens.csv"]


def check_mounts(made: chart.Objects, folder: Path) -> config.Settings:
    """Fails unless the pod has the files that its server is told to read; returns the server's settings."""
    pod = made["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert container["image"].endswith(f":{kubescript.__version__}")
    assert pod["volumes"][1]["secret"]["secretName"] == "kubescript"
    settings = chart.settings(made, folder)
    assert container["args"] == [f"--config={mounts['config']}/server.yaml"]
    assert [port["containerPort"] for port in container["ports"]] == [settings.port]
    assert str(settings.auth.tokens_file) == f"{mounts['secret']}/tokens.csv"
    return settings


def test_the_chart_makes_the_page_s_role(tmp_path: Path) -> None:
    """What a server that impersonates may do is the same with Helm and without."""
    given = "config.acts_as=impersonate,config.impersonation.group_prefix=team:"
    made = chart.render(tmp_path, "--set", f"{given},config.impersonation.groups={{platform,payments}}")
    (role,) = [each for each in MANIFESTS if each.get("kind") == "ClusterRole"]
    assert chart.by_kind(made)["ClusterRole"]["rules"] == role["rules"]


def test_a_table_without_a_context_of_the_server_refuses_its_callers_in_words(tmp_path: Path) -> None:
    """In JSON-RPC's code for a request that is refused. Others are answered."""
    digests = {name: hashlib.sha256(f"token-of-{name}-0123456789".encode()).hexdigest() for name in ("ann", "bob")}
    tokens = "\n".join(f'{name} = "sha256:{digest}"' for name, digest in digests.items())
    (tmp_path / "server.toml").write_text(
        f'[[access]]\nusers = ["ann"]\ncontexts = ["prd"]\n[[access]]\nusers = ["bob"]\n[auth.tokens]\n{tokens}\n'
    )
    flags = (
        "--toolsets",
        "code",
        "--config",
        str(tmp_path / "server.toml"),
        "--snapshot",
        str(trails.snapshot(tmp_path)),
    )
    script = {"name": "evaluate_script", "arguments": {"script": trails.COUNT}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": script}
    with http_server.serving(flags) as port:
        answers = [
            httpx2.post(
                f"http://127.0.0.1:{port}/mcp",
                headers={"accept": "application/json", "authorization": f"Bearer token-of-{name}-0123456789"},
                json=call,
                timeout=60,
            )
            for name in ("ann", "bob")
        ]
    refused, answered = answers
    said = "the [[access]] table for user ann names no context of this server (prd); its operator has to set `contexts`"
    assert (refused.status_code, refused.json()["error"]) == (403, {"code": -32600, "message": said})
    assert answered.json()["result"]["content"][0]["text"] == "1"


def test_the_flags_that_are_named_are_there() -> None:
    told = trails.run("--help").stdout
    for flag in ("--insecure-no-auth", "--tokens-file", "--host", "--port", "--config"):
        assert flag in told and flag in PAGE
