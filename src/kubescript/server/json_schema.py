"""Loads jsonschema, which checks the arguments of tools, without its checks of formats."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Final

__all__ = ["load"]

# jsonschema imports this package where it is installed. Its grammar takes 20 MiB and half a second, and our schemas
# name no format.
_UNUSED: Final = "rfc3987_syntax"


def load() -> ModuleType:
    """Returns jsonschema. The first call takes a tenth of a second."""
    if _UNUSED in sys.modules:
        return importlib.import_module("jsonschema")
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # an import of it now raises ImportError
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[_UNUSED]
