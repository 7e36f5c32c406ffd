"""Layer 4: what may reach the API server, judged at the far end of the wire, whoever asks and however.

Every test looks at the request lines and headers that a recording API server received and judges them with a parser of
its own.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import kubernetes.client.api
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubescript import app, config, programs, redaction, types
from kubescript.broker import broker, operation
from kubescript.changes import attempt
from kubescript.changes import requests as request_writes
from kubescript.changes.rules import writes
from kubescript.cluster import live
from kubescript.guest.sdk.values import operations as sdk_operations
from kubescript.output import fencing
from kubescript.policy import decisions, denied_resources, kind_resolver, policy
from kubescript.request import info, query, request
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from kubescript_sandbox.wire import protocol
from security_tests import permissions, raw_requests, recorder
from security_tests.recorder import Info, Recorder, Seen
from tests.kit import quiet, reading

Count = Callable[[int], None]

MANY: Final = 10_000
"""Writes that may be tried in a minute: these tests are not about their number."""
HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "user-agent",
    "audit-id",
    "authorization",
    "content-type",
    "content-length",
}


def judge(server: Recorder, seen: list[Seen], *, read_only: bool) -> list[Info]:
    """Fail unless every request that reached the server was permitted, carried our headers alone, and was tried before
    it was made."""
    found = []
    for one in seen:
        parsed = recorder.read(one.line)
        assert permissions.permitted(parsed, read_only=read_only), one.line
        keys = [key for key, _ in one.query]
        assert set(keys) <= permissions.QUERY and len(keys) == len(set(keys)), one.line
        names = [name.lower() for name, _ in one.headers]
        assert set(names) <= HEADERS and len(names) == len(set(names)), one.headers
        assert one.header("Host") == [f"127.0.0.1:{server.port}"]
        assert one.header("Authorization") == [f"Bearer {recorder.TOKEN}"]
        is_stream = parsed.method != "GET" or parsed.verb == "watch"
        assert one.header("Accept")[0] in permissions.ACCEPTS
        assert one.header("Accept-Encoding") in ([["identity"]] if is_stream else [["identity"], ["gzip"]])
        assert re.fullmatch(
            r"kubescript/[0-9.]+( \(evaluation=[0-9a-f]{32}; script=[0-9a-f]{16}\))?", one.header("User-Agent")[0]
        )
        assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) for text in one.header("Audit-ID"))
        found.append(parsed)
    judge_writes(server, seen)
    return found


def judge_writes(server: Recorder, seen: list[Seen]) -> None:
    """Fail unless every write is a dry run, or holds its object to what was read and is what was tried right before."""
    read: set[str] = set()
    tried: list[Write] = []
    for one in seen:
        parsed = recorder.read(one.line)
        if parsed.method == "GET":
            read.add(parsed.path)
            if description := re.fullmatch(r"/openapi/v3/apis/([^/]+)/([^/]+)", parsed.path):
                server.described.add((description[1], description[2]))
            continue
        if permissions.is_question(parsed):
            continue
        assert parsed.group in OWN_GROUPS or (parsed.group, parsed.version) in server.described, one.line
        assert parsed.group != recorder.DEAF, one.line
        assert not any(value for key, value in one.query if key in {"labelSelector", "fieldSelector"}), one.line
        if one.is_dry_run:
            tried.append(unbound(one))
            continue
        assert parsed.name == "" or parsed.path.removesuffix(f"/{parsed.subresource}") in read, one.line
        assert is_bound(parsed, one), (one.line, one.body)
        assert unbound(one) in tried, (one.line, one.body)
        tried.remove(unbound(one))


Write = tuple[str, tuple[tuple[str, str], ...], str]
LOCK = {"op": "add", "path": "/metadata/resourceVersion", "value": recorder.VERSION}
VERSIONED = {"uid": recorder.UID, "resourceVersion": recorder.VERSION}


def is_bound(parsed: Info, write: Seen) -> bool:
    """Whether kube-apiserver refuses the write when its object is another by then, or exists where it is to be made."""
    body = write.document
    metadata = body.get("metadata", {})
    if parsed.verb == "create" and not parsed.subresource:
        return bool(metadata.get("name")) and not metadata.get("generateName")
    if parsed.verb == "delete":
        return bool(body.get("preconditions") == VERSIONED)
    if parsed.subresource == "eviction":
        return bool(body.get("deleteOptions", {}).get("preconditions") == VERSIONED)
    if write.header("Content-Type") == ["application/json-patch+json"]:
        return bool(json.loads(write.body)[-1:] == [LOCK])  # the last word about the version counts
    is_same = parsed.verb == "patch" or metadata.get("uid") == recorder.UID
    return bool(is_same and metadata.get("resourceVersion") == recorder.VERSION)


def unbound(write: Seen) -> Write:
    """What a write does, whether it is a dry run or not, and without what it is bound to."""
    query = tuple(pair for pair in write.query if pair[0] != "dryRun")
    line = write.line.partition("?")[0].removesuffix(" HTTP/1.1")
    body = json.loads(write.body or b"null")
    if isinstance(body, list):
        return line, query, json.dumps([each for each in body if each != LOCK])
    if isinstance(body, dict):
        if line.startswith("DELETE "):
            body.pop("dryRun", None)
        for holder in (body, body.get("deleteOptions")):
            if isinstance(holder, dict):
                holder.pop("preconditions", None)
        if isinstance(body.get("metadata"), dict):
            body["metadata"] = {key: value for key, value in body["metadata"].items() if key not in VERSIONED}
        body = {key: value for key, value in body.items() if value != {}}
    return line, query, json.dumps(body, sort_keys=True)


@dataclass
class Product:
    """The whole product but MCP, in front of the recording server."""

    server: Recorder
    parts: app.Application

    def ask(self, script: str, timeout_ms: int = 60_000) -> types.Answer:
        """Run a script in a real sandbox."""
        return anyio.run(self.parts.operator.evaluator.evaluate, script, timeout_ms)

    def judged(self) -> list[Info]:
        """What reached the server since the last time, all of it permitted."""
        return judge(self.server, self.server.take(), read_only=self.parts.settings.mode == "off")


@pytest.fixture(scope="module", params=[True, False], ids=["read-only", "writing"])
def product(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """kubescript as an operator starts it, for reading alone and with direct writes."""
    quiet = logging.getLogger("kubescript")
    level = quiet.level
    quiet.setLevel(logging.ERROR)  # thousands of denials are the point here
    source = spawner.Spawner(programs.WORKER)
    source.start()
    with Recorder() as server:
        chosen = config.Settings(
            kubeconfig=server.kubeconfig(tmp_path_factory.mktemp("policy")),
            writes="off" if request.param else "direct",
            write_policy=config.WritePolicy(per_minute=MANY),
            denied_resources=(config.DeniedResource(group="", kind="Secret"),),
        )
        with app.opened(chosen, source) as parts:
            yield Product(server, parts)
    source.close()
    quiet.setLevel(level)


# --- every method of the official client ---

ARGUMENTS = {
    "name": "marker-name", "namespace": "marker-ns", "path": "marker-path", "logpath": "marker-log",
    "group": "marker.example", "version": "v1", "plural": "markers", "resource_plural": "markers",
}  # fmt: skip
BODY = {"metadata": {"name": "marker-name"}}

CALL_ALL = """
from kubernetes import watch
outcomes = {{}}
for number, (api, method, arguments) in enumerate({calls}):
    try:
        {statement}
        outcome = "answered"
    except Exception as error:
        outcome = type(error).__name__
    outcomes.setdefault(outcome, []).append(number)
