"""What a hostile call may say, and what kube-apiserver would read from the calls that are let through."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescript import errors
from kubescript.request import request
from kubescript.wire import exchanges


def call(method: str, path: str, query: str = "", body: bytes = b"null", **kwargs: str) -> exchanges.Call:
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    return exchanges.Call(method, tuple(path.split("/")), pairs, msgspec.Raw(body), **kwargs)  # type: ignore[arg-type]


# method, path, query → verb group version resource subresource namespace name; expected values are kube-apiserver's
# RequestInfo
CLASSIFIED = [
    ("GET", "api/v1/pods", "", "list|v1|pods|||"),
    ("GET", "api/v1/namespaces/a/pods", "", "list|v1|pods||a|"),
    ("GET", "api/v1/namespaces/a/pods/b", "", "get|v1|pods||a|b"),
    ("GET", "api/v1/namespaces/a/pods/b/log", "", "get|v1|pods|log|a|b"),
    ("GET", "api/v1/namespaces", "", "list|v1|namespaces|||"),
    ("GET", "api/v1/namespaces/a", "", "get|v1|namespaces||a|a"),
    ("GET", "api/v1/namespaces/a/status", "", "get|v1|namespaces|status|a|a"),
    ("PUT", "api/v1/namespaces/a/finalize", "", "update|v1|namespaces|finalize|a|a"),
    ("GET", "api/v1/namespaces/a/namespaces", "", "list|v1|namespaces||a|"),
    ("GET", "api/v1/nodes/n/proxy", "", "get|v1|nodes|proxy||n"),
    ("GET", "api/v1/nodes/n/proxy/metrics/cadvisor", "", "get|v1|nodes|proxy||n"),
    ("GET", "api/v1/proxy/nodes/n/stats/x/y", "", "proxy|v1|nodes|||n"),
    ("GET", "api/v1/proxy/namespaces/a/services/s/x", "", "proxy|v1|services||a|s"),
    ("GET", "api/v1/watch/pods", "", "watch|v1|pods|||"),
    ("GET", "api/v1/watch/namespaces/a/pods/b", "", "watch|v1|pods||a|b"),
    ("GET", "api/v1/pods", "watch=true", "watch|v1|pods|||"),
    ("GET", "api/v1/pods", "watch=1", "watch|v1|pods|||"),
    ("GET", "api/v1/pods", "watch=false", "list|v1|pods|||"),
    ("GET", "api/v1/namespaces/a/pods/b", "watch=true", "get|v1|pods||a|b"),
    ("GET", "api/v1/pods", "fieldSelector=metadata.name=b", "list|v1|pods|||b"),
    ("GET", "api/v1/pods", "fieldSelector=spec.x=1,metadata.name==b&watch=1", "watch|v1|pods|||b"),
    ("GET", "api/v1/pods", "fieldSelector=metadata.name!=b", "list|v1|pods|||"),
    ("POST", "api/v1/namespaces/a/pods", "", "create|v1|pods||a|"),
    ("POST", "api/v1/namespaces/a/pods/b/eviction", "", "create|v1|pods|eviction|a|b"),
    ("PATCH", "api/v1/namespaces/a/pods/b", "", "patch|v1|pods||a|b"),
    ("DELETE", "api/v1/namespaces/a/pods/b", "", "delete|v1|pods||a|b"),
    ("DELETE", "api/v1/namespaces/a/pods", "", "deletecollection|v1|pods||a|"),
    ("GET", "apis/apps/v1/deployments", "", "list|apps/v1|deployments|||"),
    ("GET", "apis/apps/v1/namespaces/a/deployments/b/scale", "", "get|apps/v1|deployments|scale|a|b"),
    ("GET", "apis/metrics.k8s.io/v1beta1/nodes/n", "", "get|metrics.k8s.io/v1beta1|nodes|||n"),
    ("GET", "apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/b/http_Req:x.y", "metricLabelSelector=v=1", "get|custom.metrics.k8s.io/v1beta2|pods|http_Req:x.y|a|b"),
    ("GET", "apis/custom.metrics.k8s.io/v1beta1/deployments.apps/b/m", "", "get|custom.metrics.k8s.io/v1beta1|deployments.apps|m||b"),
    ("GET", "apis/custom.metrics.k8s.io/v1beta2/namespaces/a/metrics/m", "", "get|custom.metrics.k8s.io/v1beta2|metrics||a|m"),
    ("GET", "apis/external.metrics.k8s.io/v1beta1/namespaces/a/queue_Length.x", "", "list|external.metrics.k8s.io/v1beta1|queue_Length.x||a|"),
    ("GET", "apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", "", "get|rbac.authorization.k8s.io/v1|clusterroles|||system:node"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"), CLASSIFIED, ids=[f"{c[0]} {c[1]} {c[2]}" for c in CLASSIFIED]
)
def test_classified_as_the_api_server_does(method: str, path: str, query: str, expected: str) -> None:
    """A path becomes verb, group, resource and names exactly as kube-apiserver's RequestInfoFactory reads it."""
    kwargs = {"content_type": "merge-patch"} if method == "PATCH" else {}
    body = b"{}" if method in {"POST", "PUT", "PATCH"} else b"null"
    read = request.parse(call(method, path, query, body, **kwargs))
    version = f"{read.group}/{read.version}" if read.group else read.version
    fields = [read.verb, version, read.resource, read.subresource, read.namespace, read.name]
    assert "|".join(fields) == expected
    assert read.is_resource and read.path == "/" + path


