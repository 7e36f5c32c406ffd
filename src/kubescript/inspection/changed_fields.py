"""The fields that differ between two states of an object, one row each; nothing is left out or cut.

An object is split into its leaves: scalars, and empty objects and lists. Two objects with the same leaves at the same
paths, and the same order in each list, are equal; each difference gets a row.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Any, Final, NamedTuple

import msgspec

from kubescript.inspection import hidden, nodes, requested
from kubescript.kube import merge_keys
from kubescript.wire import inspection

__all__ = ["Differences", "TooManyError", "between"]

_Side = nodes.Node | None
"""One side of a comparison; None where the value is missing."""
_LEAF: Final = "leaf"
_NONE: Final = ("nothing",)
"""The marker of a missing value; no leaf is equal to it."""
_ALLOTTED: Final = ("allotted",)
"""The marker of a value that the API server allots anew in each dry run."""
_ALLOTS: Final = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})
"""Fields with values of this kind: addresses and ports of a Service."""
# The name goes on with five letters, which differ each time.
_POD_VOLUME: Final = "kube-api-access-"
"""The beginning of the name of the volume that admission adds to a pod."""
# Attack: an object has a key of a megabyte, which is masked in the rows, above many fields, so that each of their paths
# repeats it.
_MAX_HASHED: Final = 4 * inspection.MAX_CHANGES
"""How many bytes of paths and values are hashed at most."""


class TooManyError(ValueError):
    """The rows are too many or too long for an answer."""


class Differences(NamedTuple):
    """The differences between two objects."""

    rows: tuple[inspection.Row, ...] = ()
    digest: str = ""
    """The SHA-256 of the rows, unmasked, since masks differ from process to process. Values that the API server allots
    anew in each dry run are left out."""
    requested: str = ""
    """The SHA-256 of only those rows that the request names."""


def between(
    before: _Side,
    after: _Side,
    asked: requested.Asked,
    masks: hidden.Finder,
    uid: str = "",
    resource: str = "",
) -> Differences:
    """Returns the differences between two objects, either of which may be missing, in the order of `after`; removed
    values follow their siblings. `masks` finds what masks hide in them. `uid` is that of `after`, and `resource` its
    resource if that is in the core group. Raises TooManyError."""
    found = _Rows(masks, uid or None, resource)
    found.objects(before, after, asked)
    return Differences(tuple(found.rows), found.digest.hexdigest(), found.requested.hexdigest())


class _Rows:
    """The rows that were found, and the current path of the comparison."""

    def __init__(self, masks: hidden.Finder, uid: str | None, resource: str) -> None:
        self._masks = masks
        self._uid = uid
        self._allots = _ALLOTS if resource == "services" else frozenset()
        self._is_pod = resource == "pods"
        self.rows: list[inspection.Row] = []
        self.digest = hashlib.sha256()
        self.requested = hashlib.sha256()
        self._unhashed = _MAX_HASHED
        self._path: list[str] = []
        self._names: list[Any] = []
        """The same path as `_path`, but unmasked: keys, labels and indices."""
        self._left = inspection.MAX_CHANGES
        """How many characters are left for more rows."""

    def objects(self, old: _Side, new: _Side, asked: requested.Asked) -> None:
        """Compares two objects, member by member."""
        olds = nodes.fields(old)
        news = nodes.fields(new)
        for key, field in news.items():
            was = olds[key].node if key in olds else None
            step = nodes.key_step(field.key)
            self._below(step, key, was, field.node, asked.field(key))
        for key, field in olds.items():
            if key in news:
                continue
            step = nodes.key_step(field.key)
            self._below(step, key, field.node, None, asked.field(key))

    def _below(self, step: str, name: Any, old: _Side, new: _Side, asked: requested.Asked) -> None:
        """Compares the values one step further down."""
        self._path.append(step)
        self._names.append(name)
        self._values(old, new, asked)
        self._path.pop()
        self._names.pop()

    def _values(self, old: _Side, new: _Side, asked: requested.Asked) -> None:
        """Compares two values, either of which may be missing, according to their types."""
        forms = {_form(old), _form(new)} - {None}
        if len(forms) > 1:
            self._values(None, new, asked)
            self._values(old, None, asked)
        elif dict in forms:
            self.objects(old, new, asked)
        elif list in forms:
            self._lists(old, new, asked)
        elif old is None or new is None or not nodes.is_same(old.raw, new.raw):
            is_named = asked.names(existed=old is not None)
            self._add_values(old, new, is_named=is_named)

    def _add_values(self, old: _Side, new: _Side, *, is_named: bool) -> None:
        """Adds a row for two values without members, either of which may be missing."""
        was_text = now_text = None
        was_raw = now_raw = _NONE
        behind = hidden.NOTHING
        if old is not None:
            was_text, was_raw = nodes.text(old), old.raw
        if new is not None:
            now_text, now_raw = nodes.text(new), new.raw
            behind = self._find_hidden(new, is_new=old is None)
        self._add(was_text, now_text, behind, is_named=is_named)
        self._hash(was_raw, now_raw, is_named=is_named)

    def _find_hidden(self, new: nodes.Node, *, is_new: bool) -> hidden.Hidden:
        """Returns what masks hide in the current field: in the path of a new field, or else in the new value."""
        behind = hidden.NOTHING
        if is_new:
            behind = hidden.find_in_path(self._path, self._names)
        if behind == hidden.NOTHING and not nodes.is_same(new.raw, new.shown):
            behind = self._masks.find(self._names, new)
        return behind

    def _lists(self, old: _Side, new: _Side, asked: requested.Asked) -> None:
        """Compares two lists, by label where all items have one, otherwise by index."""
        olds = nodes.items(old)
        news = nodes.items(new)
        was_raw = [item.raw for item in olds]
        now_raw = [item.raw for item in news]
        key = merge_keys.list_key(was_raw, now_raw)
        item_asked = asked.items(key, now_raw)
        if key is not None:
            self._compare_by_label(key, olds, news, item_asked, asked)
            return
        pairs = itertools.zip_longest(olds, news)
        for place, (was, now) in enumerate(pairs):
            self._below(f"[{place}]", place, was, now, item_asked(place))

    def _compare_by_label(
        self,
        key: str,
        old: list[nodes.Node],
        new: list[nodes.Node],
        item_asked: requested.ItemAsked,
        asked: requested.Asked,
    ) -> None:
        """Compares two lists whose items are identified by a field."""
        olds = {item.raw[key]: item for item in old}
        news = {item.raw[key]: item for item in new}
        # New items at the end do not change the order of the others.
        stayed = [label for label in olds if label in news]
        added = [label for label in news if label not in olds]
        if list(news) != [*stayed, *added]:
            self._add_order(key, old, new, asked)
        for label, item in news.items():
            step = nodes.label_step(key, item.shown)
            self._below(step, [label], olds.get(label), item, item_asked(label))
        for label, item in olds.items():
            if label in news:
                continue
            step = nodes.label_step(key, item.shown)
            self._below(step, [label], item, None, item_asked(label))

    def _add_order(self, key: str, old: list[nodes.Node], new: list[nodes.Node], asked: requested.Asked) -> None:
        """Adds a row for the order of a list's items."""
        is_named = asked.names(existed=True)
        old_text = nodes.order(key, old)
        new_text = nodes.order(key, new)
        # A new label has rows of its own, with what masks hide of it.
        self._add(old_text, new_text, hidden.NOTHING, is_named=is_named)
        old_labels = [item.raw[key] for item in old]
        new_labels = [item.raw[key] for item in new]
        self._hash(old_labels, new_labels, is_named=is_named)

    def _add(
        self,
        old: tuple[str, bool] | None,
        new: tuple[str, bool] | None,
        behind: hidden.Hidden,
        *,
        is_named: bool,
    ) -> None:
        """Adds a row; `behind` is what masks hide of it, and `is_named` says whether the request names it."""
        path = "".join(self._path).removeprefix(".")
        was, was_masked = old or (None, False)
        now, now_masked = new or (None, False)
        is_masked = was_masked or now_masked
        size = len(path) + len(was or "") + len(now or "")
        # Attack: an object has a hundred thousand fields below a key of a megabyte.
        self._left -= size
        if self._left < 0 or len(self.rows) >= inspection.MAX_ROWS:
            raise TooManyError
        row = inspection.Row(path, was, now, not is_named, is_masked, *behind)
        self.rows.append(row)

    def _hash(self, old: Any, new: Any, *, is_named: bool) -> None:
        """Adds a row to the digests."""
        names = self._names
        # Each dry run allots a different value, but two dry runs of the same request must have the same digest.
        if not is_named:
            names = [_ALLOTTED if self._is_allotted(name) else name for name in names]
            is_address = not self._allots.isdisjoint(map(str, names))
            if is_address or self._is_allotted(new):
                new = _ALLOTTED
        content = msgspec.json.encode([names, old, new])
        # Unlike the row, the content has unmasked keys, so the limit on rows does not bound it.
        self._unhashed -= len(content)
        if self._unhashed < 0:
            raise TooManyError
        self.digest.update(content)
        if is_named:
            self.requested.update(content)

    def _is_allotted(self, value: Any) -> bool:
        """Says whether a value, or an item's label, derives from something that the API server chooses at random."""
        if isinstance(value, list) and len(value) == 1:
            (value,) = value
        if not isinstance(value, str):
            return False
        # A Job's pods are selected by labels with its uid, and a new Job gets a different uid in each dry run.
        if value == self._uid:
            return True
        return self._is_pod and value.startswith(_POD_VOLUME)


def _form(node: _Side) -> Any:
    """Returns the type of a value: object, list or leaf; None for a missing value."""
    if node is None:
        return None
    has_members = isinstance(node.raw, dict | list) and bool(node.raw)
    return type(node.raw) if has_members else _LEAF
