"""Helm releases: no manifest, template or file of one reaches a worker, by whatever road it is asked for; a release that
somebody has written to do harm ends as the error of its call.

Everything is the product's own; the API server is an HTTP server that keeps one release. What is searched for the
planted values is every byte that the host sends to a worker.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest

from kubescript import app, config, types
from kubescript.broker import operation
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from security_tests import recorder
from security_tests.answering import Answering
from tests.kit import fork_servers, quiet

Count = Callable[[int], None]

PASSWORD: Final = "Tr0ub4dor-and-3-more"
"""Where fields pass: it must be masked."""
CANARY: Final = "never-passes-8d1f"
"""Where nothing passes."""
RELEASE: Final[dict[str, Any]] = {
    "name": "web",
    "namespace": "a",
    "version": 1,
    "info": {
        "status": "deployed", "last_deployed": "2026-01-02T03:04:05Z",
        "description": f"deployed with password={PASSWORD}", "notes": f"Log in with password={PASSWORD}\n",
        "resources": {"v1/Secret": [{"data": {"k": CANARY}}]},
    },
    "chart": {
        "metadata": {
            "name": "web", "version": "1.0.0", "annotations": {"a": CANARY}, "maintainers": [{"name": CANARY}],
            "dependencies": [{"name": "db", "repository": f"https://robot:{PASSWORD}@charts.example.com"}],
        },
        "templates": [{"name": CANARY, "data": CANARY}], "files": [{"name": CANARY, "data": CANARY}], "schema": CANARY,
        "values": {"auth": {"password": PASSWORD}},
    },
    "config": {"auth": {"password": PASSWORD}, "dsn": f"postgres://app:{PASSWORD}@db/app", "odd": [{"api_token": PASSWORD}]},
    "manifest": f"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  k: {CANARY}\n  password: {PASSWORD}\n",
    "hooks": [{"name": "h", "kind": "Job", "path": "web/h.yaml", "manifest": CANARY, "last_run": {"log": CANARY}, "events": ["test"]}],
    "labels": {"x": CANARY},
}  # fmt: skip
LABELS: Final = {"owner": "helm", "name": "web", "status": "deployed", "version": "1"}
NAME: Final = "sh.helm.release.v1.web.v1"
PATH: Final = ("apis", "helm.sh", "secrets", "namespaces", "a", "releases")
LISTS: Final = "k8s.helm.releases()[0]['chart']"


def packed(text: bytes, *, members: int = 1) -> str:
    """As Helm keeps it, and then as the API server sends it."""
    stored = base64.b64encode(gzip.compress(text, mtime=0) * members)
    return base64.b64encode(stored).decode()


def secret(data: Any, labels: Any = LABELS) -> bytes:
    """The Secret of one revision."""
    metadata = {"name": NAME, "namespace": "a", "labels": labels}
    return json.dumps({"kind": "Secret", "apiVersion": "v1", "metadata": metadata, "data": data}).encode()


WHOLE: Final = secret({"release": packed(json.dumps(RELEASE).encode())})


class Keeper(Answering):
    """An API server with one release; it notes which paths are asked for."""

    def __init__(self) -> None:
        self.status, self.one = 200, WHOLE
        self.asked: list[str] = []
        super().__init__()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Returns the release, or a list of Secrets as metadata."""
        self.asked.append(path)
        status, body = self._answer(path)
        return status, "application/json", body

    def _answer(self, path: str) -> tuple[int, bytes]:
        if path.endswith(f"/secrets/{NAME}"):
            return self.status, self.one
        item = (
            [{"metadata": {"name": NAME, "namespace": "a", "labels": LABELS}}]
            if path.partition("?")[0].endswith("/secrets")
            else []
        )
        return 200, json.dumps({"kind": "PartialObjectMetadataList", "metadata": {}, "items": item}).encode()


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with quiet.silence():
        server = Keeper()
        yield server
        server.close()


def settings(keeper: Keeper, folder: Path, **chosen: Any) -> config.Settings:
    """The operator's settings before this server."""
    kubeconfig = recorder.kubeconfig(keeper.port, folder)
    given = {"toolsets": ("code", "helm"), "output": config.Output(mark_untrusted=False), **chosen}
    return config.Settings(kubeconfig=kubeconfig, **given)


