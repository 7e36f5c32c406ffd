"""The configuration file of rhos-mcps is read as it is: what means the same is set, and no check is loosened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import httpx2
import pytest

from kubescript import config, errors
from kubescript.cli import demo
from tests.kit import clients, echoing

TOKEN: Final = "0123456789abcdef-of-everybody"
WHOLE: Final = f"""\
ip: 0.0.0.0
port: 8901
debug: true
workers: 2
processes_pool_size: 4
log_format: "%(asctime)s.%(msecs)03d %(process)d \\x1b[32m%(levelname)s:\\x1b[0m %(message)s"
unicorn_log_format: "%(message)s"
openstack:
  enabled: true
  allow_write: true
  ca_cert: ./tls-ca-bundle.pem
  insecure: false
  auth_urls: ["https://keystone.example.com/v3/"]
openshift:
  enabled: false
  insecure: true
  allowed_commands: [get, "adm top"]
  blocked_commands: [config]
mcp_transport_security:
  token: {TOKEN}
  enable_dns_rebinding_protection: false
  allowed_hosts: ["*:*", "mcp.example.svc:8901", "10.0.0.7:*"]
  allowed_origins: ["http://*:*", "https://console.example.com"]
"""


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variables of whoever runs the tests, and an empty folder."""
    for name in os.environ:
        if name.startswith("KUBESCRIPT_") or name in {"RHOS_MCPS_CONFIG", "MCP_SECURITY_TOKEN"}:
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def named(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, **flags: object) -> config.Settings:
    """The settings with this file in the variable."""
    file = folder / "rhos.conf"  # the format does not depend on the name
    file.write_text(text)
    monkeypatch.setenv("RHOS_MCPS_CONFIG", str(file))
    return config.load(flags, None)


def test_every_key_counts_or_the_log_says_why_it_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = named(monkeypatch, tmp_path, WHOLE)
    assert (settings.transport, settings.host, settings.port, settings.log_level) == ("http", "0.0.0.0", 8901, "debug")
    assert (settings.toolsets, settings.processes_pool_size) == (("openstack",), 4)
    assert (settings.openstack.allow_write, settings.openstack.ca_cert) == (True, Path("tls-ca-bundle.pem"))
    assert settings.openstack.auth_urls == ("https://keystone.example.com/v3",)
    assert (settings.openshift.insecure, settings.openshift.allowed_commands) == (True, ("get", "adm top"))
    assert settings.openshift.blocked_commands == ("config",)
    assert (settings.http.hosts, settings.http.origins) == (
        ("mcp.example.svc:8901", "10.0.0.7"), ("https://console.example.com",),
    )  # fmt: skip
    assert settings.knows_callers and TOKEN not in settings.model_dump_json() + repr(settings)
    # Servers of earlier tests may still log in threads of theirs.
    own = [record for record in caplog.records if record.name == "kubescript.config.rhos"]
    ignored = [record.getMessage().split()[0].rstrip(":") for record in own]
    assert ignored == [
        "workers", "log_format", "unicorn_log_format", "enable_dns_rebinding_protection", "allowed_hosts",
        "allowed_origins",
    ]  # fmt: skip


