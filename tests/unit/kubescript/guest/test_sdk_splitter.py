"""Lists that are cut apart while they arrive hold exactly what json.loads finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescript.guest.sdk.objects import list_objects, schemas, streaming
from kubescript.guest.sdk.values import lazy_json
from kubescript_masking.wire import lists as arriving
from tests.kit import cases

TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ['},{"metadata":', '"items":[', "]}", "\\", '"']
)
KEYS = st.sampled_from(["metadata", "items", "a", "kind", '},{"metadata":']) | TEXT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ITEM = st.dictionaries(KEYS, JSON, max_size=4) | st.fixed_dictionaries({"metadata": JSON, "spec": JSON}) | JSON
LISTING = st.fixed_dictionaries(
    {"items": st.none() | st.lists(ITEM, max_size=6)},
    optional={
        "kind": st.just("PodList"),
        "metadata": st.dictionaries(KEYS, TEXT),
        "more": JSON,
    },
)


def cut(text: bytes, size: int) -> Iterator[bytes]:
    """The text in chunks."""
    return (text[at : at + size] for at in range(0, len(text), size))


def split(chunks: Iterator[bytes]) -> streaming.Splitter:
    """Everything the splitter makes of a body."""
    parted = streaming.Splitter()
    for chunk in chunks:
        parted.feed(chunk)
    parted.finish()
    return parted


def document(value: dict[str, Any], order: list[str], style: str) -> bytes:
    """One of the ways a server may write it."""
    ordered = {key: value[key] for key in sorted(value, key=order.index)}
    separators = (",", ":") if style == "compact" else None
    return json.dumps(
        ordered, separators=separators, indent=2 if style == "pretty" else None, ensure_ascii=False
    ).encode()


@settings(max_examples=400, deadline=None)
@given(
    LISTING,
    st.permutations(["kind", "metadata", "items", "more"]),
    st.sampled_from(["compact", "spaced", "pretty"]),
    st.integers(1, 60),
)
def test_any_list_in_any_chunks_gives_the_items_of_json_loads(
    value: dict[str, Any], order: list[str], style: str, size: int
) -> None:
    """Any JSON list document, cut anywhere, gives exactly its items and its metadata."""
    text = document(value, order, style)
    parted = split(cut(text, size))
    expected = json.loads(text)
    assert [lazy_json.whole(item) for item in parted.items] == (expected.get("items") or [])
    assert parted.head.get("metadata") == expected.get("metadata")


def pods(count: int, **more: Any) -> bytes:
    """A compact list as the API server writes it."""
    items = [{"metadata": {"name": f"pod-{n}"}, **more} for n in range(count)]
    head = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", "continue": "x"},
        "items": items,
    }
    return json.dumps(head, separators=(",", ":")).encode() + b"\n"


def test_items_are_there_before_the_body_ends() -> None:
    """A loop sees the first items while the rest has not been asked for."""
    text, taken = pods(100), []

    def chunks() -> Iterator[bytes]:
        for chunk in cut(text, 200):
            taken.append(chunk)
            yield chunk

    arriving = list_objects.ListObject(
        streaming.Arrival(chunks(), lambda error: error), schemas.shape_of("V1Pod"), "V1PodList"
    )
    first = next(iter(arriving))
    assert first.metadata.name == "pod-0"
    assert arriving.metadata.resource_version == "7"
    assert len(taken) < 3
    assert len(arriving) == 100


def test_an_item_does_not_keep_the_body_alive() -> None:
    """Each item owns its bytes, so memory is bounded by what a script keeps."""
    parted = split(cut(pods(50), 64))
    assert all(memoryview(memoryview(item["metadata"]).obj).nbytes < 64 for item in parted.items)


def test_an_item_full_of_candidates_is_decoded_in_linear_time() -> None:
    """Text that imitates the mark thousands of times in one item costs one decoding of the rest, not one per mark."""
    nested = [{"metadata": {"n": n}} for n in range(20_000)]
    parted = split(cut(pods(3, nested=nested), 4_096))
    assert [lazy_json.whole(item)["nested"][-1] for item in parted.items] == [{"metadata": {"n": 19_999}}] * 3


@cases.each("text", [b"", b"{", b'{"items":[{"metadata":{}},{"metadata":', b"nonsense", b"{}", pods(4)[:-3]])
def test_a_body_that_breaks_off_is_an_error_not_a_shorter_list(text: bytes) -> None:
    """An incomplete list never looks like a complete one."""
    with pytest.raises(arriving.FlawError):
        split(cut(text, 7))
