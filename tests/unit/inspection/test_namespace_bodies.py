"""Lists and watches of Namespaces for a caller who may see some of them, as an API server or a broken one sends them."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from kubescript.inspection import namespace_bodies, served_objects
from kubescript.wire import inspection

SERVED: Final = inspection.Namespaces(("team-*",))
ITEMS: Final = b'[{"metadata":{"name":"team-a","labels":{"a":"b"}}},{"metadata":{"name":"other"}}]'
HEAD: Final = b'"kind":"NamespaceList","apiVersion":"v1"'


def listed(body: bytes) -> bytes:
    """What passes of a list."""
    return b"".join(namespace_bodies.of_list(SERVED, iter([body[:20], body[20:]])))


def test_the_permitted_items_of_a_list_pass_unchanged_in_any_order_of_fields() -> None:
    """Of the list's own metadata only the version passes: a count tells of others."""
    metadata = b'"metadata":{"resourceVersion":"7","remainingItemCount":9}'
    for body in (b'{%s,%s,"items":%s}' % (HEAD, metadata, ITEMS), b'{"items":%s,%s,%s}' % (ITEMS, metadata, HEAD)):
        assert msgspec.json.decode(listed(body)) == {
            "kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "team-a", "labels": {"a": "b"}}}],
        }  # fmt: skip


BROKEN: Final = {
    "a page that nobody asked for": b'{%s,"metadata":{"continue":"other"},"items":%s}' % (HEAD, ITEMS),
    "no list": b'{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"other"}}',
    "a Table": b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[{"cells":["other"]}]}',
    "an item without a name": b'{%s,"metadata":{},"items":[{"other":1}]}' % HEAD,
    "cut": b'{%s,"metadata":{},"items":%s' % (HEAD, ITEMS),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_whole_list_is_withheld(case: str) -> None:
    """A part of it would pass for all."""
    with pytest.raises(served_objects.ShapeError):
        listed(BROKEN[case])


def test_the_events_of_a_watch_pass_by_the_name_of_their_object() -> None:
    """A bookmark has no name, and an error is about none; a bookmark with a name is judged by it."""
    lines = [
        b'{"type":"ADDED","object":{"metadata":{"name":"team-a"}}}\n',
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n',
        b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n',
    ]
    others = [
        b'{"type":"%s","object":{"metadata":{"name":"other"}}}\n' % each for each in (b"ADDED", b"DELETED", b"BOOKMARK")
    ]
    assert list(namespace_bodies.events(SERVED, [*lines, *others])) == lines
