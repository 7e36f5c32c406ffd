"""Secrets as metadata: no value, key name or type of one reaches a worker, by whatever road it is asked for and whatever
an API server or a saved cluster sends.

Everything is the product's own; the API servers are HTTP servers that send whole Secrets, whatever they are asked for.
What is searched for the planted values is every byte that the host sends to a worker.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio
import msgspec
import pytest
import yaml

from kubescript import app, config, programs, types
from kubescript.broker import operation
from kubescript.capture import capture as capturing
from kubescript.cluster import live
from kubescript.inspection import metadata_bodies
from kubescript.policy import policy
from kubescript.wire import exchanges, inspection
from kubescript_sandbox.host import spawner
from security_tests import recorder
from security_tests.answering import Answering
from security_tests.recorder import CANARY, KEY_CANARY, Recorder
from tests.kit import quiet, reading

Count = Callable[[int], None]

PLAIN: Final = config.Output(mark_untrusted=False)
PLANTED: Final = (CANARY.encode(), KEY_CANARY.encode())
WORKS: Final = "[len(k8s.coreV1().list_namespaced_pod('a'))]"
ROADS: Final = {
    "typed": "k8s.coreV1().list_namespaced_secret('a').items[0].metadata.name",
    "typed, one": "k8s.coreV1().read_namespaced_secret('one', 'a').metadata.name",
    "typed, everywhere": "k8s.coreV1().list_secret_for_all_namespaces(limit=1)[0].metadata.name",
    "typed, next page": "k8s.coreV1().list_secret_for_all_namespaces(limit=1, _continue='x')[0].metadata.name",
    "typed, with info": "k8s.coreV1().list_secret_for_all_namespaces_with_http_info()[0][0].metadata.name",
    "typed, undecoded": "k8s.coreV1().read_namespaced_secret('one', 'a', _preload_content=False).json()['metadata']['name']",
    "typed, watched": "[e['object'].metadata.name for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'a')][0]",
    "typed, by type": "k8s.coreV1().list_namespaced_secret('a', field_selector='type=Opaque')[0].metadata.name",
    "dynamic": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get(namespace='a')[0].metadata.name",
    "dynamic, one": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get('one', 'a').metadata.name",
    "dynamic, watched": "[e['raw_object']['metadata']['name'] for e in k8s.dynamic().resource('secrets').watch('a')][0]",
    "dynamic, its own Accept": "k8s.dynamic().resource('secrets').get(namespace='a', header_params={'Accept': 'application/json;as=PartialObjectMetadata'})[0].metadata.name",
    "kubectl style": "k8s.get('secrets', namespace='a')[0].metadata.name",
    "kubectl style, a path": "k8s.get('secret/one', namespace='a').metadata.name",
    "side by side": "[f.metadata.name for f in k8s.parallel([(k8s.coreV1().read_namespaced_secret, 'one', ns) for ns in ('a', 'b')])][0]",
    "later": "k8s.coreV1().read_namespaced_secret('one', 'a', async_req=True).get().metadata.name",
    "as text": "'one' if 'V1Secret a/one' in str(k8s.coreV1().read_namespaced_secret('one', 'a')) else ''",
    "as a dict": "json.loads(json.dumps(k8s.coreV1().read_namespaced_secret('one', 'a').to_dict(), default=str))['metadata']['name']",
}  # fmt: skip
"""Expressions that are the name of a Secret, which is served."""


class Product:
    """The whole product but MCP."""

    def __init__(self, parts: app.Application, received: bytearray) -> None:
        self._parts = parts
        self.received = received

    def ask(self, script: str) -> types.Answer:
        """Run a script in a real sandbox; no planted value may reach it, and the next script must work."""
        answer = anyio.run(
            self._parts.operator.evaluator.evaluate, f"import json\nfrom kubernetes import watch\n{script}", 60_000
        )
        held = bytes(self.received)
        assert not any(value in held for value in PLANTED), script
        self.received.clear()
        return answer


@pytest.fixture(scope="module", params=[True, False], ids=["masked", "unmasked"])
def parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[app.Application]:
    """kubescript before a server that ignores what it is asked for, with masking on and off."""
    with quiet.silence():
        source = spawner.Spawner(programs.WORKER)
        source.start()
        with Recorder() as server:
            chosen = config.Settings(
                kubeconfig=server.kubeconfig(tmp_path_factory.mktemp("metadata")),
                redaction=config.Redaction(enabled=request.param),
                output=PLAIN,
            )
            with app.opened(chosen, source) as opened:
                yield opened
        source.close()


@pytest.mark.promise("P-13")
def test_no_road_leads_to_a_value(parts: app.Application, received: bytearray, attacks: Count) -> None:
    """By every road a script sees the name of a Secret, and nothing of its content reaches the worker."""
    product = Product(parts, received)
    attacks(len(ROADS))
    for road, expression in ROADS.items():
        answer = product.ask(expression)
        assert not answer.is_error and answer.text.splitlines()[0].strip('"') == "one", (road, answer.text)
    assert product.ask(WORKS).text == "[1]"


READS: Final = {
    "attribute": "s.data", "other attribute": "s.string_data", "camel case": "s.stringData", "type": "s.type", "immutable": "s.immutable",
    "item": "s['data']", "get": "s.get('data')", "get with a default": "s.get('data', {})", "in": "'data' in s", "getattr": "getattr(s, 'data', None)",
    "hasattr": "hasattr(s, 'data')", "to_dict": "s.to_dict()['data']", "to_dict, get": "s.to_dict().get('string_data')", "setdefault": "s.setdefault('data', 1)",
}  # fmt: skip
OBJECTS: Final = (
    "k8s.coreV1().read_namespaced_secret('one', 'a')",
    "k8s.get('secrets', namespace='a')[0]",
    "[e['object'] for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'a')][0]",
)


@pytest.mark.promise("P-13")
def test_what_is_withheld_does_not_look_absent(parts: app.Application, received: bytearray, attacks: Count) -> None:
    """A field that was not served raises an ApiException that says so, by whatever access; it is never None or empty."""
    product = Product(parts, received)
    attacks(len(READS) * len(OBJECTS))
    for number, source in enumerate(OBJECTS):
        tries = "".join(
            f"try:\n    r.append(('read', {read}))\nexcept ApiException as e:\n    r.append((e.status, str(e)))\n"
            for read in READS.values()
        )
        answer = product.ask(
            f"s = {source}\nr = []\n{tries}[x for x in r if x[0] != 403 or 'served as metadata' not in x[1]]"
        )
        assert answer.text == "[]", (number, answer.text)
    assert product.ask(WORKS).text == "[1]"


WHOLE: Final = json.dumps(recorder._object(recorder.read("GET /api/v1/namespaces/a/secrets/one HTTP/1.1")))
LIST: Final = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
STATUS: Final = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}
ANSWERS: Final = {
    "a list": json.dumps(LIST | {"items": [json.loads(WHOLE)] * 3}),
    "a compact list": json.dumps(LIST | {"items": [json.loads(WHOLE)] * 3}, separators=(",", ":")),
    "a list, items first": json.dumps({"items": [json.loads(WHOLE)]} | LIST),
    "a list, written twice": f'{{"items":[{WHOLE}],"items":[{WHOLE}]}}',
    "a list, escaped key": f'{{"\\u0069tems":[{WHOLE}]}}',
    "a list in a list": f'{{"items":[{{"metadata":{{"name":"x"}},"items":[{WHOLE}]}}]}}',
    "a list of texts": f'{{"items":["{CANARY}"]}}',
    "a Table": json.dumps({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [], "rows": [{"cells": [CANARY], "object": json.loads(WHOLE)}]}),
    "one object": WHOLE,
    "an object whose metadata is odd": json.dumps({"metadata": {"name": "x", "labels": {"a": {CANARY: CANARY}}}}),
    "an object whose name is one": json.dumps({"metadata": {"name": {CANARY: 1}}}),
    "a watch": json.dumps({"type": "ADDED", "object": json.loads(WHOLE)}) + "\n",
    "an odd event": json.dumps({"type": CANARY, "object": json.loads(WHOLE)}) + "\n",
    "an error event": json.dumps({"type": "ERROR", "object": STATUS | {"message": CANARY}}) + "\n",
    "an error event that is a Secret": json.dumps({"type": "ERROR", "object": json.loads(WHOLE)}) + "\n",
    "a bookmark that is a Secret": json.dumps({"type": "BOOKMARK", "object": json.loads(WHOLE)}) + "\n",
    "a Status": json.dumps(STATUS | {"message": f"cannot decode {CANARY}", "details": {"causes": [{"message": CANARY}]}, "data": {KEY_CANARY: 1}}),
    "a Status that speaks": json.dumps(STATUS | {"reason": "Forbidden", "message": "no", "details": {"causes": [{"message": CANARY}]}}),
    "YAML": yaml.safe_dump(json.loads(WHOLE)),
    "text": f"password={CANARY} {KEY_CANARY}",
    "protobuf": f"k8s\x00\n\x0c{CANARY}{KEY_CANARY}",
    "an array": f"[{WHOLE}]",
    "a text": json.dumps(CANARY),
    "half an object": WHOLE[:-30],
    "no JSON in the end": WHOLE + CANARY,
    "marks": '{"items":[' + ",".join([WHOLE.replace(CANARY, CANARY + '}},{"apiVersion":"')] * 3) + "]}",
    "nothing": "",
}  # fmt: skip
CALLS: Final = (
    "[s.to_dict() for s in k8s.coreV1().list_namespaced_secret('a')]",
    "k8s.coreV1().read_namespaced_secret('one', 'a').to_dict()",
    "[e for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'a', timeout_seconds=1)]",
)


STATUSES: Final = (200, 403, 500)


class Liar(Answering):
    """An API server that answers every request for Secrets with the same bytes, and every other with an empty list."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        super().__init__()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Returns a whole object, whatever was asked for."""
        if "/secrets" in path:
            return self.status, "application/json", self.body
        return 200, "application/json", b'{"kind":"PodList","items":[{}]}'