def ask(parts: app.Application, script: str) -> types.Answer:
    """Run a script in a real sandbox."""
    return anyio.run(parts.operator.evaluator.evaluate, script, 60_000)


ROADS: Final = (
    "k8s.helm.status('web', 'a')",
    "[k8s.helm.values('web', 'a'), k8s.helm.values('web', 'a', all_values=True)]",
    "k8s.helm.history('web', 'a')",
    "k8s.helm.releases()",
    *(f"k8s.tools.helm_{tool}" for tool in (
        "list()", "status(release_name='web', namespace='a', show_hooks=True)",
        "get_values(release_name='web', namespace='a', all_values=True)", "history(release_name='web', namespace='a')",
    )),
    f"k8s.coreV1().read_namespaced_secret('{NAME}', 'a').to_dict()",
    "[s.to_dict() for s in k8s.coreV1().list_secret_for_all_namespaces()]",
)  # fmt: skip
"""Expressions that have something of the release."""


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("enabled", [True, False], ids=["masked", "unmasked"])
def test_only_fields_on_the_list_pass(
    enabled: bool, source: spawner.Spawner, keeper: Keeper, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """No manifest, template, file or unknown field reaches a worker by any road, and every password comes masked,
    whatever the operator has decided about masks elsewhere."""
    attacks(len(ROADS))
    chosen = settings(keeper, tmp_path, redaction=config.Redaction(enabled=enabled))
    with app.opened(chosen, source, fork_servers.Maskers()) as parts:
        for road in ROADS:
            answer = ask(parts, road)
            assert not answer.is_error and ("web" in answer.text or "auth" in answer.text), (road, answer.text)
            for value in (CANARY, PASSWORD, base64.b64encode(CANARY.encode())[:-4].decode()):
                assert value.encode() not in received, road
            received.clear()
        assert "redacted:" in ask(parts, ROADS[0]).text


def nested(depth: int) -> bytes:
    """A release whose values are nested."""
    return (
        json.dumps(RELEASE | {"config": {}})
        .encode()
        .replace(b'"config": {}', b'"config": ' + b'{"a":' * depth + b"1" + b"}" * depth)
    )


def changed(**fields: Any) -> bytes:
    """The release with other fields."""
    return json.dumps(RELEASE | fields).encode()


BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "nested": lambda: secret({"release": packed(nested(200_000))}),
    "a bomb of blanks": lambda: secret({"release": packed(changed()[:-1] + b" " * 300_000_000 + b"}")}),
    "a bomb of values": lambda: secret({"release": packed(b'{"name":"web","version":1,"info":{},"config":{"a":[' + b"[]," * 60_000_000 + b"[]]}}")}),
    "as much as passes, in lists": lambda: secret({"release": packed(b'{"name":"web","version":1,"info":{},"config":{"a":[' + b"[]," * 5_000_000 + b"[]]}}")}),
    "a manifest of lines": lambda: secret({"release": packed(changed(manifest="\n" * 20_000_000))}),
}  # fmt: skip
"""Made when they are sent: they are large, and unfold to hundreds of megabytes."""
HOSTILE: Final[dict[str, bytes]] = {
    "two members": secret({"release": packed(changed(), members=2)}),
    "bytes behind": secret({"release": base64.b64encode(base64.b64encode(gzip.compress(changed()) + CANARY.encode())).decode()}),
    "cut": secret({"release": base64.b64encode(base64.b64encode(gzip.compress(changed())[:-9])).decode()}),
    "damaged": secret({"release": base64.b64encode(base64.b64encode(b"\x1f\x8b\x08" + CANARY.encode() * 9)).decode()}),
    "no base64": secret({"release": CANARY + "!"}),
    "once in base64": secret({"release": base64.b64encode(gzip.compress(changed())).decode()}),
    "base64 with blanks": secret({"release": "\n".join(packed(changed()))}),
    "no JSON": secret({"release": packed(CANARY.encode())}),
    "a list": secret({"release": packed(b"[" + changed() + b"]")}),
    "two documents": secret({"release": packed(changed() + changed())}),
    "no UTF-8": secret({"release": packed(changed().replace(b"deployed with", b"\xff\xfe"))}),
    "half a surrogate": secret({"release": packed(changed().replace(b"deployed with", b"\\ud800"))}),
    "a name that is an object": secret({"release": packed(changed(name={CANARY: 1}))}),
    "a version that is a text": secret({"release": packed(changed(version=CANARY))}),
    "a version without end": secret({"release": packed(changed().replace(b'"version": 1,', b'"version": ' + b"9" * 100_000 + b",", 1))}),
    "a manifest that is an object": secret({"release": packed(changed(manifest={"k": CANARY}))}),
    "hooks that are a text": secret({"release": packed(changed(hooks=CANARY))}),
    "info that is a list": secret({"release": packed(changed(info=[CANARY]))}),
    "nothing": secret({"release": ""}),
    "no release": secret({"other": CANARY}),
    "data that is a text": secret(CANARY),
    "another's": secret({"release": packed(changed())}, {"owner": "eve"}),
    "no labels": secret({"release": packed(changed())}, None),
    "no Secret": json.dumps({"kind": "Status", "message": CANARY}).encode(),
    "text": CANARY.encode(),
    "the release itself": changed(),
}  # fmt: skip


