"""Secrets whose keys are served: a script sees the names of the keys and the type, and no value reaches a worker, nor its
length, nor whether two are equal, by whatever road it is asked for and whatever an API server or a saved cluster sends.

Everything is the product's own. The API servers are a real one, and an HTTP server that sends whole Secrets and worse.
What is searched for the planted values is every byte that the host sends to a worker.
"""

from __future__ import annotations

import base64
import functools
import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import anyio
import msgspec
import pytest
import yaml

from kubescript import app, config, errors, types
from kubescript.broker import operation
from kubescript.capture import capture as capturing
from kubescript.policy import decisions, permissions, rule_checks
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from kubescript_sandbox.host import spawner
from security_tests import recorder
from security_tests.answering import Answering
from tests.kit import fork_servers, quiet, reading
from tests.kit.controlplane import shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = pytest.mark.promise("P-13")

Count = Callable[[int], None]

KEYS: Final = (config.DeniedResource(group="", kind="Secret", serve="keys"),)
MASK: Final = "«redacted:not-served:00000000»"
VALUE: Final = "c4n4ry-value-of-a-secret"
ENCODED: Final = base64.b64encode(VALUE.encode()).decode()
CREDENTIAL: Final = "ghp_1234567890abcdefghijklmnopqrstuvwxyzA"
"""A key's name that is a token by its shape."""
PLANTED: Final = (VALUE.encode(), ENCODED.encode(), CREDENTIAL.encode(), b"managedFields", b"f:password")
MANY: Final = 10_000
WORKS: Final = "len(k8s.coreV1().list_node()) >= 0"


class Product:
    """The whole product but MCP."""

    def __init__(self, parts: app.Application, received: bytearray) -> None:
        self._parts = parts
        self.received = received

    def ask(self, script: str) -> types.Answer:
        """Runs a script in a real sandbox; no planted value may reach it."""
        evaluate = functools.partial(self._parts.operator.evaluator.evaluate, timeout_ms=60_000)
        answer = anyio.run(evaluate, f"import json\nfrom kubernetes import watch\n{script}")
        held = bytes(self.received)
        assert not any(value in held for value in PLANTED), script
        assert not any(value.decode() in answer.text for value in PLANTED), script
        self.received.clear()
        return answer


def settings(**chosen: Any) -> config.Settings:
    """The settings of an operator who serves the keys of Secrets."""
    given = {"denied_resources": KEYS, "output": config.Output(mark_untrusted=False), **chosen}
    return config.Settings(toolsets=("code", "helm"), **given)


def secret(name: str, namespace: str, data: dict[str, str], kind: str = "Opaque", **more: Any) -> dict[str, Any]:
    """A Secret that repeats its values in annotations, as tools do."""
    copy = json.dumps({"kind": "Secret", "data": data, "stringData": {"password": VALUE}})
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": copy,
        "tool.example/copy": copy,
        "tool.example/url": f"postgres://app:{VALUE}@db/app",
        "plain": "stays",
    }
    # An annotation has at most 256 KiB.
    metadata = {"name": name, "namespace": namespace, "annotations": annotations if len(copy) < 10_000 else {}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data, **more}


def released(namespace: str) -> dict[str, Any]:
    """A release as Helm keeps it."""
    chart = {"metadata": {"name": "web", "version": "1.0.0"}}
    told = {"name": "web", "namespace": namespace, "version": 1, "info": {"status": "deployed"}, "chart": chart}
    stored = gzip.compress(json.dumps(told | {"config": {"password": VALUE}}).encode(), mtime=0)
    data = {"release": base64.b64encode(base64.b64encode(stored)).decode()}
    made = secret("sh.helm.release.v1.web.v1", namespace, data, "helm.sh/release.v1")
    made["metadata"]["labels"] = {"owner": "helm", "name": "web", "status": "deployed", "version": "1"}
    return made


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """A real API server."""
    return shared.attach("scratch", run_folder, run_process)


