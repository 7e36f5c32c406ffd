"""What somebody writes beside a value hides it no better: another line, another item, another annotation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest

from kubescript.masker import bodies
from kubescript.wire import masking

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]

PASSWORD: Final = "Tr0ub4dor-3"
STAMP: Final = "2026-01-31T12:00:00.000000000Z "


@pytest.fixture(scope="module")
def rules() -> bodies.Rules:
    return bodies.Rules(masking.Settings(key=b"neighbours"))


def masked(rules: bodies.Rules, body: str, about: masking.Body, size: int = 1 << 20) -> str:
    """A body, masked, that came in chunks of this size; and the next text is masked as ever."""
    content = body.encode()
    chunks = (content[at : at + size] for at in range(0, len(content), size))
    output = b"".join(rules.body(about, chunks, lambda _: None)).decode()
    assert PASSWORD not in rules.text(f"password={PASSWORD}".encode(), lambda _: None).decode()
    return output


TABLES: Final = (
    '["x"]',
    "5",
    "null",
    '{"name":"password"}',
    '[null,{"name":"Password"}]',
    '[["name"]]',
    '[{"name":{}}]',
)
"""What an aggregated API server may call the columns of a table; `.get` of a text ended the masker."""


@pytest.mark.promise("S-11")
@pytest.mark.parametrize("columns", TABLES)
def test_no_table_ends_a_masker(columns: str, rules: bodies.Rules, attacks: Count) -> None:
    """The table comes out with its rows."""
    attacks(1)
    table = f'{{"kind":"Table","columnDefinitions":{columns},"rows":[{{"cells":["plain","x"]}}]}}'
    assert '"plain"' in masked(rules, table, masking.Body(table=True))
