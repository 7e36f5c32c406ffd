"""Any bytes as a CALL frame's payload: refused in words, or one request that another reader reads the same way.

Run as `python -m security_tests.fuzz.door -max_total_time=60`. Only ProtocolError and RequestError may come out; what
the policy allows is read again by recorder.py, and has to be what permissions.py permits.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import urllib.parse
from typing import Any

import atheris

from security_tests import fuzz

with atheris.instrument_imports(include=["kubescript"]):
    from kubescript import errors
    from kubescript.policy import policy
    from kubescript.request import request
    from kubescript.wire import exchanges
    from kubescript_sandbox.wire import protocol
    from security_tests import permissions, raw_requests, recorder

POLICIES = {
    read_only: policy.Policy("off" if read_only else "direct", (permissions.NO_SECRETS,), resolve=lambda group, _version, plural: recorder.IMITATIONS.get(group, {}).get(plural))
    for read_only in (True, False)
}  # fmt: skip
METHODS = ("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE")
SEGMENTS = (*raw_requests.WORDS, *raw_requests.NASTY)
KEYS = (*sorted(permissions.QUERY), "follow", "command", "as", "path")
VALUES = ("true", "1", "false", "0", "", "metadata.name=db", "metadata.name==db,a!=b", "x&y=z", "x#", "\r\n", "%0a", "é", "\ud800", "+", " ", ";", "9" * 19)  # fmt: skip
BODIES: tuple[object, ...] = ({}, [], None, "x", 1e400, 9**30, {"kind": "Pod", "metadata": {"name": "é\ud800"}}, [[[]]])
TOKENS = tuple(
    word.encode("utf-8", "surrogatepass")
    for word in (
        *SEGMENTS, *KEYS, *VALUES, *METHODS, '","', '"],["', "[", "]", "{", "}", '"', "\\", "\\u0000", "\\ud800", "\\u002f", "\\u002e", "null", "NaN", "1e999",
        '"body":{"a":1,"a":2}', '"path":["api","v1","secrets"],', '"content_type":"json-patch"', '"accept":"metadata"', "[" * 101, '{"a":' * 101, "9" * 4301,
    )
)  # fmt: skip


def payload(method: str, path: str, *query: tuple[str, str], **more: object) -> bytes:
    """A CALL as an honest worker writes it."""
    return json.dumps({"method": method, "path": path.split("/"), "query": query, **more}).encode()


SEEDS = (
    *(payload("GET", path) for path in raw_requests.SKELETONS),
    *(
        payload(method, path, *urllib.parse.parse_qsl(query, keep_blank_values=True), accept=accept)
        for method, path, query, accept in raw_requests.RAW.values()
    ),
    payload("GET", "api/v1/pods", ("fieldSelector", "metadata.name=db"), ("watch", "true"), accept="metadata"),
    payload("GET", "api/v1/namespaces/a/pods/db/log", ("tailLines", "5"), ("container", "c"), accept="text"),
    payload("POST", "apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body={"spec": {}}),
    payload("POST", "api/v1/namespaces/a/pods/db/eviction", body={"kind": "Eviction"}),
    payload("PATCH", "api/v1/nodes/n", body=[{"op": "test", "path": "/a"}], content_type="json-patch"),
    payload("PATCH", "apis/apps/v1/namespaces/a/deployments/d/scale", body={"spec": {}}, content_type="merge-patch"),
    payload("PUT", "apis/core.example/v1/things/t/status", body={"a": [1, 2.5, None, "é"]}),
    payload("DELETE", "api/v1/namespaces/a/pods", ("labelSelector", "a in (b,c)"), body={}),
    *(
        payload("POST", "api/v1/namespaces/a/pods").replace(b'"query"', b'"body":' + body + b',"query"')
        for body in (
            b"[" * 101 + b"]" * 101,
            b'{"a":NaN}',
            b'{"a":1e999}',
            b'{"a":1,"a":2}',
            b'{"a":' + b"9" * 4_301 + b"}",
        )
    ),
    payload("GET", "openapi/v3/apis/apps/v1", ("hash", "AB")),
    payload("GET", "readyz/etcd", ("verbose", "")),
)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Mostly calls of the right shape with odd parts, so that they pass the decoder; sometimes any bytes."""
    chance = random.Random(seed)
    with contextlib.suppress(ValueError, RecursionError, AttributeError, TypeError, LookupError):
        if chance.random() < 0.75:
            call = json.loads(data)
            for _ in range(chance.choice((1, 1, 2, 4))):
                change(chance, call)
            return json.dumps(call).encode()[:max_size]
    if chance.random() < 0.5:
        return fuzz.splice(chance, data, TOKENS)[:max_size]
    return bytes(atheris.Mutate(data, max_size))


