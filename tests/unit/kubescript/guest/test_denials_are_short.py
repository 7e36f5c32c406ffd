"""A denial costs a model at most 45 tokens in all: the error's type, the message, the line, what stands under it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import MappingProxyType

import msgspec
import pytest

from kubescript import accesses, contexts, errors, types
from kubescript.broker import operation, summary
from kubescript.guest.advice import ADVICE
from kubescript.output import fencing, render
from kubescript.policy import denied_resources, policy
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.language import compiler, refusals
from tests.kit import cases, reading, stage, tokens, trails

MOST = 45

READ_ONLY = policy.Policy()
WRITABLE = policy.Policy(writes="direct")
WIDGETS = denied_resources.DeniedResource("example.com", kind="Widget")
DENIED = policy.Policy(rules=(denied_resources.DeniedResource("core", kind="ConfigMap"), WIDGETS))
MISTAKEN = policy.Policy(
    rules=(denied_resources.DeniedResource("cert-manager.io", kind="Certificat"),),
    resolve=lambda *_: "Certificate",
    named=lambda _: False,
)
CREATE = "k8s.coreV1().create_namespaced_config_map('shop', {'metadata': {'name': 'settings'}})"
PATCH = "k8s.appsV1().patch_namespaced_deployment_scale('storefront-canary', 'shop', {'spec': {'replicas': 2}})"
CERTIFICATES = "k8s.customObjects().list_cluster_custom_object('cert-manager.io', 'v1', 'certificates')"
WIDGET = "k8s.customObjects().get_namespaced_custom_object('example.com', 'v1', 'shop', 'widgetz', 'a')"

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-tls", "namespace": "shop"}}

POLICY = MappingProxyType({
    "a write": (READ_ONLY, "k8s.coreV1().delete_namespaced_pod('web-7f9c6d5b8', 'shop')", "read_only"),
    "a create": (READ_ONLY, CREATE, "read_only"),
    "a patch": (READ_ONLY, PATCH, "read_only"),
    "deletion of many": (READ_ONLY, "k8s.coreV1().delete_collection_namespaced_pod('shop')", "read_only"),
    "an eviction": (READ_ONLY, "k8s.coreV1().create_namespaced_pod_eviction('web-0', 'shop', {})", "read_only"),
    "a token": (WRITABLE, "k8s.coreV1().create_namespaced_service_account_token('x', 'shop', {})", "denied_resource"),
    "a denied kind": (DENIED, "k8s.coreV1().list_namespaced_config_map('shop')", "denied_resource"),
    "a denied kind, everywhere": (DENIED, "k8s.coreV1().list_config_map_for_all_namespaces()", "denied_resource"),
    "a Secret by its content": (READ_ONLY, "k8s.get('secrets', namespace='shop', field_selector='data.x=1')", "core/Secret"),
    "a Secret's deletion": (WRITABLE, "k8s.coreV1().delete_namespaced_secret('web-tls', 'shop')", "denied_resource"),
    "an unknown kind": (DENIED, WIDGET, "unresolved_kind"),
    "a mistaken rule": (MISTAKEN, CERTIFICATES, "mistaken_rule"),
    "exec": (WRITABLE, "k8s.coreV1().connect_get_namespaced_pod_exec('web-0', 'shop', command='ls')", "tunnel"),
    "attach": (READ_ONLY, "k8s.coreV1().connect_get_namespaced_pod_attach('web-0', 'shop')", "tunnel"),
    "port-forward": (READ_ONLY, "k8s.coreV1().connect_get_namespaced_pod_portforward('web-0', 'shop')", "tunnel"),
    "a proxy": (READ_ONLY, "k8s.coreV1().connect_get_namespaced_service_proxy('web', 'shop')", "tunnel"),
    "a write without a name": (WRITABLE, "k8s.coreV1().delete_collection_namespaced_pod('shop')", "writes.collections"),
    "a write to a node": (WRITABLE, "k8s.coreV1().patch_node('gke-pool-1-7f9c6d5b8', {'spec': {}})", "writes.nodes"),
    "a role": (WRITABLE, "k8s.rbacV1().delete_namespaced_role_binding('web-admins', 'shop')", "writes.roles"),
    "a status": (WRITABLE, "k8s.coreV1().patch_namespaced_pod_status('web-7f9c6d5b8', 'shop', {})", "writes.subresource"),
    "a made-up name": (WRITABLE, "k8s.coreV1().create_namespaced_pod('shop', {'metadata': {}})", "writes.generate_name"),
})  # fmt: skip

COMMANDS = (
    "a write",
    "a create",
    "a patch",
    "an eviction",
    "a Secret's deletion",
    "a write to a node",
    "a role",
    "a status",
)
"""Writes that a person can make by a command."""


def answer(rules: policy.Policy, script: str, bench: stage.Bench, folder: Path) -> types.Answer:
    """What the model gets."""
    tally = summary.Summary()
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [trails.POD, SECRET]}))
    door = reading.made(snapshot.Snapshot(file), rules)

    def ask(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        return door.handle(call, operation.Operation(tally), left)

    bench.stage.answer = ask  # type: ignore[method-assign]
    outcome = bench.run(script)
    own = fencing.Own(script, denials=tuple(tally.own_denials(script, ("default",)))) if tally.calls else None
    return render.render(outcome, runs.Limits(), summary.missing(tally, outcome), own=own)


@pytest.mark.parametrize("case", POLICY)
def test_a_denial_is_short_and_says_what_to_do(case: str, bench: stage.Bench, tmp_path: Path) -> None:
    """What, which rule, what instead: once, and outside of the marks, which hold the kubectl command of a write alone."""
    rules, script, rule = POLICY[case]
    got = answer(rules, script, bench, tmp_path)
    print(tokens.count(got.text), got.text)
    marked = re.match(r"\[untrusted (\d+)\]\n.*kubectl .*\n\[end \1\]\n", got.text)
    ours = got.text.removeprefix(marked[0]) if marked else got.text
    assert got.is_error and got.untrusted == (marked is not None) == (case in COMMANDS), got.text
    assert got.text.count(rule) == ours.count(rule) == 1
    assert tokens.count(ours) <= MOST, got.text
    assert bench.works()


def test_an_unknown_context_is_denied_in_few_words(bench: stage.Bench, tmp_path: Path) -> None:
    """Also for a hostile worker's call, and among many contexts with long names."""
    cluster = snapshot.Snapshot(trails.snapshot(tmp_path))
    names = [f"gke_my-project-123_europe-west{number}_prod-cluster" for number in range(12)]
    known = contexts.Contexts(
        {name: accesses.ClusterAccess(cluster, reading.made(cluster, READ_ONLY)) for name in names}
    )
    call = exchanges.Call("GET", ("api", "v1", "pods"), context="gke_my-project-123_europe-west9_prod")
    reply, _ = known.handle(call, operation.Operation(), 1.0)
    assert reply.fault is not None and "k8s.contexts()" in reply.fault.message
    assert tokens.count(f"ForbiddenException: 403 {reply.fault.code}: {reply.fault.message} (line 1)") <= MOST + 25


