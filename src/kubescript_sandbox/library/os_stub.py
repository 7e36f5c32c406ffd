"""Stand-ins for `os` and `traceback`, which report that there are no files and no environment variables.

Scripts check `os.environ.get("NAMESPACE", "default")` or `os.path.exists(token)` before they do their work, and should
not fail because of that. builtins.py adds these modules to the importable ones.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Callable, Mapping

from kubescript_sandbox.library import stdlib

__all__ = ["modules"]


def modules(print_: Callable[..., None]) -> Mapping[str, stdlib.ModuleProxy]:
    """Returns new stand-ins for one script: it may write to its `os.environ`."""
    path = stdlib.ModuleProxy("os.path", _PATHS)
    environ: dict[str, str] = {}
    members = {"environ": environ, "getenv": environ.get, "path": path, "sep": "/", "linesep": "\n"}
    traceback = {"format_exc": _format_exc, "print_exc": lambda *_, **__: print_(_format_exc(), sep=" ", end="")}
    return {
        "os": stdlib.ModuleProxy("os", members),
        "os.path": path,
        "traceback": stdlib.ModuleProxy("traceback", traceback),
    }


def _no_such_file(path: str) -> bool:
    """Replaces `os.path.exists` and the like: there are no files."""
    return False


def _return_path(path: str) -> str:
    """Returns the path itself: there is neither a home directory nor a current directory."""
    return path


_TEXT = ("basename", "dirname", "join", "normpath", "split", "splitext")
_PATHS: Mapping[str, object] = {
    **{name: getattr(posixpath, name) for name in _TEXT},
    **dict.fromkeys(("exists", "isfile", "isdir"), _no_such_file),
    **dict.fromkeys(("expanduser", "expandvars", "abspath"), _return_path),
}


def _format_exc(limit: object = None, chain: object = True) -> str:
    """Returns the exception being handled, in one line. The frames are shown when a script fails."""
    error = sys.exc_info()[1]
    return f"{type(error).__name__}: {error}\n" if error is not None else "NoneType: None\n"
