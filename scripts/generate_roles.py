"""Writes charts/kubescript/files/roles/: the least rules of a ClusterRole for each toolset, from operations.json, the
policy and the rules over writes. Run at development time.

python scripts/generate_roles.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
import yaml

from kubescript import errors
from kubescript.changes.rules import writes
from kubescript.guest.sdk.values import operations
from kubescript.policy import policy
from kubescript.request import request
from kubescript.toolsets import gateway
from kubescript.wire import exchanges

FOLDER: Final = Path(__file__).resolve().parent.parent / "charts" / "kubescript" / "files" / "roles"
HEADER: Final = "# Written by scripts/generate_roles.py; edit that, not this.\n"
BODY: Final = msgspec.Raw(b'{"metadata":{"name":"name"}}')
POLICY: Final = policy.Policy(writes="plan")
PLANNED: Final = writes.Policy(is_read=True)
"""The rules over a plan that a person reads: they refuse least."""
DIRECT: Final = writes.Policy()


class Grant(NamedTuple):
    """One verb on one resource, as RBAC grants it."""

    group: str
    resource: str
    """With the subresource: `pods/log`."""
    verb: str


class Use(NamedTuple):
    """A grant that some operation of the official client needs."""

    grant: Grant
    serve: str
    """The part of the objects that the policy serves: `whole` or `metadata`."""
    is_namespaced: bool
    mode: str
    """The first mode in which the policy lets it pass: `read`, `direct` or `plan`."""

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.mode == "read"


Wanted = Callable[[Use], bool]


# --- what each toolset needs ------------------------------------------------------------------------------------------

LOG: Final = Grant("", "pods/log", "get")
SCALED: Final = ("deployments", "replicasets", "statefulsets")
"""What the gateway's tool scales."""
WITH_TEMPLATES: Final = ("daemonsets", "deployments", "statefulsets")
"""What the gateway's tool restarts and sets images of."""
CHANGED_BY_KUBECTL: Final = frozenset(
    {
        Grant("apps", "deployments", "patch"),
        Grant("apps", "deployments/scale", "patch"),
        Grant("autoscaling", "horizontalpodautoscalers", "patch"),
    }
)
FOLLOWED: Final = Grant("apps", "deployments", "watch")
"""What is watched until the cluster has carried out a change, by the tool, or by the server that has applied a plan."""
FOLLOWED_AT_ONCE: Final = Grant("autoscaling", "horizontalpodautoscalers", "watch")
EFFECTS: Final = frozenset(
    {
        Grant("", "namespaces", "get"),
        Grant("", "configmaps", "list"),
        Grant("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "list"),
        Grant("admissionregistration.k8s.io", "validatingwebhookconfigurations", "list"),
        Grant("apiregistration.k8s.io", "apiservices", "list"),
    }
)
"""Where the effects of a planned deletion are looked for, besides what the gateway's tools show."""


def is_read(use: Use) -> bool:
    """A script may read it whole."""
    return use.is_read and use.serve == "whole"


def is_secret(use: Use) -> bool:
    """A script may read its metadata."""
    return use.is_read and use.serve == "metadata"


def is_shown(use: Use) -> bool:
    """A tool gets or lists objects of any kind; it reads no subresource but logs."""
    is_object = "/" not in use.grant.resource and use.grant.verb in {"get", "list"}
    return use.is_read and (is_object or use.grant == LOG)


def is_shown_by_kubectl(use: Use) -> bool:
    """The tools of the toolset kubectl show it."""
    return is_read(use) and is_shown(use)


def is_secret_of_kubectl(use: Use) -> bool:
    """The tools of the toolset kubectl show its metadata."""
    return is_secret(use) and is_shown(use)


def is_planned_by_kubectl(use: Use) -> bool:
    """kubectl_scale_deployment, kubectl_restart_deployment and kubectl_edit_hpa change it by a plan."""
    return use.grant in CHANGED_BY_KUBECTL | {FOLLOWED}


def is_changed_by_kubectl(use: Use) -> bool:
    """They change it at once."""
    return is_planned_by_kubectl(use) or use.grant == FOLLOWED_AT_ONCE


def is_of_a_release(use: Use) -> bool:
    """helm_status gets the objects of a release; the others list and get Secrets or ConfigMaps that hold releases."""
    if not use.is_read or "/" in use.grant.resource:
        return False
    holds_releases = not use.grant.group and use.grant.resource in {"secrets", "configmaps"}
    return use.grant.verb == "get" or (use.grant.verb == "list" and holds_releases)


def is_counted(use: Use) -> bool:
    """cluster_list counts nodes and pods."""
    return use.grant in {Grant("", "nodes", "list"), Grant("", "pods", "list")}


def is_behind_the_gateway(use: Use) -> bool:
    """The tools of the toolset gateway show it."""
    return is_shown_by_kubectl(use) and use.is_namespaced and use.grant.resource not in gateway.FORBIDDEN


def is_changed_by_the_gateway(use: Use) -> bool:
    """k8s_delete deletes objects of any kind in namespaces, k8s_patch changes workloads."""
    if use.is_read or not use.is_namespaced or use.grant.resource in gateway.FORBIDDEN:
        return False
    if use.grant.verb == "delete":
        return "/" not in use.grant.resource
    changed = {*WITH_TEMPLATES, *(f"{scaled}/scale" for scaled in SCALED)}
    return use.grant.group == "apps" and use.grant.verb == "patch" and use.grant.resource in changed


def is_planned_by_the_gateway(use: Use) -> bool:
    """They change it by a plan, which says what else is affected."""
    is_followed = use.grant.verb == "watch" and use.grant.group == "apps" and use.grant.resource in WITH_TEMPLATES
    return is_changed_by_the_gateway(use) or use.grant in EFFECTS or is_followed


def is_secret_of_the_gateway(use: Use) -> bool:
    """The effects of a planned deletion are looked for there."""
    return is_secret(use) and use.grant.verb == "list"


def is_changed(use: Use) -> bool:
    """A script may change it."""
    return not use.is_read


CHANGED: Final[dict[tuple[str, str], Wanted]] = {
    ("code", "plan"): is_changed,
    ("code", "direct"): is_changed,
    ("kubectl", "plan"): is_planned_by_kubectl,
    ("kubectl", "direct"): is_changed_by_kubectl,
    ("gateway", "plan"): is_planned_by_the_gateway,
    ("gateway", "direct"): is_changed_by_the_gateway,
}
"""What the toolsets that write need, by their mode, besides what they read."""
READ: Final[dict[str, tuple[str, Wanted]]] = {
    "code-read": ("What scripts read.", is_read),
    "code-secrets": (
        "Scripts get the metadata of Secrets. RBAC cannot grant a part of an object: the account may read them whole.",
        is_secret,
    ),
    "kubectl-read": ("What the tools of kubectl show.", is_shown_by_kubectl),
    "kubectl-secrets": (
        "Tools show the metadata of Secrets. RBAC cannot grant a part of an object: the account may read them whole.",
        is_secret_of_kubectl,
    ),
    "helm-read": (
        "Releases, and the state of their objects. Helm keeps releases in Secrets: the account may read all Secrets.",
        is_of_a_release,
    ),
    "cluster-read": ("What cluster_list counts.", is_counted),
    "gateway-secrets": (
        "Which Secrets a planned deletion takes with it, by their metadata. RBAC cannot grant a part of an object.",
        is_secret_of_the_gateway,
    ),
    "gateway-read": ("What the tools of gateway show.", is_behind_the_gateway),
}
"""Each file's comment, and which uses are in it. Its name is the toolset's, with what it adds."""


# --- from operations to grants ----------------------------------------------------------------------------------------


def list_uses() -> Iterator[Use]:
    """Yields what the operations of the official client need that the policy lets pass, once for each operation."""
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            # Tunnels never pass. The group of a custom resource is an argument: see custom-read.yaml.
            if not name.startswith("connect_") and "{group}" not in operation.path:
                yield from _list_uses_of(operation)


def _list_uses_of(operation: operations.Operation) -> Iterator[Use]:
    queries: list[tuple[tuple[str, str], ...]] = [()]
    if "watch" in operation.parameters:
        queries.append((("watch", "true"),))
    for query in queries:
        try:
            call = _parse(operation, query)
        except errors.RequestError:  # a path that is closed to scripts, such as /logs
            continue
        mode = find_mode(call)
        if not mode:
            continue
        resource = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
        is_namespaced = "{namespace}" in operation.path
        yield Use(Grant(call.group, resource, call.verb), POLICY.decide(call).serve, is_namespaced, mode)


def find_mode(call: request.Request) -> str:
    """Returns the first mode in which a request passes; an empty string if it never does, or is for no resource."""
    verdict = POLICY.decide(call).verdict
    if verdict == "deny" or not call.is_resource:
        return ""
    if verdict == "allow":
        return "read"
    if writes.find_objection(call, DIRECT) is None:
        return "direct"
    return "plan" if writes.find_objection(call, PLANNED) is None else ""


def _parse(operation: operations.Operation, query: tuple[tuple[str, str], ...]) -> request.Request:
    """Returns a request of an operation, with `name` for each argument."""
    segments = tuple("name" if "{" in part else part for part in operation.path.strip("/").split("/"))
    body = exchanges.NO_BODY if operation.verb == "GET" else BODY
    content_type: Literal["json", "merge-patch"] = "merge-patch" if operation.verb == "PATCH" else "json"
    method = msgspec.convert(operation.verb, Literal["GET", "POST", "PUT", "PATCH", "DELETE"])
    return request.parse(exchanges.Call(method, segments, query, body, content_type))


# --- from grants to files ---------------------------------------------------------------------------------------------


def write_rules(grants: Iterable[Grant]) -> str:
    """Returns the fewest rules: resources of a group with the same verbs share one."""
    verbs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for grant in grants:
        verbs[grant.group, grant.resource].add(grant.verb)
    resources: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), used in sorted(verbs.items()):
        resources[group, tuple(sorted(used))].append(resource)
    rules = [
        {"apiGroups": [group], "resources": together, "verbs": list(used)}
        for (group, used), together in sorted(resources.items())
    ]
    return yaml.safe_dump(rules, sort_keys=False, default_flow_style=None, width=120)