outcomes
"""
STATEMENTS = {
    "plain": "getattr(k8s.api(api), method)(**arguments)",
    "with_http_info": "getattr(k8s.api(api), method + '_with_http_info')(**arguments)",
    "watch": "list(watch.Watch().stream(getattr(k8s.api(api), method), **arguments))",
}
BATCH = 400
NOT_ON_THE_WIRE = {"HEAD", "OPTIONS"}
"""Methods that only the proxy operations have; the wire between worker and host has no word for them."""


def operations() -> list[sdk_operations.Operation]:
    """Every method of the table that the sandbox's client is made from."""
    return [
        sdk_operations.operation(api, name) for api in sdk_operations.apis() for name in sdk_operations.operations(api)
    ]


def arguments(operation: sdk_operations.Operation) -> dict[str, Any]:
    """Marker arguments for everything the method requires."""
    wanted = {*operation.parameters[: operation.required], *operation.path_parameters}
    return {name: BODY if name == "body" else ARGUMENTS[name] for name in operation.parameters if name in wanted}


OWN_GROUPS = permissions.BUILT_IN | {
    recorder.read(f"{one.verb} {one.path} HTTP/1.1").group for one in operations() if "{group}" not in one.path
}
"""Groups of Kubernetes itself. All others are asked whether they know dry runs."""


def looks(verb: str, path: str) -> set[tuple[str, str]]:
    """What is read for a write: the object that it is for, and the description of an API that is not Kubernetes' own."""
    parsed = recorder.read(f"{verb} {path} HTTP/1.1")
    if verb == "GET" or permissions.is_question(parsed):
        return set()
    found = {("GET", path.removesuffix(f"/{parsed.subresource}"))} if parsed.name else set()
    return found | {("GET", f"/openapi/v3/apis/{parsed.group}/{parsed.version}")}


def target(operation: sdk_operations.Operation) -> tuple[str, str]:
    """The method and path that this call would have on the wire."""
    return operation.verb, operation.path.rstrip("/").format(**ARGUMENTS)


@pytest.mark.promise("P-01", "P-02", "P-03", "P-18")
@pytest.mark.parametrize("form", STATEMENTS)
def test_every_method_of_the_official_client(form: str, product: Product, attacks: Count) -> None:
    """Of all methods of the official client, called from a script, exactly the permitted ones reach the API server."""
    every = [
        one
        for one in operations()
        if one.verb not in NOT_ON_THE_WIRE and (form != "watch" or "watch" in one.parameters)
    ]
    assert len(every) > (100 if form == "watch" else 950)
    attacks(len(every))
    answered = 0
    for start in range(0, len(every), BATCH):
        batch = every[start : start + BATCH]
        calls = [(one.api, one.name, arguments(one)) for one in batch]
        answer = product.ask(CALL_ALL.format(calls=calls, statement=STATEMENTS[form]))
        assert not answer.is_error, answer.text
        reached = {(parsed.method, parsed.path) for parsed in product.judged()}
        wanted = {target(one) for one in batch}
        read_only = product.parts.settings.mode == "off"
        expected = {
            (verb, path)
            for verb, path in wanted
            if permissions.permitted(recorder.read(f"{verb} {path} HTTP/1.1"), read_only=read_only)
        }
        looked = set().union(*(looks(verb, path) for verb, path in expected))
        assert expected <= reached <= expected | looked, (reached ^ expected, answer.text)
        answered += len(json.loads(fencing.unfence(answer.text).splitlines()[0])["answered"])
    assert answered > (100 if product.parts.settings.mode == "off" or form == "watch" else 250)


@pytest.mark.promise("P-02")
@pytest.mark.parametrize("verb", sorted(NOT_ON_THE_WIRE))
def test_methods_the_wire_does_not_know_are_refused_in_words(verb: str, product: Product) -> None:
    """connect_head_* and connect_options_* reach nothing and raise an error that the script can catch."""
    calls = [(one.api, one.name, arguments(one)) for one in operations() if one.verb == verb]
    assert len(calls) == 6
    answer = product.ask(CALL_ALL.format(calls=calls, statement=STATEMENTS["plain"]))
    assert product.judged() == []
    assert not answer.is_error, answer.text


@pytest.mark.promise("P-01")
def test_no_method_of_the_installed_client_is_missing() -> None:
    """The table has every method of the installed `kubernetes` package, so that the tests above tried them all."""
    missing = []
    for name, api in inspect.getmembers(kubernetes.client.api, inspect.isclass):
        methods = {key for key, _ in inspect.getmembers(api, inspect.isfunction) if not key.startswith("_")}
        variants = ("_with_http_info", "_without_preload_content")
        plain = {key for key in methods if not key.endswith(variants)} - {"close"}
        missing += [f"{name}.{key}" for key in plain - set(sdk_operations.operations(name))]
    assert not missing


# --- a script that tries to get at what is denied ---