CUSTOM = "k8s.customObjects().list_cluster_custom_object"
LOG = "k8s.coreV1().read_namespaced_pod_log('web-0', 'shop'"
MASKED = "{'data': {'b': '\u00abredacted:token:12345678\u00bb'}}"
REQUESTS = MappingProxyType({
    "a name that is none": "k8s.coreV1().list_namespaced_pod('a b')",
    "a namespace that is none": "k8s.coreV1().list_namespaced_pod('Shop_1')",
    "a time that is none": "k8s.get('pods', namespace='shop', limit=-1)",
    "a log without end": f"{LOG}, follow=True, _preload_content=False)",
    "a resource that is none": f"{CUSTOM}('example.com', 'v1', 'Widgets')",
    "a group that is none": f"{CUSTOM}('Example_com', 'v1', 'widgets')",
    "a masked value": f"k8s.coreV1().patch_namespaced_config_map('a', 'shop', {MASKED})",
    "a copy": "k8s.coreV1().patch_namespaced_config_map('a', 'shop', [{'op': 'copy', 'from': '/a', 'path': '/b'}])",
})  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_a_refused_request_is_short(case: str, bench: stage.Bench, tmp_path: Path) -> None:
    """What cannot be sent is told with the line's number."""
    got = answer(WRITABLE, REQUESTS[case], bench, tmp_path)
    print(tokens.count(got.text), got.text)
    assert got.is_error and not got.untrusted
    assert tokens.count(got.text) <= MOST, got.text
    assert bench.works()


BODY = msgspec.Raw(b"{}")
CALLS = MappingProxyType({
    "a path of ours": exchanges.Call("GET", ("logs", "kubelet.log")),
    "a document that is written": exchanges.Call("POST", ("version",), body=BODY),
    "an empty segment": exchanges.Call("GET", ("api", "v1", "namespaces", "", "pods")),
    "a long path": exchanges.Call("GET", ("api",) * 40),
    "a path that goes on": exchanges.Call("GET", ("api", "v1", "namespaces", "shop", "pods", "web-0", "log", "x", "y")),
    "a watch that writes": exchanges.Call("POST", ("api", "v1", "watch", "pods"), body=BODY),
    "no body": exchanges.Call("POST", ("api", "v1", "pods")),
    "a body for GET": exchanges.Call("GET", ("api", "v1", "pods"), body=BODY),
    "a list as body": exchanges.Call("POST", ("api", "v1", "pods"), body=msgspec.Raw(b"[]")),
    "a patch that is none": exchanges.Call("PATCH", ("api", "v1", "pods", "x"), body=BODY),
    "an unknown parameter": exchanges.Call("GET", ("api", "v1", "pods"), (("frobnicate", "1"),)),
    "a parameter twice": exchanges.Call("GET", ("api", "v1", "pods"), (("limit", "1"), ("limit", "2"))),
    "a flag that is none": exchanges.Call("GET", ("api", "v1", "pods"), (("watch", "maybe"),)),
    "a number that is none": exchanges.Call("GET", ("api", "v1", "pods"), (("limit", "ten"),)),
    "equal keys": exchanges.Call("POST", ("api", "v1", "pods"), body=msgspec.Raw(b'{"a":1,"a":2}')),
})  # fmt: skip


@cases.each("case", CALLS)
def test_a_call_that_the_parser_refuses_is_told_in_few_words(case: str) -> None:
    """What the SDK never sends, too."""
    with pytest.raises(errors.RequestError) as refused:
        request.parse(CALLS[case])
    text = f"ApiException: {refused.value.code}: {refused.value.message} (line 12)"
    print(tokens.count(text), text)
    assert tokens.count(text) <= MOST, text


MODULES = refusals.MODULES.keys() | ADVICE.modules.keys()
REFUSED = [f"{name}(1)" for name in refusals.NAMES] + [f"import {name}" for name in MODULES]


@cases.each("script", REFUSED)
def test_what_python_lacks_here_is_told_in_few_words(script: str) -> None:
    """Every name and module that is refused, with what to write instead."""
    try:
        compiler.compile_script(script)
        text = refusals.about_module(script.removeprefix("import "))
        text = f"ModuleNotFoundError: there is no module {script[7:]!r} here: {text}\n  line 1: `{script}`"
    except compiler.ScriptRefused as error:
        text = f"error {error.code}: {error}"
    assert tokens.count(text) <= MOST, text
