"""An object under a credential's name is passed over as a whole only when reading it field by field would find nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubescript_masking.engine import groups
from tests.kit import extent

KEYS = st.sampled_from(
    ["ci", "value", "path", "expirationSeconds", "id", "", "a b", "val\\ue", "}", "värde", 'va"lue']
) | st.text(max_size=3)
VALUES = st.recursive(
    st.text(max_size=12) | st.integers() | st.none() | st.sampled_from(["hunter2hunter2", "}", '"}', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["serviceAccountToken", "tokens", "secureJsonData", "password"])


@given(
    name=NAMES,
    fields=st.dictionaries(KEYS, VALUES, max_size=4),
    ascii_only=st.booleans(),
    behind=st.sampled_from(["", "}", ',"x":"y"}']),
)
@example(name="tokens", fields={"ci": "hunter2hunter2"}, ascii_only=True, behind="")
@settings(max_examples=1_000 if extent.LONG else 200, deadline=None)
def test_no_field_that_inherits_a_name_is_passed_over(
    name: str, fields: dict[str, object], ascii_only: bool, behind: str
) -> None:
    """Whatever the fields are called and hold, escaped or not."""
    text = json.dumps(fields, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") + behind.encode()
    end = groups._pass_over(text, 0, name)
    if end:
        found, stop = groups._read_flow(text, 0)
        assert end == stop
        assert not [value for value in found if groups.judge_as(name, value.own)]


@pytest.mark.parametrize("text", [b'{"path":"token","expirationSeconds":3607,"audience":"a"}', b"{}"])
def test_a_pods_token_is_passed_over(text: bytes) -> None:
    """The object that every pod has under `serviceAccountToken`."""
    assert groups._pass_over(text + b"]", 0, "serviceAccountToken") == len(text)
