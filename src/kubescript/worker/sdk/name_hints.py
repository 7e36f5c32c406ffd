"""What a missing object might be called instead: asked of the cluster only when the error's text is read.

A script that expects a 404 and goes on costs no call. The list is of names only, of one page, once per kind and
namespace, and its own failure changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubescript.wire.protocol import Call
from kubescript.worker.sdk import errors, lazy_json, names

__all__ = ["NameHints"]

MAX_COLLECTIONS: Final = 3
"""Collections whose names are listed in one script."""
MAX_NAMES: Final = 5
"""Names in one hint."""

Path = tuple[str, ...]


class NameHints:
    """The hints of one script."""

    def __init__(self, list_names: Callable[[Path], list[str]]) -> None:
        self._list_names = list_names
        self._known: dict[Path, list[str] | None] = {}

    def advise(self, error: errors.ApiException, call: Call) -> errors.ApiException:
        """The error, which will say what there is when it is asked for its text."""
        target = _target(call)
        if error.status != 404 or target is None:
            return error
        collection, name = target
        if _is_about(error, name):
            error._advice = lambda: self._hint(collection, name)
        return error

    def _hint(self, path: Path, name: str) -> str:
        found = self._names(path)
        if found is None:
            return ""
        if not found:
            namespace = f" in namespace {path[-2]!r}" if "namespaces" in path[:-1] else ""
            return f"there are no {path[-1]}{namespace}"
        prefixed = sorted(each for each in found if each.startswith(f"{name}-"))
        if prefixed and path[-1] in ("pods", "replicasets"):
            first = prefixed[0]
            return f"did you mean {first!r}? Names of pods made by a controller end in a hash: list, and look for it"
        if near := (names.nearest(name, found, 3) or prefixed[:3]):
            return f"did you mean {' or '.join(map(repr, near))}?"
        shown = ", ".join(sorted(found)[:MAX_NAMES])
        more = f", … ({len(found)} in all)" if len(found) > MAX_NAMES else ""
        return f"there are: {shown}{more}"

    def _names(self, path: Path) -> list[str] | None:
        """The names in a collection; None when they cannot be listed."""
        if path not in self._known and len(self._known) < MAX_COLLECTIONS:
            self._known[path] = None
            try:
                self._known[path] = self._list_names(path)
            except Exception:  # the script's own error must not turn into one of ours
                return None
        return self._known.get(path)


def _target(call: Call) -> tuple[Path, str] | None:
    """The collection's path and the object's name in a GET of one object, or of its log:
    /api/v1/namespaces/shop/pods/web."""
    size = {"api": 2, "apis": 3}.get(call.path[0], 0)
    if not size or call.method != "GET":
        return None
    head, rest = call.path[:size], call.path[size:]
    if len(rest) >= 4 and rest[0] == "namespaces":
        return (*head, *rest[:3]), rest[3]
    if len(rest) == 2:
        return (*head, rest[0]), rest[1]
    return None


def _is_about(error: errors.ApiException, name: str) -> bool:
    """Whether the API server missed this very object, rather than the kind."""
    try:
        status: Any = lazy_json.decode_all(error.body or "")
        return bool(status["details"]["name"] == name and "not found" in status["message"])
    except Exception:
        return False
