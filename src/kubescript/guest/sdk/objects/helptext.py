"""Owns the texts of `help(...)`, of `dir(...)` and of `repr` of the clients: a few lines each, made from the generated
tables."""

from __future__ import annotations

import inspect
import types
from typing import Any

from kubescript.guest.sdk.objects import views
from kubescript.guest.sdk.values import operations

__all__ = ["accessor", "api", "dir_text", "has_objects", "help_text", "k8s", "method"]


def accessor(api: str) -> str:
    """Returns the name by which a script reaches an API class: CoreV1Api is `coreV1`."""
    short = {"RbacAuthorizationV1Api": "rbacV1"}.get(api, api.removesuffix("Api"))
    return short[0].lower() + short[1:]


def has_objects(api: str) -> bool:
    """Tells whether an API class has more than the versions of its group, which `k8s.discovery()` also has."""
    return len(operations.operations(api)) > 1 or api == "VersionApi"


def k8s() -> str:
    """Returns the overview, `help(k8s)`."""
    clients = ", ".join(accessor(each) for each in operations.apis() if each[-5:-3] == "V1" or each[-5:-3] == "V2")
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
        "k8s.parallel([lambda: ..., ...]), ctx.budget. Writes, where this server permits them: k8s.apply(manifest), "
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
        if rest and own != ["connect"]:
            lines.append(f"{'/'.join(own)}_{rest}")
    return "\n".join(lines)


def method(operation: operations.Operation) -> str:
    """Returns one method's signature, return type and request."""
    required = [
        f"{each}: {operation.body}" if each == "body" else each for each in operation.parameters[: operation.required]
    ]
    optional = [
        f"{each}=None" for each in operation.parameters[operation.required :] if each not in ("pretty", "watch")
    ]
    return (
        f"{operation.name}({', '.join(required + optional)}) -> {operation.returns or 'text'}\n"
        f"{operation.verb} {operation.path}"
    )


def model(name: str) -> str:
    """Returns one model's fields."""
    fields = []
    for field, entry in operations.models()[name].items():
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
    if type(value) in (types.FunctionType, types.MethodType) and value.__module__.startswith("kubescript.guest.sdk"):
        return function(value)
    return (getattr(value, "__doc__", None) or repr(value))[:2_000]


def function(value: Any) -> str:
    """Returns the parameters and the docstring of a function of the SDK."""
    # Annotations, empty defaults and **options are left out, for help is a few lines.
    given = inspect.signature(value).parameters.values()
    kept = [
        each.replace(annotation=each.empty, default=each.empty if each.default == "" else each.default)
        for each in given
        if each.kind is not each.VAR_KEYWORD
    ]
    return f"{value.__name__}{inspect.Signature(kept)}: {inspect.cleandoc(value.__doc__ or '')}"


def dir_text(value: Any) -> list[str]:
    """Returns the names that `dir(value)` gives, without those that begin with an underscore."""
    return sorted(name for name in dir(value) if not name.startswith("_"))
