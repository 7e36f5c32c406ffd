"""Lists of a namespace's objects for the scripts of plans: each is read once, and several at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.describe import subject
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import list_objects, schemas
from kubescript.wire import exchanges

__all__ = ["LIMIT", "Json", "Reads", "reader"]

Json = dict[str, Any]
Key = tuple[str, str, str]

LIMIT: Final = 1_000
"""How many objects of one list are read."""


def reader(k8s: client.K8s, resource: str, namespace: str, selector: str = "") -> Callable[[], list_objects.ListObject]:
    """Returns a function that lists objects of a built-in kind in a namespace, at most `LIMIT` of them."""
    kind = tool_kinds.find(k8s, resource)
    query = [("limit", str(LIMIT))]
    if selector:
        query.append(("labelSelector", selector))
    call = exchanges.Call("GET", kind.path(namespace), tuple(query), accept="json")

    def read() -> list_objects.ListObject:
        found, _ = k8s._session.fetch_list(call, schemas.OBJECT, "")
        return found

    return read


class Reads:
    """The lists that some changes need."""

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s
        self._wanted: dict[Key, None] = {}
        self._found: dict[Key, Any] = {}

    def want(self, resource: str, namespace: str, selector: str = "") -> None:
        """Asks for a list, which `fetch` then reads."""
        self._wanted[resource, namespace, selector] = None

    def fetch(self) -> None:
        """Reads the lists that are wanted and were not read yet."""
        missing = [key for key in self._wanted if key not in self._found]
        wanted = {"\0".join(key): reader(self._k8s, *key) for key in missing}
        answers = subject.together(self._k8s, wanted)
        self._found.update(zip(missing, answers.values(), strict=True))

    def get(self, resource: str, namespace: str, selector: str = "") -> list[Json]:
        """Returns a list that was read. Raises ApiException if reading it has failed."""
        found = self._found[resource, namespace, selector]
        if isinstance(found, Exception):
            raise found
        whole: list[Json] = found
        return whole
