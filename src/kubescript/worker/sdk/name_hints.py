"""What a missing object might be called instead: asked of the cluster only when the error's text is read.

A script that expects a 404 and goes on costs no call. The list is of names only, of one page, once per kind and
namespace, and its own failure changes nothing.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.wire.protocol import Call
from kubescript.worker.sdk import errors, lazy_json, names, schemas, session

__all__ = ["Lookalikes"]

PAGE: Final = 500
MOST: Final = 3
"""Lists per script."""
LISTED: Final = 5

Place = tuple[tuple[str, ...], str]
"""The collection's path and the object's name."""


class Lookalikes:
    """The hints of one script."""

    def __init__(self, session: session.Session) -> None:
        self._session = session
        self._known: dict[tuple[str, ...], list[str] | None] = {}

    def advise(self, error: errors.ApiException, call: Call) -> errors.ApiException:
        """The error, which will say what there is when it is asked for its text."""
        place = _place(call)
        if error.status == 404 and place is not None and _is_about(error, place[1]):
            error._advice = lambda: self._hint(*place)
        return error

    def _hint(self, path: tuple[str, ...], name: str) -> str:
        found = self._names(path)
        if found is None:
            return ""
        if not found:
            return f"there are no {path[-1]}" + (f" in namespace {path[-2]!r}" if "namespaces" in path[:-1] else "")
        made = sorted(each for each in found if each.startswith(f"{name}-"))
        if made and path[-1] in ("pods", "replicasets"):
            return f"did you mean {made[0]!r}? Names of pods made by a controller end in a hash: list, and look for it"
        if near := (names.nearest(name, found, 3) or made[:3]):
            return f"did you mean {' or '.join(map(repr, near))}?"
        more = f", … ({len(found)} in all)" if len(found) > LISTED else ""
        return f"there are: {', '.join(sorted(found)[:LISTED])}{more}"

    def _names(self, path: tuple[str, ...]) -> list[str] | None:
        """The names in a collection; None when they cannot be told."""
        if path not in self._known and len(self._known) < MOST:
            self._known[path] = None
            self._known[path] = self._listed(path)
        return self._known.get(path)

    def _listed(self, path: tuple[str, ...]) -> list[str] | None:
        call = Call("GET", path, (("limit", str(PAGE)),), accept="metadata")
        try:
            found, _ = self._session.fetch_list(call, schemas.OBJECT, "")
            return [each["metadata"]["name"] for each in found]
        except Exception:  # the script's own error must not turn into one of ours
            return None


def _place(call: Call) -> Place | None:
    """Where a GET of one object looked: /api/v1/namespaces/shop/pods/web, or the log of it."""
    size = 2 if call.path[0] == "api" else 3 if call.path[0] == "apis" else 0
    head, rest = call.path[:size], call.path[size:]
    if not size or call.method != "GET":
        return None
    if len(rest) >= 4 and rest[0] == "namespaces":
        return (*head, *rest[:3]), rest[3]
    return ((*head, rest[0]), rest[1]) if len(rest) == 2 else None


def _is_about(error: errors.ApiException, name: str) -> bool:
    """Whether the API server missed this very object, rather than the kind."""
    try:
        status: Any = lazy_json.decode_all(error.body or "")
        return bool(status["details"]["name"] == name and "not found" in status["message"])
    except Exception:
        return False
