"""Scripts of a first reader, in the world that the worker builds, over canned answers."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helpers, serialize
from kubescript.guest.sdk.values import context
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins
from kubescript_sandbox.wire import protocol
from tests.kit import told
from tests.kit.sdk_transport import DISCOVERY, Exchange, cluster

WEB = {"apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "w", "managedFields": [{"manager": "m"}]}}


SERVICE = {"metadata": {"name": "s"}, "spec": {"clusterIPs": ["10.0.0.9"]}}


RULES = {"metadata": {"name": "r"}, "rules": [{"nonResourceURLs": ["/healthz"]}]}


NODE = {"metadata": {"name": "n"}, "spec": {"podCIDRs": ["10.1.0.0/24"]}}


REFUSAL = protocol.ScriptFault("policy.read_only", "this server is read-only")


ANSWERS: dict[str, Any] = {
    **DISCOVERY,
    "apis/example.com/v1/namespaces/shop/webs/w": {**WEB, "spec": {"observedThing": 1}},
    "api/v1/namespaces/shop/services/s": SERVICE,
    "apis/rbac.authorization.k8s.io/v1/clusterroles/r": RULES,
    "api/v1/nodes/n": NODE,
    "api/v1/namespaces/shop/pods/refused": Exchange(b"", 0, fault=REFUSAL),
    "api/v1/namespaces/shop/pods/web/exec": Exchange(b"", 0, fault=REFUSAL),
}


SETUP = """pod = k8s.coreV1().read_namespaced_pod("web", "shop")
d = pod.to_dict()
raw = k8s.get("pods", "web", "shop").to_dict()
web = k8s.get("webs", "w", "shop").to_dict()
core = k8s.coreV1()
"""


def scope(printed: list[str]) -> dict[str, object]:
    """The world of a script, as the worker builds it, over canned answers."""
    k8s, _ = cluster(copy.copy(ANSWERS))
    importable = {name: modules.VirtualModule(name, members) for name, members in modules.exports(k8s).items()}
    ctx = context.Context("test", "shop", 20_000, lambda *_: None)
    extra = {"k8s": k8s, "namespace": "shop", "ctx": ctx, **helpers.GLOBALS}
    return builtins.build_globals(
        print_=lambda *values, **_: printed.extend(map(str, values)), extra=extra, importable=importable
    )


def result(script: str) -> Any:
    """The script's answer, through JSON."""
    program = compiler.compile_script(SETUP + script)
    return json.loads(serialize.encode(compiler.run(program, scope([]))))


def failure(script: str) -> str:
    """Type and first line of the error the script ends with, or of its refusal."""
    try:
        program = compiler.compile_script(SETUP + script)
    except compiler.ScriptRefused as refused:
        return str(refused)
    with pytest.raises(BaseException) as caught:  # noqa: PT011  whatever the script raises
        serialize.encode(compiler.run(program, scope([])))
    kind, message = told.tell(caught.value, SETUP + script)
    return f"{kind}: " + message.partition("\n")[0]
