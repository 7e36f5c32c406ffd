"""The definitions of the classic tools are the contract's (tests/end_to_end/clients/contract.json, by scripts/extract_contract.py), and
their sentences are complete in each language."""

from __future__ import annotations

import ast
import copy
import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import pytest

from kubescript.cli import demo
from kubescript.wire import messages
from tests.kit import clients, paths, tools

ROOT: Final = paths.ROOT
CONTRACT: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("contract.json").read_text("utf-8"))
ADDITIONS: Final = {"kubectl_get": {"output"}}
"""Arguments that the contract does not have, by tool. docs/toolsets.md lists them."""
EXAMPLES: Final = {"kubectl_get", "kubectl_describe"}
"""Tools whose argument `resource` takes any kind: the contract's enum stands as examples in the schema."""
WRITABLE: Final = ("--toolsets", tools.TOOLSETS, "--snapshot", str(demo.SNAPSHOT), "--no-read-only")


def listed(language: str) -> dict[str, mcp_types.Tool]:
    """The tools as a client gets them from a server in this language."""
    got: dict[str, mcp_types.Tool] = {}

    async def ask() -> None:
        server = clients.server(WRITABLE, KUBESCRIPT_LANGUAGE=language)
        async with clients.connected(server) as client:
            got.update({tool.name: tool for tool in (await client.list_tools()).tools})

    anyio.run(ask)
    return got


@pytest.fixture(scope="module")
def english() -> dict[str, mcp_types.Tool]:
    return listed("en")


@pytest.fixture(scope="module")
def chinese() -> dict[str, mcp_types.Tool]:
    return listed("zh")


def without_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what is said of the arguments."""
    plain = copy.deepcopy(schema)
    for argument in plain["properties"].values():
        argument.pop("description", None)
    return plain


def contract_schema(tool: str) -> dict[str, Any]:
    """The contract's schema; kinds are examples where ours are."""
    schema = without_descriptions(CONTRACT[tool]["inputSchema"])
    if tool in EXAMPLES:
        resource = schema["properties"]["resource"]
        resource["examples"] = resource.pop("enum")
    return schema


def test_there_are_the_contract_s_tools_and_no_others(english: dict[str, mcp_types.Tool]) -> None:
    """All eighteen that the contract describes."""
    assert len(CONTRACT) == 18
    assert set(english) == set(CONTRACT)


@pytest.mark.parametrize("tool", CONTRACT)
def test_the_schema_is_the_contract_s(tool: str, english: dict[str, mcp_types.Tool]) -> None:
    """Arguments, types, enums, bounds, defaults and what is required, but for the additions."""
    schema = without_descriptions(english[tool].input_schema)
    expected = contract_schema(tool)
    added = set(schema["properties"]) - set(expected["properties"])
    assert added <= ADDITIONS.get(tool, set())
    for argument in added:
        del schema["properties"][argument]
    assert schema == expected


@pytest.mark.parametrize("tool", CONTRACT)
def test_in_chinese_the_definition_says_what_the_contract_says(tool: str, chinese: dict[str, mcp_types.Tool]) -> None:
    """Description of the tool and of each argument, word by word."""
    assert chinese[tool].description == CONTRACT[tool]["description"]
    arguments = chinese[tool].input_schema["properties"]
    for name, argument in CONTRACT[tool]["inputSchema"]["properties"].items():
        assert arguments[name].get("description") == argument.get("description"), name


def test_each_message_has_all_languages_and_the_same_places() -> None:
    """No language lacks a sentence or what is to be filled in."""
    for name, sentences in messages.CATALOGUE.items():
        assert set(sentences) == set(messages.LANGUAGES), name
        places = [_places(sentence) for sentence in sentences.values()]
        assert all(place == places[0] for place in places), name


def _places(sentence: str) -> list[str]:
    return sorted(field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None)


def _texts() -> Iterator[str]:
    """Every string in the code of the product."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_each_message_is_used() -> None:
    """A sentence that nothing says is deleted. Some names are put together, such as f"top_cut_{what}"."""
    used = set(_texts())
    used |= {name.replace("prerequisite_", "action_") for name in used if name.startswith("prerequisite_")}
    begun = tuple(text for text in used if text.endswith("_") and text.islower())
    assert [name for name in messages.CATALOGUE if name not in used and not name.startswith(begun)] == []


def test_each_prerequisite_names_an_action() -> None:
    """Whoever meets one is told what to do."""
    for name in messages.CATALOGUE:
        if name.startswith("prerequisite_"):
            assert name.replace("prerequisite_", "action_") in messages.CATALOGUE


def test_a_message_is_filled_with_what_it_is_given() -> None:
    """Braces in a value are text, and an unknown language is refused."""
    assert messages.text("forbidden_character", character="{x}") == "Forbidden character: {x}"
    with pytest.raises(ValueError, match="there is: en, zh"):
        messages.choose("fr")
