"""Adds the changes of one dry run to an object that an earlier one has changed: a merge of three, as JSON.

Both dry runs began with the same live object. The host has refused a second change of the same field, so the two never
contradict each other.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.kube import merge_keys
from kubescript.worker.sdk import lazy_json

__all__ = ["rebased"]

_ABSENT: Final = object()


def rebased(planned: bytes, before: bytes, after: bytes) -> bytes:
    """Returns the object `planned` with what differs between `before` and `after`."""
    merged = _merged(*map(lazy_json.decode_all, (planned, before, after)))
    return lazy_json.encode(merged)


def _merged(planned: Any, before: Any, after: Any) -> Any:
    if before == after:
        return planned
    if isinstance(planned, dict) and isinstance(after, dict):
        return _merged_dict(planned, before if isinstance(before, dict) else {}, after)
    if isinstance(planned, list) and isinstance(after, list):
        return _merged_list(planned, before if isinstance(before, list) else [], after)
    return after


def _merged_dict(planned: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    merged = {}
    for key in {**planned, **after}:
        value = _merged(planned.get(key, _ABSENT), before.get(key, _ABSENT), after.get(key, _ABSENT))
        if value is not _ABSENT:
            merged[key] = value
    return merged


def _merged_list(planned: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Merges items by what tells them apart, others by their places; lists of other lengths are not merged."""
    lists = (planned, before, after)
    key = merge_keys.list_key(*lists)
    if key is not None:
        by_label = [{item[key]: item for item in each} for each in lists]
        return list(_merged_dict(*by_label).values())
    if len(planned) == len(before) == len(after):
        return [_merged(*each) for each in zip(planned, before, after, strict=True)]
    return after
