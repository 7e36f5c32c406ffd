"""Provides the texts of `help(...)`, `dir(...)` and the clients' `repr`: a few lines each, from the generated
tables."""

from __future__ import annotations

import inspect
import types
from typing import Any

from kubescript.guest.sdk.objects import views
from kubescript.guest.sdk.values import operations

__all__ = ["accessor", "api", "dir_text", "has_objects", "help_text", "k8s", "method"]


def accessor(api: str) -> str:
    """Returns the attribute of `k8s` for an API class: CoreV1Api is `coreV1`."""
    if api == "RbacAuthorizationV1Api":
        return "rbacV1"
    short = api.removesuffix("Api")
    return f"{short[0].lower()}{short[1:]}"


def has_objects(api: str) -> bool:
    """Says whether an API class offers more than its group's versions, which `k8s.discovery()` offers too."""
    # The only method of VersionApi reads the server's version, and not those of a group.
    methods = operations.operations(api)
    return len(methods) > 1 or api == "VersionApi"


def k8s() -> str:
    """Returns the overview, `help(k8s)`."""
    stable = [accessor(each) for each in operations.apis() if each.endswith(("V1Api", "V2Api"))]
    clients = ", ".join(stable)
    return (
        "k8s: the cluster. k8s.coreV1().list_namespaced_pod('ns'), any official method, snake_case or camelCase.\n"
        f"Clients: {clients}, metricsV1beta1, customObjects, version, and beta versions; dir(k8s) lists all.\n"
        "Any kind: k8s.get('certificates.cert-manager.io', namespace='ns'), "
        "k8s.dynamic().resources.get(api_version=..., kind=...).\n"
        "What is served: k8s.discovery().api_resources(). "
        "Objects: pod.status.pod_ip, pod['status']['podIP'], pod.to_dict().\n"
        "Several clusters: k8s.contexts() lists their names, k8s.context(name).coreV1() asks one.\n"
        "help(k8s.coreV1()) lists its methods, help(k8s.coreV1().list_namespaced_pod) its parameters; "
        "k8s.explain('deployment.spec.strategy') describes a field, k8s.search('token review') finds methods.\n"
        "Helpers: quantity('250m'), age(obj), table(rows), top(rows, key, n), "
        "k8s.parallel([lambda: ..., ...]), ctx.budget. Where permitted: k8s.node_logs('node-0', 'kubelet'), "
        "k8s.node_summary('node-0'). Writes, where this server permits them: k8s.apply(manifest), "
        "k8s.scale(obj, 3), k8s.restart(obj), k8s.set_image(obj, web='nginx:1.29'), k8s.delete(obj), k8s.evict(pod)."
    )


def api(name: str) -> str:
    """Returns the methods of one API class, one line for each kind."""
    verbs: dict[str, list[str]] = {}
    for each in operations.operations(name):
        verb, _, rest = each.partition("_")
        verbs.setdefault(rest, []).append(verb)
    lines = [f"{name}, k8s.{accessor(name)}():"]
    for rest, own in verbs.items():
        # No setting allows the methods `connect_…`.
        if rest and own != ["connect"]:
            joined = "/".join(own)
            lines.append(f"{joined}_{rest}")
    return "\n".join(lines)


def method(operation: operations.Operation) -> str:
    """Returns one method's signature, return type and request."""
    signature = []
    for index, name in enumerate(operation.parameters):
        if index >= operation.required:
            # `pretty` has no effect here, and watch.Watch() sets `watch`.
            if name not in ("pretty", "watch"):
                signature.append(f"{name}=None")
        elif name == "body":
            signature.append(f"body: {operation.body}")
        else:
            signature.append(name)
    returns = operation.returns or "text"
    return f"{operation.name}({', '.join(signature)}) -> {returns}\n{operation.verb} {operation.path}"


def model(name: str) -> str:
    """Returns one model's fields."""
    fields = []
    model_fields = operations.models()[name]
    for field, entry in model_fields.items():
        kind = entry if isinstance(entry, str) else entry[0]
        fields.append(f"{field}: {kind}")
    return f"{name}: {', '.join(fields)}"


def help_text(value: Any = None) -> str:
    """Returns the text that `help(value)` prints."""
    if type(value) is str and value in operations.models():
        return model(value)
    if isinstance(value, views.View) and value._shape.name:
        return model(value._shape.name)
    if value is None:
        return k8s()
    if type(value).__module__.startswith("kubescript.guest.sdk"):
        return repr(value)
    is_function = type(value) in (types.FunctionType, types.MethodType)
    if is_function and value.__module__.startswith("kubescript.guest.sdk"):
        return function(value)
    # Some docstrings of the standard library are pages long.
    text = getattr(value, "__doc__", None) or repr(value)
    return text[:2_000]


def function(value: Any) -> str:
    """Returns the parameters and the docstring of a function of the SDK."""
    # Annotations, empty defaults and **options are left out, so that the help fits on a few lines.
    kept = []
    for each in inspect.signature(value).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            continue
        default = each.empty if each.default == "" else each.default
        kept.append(each.replace(annotation=each.empty, default=default))
    signature = inspect.Signature(kept)
    documentation = inspect.cleandoc(value.__doc__ or "")
    return f"{value.__name__}{signature}: {documentation}"


def dir_text(value: Any) -> list[str]:
    """Returns the names that `dir(value)` gives, without those that begin with an underscore."""
    # The sandbox does not let a script read names that begin with an underscore.
    public = [name for name in dir(value) if not name.startswith("_")]
    return sorted(public)
