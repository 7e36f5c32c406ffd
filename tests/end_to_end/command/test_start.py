"""What a start leaves out: imports that one command does not need are not made, and what is left out can still be had.

Each test runs a Python of its own, because this one has imported everything already.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

from kubescript import programs, redaction
from kubescript_sandbox.host import spawner

INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"test","version":"1"}}}\n'
)

IMPORT_SERVER = """\
import sys
from kubescript import config
from kubescript.toolsets import sdk
sdk.skip_conveniences()
with config.defer_models():
    from kubescript import transports
    from kubescript.server import served
    from kubescript.toolsets import code
"""


def python(program: str) -> str:
    """What the program prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_server_does_not_import_clients_nor_the_high_level_server() -> None:
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "kubescript.cli.main",
        "--kubeconfig-later",
        "--toolsets",
        "code",
    ]
    done = subprocess.run(command, input=INITIALIZE, capture_output=True, text=True, check=False, timeout=120)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert '"serverInfo"' in done.stdout and "mcp.server.stdio" in imported, done.stderr[-2000:]
    assert not imported & {"mcp.client", "mcp.server.mcpserver", "kubernetes"}


def test_the_process_of_the_maskers_that_nobody_gives_settings_ends_by_itself() -> None:
    masking = spawner.Spawner(programs.MASKER, reads=True)
    masking.start()
    process = masking._server.process if masking._server is not None else None
    masking.close()
    assert process is not None and process.poll() is not None


@pytest.mark.parametrize("first", ["start", "give"])
def test_the_maskers_get_their_settings_before_or_after_their_process_has_started(first: str) -> None:
    source = spawner.Spawner(programs.MASKER, reads=True)
    if first == "start":
        source.start()
    with contextlib.closing(redaction.Engine(redaction.Settings(), source=source)) as engine:
        source.warm_up()
        assert "«redacted:" in engine.text("password=hunter22x", lambda _: None)


def test_what_a_server_leaves_out_is_there_for_those_who_ask() -> None:
    """Names of skipped packages can be imported, one that no package has is an import error, and models made without
    validators validate."""
    program = IMPORT_SERVER + (
        "import mcp_types, pydantic\n"
        "assert 'defer_build' not in pydantic.BaseModel.model_config\n"
        "print(mcp_types.CallToolRequestParams.model_validate({'name': 'x', 'arguments': {'a': 1}}).arguments)\n"
        "try:\n    mcp_types.CallToolRequestParams.model_validate({'name': 1})\n"
        "except pydantic.ValidationError as error:\n    print(error.error_count())\n"
        "try:\n    from mcp import nonesuch\nexcept ImportError as error:\n    print(error.name)\n"
        "from mcp import ClientSession\n"
        "from mcp.server import MCPServer, transport_security\n"
        "import mcp\n"
        "print(ClientSession.__name__, MCPServer.__name__, transport_security.__name__, mcp.stdio_client.__name__)"
    )
    names = "ClientSession MCPServer mcp.server.transport_security stdio_client"
    assert python(program).splitlines() == ["{'a': 1}", "1", "mcp", names]


def test_a_command_that_serves_nobody_imports_no_sdk() -> None:
    program = (
        "import sys, kubescript.cli.main, kubescript.app\n"
        "print([name for name in ('mcp', 'mcp_types', 'starlette', 'uvicorn', 'jsonschema', 'kubernetes')"
        " if name in sys.modules])"
    )
    assert python(program) == "[]"