def list_files() -> dict[str, str]:
    """Returns the text of each file by its name."""
    uses = list(list_uses())
    files = {f"{name}.yaml": _write(what, filter(is_wanted, uses)) for name, (what, is_wanted) in READ.items()}
    for (toolset, mode), is_wanted in CHANGED.items():
        # A person who reads a plan may approve more than is ever sent without one.
        passing = {"read", "direct", mode}
        changed = [use for use in uses if use.mode in passing and is_wanted(use)]
        what = f'What `writes = "{mode}"` needs besides the rules of {toolset}-read.yaml.'
        files[f"{toolset}-{mode}.yaml"] = _write(what, changed)
    return files


def _write(what: str, uses: Iterable[Use]) -> str:
    return f"{HEADER}# {what}\n{write_rules(use.grant for use in uses)}"


def main() -> int:
    """Returns the exit status: 1 if --check finds a stale file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a file is stale, write nothing")
    check = parser.parse_args().check
    stale = [name for name, text in list_files().items() if _is_stale(FOLDER / name, text)]
    if check:
        if stale:
            print(f"stale: {', '.join(stale)}; run `make generate`", file=sys.stderr)
        return bool(stale)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in list_files().items():
        FOLDER.joinpath(name).write_text(text, "utf-8")
    return 0


def _is_stale(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text("utf-8") != text


if __name__ == "__main__":
    sys.exit(main())
