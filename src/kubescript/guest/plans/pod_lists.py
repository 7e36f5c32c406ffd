"""The pods of a namespace by label selectors: selected by the API server or, for many selectors, in one list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import reads
from kubescript.guest.sdk.values import exceptions
from kubescript.kube import selectors

__all__ = ["Json", "PodLists", "is_readable"]

Json = reads.Json

_LABEL: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./")
"""The characters of a label's key and value. Masked ones have others."""
_FEW: Final = 4
"""For so many selectors, the API server is asked for each."""


class PodLists:
    """The pods that several selectors select in one namespace."""

    def __init__(self, look: reads.Reads, namespace: str) -> None:
        self._look = look
        self._namespace = namespace
        self._queries: dict[str, None] = {}
        self._found: dict[str, list[reads.Json]] = {}

    def want(self, queries: Iterable[str]) -> None:
        """Asks for the pods of these selectors, in the syntax of queries."""
        self._queries.update(dict.fromkeys(queries))
        if len(self._queries) > _FEW:
            self._look.want("pods", self._namespace)
        else:
            self._want_each()

    def settle(self) -> None:
        """Selects the pods from the list of all, once it is read; asks for each selector if that is impossible."""
        if len(self._queries) <= _FEW:
            return
        try:
            self._select(self._look.get("pods", self._namespace))
        except (exceptions.ApiException, selectors.SelectorError):
            self._want_each()

    def get(self, query: str) -> list[reads.Json]:
        """Returns the pods of a selector that was asked for. Raises ApiException, also for too many pods."""
        pods = self._found.get(query)
        if pods is None:
            pods = self._look.get("pods", self._namespace, query)
        if len(pods) >= reads.LIMIT:
            raise exceptions.ApiException(reason=f"{reads.LIMIT} pods or more are selected")
        return pods

    def _want_each(self) -> None:
        for query in self._queries:
            self._look.want("pods", self._namespace, query)

    def _select(self, pods: list[reads.Json]) -> None:
        """Selects the pods of each selector. Raises SelectorError if that needs the API server."""
        # A masked label would not be selected, so that a Service seems to have no endpoints.
        if len(pods) >= reads.LIMIT or not all(is_readable(cells.at(pod, "metadata.labels", {})) for pod in pods):
            raise selectors.SelectorError("not all pods can be read")
        for query in self._queries:
            selects = selectors.labels(query)
            self._found[query] = pods if selects is None else list(filter(selects, pods))


def is_readable(labels: Mapping[str, str]) -> bool:
    """Says whether no label is masked."""
    return all(_LABEL.issuperset(key) and _LABEL.issuperset(value) for key, value in labels.items())