def test_an_empty_file_means_both_toolsets_over_http(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On loopback, where nobody has to say who he is."""
    settings = named(monkeypatch, tmp_path, "")
    assert (settings.transport, settings.toolsets) == ("http", ("openstack", "openshift"))
    assert (settings.host, settings.knows_callers, settings.openstack.allow_write) == ("127.0.0.1", False, False)


def test_flags_and_variables_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBESCRIPT_PROCESSES_POOL_SIZE", "7")
    settings = named(monkeypatch, tmp_path, WHOLE, transport="stdio", toolsets="code,openshift")
    assert (settings.transport, settings.toolsets, settings.processes_pool_size) == ("stdio", ("code", "openshift"), 7)


def test_the_token_may_come_from_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which alone does nothing."""
    monkeypatch.setenv("MCP_SECURITY_TOKEN", TOKEN)
    assert not config.load({"transport": "http"}, None).knows_callers
    assert named(monkeypatch, tmp_path, "port: 1").auth == named(monkeypatch, tmp_path, WHOLE).auth


WRONG: Final = {
    "unknown": ("workerz: 1", "unknown setting `workerz`.*did you mean `workers`"),
    "unknown in a table": (
        "openstack: {allow_writes: true}",
        "unknown setting `openstack.allow_writes`.*`allow_write`",
    ),
    "unknown in security": ("mcp_transport_security: {tokens: a}", "unknown setting `mcp_transport_security.tokens`"),
    "a setting of ours": ("toolsets: [code]", "unknown setting `toolsets`"),
    "a short token": (f"mcp_transport_security: {{token: {TOKEN[:15]}}}", "at least 16 characters"),
    "no table": ("openstack: 3", "`openstack`: expected a table"),
    "no flag": ("openshift: {enabled: maybe}", "`openshift.enabled`: expected true or false"),
    "no list": ("mcp_transport_security: {allowed_hosts: '*:*'}", "expected a list"),
    "no YAML": ("a: b: c", "mapping values are not allowed"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_an_error_without_its_token(case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text, said = WRONG[case]
    with pytest.raises(errors.ConfigError, match=said) as caught:
        named(monkeypatch, tmp_path, text)
    assert TOKEN[:15] not in caught.value.explained


def test_the_file_is_known_by_its_keys_where_config_names_it(tmp_path: Path) -> None:
    """A file of ours stays one of ours."""
    file = tmp_path / "config.yaml"
    file.write_text(WHOLE)
    assert config.load({}, file).toolsets == ("openstack",)
    file.write_text("toolsets: [code]\nopenstack: {allow_write: true}\n")
    assert (config.load({}, file).toolsets, config.load({}, file).transport) == (("code",), "stdio")


def test_two_variables_that_name_a_file_contradict_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A flag wins over both."""
    file = tmp_path / "ours.toml"
    file.write_text("port = 1\n")
    monkeypatch.setenv("KUBESCRIPT_CONFIG", str(file))
    with pytest.raises(errors.ConfigError, match="both name"):
        named(monkeypatch, tmp_path, WHOLE)
    assert config.load({}, file).port == 1


NOT_ASKED: Final[tuple[dict[str, object], ...]] = (
    {},
    {"toolsets": "openstack"},
    {"toolsets": "openstack", "transport": "stdio"},
    {"toolsets": "code", "transport": "http"},
)
ASKED: Final[tuple[dict[str, object], ...]] = (
    {"toolsets": "openstack", "port": 0},
    {"toolsets": "code,openshift", "transport": "http"},
)


def test_a_file_in_the_folder_counts_only_for_what_it_is_made_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Over http with one of the two toolsets. Attack: a repository with such a file, in which a client starts us."""
    (tmp_path / "config.yaml").write_text(WHOLE)
    for flags in NOT_ASKED:
        assert not config.load(flags, None).openstack.allow_write, flags
    assert not caplog.records
    for flags in ASKED:
        assert config.load(flags, None).openstack.allow_write, flags
    assert f"the settings of {tmp_path}/config.yaml count" in caplog.text
    monkeypatch.setenv("KUBESCRIPT_TOOLSETS", "openshift")
    assert config.load({"host": "127.0.0.1"}, None).openstack.allow_write


@pytest.mark.parametrize("text", ["debug: true\n", "a: b: c\n", "- 1\n", "openstack: {allow_write: true}\n"])
def test_a_file_in_the_folder_that_belongs_to_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    settings = config.load({"toolsets": "openstack", "transport": "http"}, None)
    assert (settings.log_level, settings.openstack.allow_write) == ("info", False)


def test_a_server_with_the_file_takes_its_token_and_its_hosts(tmp_path: Path) -> None:
    """And no other token, no other host."""
    file = tmp_path / "theirs.yaml"
    file.write_text(WHOLE.replace("ca_cert: ./tls-ca-bundle.pem", "ca_cert:"))
    flags = ("--snapshot", str(demo.SNAPSHOT), "--host", "127.0.0.1")
    environment = {"RHOS_MCPS_CONFIG": str(file)}
    with clients.running(flags, program=echoing.COMMAND, **environment) as (port, _):

        def answered(token: str, host: str) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {token}", "Host": host, "OS_TOKEN": "t", "Accept": "application/json"}
            url = f"http://127.0.0.1:{port}/openstack/"
            return httpx2.post(url, headers=headers, json=echoing.CALL, timeout=60)

        good = answered(TOKEN, "mcp.example.svc:8901")
        assert json.loads(good.json()["result"]["content"][0]["text"]) == {"os_token": "t"}
        assert answered(TOKEN, f"10.0.0.7:{port}").status_code == 200
        assert answered(TOKEN + "x", "10.0.0.7").status_code == 401
        assert answered(TOKEN, "elsewhere.example.com").status_code == 421