DOCUMENTS = [
    "version", "api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "openapi/v2", "openapi/v3", "openapi/v3/api/v1",
    "openapi/v3/apis/apps/v1", "healthz", "livez", "readyz", "readyz/etcd", ".well-known/openid-configuration", "openid/v1/jwks",
]  # fmt: skip


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents(path: str) -> None:
    """The harmless documents can be read, and only read."""
    assert not request.parse(call("GET", path)).is_resource
    with pytest.raises(errors.RequestError, match="only be read"):
        request.parse(call("DELETE", path))


REFUSED_PATHS = [
    "", "metrics", "logs", "logs/kube-apiserver.log", "debug/pprof/profile", "debug/flags/v", "api/v1/", "/api/v1/pods", "api//pods",
    "api/v1/namespaces/../secrets", "api/v1/namespaces/./pods", "api/v1/..", "api/v1/namespaces/a/pods/b/log/x", "api/v1/watch",
    "api/v1/proxy", "api/v1/watch/pods/a/log", "api/v1/Pods", "API/v1/pods", "apis/Apps/v1/deployments", "api/v1/namespaces/A/pods",
    "api/V1/pods", "readyz/etcd/x", "openapi/v3/a/b/c/d", "apis/apps/v1/namespaces/a/deployments/b/scale/c", "openapi", "ui", "swagger.json",
    "apis/apps/v1/%64eployments", ".well-known/x", "version/x", "api/v1/namespaces/" + "a" * 64 + "/pods", "/".join(["a"] * 25),
    "api/v1/pods/" + "a" * 254, "apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/*/m/n", "apis/example.com/v1/things/t/a_b",
]  # fmt: skip


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_refused_paths(path: str) -> None:
    """What is empty, relative, encoded, over-long, unknown or has segments to spare is refused, and the next call is
    parsed."""
    with pytest.raises(errors.RequestError) as caught:
        request.parse(call("GET", path))
    assert caught.value.code in {"request.path", "request.unknown_path"}
    assert request.parse(call("GET", "api/v1/pods")).verb == "list"


