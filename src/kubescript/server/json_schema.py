"""Loads jsonschema, which checks the arguments of tools, without its checks of formats."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Final

__all__ = ["load"]

# jsonschema imports these packages where they are installed. Their grammars and calendars take 22 MiB and half a
# second, and our schemas name no format.
_UNUSED: Final = ("rfc3987_syntax", "isoduration")


def load() -> ModuleType:
    """Returns jsonschema. The first call takes a tenth of a second."""
    hidden = [name for name in _UNUSED if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it now raises ImportError
    try:
        return importlib.import_module("jsonschema")
    finally:
        for name in hidden:
            del sys.modules[name]
