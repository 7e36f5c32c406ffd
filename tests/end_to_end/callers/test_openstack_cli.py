"""The tool `openstack-cli` as clients have it: over stdio with the operator's clouds.yaml, and over http with the
credentials of each request, on a real Keystone, Glance and Placement."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from kubescript.commands import confined_process
from tests.kit import http_server, patience
from tests.kit.openstack.services import Services

TOKENS: Final = {"alice": "a" * 32, "bob": "b" * 32}
PATIENT: Final = "[limits]\ndefault_timeout_ms = 300000\n"
Ask = Callable[..., tuple[str, bool]]
"""Sends a command line with the headers of a request; gives the answer's text and whether it is an error."""


@contextlib.contextmanager
def serving(folder: Path, settings: str) -> Iterator[Ask]:
    """A server with the toolset and these settings."""
    file = folder / "server.toml"
    file.write_text(f'toolsets = ["openstack"]\n{settings}')
    with pytest.MonkeyPatch.context() as patched:
        # The first process waits until openstackclient is loaded, which takes seconds of a processor that others use too.
        patched.setattr(confined_process, "_START_S", 240.0)
        with http_server.serving(("--config", str(file)), HOME=str(folder)) as port:
            yield asking(port)


def asking(port: int) -> Ask:
    def ask(line: str, headers: Mapping[str, str] | None = None) -> tuple[str, bool]:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "openstack-cli", "arguments": {"command_str": line}},
        }
        told = {"Accept": "application/json", **(headers or {})}
        url = f"http://127.0.0.1:{port}/openstack/"
        answer: Any = httpx2.post(url, headers=told, json=message, timeout=300).json()
        result = answer["result"]
        text: str = result["content"][0]["text"]
        return re.sub(r"\A\[untrusted \d+\]\n|\n\[end \d+\]\Z", "", text), result.get("isError", False)

    return ask


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("openstack")


@pytest.fixture(scope="module")
def operated(openstack: Services, folder: Path) -> Iterator[Ask]:
    """A server with the operator's credentials, which asks no caller for any."""
    (folder / "clouds.yaml").write_text(openstack.clouds("admin"))
    settings = (
        f'processes_pool_size = 2\n[openstack]\nclouds_file = "{folder}/clouds.yaml"\n'
        f'[audit]\nfile = "{folder}/audit.jsonl"\n{PATIENT}'
    )
    with serving(folder, settings) as ask:
        yield ask


