"""A saved cluster with the interface of a live one. It is read-only and answers as kube-apiserver does.

A request for something that was not captured gets a special error (cluster.not_captured), never 404 or an empty list: a
script must not conclude from a gap in the capture that the cluster is healthy.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors, types
from kubescript.kube import kinds, selectors
from kubescript.request import request
from kubescript.snapshot import collection, discovery_documents, library, podlogs, responses, saved_cluster
from kubescript_sandbox.host import cancellation

__all__ = ["Snapshot"]

# One constant suffices: nothing changes in a snapshot, and clients only compare versions.
_RESOURCE_VERSION: Final = "1"
# Attack: a folder has a hundred thousand kinds, each compared with a misspelt one.
_MAX_NAMES: Final = 2_000
# Attack: two thousand names consist of 200 letters a and b. Comparing them with a missing name took 13 s.
_MAX_NAME: Final = 50


class Snapshot:
    """One saved cluster. Nothing in it depends on who asks."""

    def __init__(self, path: Path, shelf: library.Library | None = None) -> None:
        """`shelf` lends the saved cluster; without it, nobody else uses it. Raises ClusterError (cluster.config) when
        `path` contains nothing to serve."""
        self._path = path
        self._shelf = shelf or library.Library()
        self._store = self._shelf.lend(path)

    @property
    def name(self) -> str:
        """The captured cluster's name, or the path."""
        info = self._store.info
        if info is not None and info.cluster:
            return info.cluster
        return str(self._store.path)

    @property
    def namespace(self) -> str:
        """The scripts' default namespace."""
        info = self._store.info
        if info is not None and info.namespace:
            return info.namespace
        return "default"

    @property
    def is_named_by_data(self) -> bool:
        """Whether the saved cluster's own file contains a name or a namespace."""
        info = self._store.info
        return info is not None and bool(info.cluster or info.namespace)

    @property
    def address(self) -> str:
        """The path of the snapshot."""
        return str(self._store.path)

    @property
    def saved(self) -> saved_cluster.SavedCluster:
        """What is on disk."""
        return self._store

    def close(self) -> None:
        """Gives the saved cluster back."""
        self._shelf.take_back(self._path)

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Answers a call, as in `base.Cluster`. Raises ClusterError (cluster.not_captured) for anything that was not
        captured."""
        if call.method != "GET":
            raise _not_captured(
                f"a snapshot cannot answer {request.describe(call)}: only what was captured can be read"
            )
        check = collection.Deadline(time.monotonic() + timeout_s, cancel)
        try:
            response = (
                self._resource(call, check) if call.is_resource else discovery_documents.answer(self._store, call)
            )
        except RecursionError:
            raise _too_deep() from None
        if response is None:
            raise _not_captured(f"{call.path} was not captured")
        return _in_time(response, check)

    def _resource(self, call: request.Request, check: collection.Check) -> types.Response:
        saved = self._collection(call)
        is_partial = "PartialObjectMetadata" in call.accept
        # An object without its content must not pass for an empty one.
        if saved.metadata_only and not is_partial:
            raise _not_captured(
                f"only metadata of {saved.resource.plural} was captured, but the call asks for whole objects"
            )
        saved.wait(check)
        if call.verb in {"list", "watch"}:
            return self._list(call, saved, check)
        item = saved.get(call.namespace, call.name)
        if item is None:
            self._check_covered(saved, call)
            self._check_whole(saved, call)
            return responses.not_found(saved.resource, call.name)
        if call.subresource == "log" and saved.resource.plural == "pods":
            return podlogs.answer(self._store, call, item, check)
        if call.subresource not in {"", "status"}:
            raise _not_captured(f"{saved.resource.plural} were captured, but their {call.subresource} was not")
        if is_partial:
            return responses.document(msgspec.Raw(responses.partial(item.raw)))
        return responses.document(collection.as_object(item.raw, saved.resource))

    def _collection(self, call: request.Request) -> collection.Collection:
        """Returns the objects of the call's resource. Raises ClusterError, which says why they are missing."""
        collections = self._store.collections
        saved = collections.get((call.group, call.version, call.resource))
        if saved is not None:
            return saved
        full = kinds.full_name(call.group, call.resource)
        why = self._store.missing.get(full)
        if why is not None:
            raise _not_captured(f"{full} were not captured: {why}")
        versions = []
        for group, version, plural in collections:
            if (group, plural) == (call.group, call.resource):
                versions.append(version)
        if versions:
            raise _not_captured(f"{full} were captured as version {', '.join(versions)}, not {call.version}")
        raise _not_captured(f"{full} were not captured{self._nearest(call.resource)}")

    def _nearest(self, plural: str) -> str:
        """Returns a suggestion for the end of an error."""
        names = {name for _, _, name in self._store.collections}
        known = sorted(names)[:_MAX_NAMES]
        short = [name for name in known if len(name) <= _MAX_NAME]
        close = difflib.get_close_matches(plural[:_MAX_NAME], short, n=1)
        if close:
            return f"; did you mean {close[0]}?"
        shown = ", ".join(known[:40])
        return f"; captured are: {shown}"

    def _check_covered(self, saved: collection.Collection, call: request.Request) -> None:
        """Raises ClusterError when the call's namespace was not captured."""
        if saved.covers(call.namespace):
            return
        # Attack: a caller who is limited to some namespaces reads here the names of others.
        raise _not_captured(
            f"{saved.resource.plural} of namespace {call.namespace} were not captured; a list over all namespaces says "
            "of which they were"
        )

    def _check_whole(self, saved: collection.Collection, call: request.Request) -> None:
        """Raises ClusterError when a missing object may have existed in the cluster."""
        plural = saved.resource.plural
        version = saved.resource.version
        if saved.is_selection:
            raise _not_captured(f"{plural} were saved one by one, and {call.name} is not among them")
        others = self._other_versions(saved)
        if others:
            raise _not_captured(f"{call.name} is not among the {plural} of version {version}; others are {others}")

    def _other_versions(self, saved: collection.Collection) -> str:
        """Returns the other versions in which objects of the same resource were saved; empty if there are none."""
        # Our own captures have all objects in each version.
        if self._store.info is not None:
            return ""
        own, found = saved.resource, []
        for group, version, plural in self._store.collections:
            if (group, plural) == (own.group, own.plural) and version != own.version:
                found.append(version)
        return ", ".join(sorted(found))

    def _list(self, call: request.Request, saved: collection.Collection, check: collection.Check) -> types.Response:
        """Returns a list or a watch of the objects that match both selectors."""
        if call.namespace and saved.resource.namespaced:
            self._check_covered(saved, call)
        options = dict(call.query)
        by_label = options.get("labelSelector", "")
        by_field = options.get("fieldSelector", "")
        try:
            known = selectors.list_indexed(call.group, call.resource)
            if saved.metadata_only and selectors.fields(by_field, known)[1]:
                raise _not_captured(
                    f"only metadata of {saved.resource.plural} was captured: select by labels, metadata.name or "
                    "metadata.namespace"
                )
            picked = saved.select(call.namespace, by_label, by_field, check)
        except selectors.SelectorError as error:
            return responses.failure(400, "BadRequest", str(error))
        if call.verb == "watch":
            response = self._events(call, saved, picked)
        else:
            response = self._page(call, saved, picked, options)
        return self._with_scope_warning(response, saved, call)

    @staticmethod
    def _events(
        call: request.Request, saved: collection.Collection, picked: Iterator[collection.Item]
    ) -> types.Response:
        """Returns a watch that reports each object as added."""
        if "PartialObjectMetadata" in call.accept:
            return responses.events(responses.partial(item.raw) for item in picked)
        return responses.events(bytes(collection.as_object(item.raw, saved.resource)) for item in picked)

    def _page(
        self,
        call: request.Request,
        saved: collection.Collection,
        picked: Iterator[collection.Item],
        options: dict[str, str],
    ) -> types.Response:
        """Returns the page of the list that `limit` and `continue` request."""
        try:
            start = _start_of(options.get("continue", ""))
        except ValueError:
            return responses.failure(
                400, "BadRequest", "continue key is not valid: it was not given out by this snapshot"
            )
        metadata: dict[str, Any] = {"resourceVersion": _RESOURCE_VERSION}
        items: Iterator[collection.Item] = itertools.islice(picked, start, None)
        limit = int(options.get("limit", "0"))
        if limit:
            rest = list(items)
            items = iter(rest[:limit])
            more = len(rest) - limit
            is_filtered = options.get("labelSelector") or options.get("fieldSelector")
            if more > 0:
                metadata["continue"] = _continue_token(start + limit)
            if more > 0 and not is_filtered:  # like the API server, which gives no count when a selector filters
                metadata["remainingItemCount"] = more
        partial = "PartialObjectMetadataList" in call.accept
        raws = (responses.partial(item.raw) if partial else bytes(item.raw) for item in items)
        return responses.listing(saved.resource, metadata, raws, partial=partial)

    def _with_scope_warning(
        self, response: types.Response, saved: collection.Collection, call: request.Request
    ) -> types.Response:
        """Adds a warning header to a list or a watch if not all its objects were captured."""
        plural = saved.resource.plural
        warnings = []
        if not call.namespace and not saved.covers(""):
            names = ", ".join(sorted(saved.scope or ()))
            warnings.append(f"the snapshot holds {plural} of these namespaces only: {names[:800]}")
        if saved.is_selection:
            warnings.append(f"the snapshot holds {plural} that were saved one by one; there may have been others")
        others = self._other_versions(saved)
        if others:
            warnings.append(f"the snapshot holds further {plural} of version {others}")
        if not warnings:
            return response
        return replace(response, headers={"warning": "; ".join(warnings)})