@pytest.fixture(scope="module")
def secrets(plane: ControlPlane) -> str:
    """A namespace with Secrets in it."""
    namespace = f"secret-keys-{token_hex(3)}"
    short = base64.b64encode(b"x").decode()
    data = {"password": ENCODED, "same": ENCODED, "short": short, "empty": ""}
    many = {f"key-{number}": ENCODED for number in range(MANY)}
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    Writer(plane.kubeconfig).create_all([[named], [
        secret("app", namespace, data, immutable=True),
        secret("many", namespace, many),
        secret("odd", namespace, {CREDENTIAL: ENCODED, "plain": ENCODED}),
        released(namespace),
    ]])  # fmt: skip
    return namespace


@pytest.fixture(scope="module", params=[True, False], ids=["masked", "unmasked"])
def parts(request: pytest.FixtureRequest, plane: ControlPlane, source: spawner.Spawner) -> Iterator[app.Application]:
    """kubescript before the real API server, with masking on and off, and plans."""
    redaction = config.Redaction(enabled=request.param)
    chosen = settings(kubeconfig=plane.kubeconfig, redaction=redaction)
    with app.opened(chosen, source, fork_servers.Maskers()) as opened:
        yield opened


NAMES: Final = ["empty", "password", "same", "short"]
ONE: Final = "k8s.coreV1().read_namespaced_secret('app', NS)"
DATA: Final = {
    "typed": f"{ONE}.data",
    "typed, list": "[s for s in k8s.coreV1().list_namespaced_secret(NS) if s.metadata.name == 'app'][0].data",
    "typed, everywhere": "k8s.coreV1().list_secret_for_all_namespaces(field_selector='metadata.name=app,metadata.namespace=' + NS)[0].data",
    "typed, by type": "[s for s in k8s.coreV1().list_namespaced_secret(NS, field_selector='type=Opaque') if s.metadata.name == 'app'][0].data",
    "typed, undecoded": "k8s.coreV1().read_namespaced_secret('app', NS, _preload_content=False).json()['data']",
    "typed, watched": "[e['object'].data for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, NS, timeout_seconds=1) if e['object'].metadata.name == 'app'][0]",
    "dynamic": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get('app', NS).to_dict()['data']",
    "kubectl style": "k8s.get('secret/app', namespace=NS).data",
    "as a dict": f"{ONE}.to_dict()['data']",
}  # fmt: skip
"""Expressions that are the data of a Secret."""


def test_every_road_leads_to_the_keys(
    parts: app.Application, secrets: str, received: bytearray, attacks: Count
) -> None:
    """By every road the keys are told, and one mask for all values: neither their lengths nor which are equal."""
    product = Product(parts, received)
    attacks(len(DATA))
    for road, expression in DATA.items():
        answer = product.ask(f"NS = {secrets!r}\nd = {expression}\n[sorted(d), sorted(set(d.values()))]")
        found = json.loads(answer.text.splitlines()[0])
        assert found == [NAMES, [MASK]], (road, answer.text)
    told = product.ask(
        f"s = {ONE.replace('NS', repr(secrets))}\n[s.type, s.immutable, s.metadata.annotations['plain']]"
    )
    assert json.loads(told.text.splitlines()[0]) == ["Opaque", True, "stays"]
    assert product.ask(WORKS).text == "true"


GONE: Final = {
    "stringData": f"{ONE}.string_data",
    "managedFields": f"{ONE}.metadata.managed_fields",
    "the last applied": f"{ONE}.metadata.annotations.get('kubectl.kubernetes.io/last-applied-configuration')",
    "another copy": f"{ONE}.metadata.annotations.get('tool.example/copy')",
    "a selector that no value matches": "k8s.coreV1().list_namespaced_secret(NS, field_selector='metadata.name=no').items",
}  # fmt: skip


