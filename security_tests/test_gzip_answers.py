"""Compressed answers of an API server that are not what they say. They reach a masker as they came, through the real
cluster, broker and masking process."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Final, cast

import pytest

from kubescript import config, errors, redaction
from kubescript.broker import broker, operation, summary
from kubescript.cluster import live
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.engine import gzipped
from kubescript_masking.wire import masking as wire
from tests.kit import reading
from tests.kit.api_server import CHUNKED, Server, hang_up, head, kubeconfig, then

LIST: Final = exchanges.Call("GET", ("api", "v1", "pods"))
SECRET: Final = "Tr0ub4dor-and-3"
POD: Final = b'{"metadata":{"name":"p"},"spec":{"env":[{"name":"DB_PASSWORD","value":"%s"}]}}' % SECRET.encode()
PODS: Final = b'{"kind":"PodList","items":[' + b",".join([POD] * 1_000) + b"]}"
PACKED: Final = gzip.compress(PODS, mtime=0)


def packed(body: bytes, encoding: str = "gzip") -> bytes:
    """An answer with that body, its length that of the compressed bytes."""
    return head("200 OK", f"Content-Encoding: {encoding}", length=len(body)) + body


class Door:
    """A broker with a real masker before a server whose answers are written here."""

    def __init__(self, server: Server, folder: Path, masking: redaction.Engine) -> None:
        self._cluster = live.Live(kubeconfig(folder, server.url))
        self.notes = summary.Summary()
        self._broker = broker.Broker(
            self._cluster, policy.Policy(), redact=masking.body, redact_echo=masking.echo, gzip=masking.enabled
        )

    def ask(self, call: exchanges.Call = LIST, most: int = 1 << 62) -> bytes:
        """The body, or as much as a script may read of it. Raises ClusterError."""
        reply, response = self._broker.handle(call, operation.Operation(self.notes), 60)
        if reply.fault is not None:
            raise errors.ClusterError(reply.fault.message, code=reply.fault.code)
        assert response is not None
        body = bytearray()
        for chunk in response.chunks:
            body += chunk
            if len(body) > most:
                response.close()
                break
        return bytes(body)

    def close(self) -> None:
        """Drops the connections."""
        self._cluster.close()


@pytest.fixture(scope="module")
def masking() -> Iterator[redaction.Engine]:
    """An engine with its processes."""
    engine = redaction.Engine(config.Redaction())
    engine.prepare()
    yield engine
    engine.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a port of its own."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def door(server: Server, tmp_path: Path, masking: redaction.Engine) -> Iterator[Door]:
    """A broker before that server."""
    made = Door(server, tmp_path, masking)
    yield made
    made.close()


def works(door: Door, server: Server) -> bool:
    """Whether the next call is answered, whole and masked."""
    server.steps = [packed(PACKED)]
    body = door.ask()
    return (
        body.count(b'"name":"p"') == 1_000
        and body.count("«redacted:".encode()) == 1_000
        and SECRET.encode() not in body
    )


ARRIVALS: Final = (1, 100, 4_096, len(PACKED))


@pytest.mark.promise("S-01")
@pytest.mark.parametrize("size", ARRIVALS)
def test_a_compressed_answer_is_masked_however_it_arrives(size: int, door: Door, server: Server) -> None:
    """In chunks of HTTP that end anywhere within the compressed bytes."""
    parts = [PACKED[at : at + size] for at in range(0, len(PACKED), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    server.steps = [CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: GZIP\r\n\r\n") + chunks]
    arrived = door.ask()
    assert works(door, server)
    server.steps = [packed(PACKED)]
    assert arrived == door.ask()
    assert door.notes.bytes == 3 * len(PODS)  # what counts is what it unfolds to, before it is masked


_WRONG_SUM: Final = PACKED[:-8] + bytes(4) + PACKED[-4:]
_WRONG_SIZE: Final = PACKED[:-4] + bytes(4)
_DAMAGED: Final = PACKED[:300] + bytes(100) + PACKED[400:]
BROKEN: Final = {
    "cut short": (PACKED[:-9], "ends before its compressed data"),
    "cut within its checksum": (PACKED[:-3], "ends before its compressed data"),
    "cut within its header": (PACKED[:7], "ends before its compressed data"),
    "nothing at all": (b"", "ends before its compressed data"),
    "damaged": (_DAMAGED, "damaged"),
    "another checksum": (_WRONG_SUM, "damaged"),
    "another size": (_WRONG_SIZE, "damaged"),
    "no gzip": (PODS, "damaged"),
    "zlib and not gzip": (zlib.compress(PODS), "damaged"),
    "gzip twice": (gzip.compress(PACKED), "ends in the middle of its JSON"),
    "a byte behind it": (PACKED + b"\n", "continues after"),
    "zeros behind it": (PACKED + bytes(512), "continues after"),
    "a second member": (PACKED + PACKED, "continues after"),
    "JSON behind it": (PACKED + PODS, "continues after"),
    "an empty member first": (gzip.compress(b"") + PACKED, "continues after"),
}


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_is_no_single_gzip_is_an_error(name: str, door: Door, server: Server) -> None:
    """A list that is cut short in its compressed bytes is no short list, and the next call is answered."""
    body, message = BROKEN[name]
    server.steps = [packed(body)]
    with pytest.raises(errors.ClusterError, match=message) as caught:
        door.ask()
    assert caught.value.code == "cluster.broken"
    assert works(door, server)


MIB: Final = 1 << 20
LISTED: Final = b'{"kind":"PodList","items":['
ITEMS: Final = b'{"metadata":{"name":"p"}},' * 40_000
"""A megabyte."""
BEHIND: Final = (b"\n", bytes(512), PACKED, PODS)


def bomb(first: bytes, piece: bytes, count: int) -> bytes:
    """A gzip of one piece so many times, which is never held; nobody unfolds it as far as its checksum."""
    packer = zlib.compressobj(9, wbits=31)
    begun = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH)
    return begun + (packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)) * count


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("behind", BEHIND, ids=["a byte", "zeros", "a member", "JSON"])
def test_what_arrives_later_is_behind_it_too(behind: bytes, masking: redaction.Engine) -> None:
    """The compressed data end with a chunk, and the next one goes on."""
    call = replace(reading.formed(request.parse(LIST)), gzip=True)
    with pytest.raises(errors.ClusterError, match="continues after"):
        list(masking.body(call, iter([PACKED, behind]), reading.Report()))
    assert b"".join(masking.body(call, iter([PACKED, b""]), reading.Report())).endswith(b"]}")


@pytest.mark.promise("S-03")
def test_what_a_chunk_unfolds_to_does_not_wait_for_the_next_chunk() -> None:
    """Also where a piece is full and the decompressor has taken up all of the chunk's last bytes."""
    whole = gzip.compress(b"x" * 2 * MIB, mtime=0)
    reference = zlib.decompressobj(wbits=31)
    sizes = list(accumulate(len(reference.decompress(whole[at : at + 1])) for at in range(len(whole))))
    ends = [end for end, size in enumerate(sizes, 1) if abs(size - MIB) < 16_000]
    assert len(ends) > 8
    for end in ends:
        assert _unfolded(whole, end) == [sizes[end - 1], 2 * MIB]


