"""`python scripts/extract_contract.py CONTRACT.md` writes tests/end_to_end/clients/contract.json:
schemas and descriptions of the classic tools, out of their API contract, which is not part of this repository.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "tests" / "end_to_end" / "clients" / "contract.json"
TOOL = re.compile(
    r"^### 3\.\d+ (?P<name>\w+)\n+\*\*功能\*\*\uff1a(?P<description>[^\n]+)\n+"
    r"\*\*輸入 Schema\*\*:\n```json\n(?P<schema>.+?)\n```",
    re.MULTILINE | re.DOTALL,
)


def tools(contract: str) -> dict[str, Any]:
    """Returns the tools of the contract, in its order."""
    return {
        found["name"]: {"description": found["description"].strip(), "inputSchema": json.loads(found["schema"])}
        for found in TOOL.finditer(contract)
    }


if __name__ == "__main__":
    found = tools(Path(sys.argv[1]).read_text("utf-8"))
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    OUT.write_text(text, "utf-8")
    print(f"{len(found)} tools")