@pytest.fixture(scope="module")
def by_header(openstack: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """A server without credentials of its own."""
    settings = f'[openstack]\nauth_urls = ["{openstack.auth_url}"]\n{PATIENT}'
    with serving(tmp_path_factory.mktemp("by_header"), settings) as ask:
        yield ask


def names(text: str) -> set[str]:
    return {row["Name"] for row in json.loads(text)}


def children(pid: int) -> list[int]:
    """Those of all threads."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def commands() -> list[int]:
    """The processes of command lines that there are now."""
    found = []
    for launcher in children(os.getpid()):
        with contextlib.suppress(OSError):
            if b"kubescript.launcher.start" in Path(f"/proc/{launcher}/cmdline").read_bytes():
                found += children(launcher)
    return found


# --- the operator's credentials ---


def test_a_server_of_openstack_alone_needs_no_kubeconfig_and_answers(operated: Ask) -> None:
    text, is_error = operated("openstack project list -f json")
    assert not is_error, text
    assert {"admin", "shop", "laboratory"} <= names(text)
    assert names(operated("image list -f json")[0]) >= {"cirros", "debian"}
    assert "compute-1" in operated("resource provider list -f value -c name")[0]


def test_a_failure_is_an_error_in_the_client_s_words_and_the_next_call_works(operated: Ask) -> None:
    assert operated("project show nowhere") == (
        "error command.failed: No Project found for nowhere",
        True,
    )
    for line, said in {
        "project create x": "is refused: it is a write",
        "token issue": "is refused: it gives",
        "project list --os-password x": "--os-password",
        "": "there is no command",
        "project list | grep x": "no shell",
        "foo bar": "is not an openstack command",
    }.items():
        text, is_error = operated(line)
        assert is_error, line
        assert said in text, text
        assert "Traceback" not in text
    assert not operated("project list")[1]


def test_the_cloud_is_asked_for_its_microversions_once(operated: Ask, openstack: Services) -> None:
    operated("project list")
    before = openstack.log("placement").count("GET")
    for _ in range(3):
        operated("project list")
    assert openstack.log("placement").count("GET") == before, "Placement has nothing to do with projects"
    # Resource classes came with 1.2: without a microversion the client says so.
    assert "VCPU" in operated("resource class list")[0]
    assert operated("--os-placement-api-version 1.1 resource class list")[1], "the caller's own choice counts"


def test_a_secret_in_an_answer_is_masked(operated: Ask, openstack: Services) -> None:
    token = openstack.token("admin")
    planted = "AKIAIOSFODNN7EXAMPLF"
    project = {"name": "told", "description": f"aws_access_key_id={planted}", "domain_id": "default"}
    made = openstack.ask("keystone", "POST", "/v3/projects", token, {"project": project}).body["project"]["id"]
    try:
        text, _ = operated("project show told")
    finally:
        openstack.ask("keystone", "DELETE", f"/v3/projects/{made}", token)
    assert planted not in text
    assert "redacted" in text


def test_no_more_processes_than_places(operated: Ask) -> None:
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not stop.wait(0.002):
            most = max(most, len(commands()))

    watching = threading.Thread(target=watch)
    watching.start()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(operated, ["project list -f json"] * 8))
    stop.set()
    watching.join()
    assert all(not is_error and "shop" in text for text, is_error in answers)
    assert 1 <= most <= 2


def test_each_command_line_is_on_record(operated: Ask, folder: Path) -> None:
    operated("region list")
    operated("token issue")
    records = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    scripts = [record for record in records if record["type"] == "script"]
    assert {record["tool"] for record in scripts} == {"openstack-cli"}
    assert [record["code"] for record in scripts[-2:]] == ["ok", "policy.command"]


def test_the_operator_s_credentials_never_go_with_a_request_s(operated: Ask, openstack: Services) -> None:
    for headers in ({"OS_TOKEN": "x", "OS_URL": openstack.auth_url}, {"OS-PROJECT-NAME": "shop"}):
        text, is_error = operated("project list", headers)
        assert is_error
        assert text.startswith("error auth.access: this server has credentials of its own")
    assert not operated("project list")[1]


# --- the credentials of each request ---


def test_each_request_acts_with_its_own_token(by_header: Ask, openstack: Services) -> None:
    """Many at once, of two people."""
    url = {"OS_URL": f"{openstack.auth_url}/"}
    everything = {**url, "OS_TOKEN": openstack.token("admin"), "OS_PROJECT_NAME": "admin"}
    little = {**url, "OS-TOKEN": openstack.token("reader"), "OS_PROJECT_NAME": "shop"}
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(by_header, "project list -f json", headers) for headers in [everything, little] * 4]
        found = [names(one.result()[0]) for one in asked]
    assert all({"admin", "shop", "laboratory"} <= projects for projects in found[::2])
    assert all(projects == {"shop"} for projects in found[1::2])


def test_a_request_without_good_credentials_is_refused(by_header: Ask, openstack: Services) -> None:
    token, url = openstack.token("reader"), openstack.auth_url
    elsewhere: dict[str, Mapping[str, str]] = {
        "error auth.token: the headers OS_TOKEN and OS_URL are missing": {},
        "error auth.token: the headers OS_TOKEN": {"OS_TOKEN": token},
        "error auth.access: OS_URL is none": {"OS_TOKEN": token, "OS_URL": "http://169.254.169.254/v3"},
        "error auth.access: OS_URL": {"OS_TOKEN": token, "OS_URL": f"{url}@elsewhere.example"},
        "error command.failed": {"OS_TOKEN": "nobody-s", "OS_URL": url},
    }
    for said, headers in elsewhere.items():
        text, is_error = by_header("project list", headers)
        assert is_error
        assert text.startswith(said)
        assert token not in text
    assert not by_header("project list", {"OS_TOKEN": token, "OS_URL": url, "OS_PROJECT_NAME": "shop"})[1]


# --- what goes wrong ---


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """The address of a Keystone that takes requests and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v3"


def clouds_of(auth_url: str) -> str:
    auth = {"auth_url": auth_url, "username": "x", "password": "y", "project_name": "z"}
    return json.dumps(
        {"clouds": {"test": {"auth": {**auth, "user_domain_id": "default", "project_domain_id": "default"}}}}
    )


def test_a_cloud_that_is_silent_costs_its_time_and_one_that_is_gone_an_error(tmp_path: Path) -> None:
    """No process stays, and the surplus is told at once that the server is busy. A file that is missing is said at the
    call."""
    clouds = tmp_path / "clouds.yaml"
    settings = (
        f'processes_pool_size = 1\n[sandbox]\nmax_queue = 1\n[openstack]\nclouds_file = "{clouds}"\n'
        "[limits]\ndefault_timeout_ms = 10000\n"
    )
    with serving(tmp_path, settings) as ask:
        text, is_error = ask("project list")
        assert is_error
        assert f"{clouds} cannot be read" in text
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            with silent() as url:
                clouds.write_text(clouds_of(url))
                asked = [pool.submit(ask, "project list") for _ in range(5)]
                surplus = list(itertools.islice(concurrent.futures.as_completed(asked), 3))
            assert all("error server.busy: 1 of your command lines" in each.result()[0] for each in surplus)
            # The cloud is gone by now.
            others = [each.result()[0] for each in asked if each not in surplus]
            assert all(text.startswith("error command.failed: ") for text in others)
        with silent() as url:
            clouds.write_text(clouds_of(url))
            assert "error limit.time" in ask("project list")[0]
        clouds.write_text(clouds_of("http://127.0.0.1:9/v3"))
        text, is_error = ask("project list")
        assert is_error
        assert text.startswith("error command.failed: ")
        assert "Traceback" not in text
        patience.until(lambda: not commands())