SECRET = {
    "typed": "k8s.coreV1().list_namespaced_secret('a')",
    "typed, one": "k8s.coreV1().read_namespaced_secret('db', 'a')",
    "typed, everywhere": "k8s.coreV1().list_secret_for_all_namespaces(field_selector='metadata.name=db')",
    "typed, odd case": "k8s.COREV1().LISTNAMESPACEDSECRET('a')",
    "typed, with info": "k8s.coreV1().list_secret_for_all_namespaces_with_http_info()",
    "typed, watched": "list(watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'a'))",
    "typed, by class name": "k8s.api('CoreV1Api').list_namespaced_secret('a')",
    "dynamic": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get(namespace='a')",
    "dynamic, one": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get('db', 'a')",
    "dynamic, odd case": "k8s.dynamic().resources.get(api_version='v1', kind='sEcReT').get(namespace='a')",
    "dynamic, plural": "k8s.dynamic().resources.get(name='secrets').get(namespace='a')",
    "dynamic, plural in capitals": "k8s.dynamic().resource('SECRETS').get(namespace='a')",
    "dynamic, singular": "k8s.dynamic().resources.get(singular_name='secret').get(namespace='a')",
    "dynamic, short name": "k8s.dynamic().resources.get(short_names=['sec']).get(namespace='a')",
    "dynamic, group suffix": "k8s.dynamic().resource('secrets.v1.').get(namespace='a')",
    "dynamic, version and name": "k8s.dynamic().resource('v1', 'secrets').get(namespace='a')",
    "dynamic, other version": "k8s.dynamic().resource('v2', 'secrets').get(namespace='a')",
    "dynamic, SecretList": "k8s.dynamic().resources.get(api_version='v1', kind='SecretList').get(namespace='a')",
    "dynamic, List": "k8s.dynamic().resources.get(api_version='v1', kind='List').get(namespace='a')",
    "dynamic, watched": "list(k8s.dynamic().resource('secrets').watch('a'))",
    "dynamic, watched by name": "list(k8s.dynamic().resource('secrets').watch('a', name='db'))",
    "dynamic, status": "k8s.dynamic().resource('secrets').subresource('status').get('db', 'a')",
    "dynamic, invented subresource": "k8s.dynamic().resource('pods').subresource('../secrets').get('x', 'a')",
    "dynamic, every kind": "[r.get(namespace='a') for r in k8s.dynamic().resources if r.kind == 'Secret' and not r.group]",
    "kubectl style": "k8s.get('secrets', namespace='a')",
    "kubectl style, one": "k8s.get('secret', 'db', 'a')",
    "kubectl style, short": "k8s.get('sec', 'db', 'a')",
    "kubectl style, two kinds": "k8s.get('pods,secrets', namespace='a')",
    "kubectl style, a path": "k8s.get('secrets/db', namespace='a')",
    "custom objects, empty group": "k8s.customObjects().list_namespaced_custom_object('', 'v1', 'a', 'secrets')",
    "custom objects, core": "k8s.customObjects().list_namespaced_custom_object('core', 'v1', 'a', 'secrets')",
    "custom objects, group climbs": "k8s.customObjects().list_cluster_custom_object('..', 'api', 'v1/secrets')",
    "custom objects, group is a path": "k8s.customObjects().list_cluster_custom_object('apps/../../api', 'v1', 'secrets')",
    "custom objects, plural climbs": "k8s.customObjects().list_namespaced_custom_object('apps', 'v1', 'a', '../../../../../api/v1/secrets')",
    "custom objects, everywhere": "k8s.customObjects().list_custom_object_for_all_namespaces('core', 'v1', 'secrets')",
    "a name that climbs": "k8s.coreV1().read_namespaced_config_map('../secrets/db', 'a')",
    "a name that climbs, encoded": "k8s.coreV1().read_namespaced_config_map('..%2fsecrets%2fdb', 'a')",
    "a name that climbs, encoded dots": "k8s.coreV1().read_namespaced_config_map('%2e%2e/secrets/db', 'a')",
    "a name that climbs, backslashes": "k8s.coreV1().read_namespaced_config_map('..\\\\secrets\\\\db', 'a')",
    "a namespace that goes on": "k8s.coreV1().list_namespaced_config_map('a/secrets#')",
    "a namespace with a query": "k8s.coreV1().list_namespaced_config_map('a/secrets?x=')",
    "a namespace, two slashes": "k8s.coreV1().list_namespaced_config_map('a//secrets//')",
    "a namespace, dots": "k8s.coreV1().list_namespaced_config_map('..')",
    "a log that climbs": "k8s.coreV1().read_namespaced_pod_log('../secrets/db', 'a')",
    "a control plane log": "k8s.api('LogsApi').log_file_handler('../api/v1/secrets')",
    "a control plane log, encoded": "k8s.api('LogsApi').log_file_handler('%2e%2e/api/v1/secrets')",
    "a line feed": "k8s.coreV1().list_namespaced_config_map('a\\nGET /api/v1/secrets HTTP/1.1')",
    "a second request": "k8s.coreV1().list_namespaced_config_map('a HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET /api/v1/secrets')",
    "look-alike letters": "k8s.customObjects().list_cluster_custom_object('core', 'v1', '\\u0455ecrets')",
    "full-width letters": "k8s.customObjects().list_cluster_custom_object('core', 'v1', '\\uff53ecrets')",
    "replace": "k8s.coreV1().replace_namespaced_secret('db', 'a', {})",
    "create": "k8s.coreV1().create_namespaced_secret('a', {'metadata': {'name': 'x'}})",
    "create by dynamic": "k8s.dynamic().create('secrets', {'metadata': {'name': 'x', 'namespace': 'a'}})",
    "patch with nothing": "k8s.coreV1().patch_namespaced_secret('db', 'a', {}, dry_run='All')",
    "delete, which answers the object": "k8s.coreV1().delete_namespaced_secret('db', 'a', dry_run='All')",
    "delete them all": "k8s.coreV1().delete_collection_namespaced_secret('a', dry_run='All')",
    "a token": "k8s.coreV1().create_namespaced_service_account_token('default', 'a', {'spec': {}})",
    "a token by dynamic": "k8s.dynamic().resource('serviceaccounts').subresource('token').patch({'spec': {}}, 'default', 'a')",
    "a token by PUT": "k8s.dynamic().resource('serviceaccounts').subresource('token').replace({'spec': {}}, 'default', 'a')",
    "a token, odd name": "k8s.dynamic().resource('sa').subresource('Token').create({'metadata': {'name': 'default'}}, 'a')",
}
TUNNEL = {
    "exec": "k8s.coreV1().connect_get_namespaced_pod_exec('p', 'a')",
    "exec by GET": "k8s.coreV1().connect_get_namespaced_pod_exec('p', 'a', command='id')",
    "exec with a command": "k8s.coreV1().connect_get_namespaced_pod_exec('p', 'a', command=7, stdout=True)",
    "exec by POST": "k8s.coreV1().connect_post_namespaced_pod_exec('p', 'a', command=['sh', '-c', 'id'])",
    "exec by stream": "stream.stream(k8s.coreV1().connect_get_namespaced_pod_exec, 'p', 'a', command='id')",
    "attach": "k8s.coreV1().connect_get_namespaced_pod_attach('p', 'a', stdin=True)",
    "port-forward": "k8s.coreV1().connect_get_namespaced_pod_portforward('p', 'a', ports=80)",
    "pod proxy": "k8s.coreV1().connect_get_namespaced_pod_proxy('p', 'a')",
    "service proxy with path": "k8s.coreV1().connect_get_namespaced_service_proxy_with_path('https:web:443', 'a', 'admin/x')",
    "node proxy": "k8s.coreV1().connect_get_node_proxy_with_path('n', 'run/a/p/c')",
    "node proxy by name": "k8s.coreV1().read_node('n/proxy/configz')",
    "service proxy by name": "k8s.coreV1().read_namespaced_service('web/proxy', 'a')",
    "exec by name": "k8s.coreV1().read_namespaced_pod('p/exec?command=id', 'a')",
    "exec by subresource": "k8s.dynamic().resource('pods').subresource('exec').get('p', 'a')",
    "exec in capitals": "k8s.dynamic().resource('pods').subresource('EXEC').get('p', 'a')",
    "proxy by subresource": "k8s.dynamic().resource('nodes').subresource('proxy').get('n')",
    "proxy path by subresource": "k8s.dynamic().resource('nodes').subresource('proxy/run').get('n')",
    "kubelet configuration": "k8s.dynamic().resource('nodes').subresource('configz').get('n')",
    "log that follows": "k8s.coreV1().read_namespaced_pod_log('p', 'a', follow=True)",
    "log without verification": "k8s.coreV1().read_namespaced_pod_log('p', 'a', insecure_skip_tls_verify_backend=True)",
    "control plane logs": "k8s.api('LogsApi').log_file_list_handler()",
}
HTTP = {
    f"{form} {keyword}": call.format(keyword)
    for keyword in (
        "_headers={'Impersonate-User': 'system:admin'}", "header_params={'Impersonate-User': 'system:admin'}", "_host_index=1",
        "_host='http://127.0.0.1:9'", "_request_auth={'type': 'api_key', 'in': 'header', 'key': 'Authorization', 'value': 'Bearer x'}",
        "_content_type='application/json\\r\\nImpersonate-User: x'",
        "query_params={'as': 'system:admin'}", "impersonate='system:admin'", "accept='application/yaml'",
    )
    for form, call in {
        "typed": "k8s.coreV1().list_namespaced_pod('a', {})", "dynamic": "k8s.dynamic().resource('pods').get(namespace='a', {})",
    }.items()
}  # fmt: skip