@pytest.mark.promise("P-14")
def test_a_hostile_release_is_an_error_of_its_call(
    source: spawner.Spawner, keeper: Keeper, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """Nothing of it passes, no call takes long, the list says that it cannot be read, and the next call works."""
    attacks(len(BOMBS) + len(HOSTILE))
    with app.opened(settings(keeper, tmp_path), source, fork_servers.Maskers()) as parts:
        for name, make in (BOMBS | {name: functools.partial(bytes, body) for name, body in HOSTILE.items()}).items():
            keeper.one = make()
            begun = time.monotonic()
            answer = ask(parts, "k8s.helm.status('web', 'a')")
            assert answer.is_error, (name, answer.text)
            assert CANARY not in answer.text and CANARY.encode() not in received, name
            assert time.monotonic() - begun < 60, name
            received.clear()
            keeper.one = WHOLE
            assert ask(parts, LISTS).text.splitlines()[0] == "web-1.0.0", name
        keeper.one = HOSTILE["cut"]
        assert "(unreadable)" in ask(parts, "k8s.tools.helm_list()").text


ODD: Final = {
    "a huge name": changed(name="n" * 3_000_000),
    "a huge number of objects": changed(
        manifest="---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" * 200_000
    ),
    "numbers": changed(config={"a": 10**300, "b": -1.5e300}),
    "no gzip": changed(),
}


@pytest.mark.promise("P-14")
def test_an_odd_release_costs_bounded_time(
    source: spawner.Spawner, keeper: Keeper, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """What is no error is served like any other, or refused; the next call works."""
    attacks(len(ODD))
    with app.opened(settings(keeper, tmp_path), source, fork_servers.Maskers()) as parts:
        for name, text in ODD.items():
            stored = base64.b64encode(base64.b64encode(text)).decode() if name == "no gzip" else packed(text)
            keeper.one = secret({"release": stored})
            answer = ask(parts, "len(k8s.helm.status('web', 'a').get('resources', []))")
            assert answer.is_error or int(answer.text.splitlines()[0]) <= 2_001, (name, answer.text)
            assert CANARY.encode() not in received, name
            received.clear()
            keeper.one = WHOLE
            assert ask(parts, LISTS).text.splitlines()[0] == "web-1.0.0", name


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("status", [403, 404, 500])
def test_an_error_of_the_api_server_says_what_it_may(
    status: int, source: spawner.Spawner, keeper: Keeper, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """RBAC's denial is told; a whole Secret in place of an error is not."""
    attacks(2)
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden"}
    with app.opened(settings(keeper, tmp_path), source, fork_servers.Maskers()) as parts:
        keeper.status, keeper.one = status, WHOLE
        answer = ask(parts, "k8s.helm.values('web', 'a')")
        assert answer.is_error and CANARY.encode() not in received and packed(b"{")[:5].encode() not in received
        keeper.one = json.dumps(said | {"message": 'secrets "x" is forbidden: User "u" cannot get'}).encode()
        answer = ask(parts, "k8s.helm.values('web', 'a')")
        assert answer.is_error and (status != 403 or 'User "u" cannot get' in answer.text), answer.text
        keeper.status, keeper.one = 200, WHOLE
        assert ask(parts, LISTS).text.splitlines()[0] == "web-1.0.0"


DENIALS: Final[dict[str, dict[str, Any]]] = {
    "the toolset is off": {"toolsets": ("code",)},
    "Secrets are denied": {"denied_resources": (config.DeniedResource(group="core", kind="Secret"),)},
    "secrets are denied": {"denied_resources": (config.DeniedResource(group="core", resource="secrets"),)},
    "any Secret is denied": {"denied_resources": (config.DeniedResource(kind="Secret"),)},
    "releases are denied": {"denied_resources": (config.DeniedResource(group="helm.sh", kind="Release"),)},
    "releases are denied by plural": {"denied_resources": (config.DeniedResource(group="helm.sh", resource="releases"),)},
    "the group is denied": {"denied_resources": (config.DeniedResource(group="helm.sh"),)},
}  # fmt: skip


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("chosen", DENIALS.values(), ids=DENIALS)
def test_what_the_operator_denies_is_not_asked_for(
    chosen: dict[str, Any], source: spawner.Spawner, keeper: Keeper, tmp_path: Path, attacks: Count
) -> None:
    """Neither the list nor one release; nothing about Secrets is sent, and other calls still work."""
    attacks(3)
    with app.opened(settings(keeper, tmp_path, **chosen), source, fork_servers.Maskers()) as parts:
        for script in ("k8s.helm.releases()", "k8s.helm.status('web', 'a')", "k8s.tools.helm_list()"):
            answer = ask(parts, script)
            assert answer.is_error or "configmaps" in str(keeper.asked), (script, answer.text)
            assert CANARY not in answer.text and "web-1.0.0" not in answer.text
        assert not [path for path in keeper.asked if "secrets" in path]
        assert ask(parts, "[len(k8s.coreV1().list_namespaced_pod('a'))]").text == "[0]"


@pytest.mark.promise("P-14")
def test_a_rule_that_serves_metadata_leaves_the_names(
    source: spawner.Spawner, keeper: Keeper, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """With `serve = "metadata"` for releases their names and states are listed, and no more."""
    attacks(1)
    rule = config.DeniedResource(group="helm.sh", kind="Release", serve="metadata")
    with app.opened(settings(keeper, tmp_path, denied_resources=(rule,)), source, fork_servers.Maskers()) as parts:
        assert ask(parts, "k8s.tools.helm_list(short=True)").text.splitlines()[0] == "web"
        answer = ask(parts, "k8s.helm.status('web', 'a')")
        assert answer.is_error and "only metadata of helm.sh/Release is served" in answer.text
        assert CANARY.encode() not in received and PASSWORD.encode() not in received


KEPT: Final = {
    "in ConfigMaps": ("configmaps", config.DeniedResource(group="core", kind="ConfigMap", serve="metadata")),
    "in ConfigMaps, by plural": ("configmaps", config.DeniedResource(resource="configmaps", serve="metadata")),
    "in Secrets": ("secrets", config.DeniedResource(group="core", kind="Secret", serve="metadata")),
}


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("case", KEPT)
@pytest.mark.parametrize("accept", ["json", "metadata"])
def test_a_rule_that_serves_metadata_holds_for_what_releases_are_kept_in(
    case: str, accept: Any, source: spawner.Spawner, keeper: Keeper, tmp_path: Path, attacks: Count
) -> None:
    """The operator has said that nothing but metadata of these objects may pass, so no release is read out of one."""
    attacks(1)
    holder, rule = KEPT[case]
    path = ("apis", "helm.sh", holder, "namespaces", "a", "releases")
    with app.opened(settings(keeper, tmp_path, denied_resources=(rule,)), source, fork_servers.Maskers()) as parts:
        reply, response = parts.operator.contexts.default.broker.handle(
            exchanges.Call("GET", (*path, NAME), accept=accept), operation.Operation(), 10
        )
        assert reply.fault is not None and reply.fault.code == "policy.denied_resource" and response is None
        assert keeper.asked == []
        reply, response = parts.operator.contexts.default.broker.handle(
            exchanges.Call("GET", path, accept="metadata"), operation.Operation(), 10
        )
        assert reply.fault is None and response is not None
        b"".join(response.chunks)
    with app.opened(settings(keeper, tmp_path), source, fork_servers.Maskers()) as parts:
        assert ask(parts, LISTS).text.splitlines()[0] == "web-1.0.0"


CALLS: Final = {
    "a Secret that is no release": exchanges.Call("GET", (*PATH, "database-password")),
    "a release of nowhere": exchanges.Call("GET", ("apis", "helm.sh", "secrets", "releases", NAME)),
    "another holder": exchanges.Call("GET", ("apis", "helm.sh", "pods", "namespaces", "a", "releases", NAME)),
    "a made-up version": exchanges.Call("GET", ("apis", "helm.sh", "v1", "namespaces", "a", "releases", NAME)),
    "another resource": exchanges.Call("GET", ("apis", "helm.sh", "secrets", "namespaces", "a", "charts", NAME)),
    "a subresource": exchanges.Call("GET", (*PATH, NAME, "status")),
    "a proxy": exchanges.Call("GET", (*PATH, NAME, "proxy")),
    "a watch": exchanges.Call("GET", PATH, (("watch", "true"),)),
    "an old watch": exchanges.Call("GET", ("apis", "helm.sh", "secrets", "watch", "namespaces", "a", "releases")),
    "a name by a field": exchanges.Call("GET", PATH, (("fieldSelector", "metadata.name=database-password"),)),
    "values by a field": exchanges.Call("GET", PATH, (("fieldSelector", "data.release=x"),)),
    "a deletion": exchanges.Call("DELETE", (*PATH, NAME)),
    "a deletion of all": exchanges.Call("DELETE", PATH),
    "a patch": exchanges.Call("PATCH", (*PATH, NAME), (), msgspec.Raw(b"{}"), "merge-patch"),
    "a creation": exchanges.Call("POST", PATH, (), msgspec.Raw(b"{}")),
    "dots": exchanges.Call("GET", (*PATH, "sh.helm.release.v1....v1")),
    "a long name": exchanges.Call("GET", (*PATH, f"sh.helm.release.v1.{'a' * 200}.v1")),
}


@pytest.mark.promise("P-14")
@pytest.mark.parametrize("writable", [False, True])
def test_what_is_no_reading_of_a_release_is_never_sent(
    writable: bool, source: spawner.Spawner, keeper: Keeper, tmp_path: Path, attacks: Count
) -> None:
    """Whatever a worker that has been taken over asks for in the name of releases, nothing leaves; where writes are on
    too."""
    attacks(len(CALLS))
    with app.opened(settings(keeper, tmp_path, read_only=not writable), source, fork_servers.Maskers()) as parts:
        for name, call in CALLS.items():
            reply, response = parts.operator.contexts.default.broker.handle(call, operation.Operation(), 60)
            assert reply.fault is not None and response is None, name
            assert reply.fault.code in {"request.release", "policy.read_only", "request.path", "policy.tunnel"}, (
                name,
                reply,
            )
        assert keeper.asked == []
        assert ask(parts, LISTS).text.splitlines()[0] == "web-1.0.0"


@pytest.mark.promise("P-14")
def test_a_selector_selects_among_releases_only(
    source: spawner.Spawner, keeper: Keeper, tmp_path: Path, attacks: Count
) -> None:
    """Each term holds together with Helm's own label."""
    attacks(3)
    with app.opened(settings(keeper, tmp_path), source, fork_servers.Maskers()) as parts:
        for selector in ("name=web", "owner!=helm", "!owner"):
            reply, response = parts.operator.contexts.default.broker.handle(
                exchanges.Call("GET", PATH, (("labelSelector", selector),)), operation.Operation(), 10
            )
            assert reply.fault is None and response is not None
            b"".join(response.chunks)
            assert "labelSelector=owner%3Dhelm%2C" in keeper.asked.pop()
