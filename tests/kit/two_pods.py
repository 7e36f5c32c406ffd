"""Scripts in a world with one cluster of two pods, one of which crashes."""

from __future__ import annotations

import copy
import json
from typing import Any

from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helpers, serialize
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins
from tests.kit.sdk_transport import POD, cluster

SETUP = """
from dataclasses import dataclass
from collections import Counter, namedtuple
core = k8s.coreV1()
pod = core.read_namespaced_pod("web", "shop")
@dataclass
class Row:
    name: str
    count: int = 0
Pair = namedtuple("Pair", "left right")
"""


CRASHING: dict[str, Any] = copy.deepcopy(POD)
CRASHING["metadata"] |= {"name": "bad", "labels": {"app.kubernetes.io/name": "bad"}}
CRASHING["status"]["containerStatuses"][0] |= {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 9}


def run(script: str) -> Any:
    """The script's value, in a world with one cluster of two pods."""
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [POD, CRASHING]}
    k8s, _ = cluster({"api/v1/namespaces/shop/pods": pods, "api/v1/pods": pods})
    importable = {name: modules.VirtualModule(name, members) for name, members in modules.exports(k8s).items()}
    extra = {"k8s": k8s, "namespace": "shop", **helpers.GLOBALS}
    scope = builtins.build_globals(print_=lambda *_, **__: None, extra=extra, importable=importable)
    return compiler.run(compiler.compile_script(SETUP + script), scope)


def answer(script: str) -> Any:
    """The same, as the client gets it."""
    return json.loads(serialize.encode(run(script)))