def _not_captured(message: str) -> errors.ClusterError:
    return errors.ClusterError(message, code="cluster.not_captured")


def _too_deep() -> errors.ClusterError:
    # A thread with a larger stack than the answering one may have read the object.
    return errors.ClusterError("an object of the snapshot is nested too deep", code="cluster.broken")


def _in_time(response: types.Response, check: collection.Check) -> types.Response:
    """Returns the response; its body ends with an error once it is no longer needed."""

    def chunks() -> Iterator[bytes]:
        try:
            for chunk in response.chunks:
                check()
                yield chunk
        except RecursionError:
            raise _too_deep() from None

    return replace(response, chunks=chunks())


def _continue_token(start: int) -> str:
    """Returns the `continue` token of the page that begins at `start`."""
    value = json.dumps({"v": "kubescript", "start": start})
    return base64.urlsafe_b64encode(value.encode()).decode()


def _start_of(token: str) -> int:
    """Returns the start of a `continue` token's page. Raises ValueError for a token that is not ours."""
    if not token:
        return 0
    try:
        value = json.loads(base64.urlsafe_b64decode(token))
        offset = value["start"]
    except (binascii.Error, KeyError, TypeError) as error:
        raise ValueError("token") from error
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= sys.maxsize:
        raise ValueError("token")
    return offset