def test_what_repeats_a_value_is_gone(
    parts: app.Application, secrets: str, received: bytearray, attacks: Count
) -> None:
    """No other field tells a value, and what an annotation quotes is masked whether redaction is on or off."""
    product = Product(parts, received)
    attacks(len(GONE) + 1)
    for name, expression in GONE.items():
        assert product.ask(f"NS = {secrets!r}\n({expression}) or 'gone'").text == "gone", name
    quoted = product.ask(f"NS = {secrets!r}\n{ONE}.metadata.annotations['tool.example/url']").text
    assert "postgres://app:«redacted:" in quoted


def test_many_keys_and_odd_ones(parts: app.Application, secrets: str, received: bytearray, attacks: Count) -> None:
    """Ten thousand keys come whole; the name of a key that has a token's shape is masked as any text is."""
    product = Product(parts, received)
    attacks(2)
    script = f"d = k8s.coreV1().read_namespaced_secret('many', {secrets!r}).data\n[len(d), sorted(set(d.values()))]"
    assert json.loads(product.ask(script).text.splitlines()[0]) == [MANY, [MASK]]
    odd = product.ask(f"d = k8s.coreV1().read_namespaced_secret('odd', {secrets!r}).data\nsorted(d)").text
    assert '"plain"' in odd and odd.count("«redacted:") == 1


def test_tools_print_the_mask(parts: app.Application, secrets: str, received: bytearray, attacks: Count) -> None:
    """kubectl's describe, YAML and tables show keys and their number, and no size."""
    product = Product(parts, received)
    attacks(3)
    described = product.ask(f"k8s.describe('secret', 'app', {secrets!r})").text
    assert described.count(MASK) == len(NAMES) and " bytes" not in described
    written = product.ask(f"k8s.tools.kubectl_get_yaml(resource='secret', name='app', namespace={secrets!r})").text
    assert written.count(MASK) == len(NAMES), written
    listed = product.ask(f"k8s.tools.kubectl_get(resource='secret', namespace={secrets!r})").text
    assert MASK not in listed and str(MANY) in listed


def test_a_release_stays_what_it_was(parts: app.Application, secrets: str, received: bytearray, attacks: Count) -> None:
    """Releases are read as without the rule, and the Secret of one is a Secret like any other."""
    product = Product(parts, received)
    attacks(2)
    assert "web-1.0.0" in product.ask(f"k8s.helm.releases(namespace={secrets!r})[0]['chart']").text
    revision = ("apis", "helm.sh", "secrets", "namespaces", secrets, "releases", "sh.helm.release.v1.web.v1")
    decision = permissions.read(settings()).decide(request.parse(exchanges.Call("GET", revision)))
    assert decision == decisions.Decision("allow")
    held = product.ask(f"k8s.coreV1().read_namespaced_secret('sh.helm.release.v1.web.v1', {secrets!r}).data").text
    assert json.loads(held.splitlines()[0]) == {"release": MASK}


WRITES: Final = {
    "a creation": "c.create_namespaced_secret(NS, {'metadata': {'name': 'new'}, 'stringData': {'a': 'b'}}, dry_run='All')",
    "a patch": "c.patch_namespaced_secret('app', NS, {'data': {'other': 'YQ=='}}, dry_run='All')",
    "a replacement": "c.replace_namespaced_secret('app', NS, c.read_namespaced_secret('app', NS), dry_run='All')",
    "a deletion": "c.delete_namespaced_secret('app', NS, dry_run='All')",
    "a deletion of all": "c.delete_collection_namespaced_secret(NS, dry_run='All')",
}


