"""/openstack/ and /openshift/ are MCP servers of their own beside /mcp, and each request brings its own credentials."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from kubescript import errors, logs
from kubescript.cli import demo
from kubescript.commands import request_credentials
from tests.kit import clients, echoing, http_server, patience
from tests.kit.echoing import CALL, LIST

TOKENS: Final = {"alice": "a" * 32, "bob": "b" * 32, "eve": "e" * 32}
ISSUER: Final = "https://id.example.com"
SETTINGS: Final = """\
toolsets = ["code", "openstack", "openshift"]
[auth]
tokens_file = "{folder}/tokens.csv"
[http]
requests_per_minute = 100000
[[access]]
users = ["eve"]
toolsets = ["code"]
[[access]]
"""


def flags(folder: Path, settings: str) -> Sequence[str]:
    """Those of a server with these settings, and a token for each caller."""
    (folder / "tokens.csv").write_text("".join(f"{token},{name},{name}\n" for name, token in TOKENS.items()))
    (folder / "tokens.csv").chmod(0o600)
    (folder / "server.toml").write_text(settings.format(folder=folder))
    return "--snapshot", str(demo.SNAPSHOT), "--config", str(folder / "server.toml")


@contextlib.contextmanager
def serving(folder: Path, settings: str) -> Iterator[int]:
    """A server with two echoing toolsets."""
    with echoing.toolsets(), http_server.serving(flags(folder, settings)) as port:
        yield port


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server logs, on the most talkative level."""
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, log: Path) -> Iterator[int]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    logs.configure("debug", file=log)
    try:
        with serving(tmp_path_factory.mktemp("served"), SETTINGS) as port:
            yield port
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])


@contextlib.asynccontextmanager
async def connected(
    port: int, path: str, headers: Mapping[str, str], who: str = "alice", mode: str = "legacy"
) -> AsyncIterator[tuple[Client, httpx2.AsyncClient]]:
    """A client, and what sends its requests: its headers may change within a session."""
    bearer = {"Authorization": f"Bearer {TOKENS[who]}"}
    async with httpx2.AsyncClient(headers={**bearer, **headers}, timeout=60) as http:
        through = streamable_http_client(f"http://127.0.0.1:{port}{path}", http_client=http)
        async with Client(through, mode=mode) as client:
            yield client, http


def posted(
    port: int, path: str, message: Mapping[str, Any], who: str = "alice", more: Sequence[tuple[str, str]] = ()
) -> httpx2.Response:
    """What a plain POST is answered."""
    headers = [("Accept", "application/json"), *more]
    if who:
        headers.append(("Authorization", f"Bearer {TOKENS[who]}"))
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return httpx2.post(f"http://127.0.0.1:{port}{path}", headers=raw, json=message, timeout=60)


def listed(port: int, path: str, who: str = "alice") -> list[str]:
    """The tools there."""
    return [tool["name"] for tool in posted(port, path, LIST, who).json()["result"]["tools"]]


# --- what is where ---


def test_each_endpoint_offers_its_own_tools_only(served: int) -> None:
    """With and without a slash at the end, and without a redirect, which would lose a POST."""
    for path, tools in {
        "/mcp": "evaluate_script",
        "/openstack": "openstack-cli",
        "/openshift": "openshift-cli",
    }.items():
        assert listed(served, path) == [tools]
        if path != "/mcp":
            assert listed(served, f"{path}/") == [tools]
    called = posted(served, "/openshift/", CALL).json()
    assert "Unknown tool" in called["error"]["message"]
    found = httpx2.get(
        f"http://127.0.0.1:{served}/tools", headers={"Authorization": f"Bearer {TOKENS['alice']}"}, timeout=60
    )
    assert [tool["name"] for tool in found.json()["result"]["tools"]] == ["evaluate_script"]


def test_info_names_the_endpoints_that_are_on(served: int) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['alice']}"}
    said = httpx2.get(f"http://127.0.0.1:{served}/info", headers=headers, timeout=60).json()["endpoints"]
    assert (said["mcp"], said["openstack"], said["openshift"]) == ("/mcp", "/openstack/", "/openshift/")


@pytest.mark.parametrize("path", ["/openstack/", "/openshift"])
def test_an_endpoint_has_the_walls_of_mcp(served: int, path: str) -> None:
    """Nobody without a token, no page of another site, no name of another host, no body without end."""
    assert posted(served, path, LIST, who="").status_code == 401
    assert posted(served, path, LIST, more=[("Origin", "https://evil.example")]).status_code == 403
    assert posted(served, path, LIST, more=[("Host", "evil.example")]).status_code == 421
    assert posted(served, path, {**LIST, "params": {"a": "b" * (3 << 20)}}).status_code == 413
    assert len(listed(served, path)) == 1