@pytest.mark.promise("P-13")
@quiet.silence()
def test_whatever_an_api_server_sends(
    source: spawner.Spawner, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """Whole objects, other documents, errors and events that hold a Secret, in answer to a request for metadata: nothing
    of the content passes, and what is not the answer that was asked for is an error and not an empty list."""
    attacks(len(STATUSES) * len(ANSWERS) * len(CALLS))
    server = Liar()
    chosen = config.Settings(kubeconfig=recorder.kubeconfig(server.port, tmp_path), output=PLAIN)
    with app.opened(chosen, source) as parts:
        product = Product(parts, received)
        for status, (name, text), call in itertools.product(STATUSES, ANSWERS.items(), CALLS):
            server.status, server.body = status, text.encode()
            answer = product.ask(call)
            assert CANARY not in answer.text and KEY_CANARY not in answer.text, (status, name, call, answer.text)
            assert answer.is_error or status == 200, (status, name, call, answer.text)
            if answer.text == "[]":
                assert name == "nothing" and "Watch" in call, (status, name, call)
        assert product.ask(WORKS).text == "[1]"
    server.close()


@pytest.mark.promise("P-13")
def test_the_pieces_of_a_list_change_nothing(attacks: Count) -> None:
    """However a list arrives, the same bytes come out, or the same error."""
    served = inspection.Metadata("Secret", "v1")
    attacks(len(ANSWERS) * 4)

    for name, text in ANSWERS.items():
        found = {reading.reduce_list(served, text.encode(), size) for size in (1, 7, 64, 1 << 20)}
        assert len(found) == 1, name
        assert not any(value in one for one in found for value in PLANTED), name


_MANIFEST: Final = {"apiVersion": "v1", "kind": "Secret", "data": {KEY_CANARY: CANARY}}
COPIES: Final = {
    "JSON": json.dumps(_MANIFEST),
    "JSON in JSON": json.dumps({"object": json.dumps(_MANIFEST)}),
    "JSON in JSON in JSON": json.dumps([json.dumps({"object": json.dumps(_MANIFEST)})]),
    "YAML": yaml.safe_dump(_MANIFEST),
    "YAML that begins with it": f"data:\n  {KEY_CANARY}: {CANARY}\n",
    "YAML, indented": f"spec:\n  stringData:\n    {KEY_CANARY}: {CANARY}\n",
    "YAML in one line": f"{{kind: Secret, data: {{{KEY_CANARY}: {CANARY}}}}}",
    "YAML of Windows": f"kind: Secret\r\ndata:\r\n  {KEY_CANARY}: {CANARY}\r\n",
    "a list in YAML": f"- data:\n    {KEY_CANARY}: {CANARY}\n",
    "Go": f"map[data:map[{KEY_CANARY}:{CANARY}] kind:Secret]",
}
ENCODED: Final = {
    "gzip": base64.b64encode(gzip.compress(json.dumps(_MANIFEST).encode(), mtime=0)).decode(),
    "JSON": base64.b64encode(json.dumps(_MANIFEST).encode()).decode(),
    "JSON of several lines": base64.b64encode(json.dumps(_MANIFEST, indent=2).encode()).decode(),
    "YAML": base64.b64encode(yaml.safe_dump(_MANIFEST).encode()).decode(),
}
NO_COPIES: Final = {
    "a": "Holds the metadata of the shop", "b": "data", "c": "database: pg", "d": "https://a/data:8080", "e": "", "f": "sha256:0a1b",
}  # fmt: skip


@pytest.mark.promise("P-13")
def test_a_copy_of_a_secret_in_any_annotation_is_left_out(attacks: Count) -> None:
    """Whatever the annotation is called and however the tool that wrote it writes objects; others stay."""
    served = inspection.Metadata("Secret", "v1")
    attacks(len(COPIES) + len(ENCODED))
    for name, copy in (COPIES | {f"{name}, encoded": text for name, text in ENCODED.items()}).items():
        annotations = {"example.com/written-by-a-tool": copy, **NO_COPIES}
        whole = json.dumps({"metadata": {"name": "one", "annotations": annotations}})
        (reduced,) = metadata_bodies.of_object(served, [whole.encode()])
        assert json.loads(reduced)["metadata"]["annotations"] == NO_COPIES, name


def manifests(root: Path) -> Path:
    """Manifests with whole Secrets, as people keep them, in three notations."""
    whole = json.loads(WHOLE)
    (root / "one.json").write_text(json.dumps(whole))
    (root / "two.yaml").write_text(yaml.safe_dump(whole | {"metadata": whole["metadata"] | {"name": "two"}}))
    (root / "list.yaml").write_text(
        yaml.safe_dump(
            {"apiVersion": "v1", "kind": "List", "items": [whole | {"metadata": whole["metadata"] | {"name": "three"}}]}
        )
    )
    return root


def gathered(root: Path) -> Path:
    """A must-gather with whole Secrets."""
    folder = root / "namespaces" / "a" / "core"
    folder.mkdir(parents=True)
    (folder / "secrets.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "SecretList", "items": [json.loads(WHOLE)]})
    )
    return root


def own(root: Path) -> Path:
    """Our own format, as one that a stranger made or that was taken with `deny_defaults = false`."""
    entry = {"group": "", "version": "v1", "resource": "secrets", "kind": "Secret", "namespaced": True}
    (root / "resources" / "core" / "v1").mkdir(parents=True)
    (root / "snapshot.json").write_text(json.dumps({"format": "kubescript-snapshot/1", "resources": [entry]}))
    (root / "resources" / "core" / "v1" / "secrets.json").write_text(json.dumps({"items": [json.loads(WHOLE)]}))
    return root


@pytest.mark.promise("P-13")
@pytest.mark.parametrize("form", [manifests, gathered, own])
def test_saved_clusters_with_whole_secrets(
    form: Callable[[Path], Path], source: spawner.Spawner, tmp_path: Path, received: bytearray
) -> None:
    """A saved cluster that holds whole Secrets serves their metadata, and nothing else."""
    chosen = config.Settings(snapshot=form(tmp_path), output=PLAIN)
    with app.opened(chosen, source) as parts:
        product = Product(parts, received)
        for road in ("typed", "typed, one", "typed, watched", "kubectl style"):
            answer = product.ask(ROADS[road])
            assert answer.text.splitlines()[0].strip('"') == "one", (road, answer.text)
        assert product.ask("k8s.coreV1().read_namespaced_secret('one', 'a').data").is_error


@pytest.mark.promise("P-13", "S-08")
def test_a_saved_cluster_holds_no_value(
    parts: app.Application, tmp_path: Path, received: bytearray, source: spawner.Spawner
) -> None:
    """`kubescript snapshot` saves the metadata of Secrets and no value; what it has not saved is not served as empty."""
    capturing.capture(parts.operator.contexts.default.broker, tmp_path / "out")
    saved = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert not any(value in saved for value in PLANTED) and b'"metadataOnly": true' in saved
    with app.opened(config.Settings(snapshot=tmp_path / "out", output=PLAIN), source) as served:
        product = Product(served, received)
        assert product.ask("[s.metadata.name for s in k8s.get('secrets')]").text == '["one"]'
        typed = product.ask("k8s.coreV1().list_secret_for_all_namespaces(field_selector='type=Opaque')")
        assert typed.is_error and "only metadata" in typed.text
    with app.opened(config.Settings(snapshot=tmp_path / "out", deny_defaults=False), source) as served:
        whole = Product(served, received).ask("k8s.coreV1().read_namespaced_secret('one', 'home').data")
        assert whole.is_error and "only metadata" in whole.text


ONE: Final = ("api", "v1", "namespaces", "a", "secrets", "one")
ALL: Final = ("api", "v1", "namespaces", "a", "secrets")
PATHS: Final = (
    ONE, ALL, ("api", "v1", "secrets"), ("api", "v1", "watch", "secrets"), ("api", "v1", "watch", *ALL[2:]),
    ("api", "v1", "watch", *ONE[2:]), ("api", "v1", "proxy", *ONE[2:]), (*ONE, "status"), (*ONE, "log"), (*ONE, "scale"),
    (*ONE, "proxy"), (*ONE, "data"), ("api", "v2", "secrets"), ("apis", "core", "v1", "secrets"),
)  # fmt: skip
QUERIES: Final = (
    (), (("watch", "true"),), (("watch", "1"), ("includeObject", "Object")), (("includeObject", "Object"),), (("pretty", "true"),),
    (("fieldSelector", "metadata.name=one"),), (("fieldSelector", "data.password=a"),), (("fieldSelector", "type=Opaque,data.password=a"),),
    (("fieldSelector", "metadata.name=a\\,data.password=a"),), (("fieldSelector", "metadata.name=a=b"),), (("dryRun", "All"),),
)  # fmt: skip
ACCEPTS: Final = ("json", "text", "table", "metadata")
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
PURE: Final = re.compile(r"application/json;as=PartialObjectMetadata(List)?;v=v1;g=meta\.k8s\.io")
SELECTORS: Final = (None, "metadata.name=one")


@pytest.mark.promise("P-07", "P-13")
@pytest.mark.parametrize("read_only", [True, False])
@quiet.silence()
def test_whatever_a_hostile_worker_asks_for_metadata_is_what_an_api_server_is_asked_for(
    read_only: bool, tmp_path: Path, attacks: Count
) -> None:
    """Every method, path, query and form of an answer: what arrives is a plain read that accepts nothing but metadata."""
    calls = list(itertools.product(METHODS, PATHS, QUERIES, ACCEPTS))
    attacks(len(calls))
    with Recorder() as server:
        cluster = live.Live(server.kubeconfig(tmp_path))
        door = reading.made(cluster, policy.Policy("off" if read_only else "direct"))
        for method, path, query, accept in calls:
            body = exchanges.NO_BODY if method in {"GET", "DELETE"} else msgspec.Raw(b"{}")
            call = exchanges.Call(method, path, query, body, accept=accept)  # type: ignore[arg-type]
            _, response = door.handle(call, operation.Operation(), 20)
            if response is not None:
                response.close()
        assert len(server.seen) > 20
        for one in server.seen:
            asked, keys = recorder.read(one.line), dict(one.query)
            assert (asked.method, asked.subresource) == ("GET", "") and asked.verb in {"get", "list", "watch"}, one.line
            assert PURE.fullmatch(one.header("Accept")[0]), (one.line, one.header("Accept"))
            assert "includeObject" not in keys and keys.get("fieldSelector") in SELECTORS, one.line
        cluster.close()
