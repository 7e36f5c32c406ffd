"""What a hostile source's answer costs the process that masks it: a bounded number of bytes, however small its parts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript import app, config, errors, programs
from kubescript.broker import operation
from kubescript.wire import exchanges
from kubescript_masking.host import pool
from kubescript_sandbox.host import spawner
from tests.kit import api_server, cases

MEMORY: Final = 320 << 20
SIZE: Final = 20 << 20
UP: Final = (("query", "up"),)
DATA: Final = b'{"status":"success","data":%s}'
QUERIES: Final = b'{"resultType":"%s","result":[%%s]}'
STREAM: Final = b'{"stream":{},"values":[%s]}'
POINTS: Final = b",".join(b'[1732730000.123,"1234567.%d"]' % number for number in range(60))
USUAL: Final = b'{"metric":{"__name__":"memory","namespace":"shop","pod":"web-1"},"values":[%s]}' % POINTS
LINE_FEEDS: Final = rb'["1","%s"]' % (rb"\n" * (SIZE // 2))

Case = tuple[tuple[str, str], tuple[tuple[str, str], ...], bytes]


def repeat(part: bytes, size: int = SIZE) -> bytes:
    """So many bytes of one part, with commas between."""
    return b",".join([part] * (size // (len(part) + 1)))


def query(kind: bytes, results: bytes) -> bytes:
    """The answer to a query."""
    return DATA % (QUERIES % kind) % results


HOSTILE: Final[dict[str, Case]] = {
    "series": (("prom", "query"), UP, query(b"vector", repeat(b'{"metric":{}}'))),
    "series twice": (
        ("prom", "query"),
        UP,
        query(b"vector", repeat(b'{"metric":{}}')).replace(b"]}}", b'],"result":[]}}'),
    ),
    "points": (("prom", "query_range"), UP, query(b"matrix", repeat(USUAL, 33 << 20))),
    "lines": (("logs", "query"), (("query", '{a="b"}'),), query(b"streams", STREAM % repeat(b'["1",""]'))),
    "escapes": (("logs", "query"), (("query", '{a="b"}'),), query(b"streams", STREAM % repeat(rb'["1","\\"]'))),
    "line feeds": (("logs", "query"), (("query", '{a="b"}'),), query(b"streams", STREAM % LINE_FEEDS)),
    "values": (("prom", "label_values"), (("label", "pod"),), DATA % (b"[%s]" % repeat(b'"ab"'))),
    "label sets": (("prom", "series"), (("match", "up"),), DATA % (b"[%s]" % repeat(b"{}"))),
    "traces": (("traces", "search"), (), b'{"traces":[%s]}' % repeat(b"{}")),
    "numbers": (("traces", "trace"), (("id", "ab"),), b'{"batches":[%s]}' % repeat(b"1.5")),
    "attributes": (("traces", "trace"), (("id", "ab"),), b'{"a":[%s]}' % repeat(b'{"key":"a","value":{}}')),
}


@pytest.fixture(scope="module")
def source() -> Iterator[api_server.Server]:
    with contextlib.closing(api_server.Server()) as made:
        yield made


@pytest.fixture(scope="module")
def application(source: api_server.Server) -> Iterator[app.Application]:
    """Its maskers have a third of their usual memory: a part that grows beyond this ends its masker."""
    kinds = {"prom": "prometheus", "logs": "loki", "traces": "tempo"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_MEMORY", MEMORY)
        settings = config.Settings(
            kubeconfig=Path("/nonexistent"),
            kubeconfig_later=True,
            sources={
                name: config.Source.model_validate({"kind": kind, "url": source.url}) for name, kind in kinds.items()
            },
        )
        with app.opened(settings, spawner.Spawner(programs.WORKER)) as opened:
            yield opened


def ask(application: app.Application, path: tuple[str, str], query: tuple[tuple[str, str], ...]) -> int:
    """The size of the masked answer. Raises KubescriptError."""
    call = exchanges.Call("GET", (*exchanges.SOURCES, *path), query)
    reply, response = application.operator.contexts.handle(call, operation.Operation(), 240)
    assert reply.fault is None and response is not None
    return sum(map(len, response.chunks))


@pytest.mark.promise("D-03")
@cases.each("attack", HOSTILE)
def test_many_small_parts_are_refused_before_they_are_decoded(
    attack: str, application: app.Application, source: api_server.Server
) -> None:
    """The error says what to ask instead, and 10,000 series of 60 points pass in the same memory."""
    path, query_of, body = HOSTILE[attack]
    source.answer = api_server.whole(body)
    with pytest.raises(errors.RedactionError, match=r"32 MiB, or too many parts.* fewer series"):
        ask(application, path, query_of)
    usual = query(b"matrix", b",".join([USUAL] * 10_000))
    source.answer = api_server.whole(usual)
    assert ask(application, ("prom", "query"), UP) == len(usual)


@pytest.mark.timeout(600)
@pytest.mark.promise("D-03")
def test_lines_of_many_words_are_masked_in_bounded_memory(
    application: app.Application, source: api_server.Server
) -> None:
    """What was masked in 20 MB of short words is looked for in labels; the next answer is masked in the same memory."""
    words = b" ".join(b"%x" % number for number in range(SIZE // 6))
    lines = query(b"streams", b'{"stream":{"app":"web","a":"xyz"},"values":[["1","password=xyz %s"]]}' % words)
    for _ in range(2):
        source.answer = api_server.whole(lines)
        assert 0 < ask(application, ("logs", "query"), (("query", '{a="b"}'),)) != len(lines)