def test_a_caller_without_the_toolset_is_refused(served: int) -> None:
    """And is told which one; /mcp serves him all the same."""
    refused = posted(served, "/openstack/", LIST, "eve")
    assert (refused.status_code, refused.json()["error"]["message"]) == (403, "you may not use the toolset openstack")
    assert listed(served, "/mcp", "eve") == ["evaluate_script"]


def test_a_session_of_one_endpoint_is_worth_nothing_at_another(served: int) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['alice']}", "Accept": "application/json, text/event-stream"}
    begun = httpx2.post(f"http://127.0.0.1:{served}/mcp", headers=headers, json=clients.INITIALIZE, timeout=60)
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    for path, status in (("/openstack/", 404), ("/mcp", 200)):
        answer = httpx2.post(f"http://127.0.0.1:{served}{path}", headers={**headers, **session}, json=LIST, timeout=60)
        assert answer.status_code == status, path


# --- credentials ---


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_two_callers_at_once_are_each_answered_with_their_own_credentials(served: int, mode: str) -> None:
    """Also when one session's headers change: the first request's are not kept."""
    wrong: list[str] = []

    async def calls(who: str, path: str, name: str) -> None:
        async with connected(served, path, {"OS_TOKEN": f"{who}-0", "OS_URL": "https://k"}, who, mode) as (
            client,
            http,
        ):
            for number in range(6):
                http.headers["OS_TOKEN"] = f"{who}-{number}"
                answer = clients.whole(await client.call_tool(name, {}))
                if json.loads(answer) != {"os_token": f"{who}-{number}", "os_url": "https://k"}:
                    wrong.append(answer)
            del http.headers["OS_TOKEN"], http.headers["OS_URL"]
            answer = clients.whole(await client.call_tool(name, {}))
            if answer != "{}":
                wrong.append(answer)

    async with anyio.create_task_group() as tasks:
        for who in ("alice", "bob"):
            tasks.start_soon(calls, who, "/openstack/", "openstack-cli")
            tasks.start_soon(calls, who, "/openshift", "openshift-cli")
    assert not wrong


def test_all_headers_are_read_in_both_spellings(served: int) -> None:
    sent = {
        "OS_TOKEN": "t", "os-url": "u", "Os-Project_Id": "i", "OS-PROJECT-NAME": "a project", "OS_PROJECT_DOMAIN_NAME": "d",
        "OCP-TOKEN": "o", "ocp_url": "v",
    }  # fmt: skip
    answer = posted(served, "/openstack/", CALL, more=list(sent.items())).json()["result"]
    assert json.loads(answer["content"][0]["text"]) == {
        name.lower().replace("-", "_"): value for name, value in sent.items()
    }


