"""Writes `$defs` of charts/kubescript/values.schema.json: the settings under `config`, as the server's own model has
them, so that Helm refuses a wrong name or type before it changes anything. Run at development time.

python scripts/generate_values_schema.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import json_schema
from pydantic_core import core_schema

from kubescript import config
from kubescript.toolsets import builtin

FILE: Final = Path(__file__).resolve().parent.parent / "charts" / "kubescript" / "values.schema.json"
KEY: Final = '  "$defs": {\n'
"""What begins the written part, which is the last one of the file."""
TOP: Final = "Settings"
"""The definition that the rest of the file refers to."""
OF_THE_CHART: Final = {TOP: ("host", "port", "transport"), "Http": ("metrics_port", "metrics_host")}
"""Settings that the chart itself decides."""
UNUSED: Final = frozenset({"title", "description", "format"})
"""Keywords for readers of a schema, whose values are texts; a setting of such a name has a table."""


class Form(json_schema.GenerateJsonSchema):
    """Writes short schemas: Helm needs no defaults, and an error names the types that are taken."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> json_schema.JsonSchemaValue:
        """Returns the schema of a value, without its default."""
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> json_schema.JsonSchemaValue:
        """Returns the schema of a value that may be null: one of two types, where it has one."""
        inner = self.generate_inner(schema["schema"])
        if "enum" in inner or not isinstance(inner.get("type"), str):
            return super().nullable_schema(schema)
        return {**inner, "type": [inner["type"], "null"]}


def make_definitions() -> dict[str, Any]:
    """Returns the schema of each section of the settings by its name."""
    top = shorten(config.Settings.model_json_schema(schema_generator=Form))
    definitions: dict[str, Any] = top.pop("$defs")
    definitions[TOP] = top
    for name, settings in OF_THE_CHART.items():
        definitions[name]["properties"] |= dict.fromkeys(settings, False)
    for name in (TOP, "Access"):
        definitions[name]["properties"]["toolsets"]["items"] = {"enum": list(builtin.TOOLSETS)}
    return definitions


def shorten(node: Any) -> Any:
    """Returns a schema without what only readers use."""
    if isinstance(node, list):
        return [shorten(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {key: shorten(value) for key, value in node.items() if key not in UNUSED or not isinstance(value, str)}


def write(definitions: dict[str, Any]) -> str:
    """Returns the written part of the file: a line for each setting."""
    sections = [f'    "{name}": {{\n' + _write(section) for name, section in definitions.items()]
    return KEY + ",\n".join(sections) + "\n  }\n}\n"


def _write(section: dict[str, Any]) -> str:
    lines = [f'      "{key}": {json.dumps(value)},\n' for key, value in section.items() if key != "properties"]
    settings = [f'        "{name}": {json.dumps(value)}' for name, value in section["properties"].items()]
    return "".join(lines) + '      "properties": {\n' + ",\n".join(settings) + "\n      }\n    }"


def main() -> int:
    """Returns the exit status: 1 if --check finds the file stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file is stale, write nothing")
    before = FILE.read_text("utf-8")
    text = before.partition(KEY)[0] + write(make_definitions())
    if parser.parse_args().check:
        if text != before:
            print(f"stale: {FILE.name}; run `make generate`", file=sys.stderr)
        return int(text != before)
    FILE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