def change(chance: random.Random, call: dict[str, Any]) -> None:
    """Change one part of a call in place."""
    path, query = call.setdefault("path", []), call.setdefault("query", [])
    match chance.randrange(9):
        case 0:
            call["method"] = chance.choice(METHODS)
        case 1:
            call["body"] = chance.choice(BODIES)
        case 2:
            call["content_type"] = chance.choice(("json", "json-patch", "merge-patch", "apply-patch"))
        case 3:
            call["accept"] = chance.choice(("json", "table", "metadata", "text"))
        case 4:
            query.append([chance.choice(KEYS), chance.choice(VALUES)])
        case 5:
            if query:
                query[-1] = [query[-1][0], text(chance, query[-1][1])] if chance.random() < 0.7 else ["x", "y"]
                query[:] = query[chance.choice((0, 0, 1)) :]
        case 6:
            if path:
                at = chance.randrange(len(path))
                path[at] = text(chance, path[at])
        case _:
            at = chance.randint(0, len(path))
            path[at : at + chance.randint(0, 1)] = [chance.choice(SEGMENTS)][: chance.randint(0, 2)]


def text(chance: random.Random, old: str) -> str:
    """A text that differs a little from the old one."""
    data = old.encode("utf-8", "surrogatepass")
    data = fuzz.splice(chance, data, TOKENS) if chance.random() < 0.3 else bytes(atheris.Mutate(data, len(data) + 8))
    return data.decode("utf-8", "replace")


def check(data: bytes) -> None:
    """One execution. Whatever it raises is a finding."""
    try:
        parsed = request.parse(protocol.decode(data, exchanges.Call))
    except (protocol.ProtocolError, errors.RequestError):
        return
    for read_only, rules in POLICIES.items():
        if rules.decide(parsed).verdict == "allow":
            reread(parsed, read_only=read_only)


def disputed(info: recorder.Info) -> bool:
    """Whether this is the one known disagreement: a writing policy lets `token` of anything but a service account be
    written (kinds.WRITE_SUBRESOURCES), and permissions.writable does not. No such subresource exists."""
    return info.subresource == "token" and info.method != "GET" and info.resource != "serviceaccounts"


def reread(parsed: request.Request, *, read_only: bool) -> None:
    """Fail unless the allowed request, as cluster/http.py writes it on the wire, is read as it was decided on."""
    target = parsed.path + ("?" + urllib.parse.urlencode(parsed.query) if parsed.query else "")
    seen = recorder.Seen(f"{parsed.method} {target} HTTP/1.1", (), parsed.body or b"")
    info = recorder.read(seen.line)
    assert permissions.permitted(info, read_only=read_only) or (not read_only and disputed(info)), seen.line
    assert seen.query == list(parsed.query), seen.line
    assert {key for key, _ in seen.query} <= permissions.QUERY, seen.line
    assert parsed.accept in permissions.ACCEPTS, parsed.accept
    assert info.is_resource is parsed.is_resource, seen.line
    if parsed.is_resource:
        ours = (parsed.verb, parsed.group, parsed.version, parsed.resource, parsed.subresource, parsed.namespace)
        assert ours == (info.verb, info.group, info.version, info.resource, info.subresource, info.namespace), seen.line
        assert info.name in {parsed.name, ""}, seen.line
    if parsed.body is not None:
        json.loads(parsed.body)


if __name__ == "__main__":
    atheris.Setup(fuzz.arguments(sys.argv, "door", SEEDS), check, custom_mutator=mutate)
    atheris.Fuzz()
