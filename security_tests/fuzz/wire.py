"""Any bytes as a worker's side of a conversation: they end in an outcome that renders, never in an exception.

Run as `python -m security_tests.fuzz.wire -max_total_time=60`. The conversation is the product's, on one end of a
socket pair; the limits and the deadline are those of peer.py.
"""

from __future__ import annotations

import random
import re
import struct
import sys

import atheris

from security_tests import fuzz

with atheris.instrument_imports(include=["kubescript"]):
    from kubescript import types
    from kubescript.wire import exchanges
    from kubescript_sandbox.wire import protocol
    from security_tests import peer

HEAD = struct.Struct("<IB")
SENT = (2, 3, 4, 5, 6, 7, 8)
"""The frame types a worker may send after READY."""
CODE = re.compile(r"worker\.(protocol|died)|(script|limit)\.[a-z_]{1,40}")
"""Faults that a conversation without a cluster or a client may end in."""
TOKENS = (
    b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"null", b"true", b"NaN", b"-0", b"1e999", b"1e-999", b"9" * 20, b"9" * 4300, b'"x":', b"[" * 260 + b"]" * 260, b"x" * 2_500,
    b'{"a":' * 130, b"\\ud800", b"\\udc00", b"\\u0000", b"\\ud83d\\ude00", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"x" * 600,
    "é😀".encode() * 100, b'"result":', b'"hint":', b'"dropped_bytes":', b'"fault":', b'"code":"limit.time"', b'"code":"worker.died"', b'"message":', b'"type":',
    b'"method":"POST"', b'"path":["api"]', b'"query":[["a","b"]]', b'"body":{}', b'"done":', b'"total":', b'"text":',
    b'"calls":[', b'"answer":', b'"stream":true',
)  # fmt: skip


def frame(kind: int, payload: bytes) -> bytes:
    """One honest frame."""
    return HEAD.pack(len(payload), kind) + payload


CALL = b'{"method":"GET","path":["api","v1","pods"],"query":[["limit","1"]],"body":null,"accept":"table"}'
PAYLOADS = (
    (2, "text é\n".encode()),
    (3, b'{"done":1.5,"total":3,"text":"nodes"}'),
    (4, CALL),
    (4, b'{"method":"PATCH","path":["api","v1","nodes","x"],"body":{"a":[1]},"content_type":"merge-patch"}'),
    (5, b'{"result":{"a":[1,2.5,{"b":null}],"c":"\\ud83d\\ude00"},"hint":"x","dropped_bytes":3}'),
    (5, b'{"result":"text \\u00e9\\n"}'),
    (5, b'{"result":[' + b'"item",' * 300 + b"1]}"),
    (5, b'{"result":{"a":"' + b"x" * 900 + b'","b":["' + b"y" * 900 + b'"],"c":1}}'),
    (5, b'{"result":"' + b"line\\n" * 300 + b'"}'),
    (5, b'{"result":[18446744073709551616,-1,1e400]}'),
    (5, b'{"fault":{"code":"script.exception","message":"ValueError: m","type":"ValueError"}}'),
    (5, b'{"hint":"end with a value"}'),
    (5, b'{"fault":{"code":"script.exception","message":"' + b"m" * 2_500 + b'"},"hint":"x"}'),
    (5, b'{"hint":"' + b"h" * 2_500 + b'"}'),
    (5, b'{"result":' + b"[" * 240 + b'"' + b"x" * 900 + b'"' + b"]" * 240 + b"}"),
    (5, b'{"result":' + b"[" * 900 + b'"' + b"x" * 900 + b'"' + b"]" * 900 + b"}"),
    (5, b'{"result":["' + b"9" * 4_300 + b'",' + b"9" * 4_299 + b"]}"),
    (5, b"{}"),
    (4, CALL[:-1] + b',"stream":true}'),
    (6, b'{"calls":[' + CALL + b"," + CALL + b"," + CALL + b"]}"),
    (6, b'{"calls":[' + CALL + b"]}"),
    (7, b'{"answer":1}'),
    (7, b'{"answer":2}'),
    (8, b'{"answer":1}'),
    (8, b'{"answer":3}'),
)
FRAMES = tuple(frame(kind, payload) for kind, payload in PAYLOADS)
SEEDS = (
    *FRAMES,
    b"".join(FRAMES),
    FRAMES[0] * 3 + FRAMES[4],
    FRAMES[2] * 7 + FRAMES[5],
    frame(4, b'{"method":"GET","path":["api"]}') * 106,
    frame(2, b"x" * 990) + FRAMES[6],
    frame(2, b"x" * 1_001),
    FRAMES[2][:-1],
    HEAD.pack((4 << 20) + 1, 4),
    frame(7, b"no such type"),
    frame(2, b""),
    frame(1, b'{"version":1,"layers":[]}'),
    frame(4, CALL[:-1] + b',"stream":true}') + frame(7, b'{"answer":1}') * 3 + frame(5, b"{}"),
    frame(4, CALL[:-1] + b',"stream":true}') + frame(7, b'{"answer":1}') + frame(8, b'{"answer":1}') + frame(5, b"{}"),
    frame(6, b'{"calls":[' + b",".join([CALL] * 9) + b"]}") + frame(8, b'{"answer":4}') + frame(5, b"{}"),
)


def split(data: bytes) -> list[tuple[int, bytes]]:
    """The frames in `data`, the last as far as it goes."""
    found = []
    while len(data) >= HEAD.size:
        length, kind = HEAD.unpack_from(data)
        found.append((kind, data[HEAD.size : HEAD.size + length]))
        data = data[HEAD.size + length :]
    return found


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Mostly frames whose lengths stay honest, so that what is in them gets read; sometimes any bytes."""
    chance = random.Random(seed)
    frames = split(data)
    if not frames or chance.random() < 0.15:
        return bytes(atheris.Mutate(data, max_size))
    at = chance.randrange(len(frames))
    kind, payload = frames[at]
    match chance.randrange(8):
        case 0:
            frames[at] = (chance.choice(SENT), payload)
        case 1:
            frames.insert(at, chance.choice(PAYLOADS))
        case 2 if len(frames) > 1:
            del frames[at]
        case 3:
            frames[at:at] = [frames[at]] * chance.choice((1, 2, 8))
        case 4 | 5:
            frames[at] = (kind, bytes(atheris.Mutate(payload, len(payload) + 64)))
        case _:
            frames[at] = (kind, fuzz.splice(chance, payload, TOKENS))
    return b"".join(frame(kind, payload) for kind, payload in frames)[:max_size]


def on_call(call: exchanges.Call, _left: float) -> tuple[exchanges.Reply, types.Response | None]:
    """A fault for a write; for a read a body in three pieces."""
    if call.method != "GET":
        return exchanges.Reply(0, fault=protocol.ScriptFault("cluster.unreachable", "no cluster")), None
    pieces = iter((b'{"items":[', b"", b"]}"))
    return exchanges.Reply(200), types.Response(200, "OK", "application/json", pieces, lambda: None)


def check(data: bytes) -> None:
    """One execution. Whatever it raises is a finding."""
    outcome = peer.converse(data, on_call)
    peer.sound(outcome)
    assert outcome.fault is None or CODE.fullmatch(outcome.fault.code), outcome.fault


if __name__ == "__main__":
    atheris.Setup(fuzz.arguments(sys.argv, "wire", SEEDS), check, custom_mutator=mutate)
    atheris.Fuzz()
