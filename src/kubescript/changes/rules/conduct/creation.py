"""NO_UNNECESSARY_CREATION: no object is created if it exists already, or if it does another object's job.

An apply that finds its object is not a creation, and an apply that changes nothing is normal: manifests are applied in
whole folders. A create that fails because the object exists does not count either: programs use it to make sure that
the object exists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from kubescript.changes.rules.conduct import canaries, configuration, findings, transcript
from kubescript.kube import field_paths, paths

__all__ = ["check", "purpose"]

# Two Services with the same selector are normal, since one may be headless or external. So are two such
# NetworkPolicies, since they add up.
_PURPOSES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "services"): ("spec.selector", "spec.ports", "spec.type", "spec.clusterIP", "spec.clusterIPs"),
    ("apps", "daemonsets"): ("spec.selector",),
    ("apps", "deployments"): ("spec.selector",),
    ("apps", "statefulsets"): ("spec.selector",),
    ("autoscaling", "horizontalpodautoscalers"): ("spec.scaleTargetRef",),
    ("networking.k8s.io", "ingresses"): ("spec.ingressClassName", "spec.rules"),
    ("policy", "poddisruptionbudgets"): ("spec.selector",),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): ("roleRef", "subjects"),
    ("rbac.authorization.k8s.io", "rolebindings"): ("roleRef", "subjects"),
}
"""The fields that are equal if two objects of a kind do the same job."""
# Of these values, only `None`, which makes a Service headless, is the request's own choice.
_ASSIGNED: Final = frozenset({"spec.clusterIP", "spec.clusterIPs", "spec.ports.nodePort"})
"""Fields that the API server fills in."""
_HEADLESS: Final = frozenset({'"None"', '["None"]'})


def check(changes: transcript.Transcript, _settings: configuration.Configuration) -> findings.Remarks:
    """Yields creations of objects that exist already, are created twice, or do another object's job."""
    created: set[paths.Key] = set()
    removed = {change.key for change in changes.changes if change.removes}
    for index, change in enumerate(changes.changes):
        if change.removes:
            created.discard(change.key)
            continue
        if change.method not in {"create", "apply"} or change.subresource or not change.name:
            continue
        is_create = change.method == "create"
        if is_create and change.existed and change.healthy is not False:
            yield _judge_existing(index, change)
        elif is_create and change.key in created:
            message = f"creates {change.target}, which an earlier change creates already"
            yield findings.Violation(index, message)
        elif change.existed is False or (is_create and change.existed is None):
            created.add(change.key)
            double = next(_doubles(changes, index, removed), "")
            if double:
                message = f"creates {change.target}, which does the same job as {double}"
                yield findings.Violation(index, message)


def _judge_existing(index: int, change: transcript.Change) -> findings.Violation | findings.Unknown:
    """Judges the creation of an object that exists already."""
    if change.healthy is None:
        return findings.Unknown(index, "whether the object that exists already is healthy")
    return findings.Violation(index, f"creates {change.target}, which exists already and is healthy")


def _doubles(changes: transcript.Transcript, index: int, removed: set[paths.Key]) -> Iterator[str]:
    """Yields the names of remaining objects that do the same job as the created one."""
    new = changes.changes[index]
    if not new.purpose:
        return
    for other in changes.before(index):
        is_new = other.existed is False and not other.removes
        if not is_new or other.key in removed or other.healthy is False:
            continue
        # The first three parts of a key are group, resource and namespace.
        is_same_kind = other.key[:3] == new.key[:3]
        if not is_same_kind or other.purpose != new.purpose or other.name == new.name:
            continue
        # The Services of a canary and its stable twin are alike until a controller tells them apart.
        if canaries.stem(other.name) == canaries.stem(new.name):
            continue
        yield f"{other.namespace}/{other.name}" if other.namespace else other.name


def purpose(group: str, resource: str, values: Mapping[str, str]) -> str:
    """Returns an object's purpose as a short digest; an empty string for kinds without a defined purpose.

    `values` maps the paths of its fields to JSON text.
    """
    wanted = _PURPOSES.get((group, resource))
    if wanted is None:
        return ""
    kept = []
    for path, value in sorted(values.items()):
        bare = field_paths.plain(path)
        if bare in _ASSIGNED and value not in _HEADLESS:
            continue
        if any(field_paths.covers(field, bare) for field in wanted):
            kept.append(f"{path}={value}")
    if not kept:
        return ""
    text = "\n".join(kept)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
