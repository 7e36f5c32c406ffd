"""What a tool says when it cannot answer: a stable code, and a sentence from the catalogue of messages."""

from __future__ import annotations

import re
from typing import Final

from kubescript.wire import messages

__all__ = ["ToolError"]

_CODE: Final = re.compile(r"tool\.[a-z_]{1,40}")


class ToolError(Exception):
    """A tool cannot answer. `code` is `tool.` and the name of the message."""

    def __init__(self, message: str, /, **values: object) -> None:
        super().__init__(messages.text(message, **values))
        self.code = f"tool.{message}"
        assert _CODE.fullmatch(self.code), self.code