@pytest.mark.parametrize("character", [*'/%?#\\; "<>`\x00\r\n\t\x7f', "é", "\u202e", "／", "\ud800"])
def test_refused_characters(character: str) -> None:
    """No segment carries a character that some program on the way splits at, decodes or normalizes."""
    with pytest.raises(errors.RequestError, match="cannot be a path segment"):
        request.parse(exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods", f"x{character}y")))


@settings(deadline=None)  # of one example: a busy machine may stand still in any of them
@given(st.lists(st.text(max_size=12), max_size=8), st.sampled_from(["GET", "POST", "DELETE"]))
def test_any_path(segments: list[str], method: str) -> None:
    """Whatever the segments, the path sent has as many slashes as segments and no dot segment, or the call is
    refused."""
    try:
        read = request.parse(
            exchanges.Call(
                method,  # type: ignore[arg-type]
                tuple(segments),
                body=msgspec.Raw(b"{}" if method == "POST" else b"null"),
            )
        )
    except errors.RequestError:
        return
    assert read.path.isascii() and read.path.count("/") == len(segments)
    assert not {".", ".."} & set(read.path.split("/"))


REFUSED_QUERIES = [
    ("label_selector=a", "did you mean labelSelector"), ("labelselector=a", "did you mean labelSelector"), ("nonsense=1", "lists the parameters"),
    ("limit=1&limit=2", "twice"), ("watch=yes", "true or false"), ("watch=", "true or false"), ("watch=TRUE", "true or false"),
    ("limit=-1", "whole number"), ("limit=1e3", "whole number"), ("follow=true", "tailLines"), ("follow=1", "tailLines"), ("follow=", "tailLines"), ("follow=False", "tailLines"),
    ("insecureSkipTLSVerifyBackend=true", "always verified"), ("labelSelector=a\nb", "control"), ("continue=" + "x" * 20_000, "too long"),
    ("command=ls", "unknown"), ("as=system:admin", "unknown"), ("access_token=x", "unknown"), ("=x", "unknown"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential=true", "unknown"), ("labelSelector=\ud800", "control"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "message"), REFUSED_QUERIES)
def test_refused_queries(query: str, message: str) -> None:
    """An unknown, doubled or malformed query parameter is refused with the nearest known name or a hint."""
    with pytest.raises(errors.RequestError, match=message):
        request.parse(call("GET", "api/v1/pods", query))


def test_query_is_kept() -> None:
    """Known parameters are sent as given, in order."""
    read = request.parse(
        call("GET", "api/v1/pods", "labelSelector=a in (b,c),!d&limit=500&continue=abc==&resourceVersion=0")
    )
    assert read.query == (
        ("labelSelector", "a in (b,c),!d"),
        ("limit", "500"),
        ("continue", "abc=="),
        ("resourceVersion", "0"),
    )


def test_what_is_refused_may_be_declined() -> None:
    """`follow=False` is a habit; it asks for nothing, and nothing of it is sent."""
    for query in ("follow=false&tailLines=5", "follow=0", "insecureSkipTLSVerifyBackend=false"):
        sent = request.parse(call("GET", "api/v1/namespaces/a/pods/p/log", query)).query
        assert {key for key, _ in sent} <= {"tailLines"}


def test_how_an_answer_looks_is_not_asked_for() -> None:
    """Masking reads compact JSON: `pretty=true` is a habit, and nothing of it is sent."""
    for path in ("api/v1/pods", "version"):
        assert request.parse(call("GET", path, "pretty=true")).query == ()


REFUSED_BODIES = [
    b'{"a":1,"a":2}', b'{"x":{"kind":"Pod","kind":"Secret"}}', b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-Infinity}', b'{"a":1e999}',
    b"[" * 200 + b"]" * 200, b'{"a":' * 101 + b"1" + b"}" * 101, b"[]", b"1", b'"x"', b"{", b"{} {}", b'{"a":"\\ud800"}', b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}", b'{"a":' + b"9" * 5000 + b"}", b"{'a':1}", b'{"a":1,}', b'{"a":"\x00"}', b'{"a":"' + b"x" * (3 << 20) + b'"}',
]  # fmt: skip


