"""Owns `Subject`, one object to describe with everything that was read for it, and the reads beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import base_view, list_objects
from kubescript.guest.sdk.values import exceptions, lazy_json

__all__ = ["Read", "Reads", "Subject", "plain", "reason", "together"]

Read = Callable[[], Any]
"""One API call that is still to be made."""
Reads = Callable[[client.K8s, str, str], dict[str, Read]]
"""What else is read for an object of this name and namespace, by names of its own."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One object to describe."""

    k8s: client.K8s
    object: texts.Object
    metadata_rule: str
    """The rule by which only its metadata is served; empty when it is whole."""
    beside: Mapping[str, Any]
    """What was read with it: an object, a list of objects, or the ApiException of a call that failed."""

    @property
    def name(self) -> str:
        """Returns the object's name."""
        return texts.name_of(self.object)

    @property
    def namespace(self) -> str:
        """Returns its namespace; empty for an object of the whole cluster."""
        return texts.text((self.object.get("metadata") or {}).get("namespace"))

    def get_list(self, name: str) -> list[texts.Object]:
        """Returns a list that was read beside the object; empty when that failed."""
        found = self.beside.get(name)
        return found if isinstance(found, list) else []


def together(k8s: client.K8s, reads: Mapping[str, Read]) -> dict[str, Any]:
    """Makes several calls at the same time. Returns plain data, or the ApiException of a call that failed."""
    found = k8s.parallel(dict(reads)) if len(reads) > 1 else {name: _alone(read) for name, read in reads.items()}
    return {name: plain(value) for name, value in found.items()}


def _alone(read: Read) -> Any:
    try:
        return read()
    except exceptions.ApiException as error:
        return error


def plain(value: Any) -> Any:
    """Returns the JSON data of an object or of a list's items, and an exception as it is."""
    if isinstance(value, list_objects.ListObject):
        return [lazy_json.whole(item._data) for item in value]
    if isinstance(value, base_view.BaseView):
        return lazy_json.whole(value._all())
    return value


def reason(error: Exception) -> str:
    """Returns why a call failed, in the words of who refused it."""
    return error.message if isinstance(error, exceptions.ApiException) else str(error)