def _unfolded(whole: bytes, end: int) -> list[int]:
    """The bytes that have come out when the second of two chunks is asked for, and in all."""
    pieces: list[int] = []
    told: list[int] = []

    def chunks() -> Iterator[bytes]:
        yield whole[:end]
        told.append(sum(pieces))
        yield whole[end:]

    for piece in gzipped.decompress(chunks()):
        pieces.append(len(piece))
    return [*told, sum(pieces)]


@pytest.mark.promise("R-02")
def test_one_chunk_of_a_bomb_reaches_the_masker_in_pieces(masking: redaction.Engine) -> None:
    """270 MB of items, given at once: they come back a few megabytes at a time."""
    call = replace(reading.formed(request.parse(LIST)), gzip=True)
    body = masking.body(call, iter([bomb(LISTED, ITEMS, 270)]), reading.Report())
    first = next(body)
    assert 0 < len(first) < 32 * MIB
    cast("Generator[bytes]", body).close()
    assert masking.text(f"password={SECRET}", lambda _: None) != f"password={SECRET}"


@pytest.mark.promise("F-01")
def test_a_compressed_answer_that_breaks_off_is_an_error(door: Door, server: Server) -> None:
    """The length is that of the compressed bytes, and they do not all arrive."""
    server.steps = [then(head("200 OK", "Content-Encoding: gzip", length=len(PACKED)) + PACKED[:-20], hang_up)] * 2
    with pytest.raises(errors.ClusterError) as caught:
        door.ask()
    assert caught.value.code == "cluster.broken"
    assert works(door, server)