TRY = """
import contextlib
with contextlib.suppress(ImportError):
    from kubernetes import watch
with contextlib.suppress(ImportError):
    from kubernetes import stream
{attack}
"""


def resources(product: Product) -> list[Info]:
    """What reached the server beside discovery documents."""
    return [parsed for parsed in product.judged() if parsed.is_resource]


@pytest.mark.promise("P-02", "P-03", "P-04", "P-06")
@pytest.mark.parametrize("attack", [*SECRET, *TUNNEL, *HTTP])
def test_what_is_denied_is_denied_by_every_road(attack: str, product: Product) -> None:
    """Nothing but discovery reaches the API server, the script gets an error, no secret value comes back, and the next
    script works."""
    answer = product.ask(TRY.format(attack=(SECRET | TUNNEL | HTTP)[attack]))
    reached = resources(product)
    assert reached == []
    assert recorder.CANARY not in answer.text and recorder.TOKEN not in answer.text
    assert answer.is_error and answer.code not in {"worker.protocol", "worker.died", "internal"}, answer.text
    assert product.ask("len(k8s.coreV1().list_namespaced_pod('a'))").text == "1"
    assert [parsed.path for parsed in resources(product)] == ["/api/v1/namespaces/a/pods"]


HARMLESS = (
    "_request_timeout=5",
    "_request_timeout=(1, 2)",
    "_return_http_data_only=True",
    "_preload_content=True",
    "async_req=False",
    "async_req=True",
    "_preload_content=False",
    "pretty='x&as=y'",
)


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("keyword", HARMLESS)
def test_keywords_about_http_that_do_no_harm_change_nothing(keyword: str, product: Product) -> None:
    """What scripts pass to the official client out of habit is accepted and leaves no trace in the request."""
    answer = f"k8s.coreV1().list_namespaced_pod('a', {keyword})"
    later = {"async_req=True": f"len({answer}.get())", "_preload_content=False": f"str(int(b'Pod' in {answer}.data))"}
    assert product.ask(later.get(keyword, f"len({answer})")).text == "1"
    (seen,) = product.server.take()
    assert seen.line == "GET /api/v1/namespaces/a/pods HTTP/1.1"
    assert judge(product.server, [seen], read_only=True)


