"""Provides the hints in a 404 error: the names that may be meant instead of that of a missing object. session.py adds
them to errors.

The names are listed only when a script reads the error's text: one page of names, once per kind and namespace. When
the list cannot be read, the error has no hint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubescript.guest.sdk.values import exceptions, lazy_json, names
from kubescript.kube import paths
from kubescript.wire.exchanges import Call

__all__ = ["NameHints"]

MAX_COLLECTIONS: Final = 3
"""In how many collections one script's errors may look up names."""
MAX_NAMES: Final = 5
"""How many names one hint lists."""

Path = tuple[str, ...]


class NameHints:
    """The hints of one script."""

    def __init__(self, list_names: Callable[[Path], list[str]]) -> None:
        self._list_names = list_names
        self._known: dict[Path, list[str] | None] = {}
        """The names in each collection that was requested; None for one that could not be listed."""

    def advise(self, error: exceptions.ApiException, call: Call) -> exceptions.ApiException:
        """Returns the error, with a hint at the end of its text when the object's name was not found."""
        target = _target(call)
        if error.status != 404 or target is None:
            return error
        collection, name = target
        if _is_about(error, name):
            # The hint is made only when the error's text is read: a script that expects a 404 and goes on causes no
            # call.
            error._advice = lambda: self._hint(collection, name)
        return error

    def _hint(self, path: Path, name: str) -> str:
        """Returns the names nearest to `name`, or the first names of the collection."""
        found = self._names(path)
        if found is None:
            return ""
        kind = path[-1]
        namespace = f" in namespace {path[-2]!r}" if "namespaces" in path[:-1] else ""
        if not found:
            return f"there are no {kind}{namespace}"
        prefixed = sorted(each for each in found if each.startswith(f"{name}-"))
        # The name of a Deployment, for example, is only the beginning of its pods' names.
        if prefixed and kind in ("pods", "replicasets"):
            first = prefixed[0]
            return f"did you mean {first!r}? Names of pods made by a controller end in a hash: list, and look for it"
        near = names.nearest(name, found, 3) or prefixed[:3]
        if near:
            return f"did you mean {' or '.join(map(repr, near))}?"
        shown = ", ".join(sorted(found)[:MAX_NAMES])
        more = f", … ({len(found)} in all)" if len(found) > MAX_NAMES else ""
        return f"there are{namespace}: {shown}{more}"

    def _names(self, path: Path) -> list[str] | None:
        """Returns the names in a collection; None when they cannot be listed."""
        if path in self._known:
            return self._known[path]
        if len(self._known) >= MAX_COLLECTIONS:
            return None
        self._known[path] = None
        try:
            self._known[path] = self._list_names(path)
        except Exception:
            # A failure to list names must not replace the error that the script reads.
            return None
        return self._known[path]


def _target(call: Call) -> tuple[Path, str] | None:
    """Returns the collection's path and the object's name in a GET of one object or of its log, such as
    /api/v1/namespaces/shop/pods/web; None for any other call."""
    if call.method != "GET":
        return None
    found = paths.locate(call.path)
    if found is None or not found.name:
        return None
    if found.subresource and not found.namespace:
        return None
    collection = paths.join(found.group, found.version, found.resource, found.namespace or None)
    return collection, found.name


def _is_about(error: exceptions.ApiException, name: str) -> bool:
    """Says whether the API server did not find this object, rather than its kind."""
    try:
        status: Any = lazy_json.decode_all(error.body or "")
        return bool(status["details"]["name"] == name and "not found" in status["message"])
    except Exception:
        # The body is not a Status of the API server.
        return False