def test_no_dry_run_answers_with_a_value(
    plane: ControlPlane, secrets: str, source: spawner.Spawner, received: bytearray, tmp_path: Path, attacks: Count
) -> None:
    """Writes of Secrets are refused before anything is sent, on a server that plans writes too."""
    attacks(len(WRITES))
    plans = config.Plans(store=str(tmp_path / "plans.db"), page=False)
    chosen = settings(kubeconfig=plane.kubeconfig, writes="plan", plans=plans)
    with app.opened(chosen, source, fork_servers.Maskers()) as opened:
        product = Product(opened, received)
        for name, expression in WRITES.items():
            answer = product.ask(f"NS = {secrets!r}\nc = k8s.coreV1()\n{expression}")
            assert answer.is_error and (
                "Secrets are not written here, by the rule core/Secret" in answer.text or "mask" in answer.text
            ), name
            assert "list or watch" not in answer.text, name
        assert product.ask(f"NS = {secrets!r}\nlist({ONE}.data)").text.count('"') == 2 * len(NAMES)


WHOLE: Final = json.dumps(secret("one", "a", {"password": ENCODED}, stringData={"token": VALUE}))
LIST: Final = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
STATUS: Final = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}
ANSWERS: Final = {
    "a list": json.dumps(LIST | {"items": [json.loads(WHOLE)] * 3}),
    "a compact list": json.dumps(LIST | {"items": [json.loads(WHOLE)] * 3}, separators=(",", ":")),
    "a list, items first": json.dumps({"items": [json.loads(WHOLE)]} | LIST),
    "a list, written twice": f'{{"items":[{WHOLE}],"items":[{WHOLE}]}}',
    "a Table": json.dumps({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [], "rows": [{"cells": [VALUE], "object": json.loads(WHOLE)}]}),
    "one object": WHOLE,
    "data twice": WHOLE[:-1] + f',"data":{{"other":"{ENCODED}"}}}}',
    "data that is a text": WHOLE[:-1] + f',"data":"{ENCODED}"}}',
    "data that is a list": WHOLE[:-1] + f',"data":["{ENCODED}"]}}',
    "data of objects": WHOLE[:-1] + f',"data":{{"deep":{{"{VALUE}":["{ENCODED}"]}}}}}}',
    "a key of no Secret": WHOLE[:-1] + f',"data":{{"is {VALUE}":""}}}}',
    "other fields": WHOLE[:-1] + f',"binaryData":{{"a":"{ENCODED}"}},"Data":{{"a":"{ENCODED}"}},"spec":"{VALUE}"}}',
    "a type that is none": WHOLE[:-1] + f',"type":["{VALUE}"]}}',
    "a watch": json.dumps({"type": "ADDED", "object": json.loads(WHOLE)}) + "\n",
    "a deletion": json.dumps({"type": "DELETED", "object": json.loads(WHOLE)}) + "\n",
    "an odd event": json.dumps({"type": VALUE, "object": json.loads(WHOLE)}) + "\n",
    "an error event": json.dumps({"type": "ERROR", "object": STATUS | {"message": VALUE}}) + "\n",
    "an error event that is a Secret": json.dumps({"type": "ERROR", "object": json.loads(WHOLE)}) + "\n",
    "a bookmark that is a Secret": json.dumps({"type": "BOOKMARK", "object": json.loads(WHOLE)}) + "\n",
    "a Status": json.dumps(STATUS | {"message": f"cannot decode {VALUE}", "details": {"causes": [{"message": VALUE}]}}),
    "YAML": yaml.safe_dump(json.loads(WHOLE)),
    "text": f"password={VALUE}",
    "protobuf": f"k8s\x00\n\x0c{VALUE}",
    "half an object": WHOLE[:-30],
    "no JSON in the end": WHOLE + VALUE,
    "marks": '{"items":[' + ",".join([WHOLE.replace(VALUE, VALUE + '}},{"apiVersion":"')] * 3) + "]}",
}  # fmt: skip
CALLS: Final = (
    "[s.to_dict() for s in k8s.coreV1().list_namespaced_secret('a')]",
    "k8s.coreV1().read_namespaced_secret('one', 'a').to_dict()",
    "[e for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'a', timeout_seconds=1)]",
)