PRELUDE = """
class Lie(str):
    def __str__(self): return 'x/../../secrets'
    def __repr__(self): return 'x/../../secrets'
    def __format__(self, spec): return 'x/../../secrets'
    def split(self, *_): return ['a', 'secrets']
    def strip(self, *_): return self
    def encode(self, *_): return b'x/../../secrets'
    def isdigit(self): return True
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 1
    def __len__(self): return 1
    def __bool__(self): return True
class Thing:
    def __init__(self, text): self.text = text
    def __str__(self): return self.text
    def __repr__(self): return self.text
    def __iter__(self): return iter(self.text)
    def __len__(self): return len(self.text)
    def __getitem__(self, index): return self.text[index]
def tried(call):
    try:
        return len(call())
    except Exception as error:
        return type(error).__name__
"""
CONFUSIONS = {
    "str subclass": "Lie('a')", "str subclass that climbs": "Lie('../secrets')", "list": "['a', 'secrets']", "tuple": "('a', 'secrets')",
    "list of one": "['secrets']", "bytes": "b'a'", "bytes that climb": "b'../secrets'", "bytearray": "bytearray(b'a')", "int": "7", "zero": "0",
    "float": "1.5", "not a number": "float('nan')", "bool": "True", "None": "None", "empty": "''", "blank": "' '", "dict": "{'a': 'secrets'}",
    "set": "{'a'}", "object": "Thing('a')", "object that climbs": "Thing('../secrets')", "generator": "(c for c in 'a')", "type": "str", "method": "'a'.upper",
    "exception": "ValueError('a')", "own api": "k8s", "own list": "k8s.coreV1().list_namespace()", "NUL": "'a\\x00'", "tab": "'a\\t'", "surrogate": "'\\ud800'",
    "long": "'a' * 64", "very long": "'a' * 10**6", "capital": "'A'", "star": "'*'", "all": "'_all'", "comma": "'a,b'", "semicolon": "'a;b'",
    "userinfo": "'x@evil.example'", "host": "'//evil.example'", "URL": "'http://evil.example/'", "port": "'a:80'", "encoded slash": "'a%2fb'",
    "doubly encoded": "'a%252fb'", "encoded dot": "'%2e%2e'", "overlong UTF-8": "'%c0%ae%c0%ae'", "dot": "'.'", "dots": "'..'", "three dots": "'...'",
    "fullwidth dots": "'\\uff0e\\uff0e'", "right-to-left": "'\\u202ea'", "zero width": "'a\\u200b'",
}  # fmt: skip
PLACES = {
    "namespace": "k8s.coreV1().list_namespaced_config_map({})",
    "name": "k8s.coreV1().read_namespaced_config_map({}, 'a')",
    "cluster name": "k8s.coreV1().read_node({})",
    "log": "k8s.coreV1().read_namespaced_pod_log({}, 'a')",
    "dynamic namespace": "k8s.dynamic().resource('configmaps').get(namespace={})",
    "dynamic name": "k8s.dynamic().resource('configmaps').get({}, 'a')",
    "dynamic subresource": "k8s.dynamic().resource('pods').subresource({}).get('p', 'a')",
    "kind": "k8s.dynamic().resource({}).get(namespace='a')",
    "plural": "k8s.customObjects().list_namespaced_custom_object('apps', 'v1', 'a', {})",
    "group": "k8s.customObjects().list_namespaced_custom_object({}, 'v1', 'a', 'things')",
    "version": "k8s.customObjects().list_namespaced_custom_object('apps', {}, 'a', 'things')",
    "label selector": "k8s.coreV1().list_namespaced_config_map('a', label_selector={})",
    "field selector": "k8s.coreV1().list_namespaced_config_map('a', field_selector={})",
    "continue": "k8s.coreV1().list_namespaced_config_map('a', _continue={})",
    "limit": "k8s.coreV1().list_namespaced_config_map('a', limit={})",
    "container": "k8s.coreV1().read_namespaced_pod_log('p', 'a', container={})",
    "body": "k8s.coreV1().patch_namespaced_config_map('x', 'a', {})",
}
READS_OF = {"configmaps", "namespaces", "nodes", "pods", "deployments", "things"}


@pytest.mark.promise("P-05")
@pytest.mark.parametrize("place", PLACES)
def test_no_value_of_any_type_changes_what_is_asked(place: str, product: Product, attacks: Count) -> None:
    """A value of a wrong or lying type is refused or sent as what it is; it never becomes another path, query or
    resource."""
    attacks(len(CONFUSIONS))
    tries = ", ".join(f"tried(lambda: {PLACES[place].format(value)})" for value in CONFUSIONS.values())
    answer = product.ask(f"{PRELUDE}[{tries}]")
    assert not answer.is_error, answer.text
    for parsed in resources(product):
        assert parsed.method == "GET" or (place, parsed.method) == ("body", "PATCH"), parsed
        assert parsed.resource in READS_OF or place in {"kind", "plural"}, parsed
        assert parsed.verb != "watch" and parsed.resource != "secrets", parsed
    assert recorder.CANARY not in answer.text


INJECTIONS = {
    "a second parameter": "x&watch=true", "a doubled parameter": "x&limit=1&limit=2", "a fragment": "x#y", "impersonation": "x&as=system:admin",
    "an encoded parameter": "x%26watch%3Dtrue", "a header": "x HTTP/1.1\\r\\nImpersonate-User: system:admin", "a line feed": "x\\nHost: evil.example",
    "plus and space": "x+y z", "a semicolon": "x;watch=true", "a question mark": "x?watch=true", "a NUL": "x\\x00y", "a secret": "kind=Secret",
    "a name of a secret": "metadata.name=db,metadata.namespace=a,type=kubernetes.io/service-account-token", "a path": "metadata.name=../secrets/db",
    "unicode": "\\u2028\\u0085é", "a lone surrogate": "\\ud800",
}  # fmt: skip


@pytest.mark.promise("P-05")
@pytest.mark.parametrize("parameter", ["label_selector", "field_selector", "_continue", "resource_version"])
def test_a_query_value_stays_one_value(parameter: str, product: Product, attacks: Count) -> None:
    """Whatever a selector or token holds, the server reads one parameter with exactly that value, or nothing is
    sent."""
    wire = {
        "label_selector": "labelSelector",
        "field_selector": "fieldSelector",
        "_continue": "continue",
        "resource_version": "resourceVersion",
    }
    attacks(len(INJECTIONS))
    for name, text in INJECTIONS.items():
        answer = product.ask(f"len(k8s.coreV1().list_namespaced_config_map('a', {parameter}='{text}'))")
        seen = product.server.take()
        (parsed,) = judge(product.server, seen, read_only=product.parts.settings.mode == "off") or (None,)
        value = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        if parsed is None:
            assert answer.is_error and not value.isprintable(), (name, answer.text)
            continue
        assert (parsed.verb, parsed.path) == ("list", "/api/v1/namespaces/a/configmaps"), name
        assert seen[0].query == [(wire[parameter], value)], name


