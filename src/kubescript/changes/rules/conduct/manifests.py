"""NO_BROAD_PARTIAL_MANIFESTS: a manifest names only the fields that it changes, and drops no field by omitting it.

Naming unchanged fields is harmless in the apply of a whole manifest: that is what manifests in Git are for. It is
harmful in a patch, and in a replace that does not name the version it was written for: both revert whatever another
client has changed since the object was read. If the task's fields are known (`goalFields`), every other field counts.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import Final

from kubescript.changes.rules.conduct import configuration, findings, transcript
from kubescript.kube import field_paths

__all__ = ["check"]

# Labels, replicas, selector and the template's labels, in addition to a new image, are four places; a patch that
# ensures one map or list has one place.
_PLACES: Final = 4
"""How many places of unneeded fields make a manifest broad."""
_SHARE: Final = 0.5
"""The minimum share of unneeded places in a broad manifest."""
_DROPPED: Final = 3
"""The minimum number of fields that a partial manifest drops; it must also drop more fields than it names."""


def check(changes: transcript.Transcript, settings: configuration.Configuration) -> findings.Remarks:
    """Yields manifests with fields outside of the goal, manifests that drop most of the object, and patches of whole
    objects."""
    for index, change in enumerate(changes.changes):
        is_new = change.method == "create" or change.existed is False
        if is_new or change.removes or change.subresource:
            continue
        if change.named is None or change.fields is None:
            yield findings.Unknown(index, "which fields the request names and which it changes")
            continue
        message = _beside_goal(change, settings) or _drops(change) or _is_broad(change)
        if message:
            yield findings.Violation(index, message)


def _beside_goal(change: transcript.Change, settings: configuration.Configuration) -> str:
    """Describes the named fields that are outside of the task."""
    if settings.goal is None:
        return ""
    beside = set()
    for path in _content(change):
        bare = field_paths.plain(path)
        if not any(field_paths.covers(goal, bare) for goal in settings.goal):
            beside.add(bare)
    if not beside:
        return ""
    shown = findings.shorten(beside)
    return f"{change.method} of {change.target} names fields that the task is not about: {shown}"


def _drops(change: transcript.Change) -> str:
    """Describes an apply or a replace that drops more than it names, as if it had been written as a patch."""
    dropped = _without_identity(change.dropped)
    named = _content(change)
    if len(dropped) < _DROPPED or len(dropped) <= len(named):
        return ""
    shown = findings.shorten(dropped)
    return (
        f"{change.method} of {change.target} names {len(named)} fields and drops {len(dropped)} that it leaves out: "
        f"{shown}; patch what is to change"
    )


def _is_broad(change: transcript.Change) -> str:
    """Describes a patch, or a replace without a version, most of which is not needed for its changes."""
    changed = change.fields or ()
    if change.method == "apply" or change.locked or not changed:
        return ""
    needed = {field_paths.place(path) for path in changed}
    roots = _roots(changed)
    beside = set()
    places = set()
    for path in _content(change):
        place = field_paths.place(path)
        if place not in needed and not _is_part(path, roots):
            beside.add(path)
            places.add(place)
    share = len(places) / len(needed | places)
    if len(places) < _PLACES or share < _SHARE:
        return ""
    return (
        f"{change.method} of {change.target} changes {findings.shorten(changed)} and also names {len(beside)} fields "
        f"that stay as they are, in {findings.shorten(places)}: what others change there meanwhile is put back; send a "
        "patch of the changed fields"
    )


def _content(change: transcript.Change) -> list[str]:
    """Returns the named fields that are content."""
    return _without_identity(change.named or ())


def _without_identity(paths: Iterable[str]) -> list[str]:
    """Leaves out the fields that only name an object, or an item of a list."""
    return [path for path in paths if not field_paths.is_identity(path)]


def _roots(changed: Iterable[str]) -> list[str]:
    """Returns the topmost paths: plain, each with a trailing dot, sorted."""
    plain = {f"{field_paths.plain(path)}." for path in changed}
    roots: list[str] = []
    for path in sorted(plain):
        is_below = bool(roots) and path.startswith(roots[-1])
        if not is_below:
            roots.append(path)
    return roots


def _is_part(path: str, roots: Sequence[str]) -> bool:
    """Says whether this field contains a changed field, or is contained in one."""
    # Both the containing and the contained field are neighbours of this field in sorted order. Attack: 20,000 changed
    # fields and 80,000 named ones, compared pair by pair, would stop the host for minutes.
    plain = f"{field_paths.plain(path)}."
    at = bisect.bisect(roots, plain)
    is_below = at > 0 and plain.startswith(roots[at - 1])
    is_above = at < len(roots) and roots[at].startswith(plain)
    return is_below or is_above