class Liar(Answering):
    """An API server that answers every request for Secrets with the same bytes, or with a whole Secret in the form of
    the request, and every other with an empty list; it notes the paths."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        self.asked: list[str] = []
        super().__init__()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Returns a whole object, whatever was asked for."""
        self.asked.append(path)
        if "/secrets" in path:
            return self.status, "application/json", self.body or _answer(path)
        return 200, "application/json", b'{"kind":"PodList","items":[]}'


def _answer(path: str) -> bytes:
    """The whole Secret in the form of the request."""
    form = "one object"
    if "watch" in path:
        form = "a watch"
    elif path.partition("?")[0].endswith("/secrets"):
        form = "a list"
    return ANSWERS[form].encode()


@pytest.fixture
def liar() -> Iterator[Liar]:
    with quiet.silence():
        server = Liar()
        yield server
        server.close()


def test_whatever_an_api_server_sends(
    liar: Liar, source: spawner.Spawner, tmp_path: Path, received: bytearray, attacks: Count
) -> None:
    """Whole objects, other documents, errors and events that hold a Secret: no value passes, and what is no Secret is an
    error and not an empty list."""
    statuses = (200, 403)
    attacks(len(statuses) * len(ANSWERS) * len(CALLS))
    chosen = settings(kubeconfig=recorder.kubeconfig(liar.port, tmp_path))
    with app.opened(chosen, source, fork_servers.Maskers()) as opened:
        product = Product(opened, received)
        for status, (name, text), call in itertools.product(statuses, ANSWERS.items(), CALLS):
            liar.status, liar.body = status, text.encode()
            answer = product.ask(call)
            assert answer.is_error or status == 200, (status, name, call, answer.text)
            assert answer.text != "[]", (status, name, call)
        assert product.ask(WORKS).text == "true"


ALL: Final = ("api", "v1", "namespaces", "a", "secrets")
PATHS: Final = (
    (*ALL, "one"), ALL, ("api", "v1", "secrets"), ("api", "v1", "watch", "secrets"), ("api", "v1", "proxy", *ALL[2:], "one"),
    (*ALL, "one", "status"), (*ALL, "one", "data"), ("api", "v2", "secrets"),
)  # fmt: skip
QUERIES: Final = (
    (), (("watch", "true"),), (("includeObject", "Object"),), (("fieldSelector", "metadata.name=one"),),
    (("fieldSelector", "data.password=a"),), (("fieldSelector", "type=Opaque,data.password=a"),),
    (("fieldSelector", "metadata.name=a\\,data.password=a"),), (("fieldSelector", "immutable=true"),),
)  # fmt: skip
ACCEPTS: Final = ("json", "text", "table", "metadata", "names")
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize("writes", ["off", "direct"])
def test_whatever_a_hostile_worker_asks_for(
    writes: Any, liar: Liar, source: spawner.Spawner, tmp_path: Path, attacks: Count
) -> None:
    """Every method, path, query and form of an answer: no selector on a value and no write is sent, and no answer has a
    value; where only metadata is asked for, no key either."""
    calls = list(itertools.product(METHODS, PATHS, QUERIES, ACCEPTS))
    attacks(len(calls))
    chosen = settings(kubeconfig=recorder.kubeconfig(liar.port, tmp_path), writes=writes)
    read = 0
    with app.opened(chosen, source, fork_servers.Maskers()) as opened:
        door = opened.operator.contexts.default.broker
        for method, path, query, accept in calls:
            body = exchanges.NO_BODY if method in {"GET", "DELETE"} else msgspec.Raw(b"{}")
            call = exchanges.Call(method, path, query, body, accept=accept)  # type: ignore[arg-type]
            _, response = door.handle(call, operation.Operation(), 20)
            if response is None:
                continue
            assert method == "GET", call
            try:
                text = b"".join(response.chunks)
            except errors.KubescriptError:
                continue
            read += b'"data"' in text
            assert not any(value in text for value in PLANTED), call
            assert accept not in {"metadata", "names"} or b'"data"' not in text, call
    assert read and not any("data.password" in path or "immutable" in path for path in liar.asked)