IMITATION = {
    "a Secret of another group": (
        "k8s.dynamic().resources.get(api_version='imitation.example/v1', kind='Secret').get(namespace='a')",
        "/apis/imitation.example/v1/namespaces/a/secrets",
    ),
    "secrets of another group": (
        "k8s.customObjects().list_namespaced_custom_object('imitation.example', 'v1', 'a', 'secrets')",
        "/apis/imitation.example/v1/namespaces/a/secrets",
    ),
    "by group suffix": (
        "k8s.get('secrets.imitation.example', namespace='a')",
        "/apis/imitation.example/v1/namespaces/a/secrets",
    ),
    "pods that hold Secrets": (
        "k8s.get('pods.imitation.example', namespace='a')",
        "/apis/imitation.example/v1/namespaces/a/pods",
    ),
    "things that are Pods": (
        "k8s.get('things.core.example', namespace='a')",
        "/apis/core.example/v1/namespaces/a/things",
    ),
    "the plain name is the core's": ("k8s.get('secrets', namespace='a')", ""),
    "the plain kind is the core's": ("k8s.dynamic().resources.get(kind='Secret').get(namespace='a')", ""),
}


@pytest.mark.promise("P-04")
@pytest.mark.parametrize("attack", IMITATION)
def test_custom_resources_that_imitate_confuse_nobody(attack: str, product: Product) -> None:
    """A custom resource named like Secret is neither taken for one nor a way to one: only the core's own are denied."""
    script, path = IMITATION[attack]
    answer = product.ask(f"len({script})")
    assert [parsed.path for parsed in resources(product)] == ([path] if path else [])
    assert answer.is_error is not bool(path), answer.text


BY_KIND = {
    "k8s.customObjects().list_namespaced_custom_object('imitation.example', 'v1', 'a', 'secrets')": "",
    "k8s.customObjects().list_namespaced_custom_object('imitation.example', 'v1', 'a', 'pods')": "",
    "k8s.customObjects().list_namespaced_custom_object('imitation.example', 'v1', 'a', 'invented')": "",
    "k8s.customObjects().list_namespaced_custom_object('nowhere.example', 'v1', 'a', 'secrets')": "",
    "k8s.customObjects().list_namespaced_custom_object('core.example', 'v1', 'a', 'things')": "/apis/core.example/v1/namespaces/a/things",
    "k8s.coreV1().list_namespaced_pod('a')": "/api/v1/namespaces/a/pods",
    "k8s.get('secrets', namespace='a')": "",
}


@pytest.mark.promise("P-04")
def test_a_rule_that_names_a_kind_sees_through_other_names(tmp_path: Path) -> None:
    """A kind denied in every group is denied under whatever plural a custom resource gives it, and where it cannot be
    told."""
    source = spawner.Spawner(programs.WORKER)
    source.start()
    with Recorder() as server:
        rule = config.DeniedResource(kind="Secret")
        chosen = config.Settings(kubeconfig=server.kubeconfig(tmp_path), denied_resources=(rule,))
        with app.opened(chosen, source) as parts:
            product = Product(server, parts)
            for script, path in BY_KIND.items():
                answer = product.ask(f"len({script})")
                assert [parsed.path for parsed in resources(product)] == ([path] if path else []), (script, answer.text)
                assert answer.is_error is not bool(path), answer.text
    source.close()


@pytest.mark.promise("P-06")
def test_a_redirect_is_not_followed(product: Product) -> None:
    """An API server, or a box before it, cannot send the credentials elsewhere: a redirect is an answer, not an
    order."""
    with Recorder() as elsewhere:
        product.server.location = f"http://127.0.0.1:{elsewhere.port}/api/v1/secrets"
        answer = product.ask("k8s.coreV1().read_namespace('a')")
        product.server.location = ""
        assert elsewhere.take() == []
        assert recorder.CANARY not in answer.text
    product.server.take()
    assert product.ask("len(k8s.coreV1().list_node())").text == "1"


# --- a hostile worker: layers 1 and 2 have fallen, calls come as it likes ---

Door = broker.Broker


@pytest.fixture(scope="module", params=[True, False], ids=["read-only", "writing"])
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Door, Recorder, bool]]:
    """A broker before the recording server, with nothing in front."""
    with quiet.silence():
        engine = redaction.Engine(config.Redaction())
        with Recorder() as server:
            cluster = live.Live(server.kubeconfig(tmp_path_factory.mktemp("door")))
            rules = policy.Policy("off" if request.param else "direct", (permissions.NO_SECRETS,))
            limits = writes.Policy(per_minute=MANY)
            yield reading.made(cluster, rules, compare=engine.changes, write_rules=limits), server, request.param
            cluster.close()
        engine.close()


def knock(door: tuple[Door, Recorder, bool], frame: dict[str, Any]) -> list[Info]:
    """Send one CALL frame as the host would read it; give what reached the server, all of it permitted."""
    handler, server, read_only = door
    try:
        call = protocol.decode(msgspec.json.encode(frame), exchanges.Call)
    except protocol.ProtocolError:
        return []  # the worker is dropped for it
    reply, response = handler.handle(call, operation.Operation(), 10)
    assert (reply.fault is None) is (response is not None)
    if response is not None:
        assert recorder.CANARY.encode() not in b"".join(response.chunks)
        response.close()
    seen = server.take()
    found = judge(server, seen, read_only=read_only)
    made = [one for one in seen if one.line.startswith(f"{call.method} ") and is_asked(call, one)]
    assert len(made) == (response is not None), (frame, [one.line for one in seen])
    return found


def is_asked(call: exchanges.Call, one: Seen) -> bool:
    """Whether the call itself asks for this, and it is no dry run that was made for it."""
    body = json.loads(bytes(call.body))
    options = body if call.method == "DELETE" else None
    if call.method == "POST" and call.path[-1] == "eviction":
        options = body.get("deleteOptions")
    asks_dry_run = "dryRun" in dict(call.query) or (isinstance(options, dict) and bool(options.get("dryRun")))
    return call.method == "GET" or asks_dry_run or not one.is_dry_run


@pytest.mark.promise("P-07")
@pytest.mark.parametrize("attack", raw_requests.RAW)
def test_a_hostile_worker_gets_no_further_than_a_script(attack: str, door: tuple[Door, Recorder, bool]) -> None:
    """A raw call that asks for what is denied reaches nothing, whatever form it has; the next call is answered."""
    method, path, query, accept = raw_requests.RAW[attack]
    pairs = [pair.split("=", 1) for pair in query.split("&") if pair]
    body: dict[str, str] | None = {} if method in {"POST", "DELETE"} else None
    assert (
        knock(door, {"method": method, "path": path.split("/"), "query": pairs, "accept": accept, "body": body}) == []
    )
    assert len(knock(door, {"method": "GET", "path": ["api", "v1", "pods"]})) == 1


