"""Commands that pages of the documentation show."""

from __future__ import annotations

import re
from typing import Final

from tests.kit import paths

__all__ = ["commands"]

BLOCK: Final = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page: str, heading: str) -> list[str]:
    """The blocks of commands under a heading of docs/PAGE, in their order, without what is under the next heading."""
    text = (paths.ROOT / "docs" / page).read_text("utf-8")
    _, found, rest = text.partition(f"# {heading}\n")
    assert found, f"docs/{page} has no heading {heading}"
    section = re.split(
        r"^#", BLOCK.sub(lambda block: block[0].replace("\n#", "\n "), rest), maxsplit=1, flags=re.MULTILINE
    )
    return [block.strip() for block in BLOCK.findall(section[0])]
