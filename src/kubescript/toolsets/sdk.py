"""Makes imports of the MCP SDK skip its packages' convenience imports. `app` calls it before any import of the SDK.

`import mcp.server.lowlevel` executes `mcp/__init__.py` and `mcp/server/__init__.py`, which import the SDK's clients,
its HTTP client and its high-level server: 0.25 s for names that are never used here.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Final

__all__ = ["skip_conveniences"]

_PACKAGES: Final = ("mcp", "mcp.server")


def skip_conveniences() -> None:
    """Registers the packages for import, but executes each only when one of its names is first used."""
    for name in _PACKAGES:
        if name in sys.modules:
            continue
        spec = importlib.util.find_spec(name)
        if spec is None:  # the later import reports it
            return
        module = importlib.util.module_from_spec(spec)
        module.__class__ = _Package
        sys.modules[name] = module


class _Package(types.ModuleType):
    """A package that is executed at the first use of a name that is not a submodule's."""

    def __getattr__(self, name: str) -> object:
        spec = self.__spec__
        if spec is None or spec.loader is None or name.startswith("__"):
            raise AttributeError(name)
        # Importing a submodule looks up its name first.
        submodule = importlib.util.find_spec(f"{spec.name}.{name}")
        if submodule is not None:
            raise AttributeError(name)
        object.__setattr__(self, "__class__", types.ModuleType)
        spec.loader.exec_module(self)
        return getattr(self, name)
