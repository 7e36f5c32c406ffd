"""`os` and `traceback` of a script: there are no files, no variables and no stack round it, and these say so without
failing. Scripts ask for `os.environ.get("NAMESPACE", "default")` or `os.path.exists(token)` before they do their work.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Callable, Mapping

from kubescript.worker.language import stdlib

__all__ = ["modules"]


def modules(print_: Callable[..., None]) -> Mapping[str, stdlib.ModuleProxy]:
    """Fresh ones: a script may write to its `os.environ`."""
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
    """Whether there is such a file: there are none."""
    return False


def _unchanged(path: str) -> str:
    """The path itself: there is no home and no folder to make it absolute."""
    return path


_TEXT = ("basename", "dirname", "join", "normpath", "split", "splitext")
_PATHS: Mapping[str, object] = {
    **{name: getattr(posixpath, name) for name in _TEXT},
    **dict.fromkeys(("exists", "isfile", "isdir"), _no_such_file),
    **dict.fromkeys(("expanduser", "expandvars", "abspath"), _unchanged),
}


def _format_exc(limit: object = None, chain: object = True) -> str:
    """The exception being handled, in a line; its frames are in the report of a script that fails."""
    error = sys.exc_info()[1]
    return f"{type(error).__name__}: {error}\n" if error is not None else "NoneType: None\n"
