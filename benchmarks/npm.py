"""The tokenizer, from npm at the version of `package-lock.json`, installed once per version into the cache."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from tests.kit import npm

__all__ = ["count_tokens"]

_HERE = Path(__file__).parent


def count_tokens(texts: Sequence[str]) -> list[int]:
    """How many o200k tokens each text has. Raises Unavailable."""
    modules = _modules()
    command = [str(npm.node()), str(_HERE / "tokens.cjs"), str(modules)]
    given = json.dumps(list(texts))
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    counts: list[int] = json.loads(done.stdout)
    return counts


def _modules() -> Path:
    try:
        return npm.modules(_HERE)
    except npm.Missing as error:
        raise report.Unavailable(str(error)) from None
