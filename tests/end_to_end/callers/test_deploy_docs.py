"""docs/deploy.md says what is so: its settings load, its manifests fit them, its first ten minutes work. Settings on the
pages about other tasks load as well, and those that they name exist."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from kubescript import config
from tests.kit import clients, http_server, paths, trails

PAGES = {
    task: (paths.ROOT / "docs" / f"{task}.md").read_text("utf-8")
    for task in ("deploy", "connect", "configure", "write")
}
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


@pytest.mark.parametrize("task", PAGES)
def test_every_file_of_settings_loads(task: str, tmp_path: Path) -> None:
    for text in re.findall(r"```toml\n(.*?)```", PAGES[task], re.DOTALL):
        loaded(text, tmp_path)


def test_the_settings_that_are_named_exist() -> None:
    """Those in the prose, as `table.key`."""
    named = set(NAMED.findall("\n".join(PAGES.values())))
    assert {"http.url", "auth.issuer", "impersonation.groups"} <= named
    for table, key in (name.split(".") for name in named):
        assert key in type(getattr(config.Settings(), table)).model_fields, f"{table}.{key}"


def test_the_deployment_fits_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port, probes, the file of tokens and the variables are what the server with that file takes."""
    deployment, service = (
        next(each for each in MANIFESTS if each["kind"] == kind) for kind in ("Deployment", "Service")
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    for variable in container["env"]:
        if variable["name"].startswith("KUBESCRIPT_"):
            monkeypatch.setenv(
                variable["name"], variable.get("value", "postgresql://a").replace("$(POD_IP)", "10.0.0.7")
            )
    settings = loaded(next(text for text in FILES if text.startswith("# server.toml")), tmp_path)
    assert settings.http.hosts == ("10.0.0.7", f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc")
    assert settings.plans.store == "postgresql://a"
    assert [port["containerPort"] for port in container["ports"]] == [settings.port]
    assert str(settings.auth.tokens_file).startswith(
        tuple(f"{each['mountPath']}/" for each in container["volumeMounts"])
    )
    role = next(each for each in MANIFESTS if each["kind"] == "ClusterRole")
    sent = {settings.impersonation.group_prefix + group for group in settings.impersonation.groups}
    assert set(role["rules"][1]["resourceNames"]) == sent


def test_the_first_ten_minutes_work(tmp_path: Path) -> None:
    """The page's own commands make a token that the page's own server takes; every endpoint is on the page."""
    made, *_ = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": clients.CACHE}
    done = subprocess.run(["bash", "-ec", made], env=os.environ | home, capture_output=True, text=True, check=True)
    token = done.stdout.strip()
    file = tmp_path / ".config" / "kubescript" / "tokens.csv"
    assert token and token not in file.read_text() and file.stat().st_mode & 0o077 == 0
    settings = tmp_path / "server.toml"
    settings.write_text(FILES[0])
    flags = ["--config", str(settings), "--snapshot", str(trails.snapshot(tmp_path))]
    with http_server.serving(flags, **home) as port:
        bearer = {"authorization": f"Bearer {token}", "host": "tools.example.com:8080"}
        assert called(port, bearer)["result"]["content"][0]["text"] == "1"
        assert httpx2.get(f"http://127.0.0.1:{port}/info").status_code == 401
        said = httpx2.get(f"http://127.0.0.1:{port}/info", headers=bearer).json()
        stranger = httpx2.get(f"http://127.0.0.1:{port}/info", headers=bearer | {"host": "elsewhere.example.com"})
        assert stranger.status_code == 421
        assert all(f"`{path}`" in PAGE for path in said["endpoints"].values())


def called(port: int, headers: Mapping[str, str]) -> Any:
    """What a plain POST is answered."""
    params = {"name": "evaluate_script", "arguments": {"script": trails.COUNT}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    plain = {"accept": "application/json", **headers}
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=plain, json=call, timeout=60).json()


def test_the_flags_that_are_named_are_there() -> None:
    told = trails.run("--help").stdout
    for flag in ("--insecure-no-auth", "--tokens-file", "--host", "--port", "--config"):
        assert flag in told and flag in PAGE
