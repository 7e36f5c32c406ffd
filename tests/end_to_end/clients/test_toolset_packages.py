"""Toolsets that are packages of their own: the example works, a package that is not named is not loaded, and what a
toolset gets leads nowhere but to scripts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mcp_types
import pytest
from anyio.from_thread import start_blocking_portal

from kubescript.cli import demo
from tests.kit import clients, paths, tools, trails

EXAMPLE = paths.ROOT / "examples" / "toolset"
SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT), "--log-level", "error")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example, installed by pip."""
    folder = tmp_path_factory.mktemp("installed")
    flags = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder))
    command = [sys.executable, "-m", "pip", "install", *flags, str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder


def package(folder: Path, code: str, toolset: str = "own", module: str = "own_tools") -> Path:
    """Puts a package with one toolset where Python finds it, as pip would."""
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[kubescript.toolsets]\n{toolset} = {module}:toolset\n")
    (folder / f"{module}.py").write_text(code)
    return folder


@contextlib.contextmanager
def calling(folder: Path, *flags: str) -> Iterator[tuple[tools.Call, list[mcp_types.Tool]]]:
    """A server that finds the packages of this folder: its calls and its tools."""
    flags = (*SNAPSHOT, *flags)
    started = clients.connected(clients.server(flags, PYTHONPATH=str(folder)))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(started) as client:

        async def listed() -> list[mcp_types.Tool]:
            return (await client.list_tools()).tools

        async def call_tool(tool: str, arguments: dict[str, object]) -> mcp_types.CallToolResult:
            return await client.call_tool(tool, arguments)

        def call(tool: str, /, **arguments: object) -> mcp_types.CallToolResult:
            return portal.call(call_tool, tool, arguments)

        yield call, portal.call(listed)


def start(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """A server whose client hangs up at once."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [clients.KUBESCRIPT, *SNAPSHOT, *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip


def test_the_example_is_listed_and_called(installed: Path) -> None:
    """Its tools stand beside the server's own, with the schemas that it gives."""
    with calling(installed, "--toolsets", "code,shop") as (call, listed):
        assert [tool.name for tool in listed] == ["evaluate_script", "shop_images", "shop_restarts"]
        assert listed[2].input_schema["properties"]["least"]["minimum"] == 1
        assert "whoami" in tools.text(call("shop_images", namespace="default"))
        assert "RESTARTS" in tools.text(call("shop_restarts", least=1)).upper()
        refused = call("shop_restarts", least=0)
        assert refused.is_error and "less than the minimum of 1" in clients.whole(refused)


def test_an_argument_is_data_for_the_script(installed: Path) -> None:
    """No text of a client becomes code of a tool's script."""
    attack = "'}\nprint('obeyed')\n{'"
    with calling(installed, "--toolsets", "shop") as (call, _):
        answer = call("shop_images", namespace=attack)
        assert answer.is_error
        assert "obeyed\n" not in clients.text(answer)
        assert not call("shop_images").is_error


NUMBERS = """
from kubescript.toolsets import base
def toolset(access):
    numbers = {"x": {"type": "number"}}
    tool = base.make_tool(access, "echo", "", properties=numbers, required=(), script="inf = nan = 1\\narguments")
    return base.Toolset("own", "echoes", (tool,))
"""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


def test_a_number_is_no_name_of_the_script_s(tmp_path: Path) -> None:
    """`repr` writes some numbers as names. A client that writes its own JSON may send them."""
    environment = {**os.environ, "PYTHONPATH": str(package(tmp_path, NUMBERS))}
    command = [clients.KUBESCRIPT, *SNAPSHOT, "--toolsets", "own"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as server:

        def ask(number: int, method: str, parameters: str) -> str:
            message = f'{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{parameters}}}'
            print(message, file=server.stdin, flush=True)
            assert server.stdout is not None
            return server.stdout.readline()

        ask(0, "initialize", json.dumps(HELLO))
        for number, written in enumerate(("NaN", "Infinity", "-Infinity", "1e400", "-1e400"), 1):
            answer = ask(number, "tools/call", f'{{"name":"echo","arguments":{{"x":{written}}}}}')
            assert "NaN and Infinity are no numbers of JSON" in answer, (written, answer)
        answer = json.loads(ask(9, "tools/call", '{"name":"echo","arguments":{"x":1.5}}'))
        assert answer["result"]["content"][0]["text"] == '{"x":1.5}'
        assert server.stdin is not None
        server.stdin.close()
        server.wait(timeout=60)


def test_what_is_not_named_is_not_loaded(tmp_path: Path) -> None:
    """A package that breaks at its import breaks nothing until its toolset is asked for, and then in one line."""
    package(tmp_path, "raise OSError('broken\\n  by its author')")
    assert start(tmp_path, "--toolsets", "code").returncode == 0
    failed = start(tmp_path, "--toolsets", "code,own")
    assert failed.returncode == 1
    assert "toolset `own` of the package own_tools 1.0 cannot be loaded: OSError: broken by its author" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1, failed.stderr


ONE_TOOL = """
from kubescript.toolsets import base
def toolset(access):
    tool = base.make_tool(access, {name!r}, "a tool", properties={{}}, required=(), script={script!r})
    return base.Toolset({toolset!r}, "a toolset", (tool,))
"""
BROKEN = {
    "no function": ("toolset = None", "TypeError"),
    "no toolset": ("def toolset(access): return []", "its function returns list, not Toolset"),
    "another name": (ONE_TOOL.format(name="x", script="1", toolset="other"), "it calls itself `other`"),
    "it exits": ("raise SystemExit(0)", "SystemExit: 0"),
    "a tool of ours": (
        ONE_TOOL.format(name="kubectl_get", script="1", toolset="own"),
        "tool `kubectl_get` is there twice: in toolset `kubectl` and `own`",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_ends_the_start_with_one_line(case: str, tmp_path: Path) -> None:
    """It says which package and why, without a stack trace."""
    code, reason = BROKEN[case]
    failed = start(package(tmp_path, code), "--toolsets", "kubectl,own")
    assert failed.returncode == 1
    assert reason in failed.stderr
    assert len(failed.stderr.splitlines()) == 1, failed.stderr


def test_two_packages_with_one_toolset_are_refused(tmp_path: Path) -> None:
    """Which of them would be served is not left to chance."""
    good = ONE_TOOL.format(name="x", script="1", toolset="own")
    package(tmp_path, good)
    package(tmp_path, good, module="other_tools")
    failed = start(tmp_path, "--toolsets", "own")
    assert failed.returncode == 1
    assert "the packages other_tools 1.0 and own_tools 1.0 both have a toolset `own`" in failed.stderr


def test_a_package_cannot_take_the_name_of_a_built_in_toolset(tmp_path: Path) -> None:
    """`kubectl` is ours, whatever is installed."""
    package(tmp_path, "raise OSError('loaded')", toolset="kubectl")
    with calling(tmp_path, "--toolsets", "kubectl") as (_, listed):
        assert "kubectl_get" in {tool.name for tool in listed}


def test_an_installed_toolset_is_named_to_who_misspells_it(installed: Path) -> None:
    """The error lists what there is."""
    failed = start(installed, "--toolsets", "shopp")
    assert failed.returncode == 1
    assert (
        "unknown toolset `shopp`; there is: code, kubectl, helm, cluster, gateway, observability, openshift, openstack, shop"
        in failed.stderr
    )


DELETES = "k8s.coreV1().delete_namespaced_pod('web-0', 'default')"
READS_A_SECRET = "k8s.coreV1().read_namespaced_secret('token', 'default').data"
READS_CONFIG = "k8s.coreV1().list_namespaced_config_map('default')"
IMPORTS = "import os; os.listdir('/')"
OBJECTS = [
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": "default"},
        "data": {"a": "YQ=="},
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}},
]
DENIED = {
    DELETES: "policy.read_only",
    READS_A_SECRET: "policy.metadata_only",
    READS_CONFIG: "policy.denied_resource",
    IMPORTS: "os has no 'listdir' here",
}


@pytest.mark.parametrize("script", DENIED)
def test_a_tool_of_a_package_is_under_the_policy(script: str, tmp_path: Path) -> None:
    """Its scripts get what any script gets: denials, no values of Secrets, no files. Each is on record."""
    package(tmp_path, ONE_TOOL.format(name="tries", script=script, toolset="own"))
    rules, record = tmp_path / "kubescript.toml", tmp_path / "audit.jsonl"
    rules.write_text('[[denied_resources]]\ngroup = ""\nversion = "v1"\nkind = "ConfigMap"\n')
    saved = tmp_path / "cluster.json"
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    flags = ("--toolsets", "own", "--config", str(rules), "--audit", str(record), "--snapshot", str(saved))
    with calling(tmp_path, *flags) as (call, _):
        denied = call("tries")
        assert denied.is_error
        assert DENIED[script] in clients.text(denied)
    (script_record,) = trails.records(record, "script")
    assert script_record["not_allowed"] == (script in {DELETES, READS_CONFIG})


WALKS = '''
import types
from kubescript.toolsets import base

HIDDEN = {"__closure__", "__globals__", "__builtins__", "__class__", "__subclasshook__", "__init_subclass__"}

def attribute(thing, name):
    try:
        return getattr(thing, name)
    except Exception:
        return None

def toolset(access):
    """Walks over all that it is given, and tells of it in the definition of a tool."""
    seen, left = {}, [access, access.clusters()]
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, (type, types.ModuleType)):
            continue
        seen[id(thing)] = thing
        if type(thing).__module__.startswith("kubescript.") and not isinstance(thing, base.Access):
            continue  # a part of the application: found
        if isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        if isinstance(thing, dict):
            left += [*thing, *thing.values()]
        if type(thing).__module__ != "builtins" or isinstance(thing, (types.FunctionType, types.MethodType)):
            left += [attribute(thing, name) for name in dir(thing) if name not in HIDDEN]
    found = sorted({f"{type(each).__module__}.{type(each).__name__}" for each in seen.values()})
    tool = base.make_tool(access, "walked", " ".join(found), properties={}, required=(), script="1")
    return base.Toolset("own", "walks", (tool,))
'''


def test_what_a_toolset_is_given_leads_to_no_cluster(tmp_path: Path) -> None:
    """No attribute or item leads to a part of the application: two functions, a language, the names of clusters.

    It is an interface for packages that keep to it. One that does not is Python in the host process and reaches
    everything there (`__closure__`, `gc`, imports), as docs/toolsets.md says.
    """
    with calling(package(tmp_path, WALKS), "--toolsets", "own") as (call, listed):
        found = (listed[0].description or "").split()
        assert "builtins.function" in found
        assert [name for name in found if name.startswith("kubescript.")] == ["kubescript.toolsets.base.Access"]
        assert not call("walked").is_error


ECHO = ONE_TOOL.format(name="echo", script="arguments", toolset="own")


def test_whoever_approves_by_argument_can_approve_what_a_package_s_tool_changes(tmp_path: Path) -> None:
    """`approved` is an argument of the tool where it approves, and nowhere else; the script does not see it."""
    package(tmp_path, ECHO)
    settings = tmp_path / "kubescript.toml"
    settings.write_text('writes = "plan"\napproval = "argument"\n')
    with calling(tmp_path, "--toolsets", "own", "--config", str(settings)) as (call, listed):
        assert listed[0].input_schema["properties"]["approved"]["type"] == "boolean"
        assert clients.text(call("echo", approved=True)) == "{}"
    with calling(tmp_path, "--toolsets", "own") as (call, listed):
        assert listed[0].input_schema["properties"] == {}
        assert call("echo", approved=True).is_error
