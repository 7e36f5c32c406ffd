"""What a start leaves out: imports that one command does not need are not made, and what is left out can still be had.

Each test runs a Python of its own, because this one has imported everything already.
"""

from __future__ import annotations

import subprocess
import sys

IMPORT_SERVER = """\
import sys
from kubescript import config
from kubescript.toolsets import sdk
sdk.skip_conveniences()
with config.deferred_models():
    from kubescript import server, transports
    from kubescript.toolsets import code
"""


def python(program: str) -> str:
    """What the program prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_server_does_not_import_clients_nor_the_high_level_server() -> None:
    program = IMPORT_SERVER + "print([name for name in ('mcp.client', 'mcp.server.mcpserver') if name in sys.modules])"
    assert python(program) == "[]"


def test_a_name_of_a_package_that_was_skipped_is_there_when_somebody_asks_for_it() -> None:
    program = IMPORT_SERVER + (
        "from mcp import ClientSession\n"
        "from mcp.server import MCPServer, transport_security\n"
        "import mcp\n"
        "print(ClientSession.__name__, MCPServer.__name__, transport_security.__name__, mcp.stdio_client.__name__)"
    )
    assert python(program) == "ClientSession MCPServer mcp.server.transport_security stdio_client"


def test_a_name_that_no_package_has_is_an_import_error() -> None:
    program = IMPORT_SERVER + "try:\n    from mcp import nonesuch\nexcept ImportError as error:\n    print(error.name)"
    assert python(program) == "mcp"


def test_models_that_were_made_without_validators_validate() -> None:
    program = IMPORT_SERVER + (
        "import mcp_types, pydantic\n"
        "assert 'defer_build' not in pydantic.BaseModel.model_config\n"
        "print(mcp_types.CallToolRequestParams.model_validate({'name': 'x', 'arguments': {'a': 1}}).arguments)\n"
        "try:\n    mcp_types.CallToolRequestParams.model_validate({'name': 1})\n"
        "except pydantic.ValidationError as error:\n    print(error.error_count())"
    )
    assert python(program) == "{'a': 1}\n1"


def test_a_command_that_serves_nobody_imports_no_sdk() -> None:
    program = (
        "import sys, kubescript.cli.main, kubescript.app\n"
        "print([name for name in ('mcp', 'mcp_types', 'starlette', 'uvicorn', 'jsonschema', 'kubernetes')"
        " if name in sys.modules])"
    )
    assert python(program) == "[]"
