"""`kubescript client`: what is printed starts this server in a real client, and what is written harms no file."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from kubescript import errors
from kubescript.cli import client_files, demo
from tests.kit import clients, commands

SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT))
ENTRY = {"command": "/bin/kubescript", "args": ["--toolsets", "code"]}
KUBECONFIG = {
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "far", "user": "me"}}],
    "clusters": [{"name": "far", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "me", "user": {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1"}}}],
}


def command(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """One command to its end, with a home of its own."""
    bare: dict[str, str | None] = {name: None for name in os.environ if name.startswith(("KUBE", "XDG", "CLAUDE"))}
    environment = {**bare, "HOME": str(home), **variables}
    return commands.run("client", *arguments, folder=home, environment=environment)


@pytest.mark.anyio
async def test_what_is_printed_starts_the_server(tmp_path: Path) -> None:
    """By its absolute path, from any folder, with a PATH that does not have it."""
    (tmp_path / "saved.json").write_text('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}')
    done = command("cursor", "--snapshot", "saved.json", home=tmp_path)
    entry = json.loads(done.stdout)["mcpServers"]["kubescript"]
    assert f"{tmp_path}/.cursor/mcp.json" in done.stderr and done.returncode == 0
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env={"PATH": "/usr/bin"}, cwd="/")
    with open(os.devnull, "w") as quiet:
        async with Client(stdio_client(parameters, quiet)) as client:
            result = await clients.evaluate(client, "len(k8s.coreV1().list_node())")
    assert clients.text(result).partition("\n")[0] == "1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_line_for_claude_code_carries_what_a_client_does_not_pass_on(tmp_path: Path) -> None:
    """KUBECONFIG, and PATH for a credential plugin, before a flag that ends `--env`; a URL for http."""
    (tmp_path / "kc").write_text(json.dumps(KUBECONFIG))
    done = command("claude-code", "--context", "here", home=tmp_path, KUBECONFIG="kc", PATH="/usr/bin:/my dir")
    assert shlex.split(done.stdout) == [
        "claude", "mcp", "add", "--env", f"KUBECONFIG={tmp_path}/kc", "--env", "PATH=/usr/bin:/my dir",
        "--scope", "user", "kubescript", "--", clients.INSTALLED, "--context", "here", "--toolsets", "code",
    ]  # fmt: skip
    done = command("claude-code", "--port", "8081", "--as", "k8s", home=tmp_path)
    line = "claude mcp add --transport http --scope user k8s http://127.0.0.1:8081/mcp\n"
    assert (done.returncode, done.stdout) == (0, line)
    done = command("claude-desktop", "--port", "8081", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "") and "does not support http servers" in done.stderr


def test_a_server_that_would_not_be_there_is_warned_of(tmp_path: Path) -> None:
    """No kubeconfig, a context it lacks, or a URL that nobody serves yet; stdout has the configuration all the same."""
    (tmp_path / "kc").write_text(json.dumps(KUBECONFIG))
    warned = {
        (): "Warning: there is no kubeconfig; ",
        ("--kubeconfig", "kc", "--context", "hre"): "Warning: the kubeconfig has no context 'hre'; did you mean here?",
        ("--port", "8081", "--context", "here"): (
            "Warning: clients do not start a server over http; keep one running: "
            f"{clients.INSTALLED} --context here --toolsets code --host 127.0.0.1 --port 8081"
        ),
        ("--kubeconfig", "kc"): "",
        ("--kubeconfig-later",): "",
        SNAPSHOT: "",
    }
    for flags, words in warned.items():
        done = command("cursor", *flags, home=tmp_path)
        assert done.returncode == 0 and json.loads(done.stdout)["mcpServers"], done
        assert words in done.stderr and done.stderr.count("Warning") == (1 if words else 0), done.stderr
    in_pod = command("cursor", home=tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert in_pod.returncode == 0 and "Warning" not in in_pod.stderr


FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
@pytest.mark.parametrize("name", FILES)
def test_write_adds_the_server_to_the_client_s_own_file(name: str, tmp_path: Path) -> None:
    """Which is made if it is missing; a second time changes nothing."""
    path, key = FILES[name]
    for words in (f"written to {tmp_path}/{path}; restart", "already has this entry"):
        done = command(name, "--write", *SNAPSHOT, home=tmp_path)
        assert done.returncode == 0 and words in done.stdout, done
    (entry,) = json.loads((tmp_path / path).read_text())[key].values()
    assert entry["command"] == clients.INSTALLED and [*SNAPSHOT, "--toolsets", "code"] == entry["args"]
    assert [file.name for file in (tmp_path / path).parent.iterdir() if "mcp.json" in file.name] in ([], ["mcp.json"])


@pytest.mark.parametrize("flags", [(), ("--port", "8081")], ids=["stdio", "http"])
def test_the_line_of_doctor_writes_the_server_that_it_examined(flags: tuple[str, ...], tmp_path: Path) -> None:
    """With its flags, for a client that `kubescript client` takes for such a server."""
    done = commands.run("doctor", *SNAPSHOT, *flags, folder=tmp_path, environment={"HOME": str(tmp_path)})
    words = shlex.split(done.stdout.partition("other clients: ")[2])
    assert words[:2] == ["kubescript", "client"] and ("claude-desktop" in words[2]) == (not flags), done
    assert command("cursor", *words[3:], home=tmp_path).returncode == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["kubescript"]
    assert entry.get("url") == ("http://127.0.0.1:8081/mcp" if flags else None)
    assert flags or entry["args"] == [*SNAPSHOT, "--toolsets", "code"]


def test_other_servers_and_settings_stay(tmp_path: Path) -> None:
    """In their order, with the file's mode, through a link; the old file is kept beside it."""
    real, link = tmp_path / "dotfiles.json", tmp_path / "mcp.json"
    old: dict[str, Any] = {
        "z": 1.5,
        "mcpServers": {"other": {"command": "ä"}, "kubescript": {"command": "old"}},
        "a": [],
    }
    real.write_text(json.dumps(old), "utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    said = client_files.add(link, "mcpServers", "kubescript", ENTRY)
    kept = Path(said.partition("the old file is ")[2])
    assert kept.read_text("utf-8") == json.dumps(old)
    old["mcpServers"]["kubescript"] = ENTRY
    assert json.loads(real.read_text("utf-8")) == old and list(json.loads(real.read_text())) == ["z", "mcpServers", "a"]
    assert link.is_symlink()
    assert [stat.S_IMODE(file.stat().st_mode) for file in (real, kept)] == [0o640, 0o640]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([real.name, link.name, kept.name])


REFUSED = {
    "comments": b'{\n// mine\n"servers": {}}',
    "a comma too many": b'{"servers": {},}',
    "half a file": b'{"servers": {"a": ',
    "a key twice": b'{"servers": {"a": 1, "a": 2}}',
    "a list": b"[]",
    "servers that are a list": b'{"servers": []}',
    "no text": b"\xff\xfe{}",
    "a number beyond JSON": b'{"a": 1e999}',
    "more digits than a float has": b'{"a": 12345678901234567890.5}',
    "less than a float has": b'{"a": 1e-99999999999999999999}',
    "more digits than Python reads": b'{"a": ' + b"9" * 5000 + b"}",
    "half a character": b'{"a": "\\ud800"}',
    "deep": b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_could_not_be_written_back_as_it_was_is_left_alone(case: str, tmp_path: Path) -> None:
    """And the error says what to do instead; after it, a sound file is written."""
    file = tmp_path / "mcp.json"
    file.write_bytes(REFUSED[case])
    with pytest.raises(errors.ConfigError, match="was not changed") as caught:
        client_files.add(file, "servers", "kubescript", ENTRY)
    assert "add the printed lines to it by hand" in caught.value.remedy
    assert file.read_bytes() == REFUSED[case] and list(tmp_path.iterdir()) == [file]
    file.write_bytes(b"\xef\xbb\xbf {}")
    client_files.add(file, "servers", "kubescript", ENTRY)
    assert json.loads(file.read_text()) == {"servers": {"kubescript": ENTRY}}


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that runs saves its settings at the moment when the new file is complete: it keeps them, and the next
    try adds the server to them."""
    file, saved = tmp_path / "mcp.json", {"mcpServers": {}, "saved": "now"}
    file.write_text("{}")
    with monkeypatch.context() as moment:
        moment.setattr(os, "fsync", lambda _: file.write_text(json.dumps(saved)))
        with pytest.raises(errors.ConfigError, match="another program"):
            client_files.add(file, "mcpServers", "kubescript", ENTRY)
    assert json.loads(file.read_text()) == saved
    client_files.add(file, "mcpServers", "kubescript", ENTRY)
    assert json.loads(file.read_text()) == saved | {"mcpServers": {"kubescript": ENTRY}}
    assert not list(tmp_path.glob(".mcp.json.*"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A folder, a file for a folder, a link to itself, a pipe that nobody writes to."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for place in (tmp_path, tmp_path / "file" / "mcp.json", tmp_path / "loop", tmp_path / "pipe"):
        with pytest.raises(errors.ConfigError):
            client_files.add(place, "servers", "kubescript", ENTRY)


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    """With exit code 1; an unknown client is a mistake of the command line."""
    (tmp_path / "mcp.json").write_bytes(REFUSED["comments"])
    done = command("vscode", "--write", "--file", "mcp.json", *SNAPSHOT, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 2 is not plain JSON" in done.stderr and len(done.stderr.splitlines()) == 1
    assert command("emacs", home=tmp_path).returncode == 2


def test_what_was_written_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Entries of other servers stay; a second time there is nothing to remove, and the file is not written."""
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    before = {"mcpServers": {"other": {"command": "x"}}, "kept": [1]}
    file.write_text(json.dumps(before))
    assert command("cursor", "--write", *SNAPSHOT, home=tmp_path).returncode == 0
    assert "kubescript" in json.loads(file.read_text())["mcpServers"]
    done = command("cursor", "--remove", home=tmp_path)
    assert done.returncode == 0 and f"written to {file}" in done.stdout
    assert json.loads(file.read_text()) == before
    status = file.stat()
    again = command("cursor", "--remove", home=tmp_path)
    assert again.returncode == 0 and f"{file} has no entry kubescript" in again.stdout
    assert file.stat().st_ino == status.st_ino
    assert command("cursor", "--remove", "--write", home=tmp_path).returncode == 2


def test_an_entry_without_a_value_is_removed(tmp_path: Path) -> None:
    """And the numbers of other entries stay what they are; a refusal before that says what to remove by hand."""
    file = tmp_path / "mcp.json"
    file.write_bytes(REFUSED["comments"])
    with pytest.raises(errors.ConfigError, match="was not changed") as caught:
        client_files.remove(file, "servers", "kubescript")
    assert caught.value.remedy == "take kubescript out of `servers` in it by hand"
    file.write_text('{"servers": {"kubescript": null, "other": {"a": 0.1, "b": 1e2, "c": -3}}}')
    assert "written to" in client_files.remove(file, "servers", "kubescript")
    assert json.loads(file.read_text()) == {"servers": {"other": {"a": 0.1, "b": 100, "c": -3}}}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    """Under sudo: the client reads its file as before, and its user the copy."""
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    os.chown(file, 1000, 1001)
    file.chmod(0o640)
    client_files.add(file, "servers", "kubescript", ENTRY)
    found = [each.stat() for each in tmp_path.iterdir()]
    assert [(each.st_uid, each.st_gid, stat.S_IMODE(each.st_mode)) for each in found] == [(1000, 1001, 0o640)] * 2