def test_the_pieces_of_a_list_change_nothing(attacks: Count) -> None:
    """However a list arrives, the same bytes come out, or the same error."""
    served = inspection.Metadata("Secret", "v1", keys=True)
    attacks(len(ANSWERS) * 3)

    for name, text in ANSWERS.items():
        found = {reading.reduce_list(served, text.encode(), size) for size in (1, 64, 1 << 20)}
        (written,) = found
        assert ENCODED.encode() not in written and b"stringData" not in written, name


def test_saved_clusters(
    parts: app.Application, secrets: str, source: spawner.Spawner, tmp_path: Path, received: bytearray
) -> None:
    """A saved cluster of this operator has keys and no value, and serves them; of whole Secrets that people saved, also
    as manifests with `stringData`, it serves the keys."""
    capturing.capture(parts.operator.contexts.default.broker, tmp_path / "out", namespaces=[secrets])
    saved = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert not any(value in saved for value in PLANTED[:3]) and MASK.encode() in saved
    with app.opened(settings(snapshot=tmp_path / "out"), source, fork_servers.Maskers()) as opened:
        product = Product(opened, received)
        assert json.loads(product.ask(f"NS = {secrets!r}\nsorted({DATA['typed']})").text) == NAMES
    (tmp_path / "one.json").write_text(WHOLE)
    with app.opened(settings(snapshot=tmp_path / "one.json"), source, fork_servers.Maskers()) as opened:
        product = Product(opened, received)
        answer = product.ask("k8s.coreV1().read_namespaced_secret('one', 'a').data")
        assert json.loads(answer.text.splitlines()[0]) == dict.fromkeys(["password", "token"], MASK)


OTHERS: Final[tuple[dict[str, str], ...]] = (
    {"group": "", "kind": "ConfigMap"}, {"group": "apps", "kind": "Secret"}, {"kind": "Secret"}, {"group": "*", "kind": "Secret"},
    {"group": ""}, {"group": "", "kind": "*"}, {"group": "", "resource": "secrets/status"}, {"group": "", "kind": "Secret", "resource": "pods"}, {},
)  # fmt: skip


@pytest.mark.parametrize("named", OTHERS, ids=str)
def test_only_secrets_have_keys(named: dict[str, str]) -> None:
    """A rule that would serve the keys of anything else, or of more, is a mistake, and named at the start."""
    with pytest.raises(errors.ConfigError, match="is for Secrets"):
        rule_checks.read(config.DeniedResource(serve="keys", **named))
    for kind in ({"kind": "secrets"}, {"resource": "secrets"}):
        assert rule_checks.read(config.DeniedResource(group="core", serve="keys", **kind)).serve == "keys"


STRICTER: Final = {
    "no rule": (),
    "metadata": (*KEYS, config.DeniedResource(group="", kind="Secret", serve="metadata")),
    "metadata first": (config.DeniedResource(group="", resource="secrets", serve="metadata"), *KEYS),
    "metadata of all": (*KEYS, config.DeniedResource(serve="metadata")),
    "nothing": (*KEYS, config.DeniedResource(group="", kind="Secret")),
}


@pytest.mark.parametrize("rules", STRICTER.values(), ids=STRICTER)
def test_a_stricter_rule_holds(
    rules: tuple[config.DeniedResource, ...], liar: Liar, source: spawner.Spawner, tmp_path: Path, received: bytearray
) -> None:
    """Keys are off by default, and a rule that serves less decides in whatever order they stand."""
    chosen = settings(kubeconfig=recorder.kubeconfig(liar.port, tmp_path), denied_resources=rules)
    with app.opened(chosen, source, fork_servers.Maskers()) as opened:
        answer = Product(opened, received).ask("k8s.coreV1().read_namespaced_secret('one', 'a').data")
        assert answer.is_error and '"password"' not in answer.text
