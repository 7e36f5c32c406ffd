"""What an object says about pods before and after changes, each of which was tried on the same object."""

from __future__ import annotations

import msgspec

from kubescript.wire import inspection

__all__ = ["combine", "count_kept"]


def combine(
    so_far: inspection.Pods | None, before: inspection.Pods | None, after: inspection.Pods | None
) -> inspection.Pods | None:
    """Returns what an object says after one more change, which makes `after` of `before`; `so_far` is what it says
    after the earlier ones. None: there is no such object, or it says nothing."""
    if so_far is None or before is None or after is None:
        return after
    fields = after.__struct_fields__
    new = {field: getattr(after, field) for field in fields if getattr(after, field) != getattr(before, field)}
    return msgspec.structs.replace(so_far, **new)


def count_kept(before: inspection.Pods, after: inspection.Pods) -> int:
    """Returns how many of an object's pods there are before and after a change, which has no other reason to stop
    them."""
    # Attack: the pods of a StatefulSet get other numbers, so that all of them stop, and as many others start.
    first = max(before.first, after.first)
    last = min(before.first + (before.count or 0), after.first + (after.count or 0))
    return max(0, last - first)