@pytest.mark.parametrize("body", REFUSED_BODIES, ids=lambda body: repr(body[:20]))
def test_refused_bodies(body: bytes) -> None:
    """A body that two JSON readers could understand differently, or that is no JSON object, is refused."""
    with pytest.raises(errors.RequestError) as caught:
        request.parse(call("POST", "api/v1/namespaces/a/pods", "", body))
    assert caught.value.code == "request.body" and len(caught.value.message) < 400


def test_body_is_written_anew() -> None:
    """What is sent is the decoded body, encoded canonically; strings full of brackets are no nesting."""
    body = b' { "a" : [ 1.50 , "\\u00e9\\n" , "' + b"[" * 500 + b'" ] , "big": 123456789012345678901234567890 } '
    read = request.parse(call("POST", "api/v1/namespaces/a/pods", "", body))
    assert read.body == ('{"a":[1.5,"é\\n","' + "[" * 500 + '"],"big":123456789012345678901234567890}').encode()


METHODS = [
    ("GET", b"{}", "json", False), ("POST", b"null", "json", False), ("PUT", b"{}", "json", True), ("DELETE", b"{}", "json", True),
    ("DELETE", b"null", "json", True), ("PATCH", b"{}", "json", False), ("PATCH", b"{}", "merge-patch", True),
    ("PATCH", b"[]", "json-patch", True), ("PATCH", b"{}", "json-patch", False), ("PATCH", b"[]", "merge-patch", False),
    ("POST", b"{}", "merge-patch", False), ("PATCH", b"null", "merge-patch", False), ("PATCH", b"{}", "apply-patch", True),
]  # fmt: skip


@pytest.mark.parametrize(("method", "body", "content_type", "accepted"), METHODS)
def test_bodies_belong_to_methods(method: str, body: bytes, content_type: str, accepted: bool) -> None:
    """Each method takes the bodies and content types that Kubernetes defines for it and no others."""
    what = call(method, "api/v1/namespaces/a/pods/b", "", body, content_type=content_type)
    if accepted:
        request.parse(what)
    else:
        with pytest.raises(errors.RequestError):
            request.parse(what)


@pytest.mark.parametrize("operation", ["copy", "move"])
def test_a_patch_writes_only_what_it_says(operation: str) -> None:
    """A JSON patch cannot have the API server carry a value from one field to another, where redaction knows no name for
    it; the same patch with `replace` is accepted."""
    for name, accepted in (
        (operation, False),
        ("replace", True),
        ("\\u0072eplace", True),
        (f"\\u{ord(operation[0]):04x}{operation[1:]}", False),
    ):
        body = f'[{{"op":"{name}","from":"/a","path":"/b","value":1}}]'.encode()
        what = call("PATCH", "api/v1/namespaces/a/pods/b", "", body, content_type="json-patch")
        if accepted:
            request.parse(what)
        else:
            with pytest.raises(errors.RequestError, match="cannot copy or move"):
                request.parse(what)


def test_headers_come_from_a_table() -> None:
    """The script picks a representation by name; the header is ours."""
    assert request.parse(call("GET", "api/v1/pods", accept="metadata")).accept.startswith(
        "application/json;as=PartialObjectMetadataList;"
    )
    assert request.parse(call("GET", "api/v1/nodes/a", accept="metadata")).accept.startswith(
        "application/json;as=PartialObjectMetadata;"
    )
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"method":"GET","path":["api"],"accept":"application/yaml"}', type=exchanges.Call)


@pytest.mark.parametrize(("method", "path", "words"), [
    ("GET", "api/v1/pods", "list pods"), ("GET", "api/v1/namespaces/a/pods/b/log", "get pods/log b in namespace a"),
    ("GET", "apis/apps/v1/deployments", "list deployments.apps"), ("GET", "version", "GET /version"), ("GET", "api/v1/namespaces/a", "get namespaces a"),
])  # fmt: skip
def test_describe(method: str, path: str, words: str) -> None:
    """A request can be said in a few words."""
    assert request.describe(request.parse(call(method, path))) == words