CODINGS: Final = (
    "br",
    "deflate",
    "zstd",
    "compress",
    "x-gzip",
    "gzip, gzip",
    "gzip, identity",
    "gzip;q=1",
    "",
    "GZIP\x7f",
)


@pytest.mark.promise("F-01", "S-01")
@pytest.mark.parametrize("encoding", CODINGS)
def test_an_encoding_that_nobody_asked_for_is_refused(encoding: str, door: Door, server: Server) -> None:
    """It would hide the text from masking."""
    server.steps = [packed(PACKED, encoding)]
    with pytest.raises(errors.ClusterError, match="which was not asked for") as caught:
        door.ask()
    assert caught.value.code == "cluster.broken"
    assert works(door, server)


WATCH: Final = exchanges.Call("GET", ("api", "v1", "pods"), (("watch", "true"),))


@pytest.mark.promise("F-01")
def test_a_stream_is_not_asked_for_compressed(door: Door, server: Server) -> None:
    """An event in a compressor's buffer arrives late; so a watch that comes compressed all the same is refused."""
    server.steps = [packed(PACKED)]
    with pytest.raises(errors.ClusterError, match="which was not asked for"):
        door.ask(WATCH)
    assert "accept-encoding: identity" in server.requests[-1].lower()
    assert works(door, server)
    assert "accept-encoding: gzip" in server.requests[-1].lower()


@pytest.mark.promise("R-02")
def test_a_bomb_meets_the_limits_of_what_it_unfolds_to(door: Door, server: Server) -> None:
    """400 KB that are one string of 400 MB: more than a masker holds of one part."""
    string = bomb(LISTED + b'{"metadata":{"name":"', b"x" * MIB, 400)
    assert 900 * len(string) < 400 * MIB
    server.steps = [packed(string)]
    with pytest.raises(errors.RedactionError, match="more than 32 MiB"):
        list(_read(door))
    assert works(door, server)


def _read(door: Door) -> Iterator[bytes]:
    try:
        yield door.ask()
    except errors.ClusterError as error:
        if error.code.startswith("redaction."):
            raise errors.RedactionError(error.message) from None
        raise


@pytest.mark.promise("R-01", "R-04")
def test_a_bomb_of_items_ends_where_the_script_has_enough(
    door: Door, server: Server, masking: redaction.Engine
) -> None:
    """270 MB of items in 270 KB: a script that may read 8 MB makes nobody unfold the rest."""
    server.steps = [packed(bomb(LISTED, ITEMS, 270))]
    started = time.monotonic()
    body = door.ask(most=8 * MIB)
    assert 8 * MIB < len(body) < 64 * MIB
    assert time.monotonic() - started < 30
    assert works(door, server)


@pytest.mark.promise("R-02", "S-07")
def test_a_bomb_that_is_sent_ahead_as_a_whole_is_not_held(masking: redaction.Engine) -> None:
    """50 MB in so few chunks that none of them waits for an answer: the host held all of it before it passed the first
    byte on, for each call that a script made."""
    all_ahead = bomb(LISTED, ITEMS, 50)
    assert len(all_ahead) < 8 * wire.MAX_GZIP_CHUNK
    call = replace(reading.formed(request.parse(LIST)), gzip=True)
    tracemalloc.start()
    body = masking.body(call, iter([all_ahead]), reading.Report())
    first = next(body)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    cast("Generator[bytes]", body).close()
    assert first.startswith(b'{"kind":"PodList"') and most < 36 * MIB
    assert b"".join(masking.body(call, iter([PACKED]), reading.Report())).endswith(b"]}")
