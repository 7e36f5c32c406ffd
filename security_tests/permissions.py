"""What may reach the API server: the promise written down a second time, independently of policy/policy.py and
changes/rules/writes.py."""

from __future__ import annotations

import re

from kubescript.policy import denied_resources
from security_tests.recorder import Info

NO_SECRETS = denied_resources.DeniedResource("core", kind="Secret")
"""The rule of an operator who wants nothing of Secrets to be served; of the default, see test_secrets_as_metadata."""
TUNNELS = {"exec", "attach", "portforward", "proxy"}
READABLE = {"", "log", "status", "scale", "approval", "ephemeralcontainers", "resize"}
BUILT_IN = {"", "apps", "autoscaling", "batch", "extensions", "policy"}
WRITES = {
    "": {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"},
    "scale": {"PUT": "update", "PATCH": "patch"},
    "eviction": {"POST": "create"},
}
"""Subresource → what may be done to it, as HTTP method and verb."""
UNWRITABLE = {
    "": {"bindings", "namespaces", "nodes", "secrets", "serviceaccounts"},
    "policy": {"podsecuritypolicies"},
}
"""Group → resources that no write changes unless an operator lifts the rule."""
UNWRITABLE_GROUPS = {
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "certificates.k8s.io", "rbac.authorization.k8s.io", "authorization.openshift.io",
    "oauth.openshift.io", "project.openshift.io", "security.openshift.io", "user.openshift.io",
}  # fmt: skip
QUESTIONS = {
    "authorization.k8s.io/v1/selfsubjectaccessreviews", "authorization.k8s.io/v1/selfsubjectrulesreviews",
    "authorization.k8s.io/v1/subjectaccessreviews", "authorization.k8s.io/v1/localsubjectaccessreviews",
    "authentication.k8s.io/v1/selfsubjectreviews",
}  # fmt: skip
DOCUMENT = re.compile(
    r"/(version|api|api/v1|apis(/[^/]+){0,2}|openapi/v2|openapi/v3(/[^/]+){0,3}|(healthz|livez|readyz)(/[^/]+)?"
    r"|\.well-known/openid-configuration|openid/v1/jwks)/?"
)
QUERY = {
    "watch", "allowWatchBookmarks", "sendInitialEvents", "force", "orphanDependents", "previous", "timestamps", "limit", "timeoutSeconds",
    "gracePeriodSeconds", "sinceSeconds", "tailLines", "limitBytes", "labelSelector", "fieldSelector", "continue", "resourceVersion",
    "resourceVersionMatch", "dryRun", "fieldManager", "fieldValidation", "propagationPolicy", "container", "sinceTime", "stream",
    "includeObject", "hash", "verbose", "timeout", "metricLabelSelector",
}  # fmt: skip
ACCEPTS = {
    "application/json", "text/plain, application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
}  # fmt: skip


def permitted(parsed: Info, *, read_only: bool) -> bool:
    """Whether the promise lets this request through."""
    if not parsed.is_resource:
        return parsed.method == "GET" and DOCUMENT.fullmatch(parsed.path) is not None
    if parsed.group in {"", "core"} and (
        parsed.resource == "secrets" or (parsed.resource, parsed.subresource) == ("serviceaccounts", "token")
    ):
        return False
    if parsed.verb == "proxy" or parsed.subresource in TUNNELS:
        return False
    if parsed.group.endswith(".metrics.k8s.io"):
        return parsed.method == "GET" and is_metric(parsed)
    if (
        parsed.group not in BUILT_IN
        and not parsed.group.endswith(".k8s.io")
        and parsed.subresource not in {"", "status", "scale"}
    ):
        return False
    if parsed.method == "GET":
        return parsed.verb in {"get", "list", "watch"} and parsed.subresource in READABLE
    return is_question(parsed) or (not read_only and writable(parsed))


def is_metric(parsed: Info) -> bool:
    """Whether a path names a custom metric of objects or of a namespace, or an external metric."""
    if parsed.group.startswith("external."):
        return parsed.verb == "list" and bool(parsed.namespace) and not parsed.name and not parsed.subresource
    if parsed.verb != "get" or not parsed.name:
        return False
    return bool(parsed.subresource) or (parsed.resource == "metrics" and bool(parsed.namespace))


def is_question(parsed: Info) -> bool:
    """Whether this is a POST that stores nothing."""
    return parsed.verb == "create" and f"{parsed.group}/{parsed.version}/{parsed.resource}" in QUESTIONS


def writable(parsed: Info) -> bool:
    """Whether a server that may write may write this: one object that is on no list, its scale, or a pod's eviction."""
    if WRITES.get(parsed.subresource, {}).get(parsed.method) != parsed.verb:
        return False
    if parsed.subresource == "eviction" and (parsed.group, parsed.resource) != ("", "pods"):
        return False
    if bool(parsed.name) == (parsed.verb == "create" and not parsed.subresource):
        return False
    return parsed.group not in UNWRITABLE_GROUPS and parsed.resource not in UNWRITABLE.get(parsed.group, set())
