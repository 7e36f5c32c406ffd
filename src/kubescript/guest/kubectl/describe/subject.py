"""`Subject`, an object to describe with related objects, and the calls that read those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import base_view, list_objects
from kubescript.guest.sdk.values import exceptions, lazy_json
from kubescript.wire import messages

__all__ = ["Read", "Reads", "Subject", "describe_failure", "plain", "reason", "together"]

Read = Callable[[], Any]
"""An API call to be made."""
Reads = Callable[[client.K8s, str, str], dict[str, Read]]
"""A function that returns calls by key, for an object's name and namespace."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One object to describe."""

    k8s: client.K8s
    object: texts.Object
    metadata_rule: str
    """The rule that limits the object to its metadata; empty if it is complete."""
    beside: Mapping[str, Any]
    """Results of the related calls: an object, a list of objects, or a failed call's ApiException."""

    @property
    def metadata(self) -> Any:
        """The object's metadata."""
        return self.object.get("metadata") or {}

    @property
    def spec(self) -> Any:
        """The object's spec."""
        return self.object.get("spec") or {}

    @property
    def status(self) -> Any:
        """The object's status."""
        return self.object.get("status") or {}

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for a cluster-wide object."""
        return texts.text(self.metadata.get("namespace"))

    def get_list(self, name: str) -> list[texts.Object]:
        """Returns a related list; an empty list if reading it has failed."""
        found = self.beside.get(name)
        if not isinstance(found, list):
            return []
        return found


def together(k8s: client.K8s, reads: Mapping[str, Read]) -> dict[str, Any]:
    """Makes several calls in parallel. Returns plain data, or a failed call's ApiException."""
    found = _make_calls(k8s, reads)
    return {name: plain(value) for name, value in found.items()}


def _make_calls(k8s: client.K8s, reads: Mapping[str, Read]) -> dict[str, Any]:
    """Makes several calls in parallel, and a single one directly."""
    if len(reads) > 1:
        answers: dict[str, Any] = k8s.parallel(dict(reads))
        return answers
    return {name: _attempt(read) for name, read in reads.items()}


def _attempt(read: Read) -> Any:
    """Makes one call. Returns its answer, or the ApiException of a failed call."""
    try:
        return read()
    except exceptions.ApiException as error:
        return error


def plain(value: Any) -> Any:
    """Returns the JSON data of an object or a list's items, and exceptions unchanged."""
    if isinstance(value, list_objects.ListObject):
        return [lazy_json.whole(item._data) for item in value]
    if isinstance(value, base_view.BaseView):
        return lazy_json.whole(value._all())
    return value


def describe_failure(error: Exception) -> str:
    """Returns a note that stands for what could not be read."""
    return messages.text("describe_not_read", reason=reason(error))


def reason(error: Exception) -> str:
    """Returns why a call failed, in the server's words."""
    if isinstance(error, exceptions.ApiException):
        return error.message
    return str(error)
