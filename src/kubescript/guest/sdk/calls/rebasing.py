"""Adds the changes of one dry run to an object that an earlier dry run has changed: a three-way merge of JSON.

Both dry runs began with the same live object. The host refuses a second change to the same field, so the two never
contradict each other.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.sdk.values import lazy_json
from kubescript.kube import merge_keys

__all__ = ["rebase"]

_ABSENT: Final = object()


def rebase(planned: bytes, before: bytes, after: bytes) -> bytes:
    """Returns the object `planned` with the changes from `before` to `after`."""
    values = [lazy_json.decode_all(each) for each in (planned, before, after)]
    merged = _merge(*values)
    return lazy_json.encode(merged)


def _merge(planned: Any, before: Any, after: Any) -> Any:
    if before == after:
        return planned
    if isinstance(planned, dict) and isinstance(after, dict):
        known = before if isinstance(before, dict) else {}
        return _merge_dict(planned, known, after)
    if isinstance(planned, list) and isinstance(after, list):
        known_items = before if isinstance(before, list) else []
        return _merge_list(planned, known_items, after)
    return after


def _merge_dict(planned: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Merges fields by name; a field that one of the two has removed stays removed."""
    merged = {}
    for key in {**planned, **after}:
        # A field that is absent differs from one that is null.
        values = [each.get(key, _ABSENT) for each in (planned, before, after)]
        value = _merge(*values)
        if value is not _ABSENT:
            merged[key] = value
    return merged


def _merge_list(planned: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Merges items by their merge key or, if they have none, by position. If neither is possible, the later list
    replaces the other."""
    key = merge_keys.list_key(planned, before, after)
    if key is not None:
        by_label = [{item[key]: item for item in each} for each in (planned, before, after)]
        merged = _merge_dict(*by_label)
        return list(merged.values())
    # Without a key, lists of different lengths do not show which item was added or removed.
    if len(planned) == len(before) == len(after):
        triples = zip(planned, before, after, strict=True)
        return [_merge(*each) for each in triples]
    return after