SEGMENT = st.one_of(st.sampled_from(raw_requests.WORDS), st.sampled_from(raw_requests.NASTY), st.text(max_size=8))


@st.composite
def any_path(draw: st.DrawFn) -> list[str]:
    """A plausible path, with up to three segments changed, added or dropped; or any words."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.lists(SEGMENT, max_size=9))
    path = draw(st.sampled_from(raw_requests.SKELETONS)).split("/")
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(path)))
        path[place : place + draw(st.integers(0, 1))] = draw(st.lists(SEGMENT, max_size=1))
    return path


KEYS = st.one_of(
    st.sampled_from(sorted(permissions.QUERY)),
    st.sampled_from(["as", "follow", "command", "Watch", "watch ", "watch&x", "dry_run", "", "x"]),
    st.text(max_size=6),
)
VALUES = st.one_of(
    st.sampled_from(["true", "1", "false", "x", "metadata.name=db", "All", "x&y=z", "x#", "\r\nX: y", "%0a"]),
    st.text(max_size=20),
)
NAMED: Final = {"metadata": {"name": "made"}}
BODIES: Final[tuple[Any, ...]] = (
    None, {}, [], NAMED, {"metadata": {"name": "made", "resourceVersion": "7", "uid": "x"}}, {"metadata": {"generateName": "a-"}},
    {"dryRun": ["All"]}, {"dryRun": ["all"]}, {"dryRun": "All"}, {"dryRun": []}, {"preconditions": {"uid": "x"}}, {"preconditions": None},
    {"deleteOptions": {"dryRun": ["All"]}}, {"deleteOptions": {"dryRun": ["None"]}}, {"deleteOptions": {"preconditions": {}}}, {"deleteOptions": None}, {"metadata": None}, {"metadata": {"$patch": "delete"}},
    [{"op": "remove", "path": LOCK["path"]}], [{**LOCK, "value": ""}], [LOCK, LOCK], [{"op": "add", "path": "", "value": NAMED}],
)  # fmt: skip
"""What a write may say of its own conditions."""
FRAMES = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET"] * 6 + ["POST", "PUT", "PATCH", "DELETE", "HEAD", "get", "OPTIONS"]),
        "path": any_path(),
    },
    optional={
        "query": st.lists(st.tuples(KEYS, VALUES), max_size=3),
        "body": st.one_of(
            st.sampled_from(BODIES), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
        ),
        "content_type": st.sampled_from(
            ["json", "merge-patch", "json-patch", "strategic-merge-patch", "apply-patch", "yaml"]
        ),
        "accept": st.sampled_from(["json", "table", "metadata", "text", "*/*"]),
    },
)


WRITE_FRAMES = st.builds(
    lambda target, body, query: {
        "method": target[0],
        "path": target[1].split("/"),
        "query": query,
        "body": body,
        "content_type": "json" if target[0] != "PATCH" else "json-patch" if isinstance(body, list) else "merge-patch",
    },
    st.sampled_from((
        ("POST", "api/v1/namespaces/a/pods"), ("PUT", "api/v1/namespaces/a/configmaps/x"), ("DELETE", "api/v1/namespaces/a/pods/p"),
        ("PATCH", "apis/apps/v1/namespaces/a/deployments/d"), ("PATCH", "apis/apps/v1/namespaces/a/deployments/d/scale"),
        ("POST", "api/v1/namespaces/a/pods/p/eviction"), ("PATCH", "apis/core.example/v1/namespaces/a/things/t"),
        ("DELETE", "apis/core.example/v1/namespaces/a/things/t"), ("PATCH", f"apis/{recorder.DEAF}/v1/namespaces/a/things/t"),
    )),
    st.sampled_from(BODIES),
    st.lists(st.tuples(st.sampled_from(["dryRun", "force", "gracePeriodSeconds", "labelSelector"]), st.sampled_from(["All", "all", "", "true", "0"])), max_size=2),
)  # fmt: skip
"""Writes that might pass, and what they say of their own conditions."""
EXAMPLES: Final = ((FRAMES, 1000), (WRITE_FRAMES, 500))


@pytest.mark.promise("P-07", "P-18")
def test_no_call_whatever_reaches_more_than_is_permitted(door: tuple[Door, Recorder, bool], attacks: Count) -> None:
    """Fuzzed calls: each one that reaches the server is one request, and that request, read by another parser, is
    permitted. Of a write it is what was tried right before, and bound to the object that it was tried on."""
    reached: list[Info] = []

    def attack(frame: dict[str, Any]) -> None:
        reached.extend(knock(door, frame))

    attacks(sum(count for _, count in EXAMPLES))
    for frames, count in EXAMPLES:
        checks = list(HealthCheck)
        bounds = settings(max_examples=count, deadline=None, suppress_health_check=checks, database=None)
        bounds(given(frames)(attack))()
    assert len(reached) > 50, "the fuzzer hits nothing that is permitted: it proves little"
    assert len({(parsed.verb, parsed.resource, parsed.subresource) for parsed in reached}) > 8
    assert door[2] or {"create", "update", "patch", "delete"} <= {parsed.verb for parsed in reached}


INVENTED = 1200
REMEMBERED = 1000


@pytest.mark.promise("P-09")
def test_invented_groups_do_not_fill_the_host(door: tuple[Door, Recorder, bool], tmp_path: Path) -> None:
    """A rule names a kind, and calls name ever new groups: what the server remembers of them is bounded."""
    cluster = live.Live(door[1].kubeconfig(tmp_path))
    kinds = kind_resolver.KindResolver(cluster)
    rules = policy.Policy(rules=(denied_resources.DeniedResource(kind="Secret"),), resolve=kinds)
    handler = reading.made(cluster, rules)
    for number in range(INVENTED):
        call = exchanges.Call("GET", ("apis", f"group-{number}.example", "v1", "things"))
        reply, _ = handler.handle(call, operation.Operation(), 10)
        assert reply.fault is not None and reply.fault.code == "policy.unresolved_kind"
    cluster.close()
    door[1].take()
    assert len(kinds._known) <= REMEMBERED


# --- the mutation check ---


@dataclass(frozen=True)
class Mutation:
    """A part of the door, what lets everything pass in its place, which other parts stop the attack as well, and the
    attack."""

    owner: object
    name: str
    instead: Callable[..., object]
    attack: tuple[str, str, str, str]
    others: tuple[str, ...] = ()


CLIMB = "../secrets/db"
MUTATIONS = {
    "denied resources": Mutation(
        policy.Policy, "_apply_rules", lambda _self, _call: None, raw_requests.RAW["Table of secrets"]
    ),
    "tunnels": Mutation(
        decisions, "deny_tunnel", lambda _call: None, raw_requests.RAW["exec"], ("subresources", "verbs")
    ),
    "subresources": Mutation(decisions, "deny_subresource", lambda _call: None, raw_requests.RAW["kubelet"]),
    "verbs": Mutation(
        policy.Policy,
        "_decide_by_verb",
        lambda _self, _call: decisions.ALLOW,
        ("POST", "api/v1/namespaces/a/pods", "", "json"),
    ),
    "documents": Mutation(info, "_is_document", lambda _segments: True, raw_requests.RAW["metrics"]),
    "segments": Mutation(
        info, "_check_path", lambda _path: None, ("GET", "api/v1/namespaces/a/configmaps/CLIMB", "", "json")
    ),
    "names": Mutation(
        info, "_check_names", lambda _info: None, raw_requests.RAW["capital resource"], ("denied resources",)
    ),
    "query": Mutation(query, "check", lambda pairs, **_: pairs, raw_requests.RAW["impersonation"]),
}


@pytest.mark.promise("P-08")
@pytest.mark.parametrize("part", MUTATIONS)
def test_each_part_of_the_door_alone_stops_an_attack(
    part: str, door: tuple[Door, Recorder, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the other parts gone it still holds; without it as well the attack comes through, and the tests above see
    it."""
    if part == "verbs" and not door[2]:
        pytest.skip("a writing server lets writes pass anyway")
    method, path, pairs, accept = MUTATIONS[part].attack
    frame: dict[str, Any] = {
        "method": method, "path": [CLIMB if one == "CLIMB" else one for one in path.split("/")], "accept": accept,
        "query": [pair.split("=", 1) for pair in pairs.split("&") if pair], "body": {} if method == "POST" else None,
    }  # fmt: skip

    def comes_through() -> bool:
        try:
            return knock(door, frame) != []
        except AssertionError:
            return True

    for other in MUTATIONS[part].others:
        monkeypatch.setattr(MUTATIONS[other].owner, MUTATIONS[other].name, MUTATIONS[other].instead)
    assert not comes_through()
    monkeypatch.setattr(MUTATIONS[part].owner, MUTATIONS[part].name, MUTATIONS[part].instead)
    assert comes_through()
    door[1].take()