SECRET: Final = "s3cr3t-of-alice"
UNUSABLE: Final = {
    "twice": [("OS_TOKEN", SECRET), ("OS_TOKEN", "other")],
    "twice the same": [("OCP_TOKEN", SECRET), ("ocp_token", SECRET)],
    "in both spellings": [("OS-TOKEN", SECRET), ("OS_TOKEN", SECRET)],
    "empty": [("OS_TOKEN", "")],
    "with a blank": [("OS_TOKEN", f"{SECRET} x")],
    "too long": [("OS_TOKEN", SECRET * 1200)],
    "no ASCII": [("OS_PROJECT_NAME", f"{SECRET}\u00e4")],
    "with a control character": [("OS_PROJECT_NAME", f"{SECRET}\tx")],
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_headers_that_cannot_be_used_are_refused_without_their_value(served: int, log: Path, case: str) -> None:
    """Neither the answer nor the log has it. The next request is answered."""
    answer = posted(served, "/openstack/", CALL, more=UNUSABLE[case]).json()["result"]
    text = answer["content"][0]["text"]
    assert answer["isError"] and "cannot be used" in text and SECRET[:6] not in text
    assert posted(served, "/openstack/", CALL).json()["result"]["content"][0]["text"] == "{}"
    logs.drain()
    logged = log.read_text()
    assert '"level":"debug"' in logged and SECRET[:6] not in logged


def test_the_lines_of_one_connection_have_one_session_id(served: int, log: Path) -> None:
    """It is not masked, so that an operator can join the lines of two scripts of one client. Who vouched for the caller
    stands there too, since a name from another issuer is another user."""
    before = len(log.read_text())

    async def evaluate() -> None:
        async with connected(served, "/mcp", {}) as (client, _):
            for _ in range(2):
                await client.call_tool("evaluate_script", {"script": "len(k8s.get('pods', '*'))"})

    anyio.run(evaluate)
    logs.drain()
    lines = [json.loads(line) for line in log.read_text()[before:].splitlines()]
    ids = [line["session_id"] for line in lines if line["message"] == "script finished"]
    assert len(ids) == 2 and len(set(ids)) == 1 and re.fullmatch("[0-9a-f]{16}", ids[0]), ids
    assert {line["issuer"] for line in lines if line.get("user")} == {"tokens_file"}


def test_a_flood_of_wrong_hosts_is_one_line(served: int, log: Path) -> None:
    """The line names the host and the settings to which an operator can add it. The next request is answered."""
    before = log.read_text().count('"http.wrong_host"')  # another test may have sent such a request just now
    for _ in range(3):
        assert posted(served, "/mcp", LIST, more=[("Host", "evil.example")]).status_code == 421
    assert posted(served, "/mcp", LIST).status_code == 200
    logs.drain()
    lines = [line for line in log.read_text().splitlines() if '"http.wrong_host"' in line]
    assert len(lines) <= before + 1 and "evil.example" in lines[0] and "http.hosts" in lines[0]


BROKEN: Final = (b"a\r\nX: b", b"a\nb", b"a\x00b", b"\x7f", b" a", b"a ", b"\xc3\xa4")


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize("name", [b"os_token", b"os-url", b"ocp_url", b"OS_PROJECT_NAME"])
def test_no_value_ends_a_line_or_a_text_of_c(name: bytes, value: bytes) -> None:
    """The HTTP parser refuses most of these; this wall is behind it."""
    with (
        request_credentials.using([(name, value)]),
        pytest.raises(errors.RequestError, match="cannot be used") as caught,
    ):
        request_credentials.current()
    assert repr(value.decode("latin-1"))[1:-1] not in caught.value.explained
    assert request_credentials.current() == request_credentials.Credentials()


def test_what_was_given_is_not_shown() -> None:
    with request_credentials.using([(b"os-token", SECRET.encode()), (b"ocp_url", SECRET.encode())]):
        found = request_credentials.current()
    assert SECRET not in f"{found!r} {found} {[found]}"
    assert (found.has_openstack, found.has_openshift) == (True, True)


# --- other settings ---


def test_an_endpoint_without_its_toolset_is_not_there_until_a_reload_names_it(tmp_path: Path) -> None:
    """Nobody has to say who he is; a reload takes an endpoint away again."""
    settings = 'toolsets = ["openstack"]\n'
    with clients.running(flags(tmp_path, settings)) as (port, process):

        def status(path: str) -> int:
            return posted(port, path, LIST, who="").status_code

        assert [status(path) for path in ("/mcp", "/openstack/", "/openshift/", "/openshift")] == [200, 200, 404, 404]
        (tmp_path / "server.toml").write_text('toolsets = ["openshift"]\n')
        os.kill(process, signal.SIGHUP)
        patience.until(lambda: status("/openshift/") == 200)
        assert (status("/openshift/"), status("/openstack/"), status("/mcp")) == (200, 404, 200)


def test_requests_of_all_endpoints_count_together(tmp_path: Path) -> None:
    """A caller's rate is not one for each endpoint."""
    with serving(tmp_path, SETTINGS.replace("100000", "2")) as port:
        answers = [posted(port, path, LIST).status_code for path in ("/openstack/", "/openshift/", "/openstack")]
        assert answers == [200, 200, 429]
        assert posted(port, "/openshift/", LIST, "bob").status_code == 200


def test_clients_learn_where_to_log_in_for_each_endpoint(tmp_path: Path) -> None:
    """RFC 9728: the refusal names what is said about this very resource; of an endpoint that is not on nothing is."""
    settings = (
        'toolsets = ["openstack"]\n[http]\nurl = "https://tools.example.com/x/mcp"\n[auth]\nissuer = "{issuer}"\n'
    )
    with serving(tmp_path, settings.replace("{issuer}", ISSUER)) as port:
        for path in ("/mcp", "/openstack/", "/openstack"):
            challenge = posted(port, path, LIST, who="").headers["www-authenticate"]
            where = f"/.well-known/oauth-protected-resource/x{path}"
            assert f'resource_metadata="https://tools.example.com{where}"' in challenge
            said = httpx2.get(f"http://127.0.0.1:{port}{where}", timeout=60).json()
            assert (said["resource"], said["authorization_servers"]) == (f"https://tools.example.com/x{path}", [ISSUER])
        assert httpx2.get(f"http://127.0.0.1:{port}{where.replace('stack', 'shift')}", timeout=60).status_code == 404


def test_over_stdio_one_server_offers_all_toolsets() -> None:
    async def names() -> list[str]:
        given = ("--snapshot", str(demo.SNAPSHOT), "--toolsets", "openstack,openshift")
        async with clients.connect("memory", given) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with echoing.toolsets():
        assert anyio.run(names) == ["openstack-cli", "openshift-cli"]