def _same(call: request.Request) -> request.Request:
    return call


WRITE_MUTATIONS: Final[dict[str, tuple[object, str, Callable[..., object], tuple[str, str, str]]]] = {
    "the rules": (writes, "find_objection", lambda _call, _rules: None, ("DELETE", "api/v1/namespaces/a/pods", "")),
    "the dry run": (request_writes, "dry_run", _same, ("PATCH", "api/v1/namespaces/a/configmaps/x", "")),
    "the precondition": (attempt.Attempt, "guard", lambda tried: tried.asked, ("DELETE", "api/v1/namespaces/a/pods/p", "")),
    "what a dry run is": (request_writes, "is_dry_run", lambda _call: True, ("PUT", "api/v1/namespaces/a/configmaps/x", "")),
    "who knows it": (
        attempt.DryRuns, "check_supported", lambda *_: None, ("PATCH", f"apis/{recorder.DEAF}/v1/namespaces/a/things/t", "")
    ),
    "who knows it, where a script asks for a dry run": (
        attempt.DryRuns, "check_supported", lambda *_: None, ("PATCH", f"apis/{recorder.DEAF}/v1/namespaces/a/things/t", "dryRun=All")
    ),
}  # fmt: skip
"""What makes a write safe → where it is done, what stands in its place, and a write that is then unsafe."""


@pytest.mark.promise("P-08", "P-18")
@pytest.mark.parametrize("door", [False], ids=["writing"], indirect=True)
@pytest.mark.parametrize("part", WRITE_MUTATIONS)
def test_each_part_of_a_write_is_missed_when_it_is_gone(
    part: str, door: tuple[Door, Recorder, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all parts nothing but what is permitted arrives; without this one the tests above see it."""
    owner, name, instead, (method, path, pairs) = WRITE_MUTATIONS[part]
    frame = {
        "method": method, "path": path.split("/"), "body": {}, "query": [pair.split("=", 1) for pair in pairs.split("&") if pair],
        "content_type": "merge-patch" if method == "PATCH" else "json",
    }  # fmt: skip
    knock(door, frame)
    monkeypatch.setattr(owner, name, instead)
    with pytest.raises(AssertionError):
        knock(door, frame)
    door[1].take()


EARLIER: Final = '[[denied_resources]]\ngroup = ""\nkind = "ConfigMap"\n[contexts.a]\n[[contexts.a.denied_resources]]\nkind = "Lease"\n'
LATER: Final = (
    '[[denied_resources]]\ngroup = "apps"\nkind = "Deployment"\n[[contexts.a.denied_resources]]\nkind = "Job"\n',
    "denied_resources = []\n[contexts.a]\ndenied_resources = []\n",
)


@pytest.mark.promise("P-04")
@pytest.mark.parametrize("later", LATER)
def test_no_later_file_of_a_folder_takes_a_denial_back(later: str, tmp_path: Path) -> None:
    """A second file with a rule of its own, or with none, replaced the rules of all files before it, and said nothing.
    The same holds for the rules of masking."""
    rule = '[[redaction.rules]]\nid = "own-{0}"\nregex = "own{0}_[a-z]+"\n'
    (tmp_path / "10.toml").write_text(EARLIER + rule.format(1))
    (tmp_path / "20.toml").write_text(later + rule.format(2))
    loaded = config.load({}, None, tmp_path)
    assert loaded.denied_resources[0].kind == "ConfigMap"
    assert loaded.of_context("a").denied_resources[0].kind == "Lease"
    assert [one.id for one in loaded.redaction.rules] == ["own-1", "own-2"]
    (tmp_path / "20.toml").unlink()
    assert len(config.load({}, None, tmp_path).denied_resources) == 1
